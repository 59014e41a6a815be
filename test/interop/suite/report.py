"""The tables of a run, as aligned text and as Markdown, from the document that run keeps as JSON. In a Markdown document, rows that no run
here has tried stay as they were, each with its own date."""

import collections
import re

from suite import peers, servers, serving, sharing

BEGIN, END = "<!-- tables: written by make interop -->", "<!-- end of tables -->"
LEGEND = {"yes": "yes", "no": "NO", "none": "n/a", "": "not run"}
OWN_FORMAT = "`--format redisson`"  # at the end of the titles of peers that we share a format of their own with
HEADINGS = {"Libraries": False, "Redisson, in its own format": True}  # of the tables of peers


def joint(cells):
    """What several cells come to: the worst of them."""
    outcomes = [cell["outcome"] for cell in cells if cell]
    return next((word for word in ("no", "yes", "none") if word in outcomes), "")


def without_cells(row):
    """What stands in place of the cells of a row that has none."""
    return next((f"{word}: {row[word]}" for word in ("skipped", "broken") if word in row), "")


def is_in_own_format(title):
    return title.endswith(OWN_FORMAT)


def peer_row(row, columns):
    cells = [words] if (words := without_cells(row)) else [
        LEGEND[joint([row["modes"][mode].get(function.__name__) for mode in row["modes"] for function in columns[column]])]
        for column in columns]
    name = row["title"] + (f", keys `{row['prefix']}NAME`" if row["prefix"] else "")
    return [name, row["version"], str(row["nodes"]), *cells, *[""] * (len(columns) - len(cells)), row["date"]]


def peer_table(document, in_own_format):
    """The libraries in the common format, or those with one of their own that we speak, too: each with what it can do."""
    columns = sharing.columns(in_own_format)
    rows = [peer_row(row, columns) for row in document["peers"] if is_in_own_format(row["title"]) == in_own_format]
    return ["library", "version", "nodes", *columns, "tried"], rows


def wakes(document):
    """How long the two sides took to come in after the other's release, where that was seen."""
    found = []
    for row in document["peers"]:
        for cells in row.get("modes", {}).values():
            for cell in cells.values():
                if "took" in cell:
                    found.append(f"{row['title']}: ours {cell['took']['ours_ms']} ms after its release, its own "
                                 f"{cell['took']['theirs_ms']} ms after ours")
    return found


def times(document, took_s):
    """Where the time of a run went: sums over rows that were made side by side, the longest first."""
    sums = collections.Counter()
    for row in document["peers"] + document["servers"]:
        sums["installing"] += row.get("installing", 0)
        sums["integration and cli tests"] += row.get("tests", {}).get("seconds", 0)
        for cells in row.get("modes", {}).values():
            for name, cell in cells.items():
                sums[name.replace("_", " ")] += cell.get("seconds", 0)
    processor = sum(row.get("processor", 0) for row in document["peers"] + document["servers"])
    lines = [f"{took_s / 60:.1f} minutes; rows had {processor / 60:.1f} minutes of processor time. Summed over rows, in minutes:"]
    return "\n".join(lines + [f"{seconds / 60:6.1f}  {name}" for name, seconds in sums.most_common() if seconds >= 1])


def count(row, mode):
    if mode not in row["modes"]:
        return LEGEND[""]
    cells = row["modes"][mode].values()
    passed = sum(cell["outcome"] == "yes" for cell in cells)
    return f"{passed} of {len(cells)}"


def tests_cell(row):
    tests = row.get("tests")
    if not tests:
        return "n/a" if row["name"] == "mixed" else "not run"
    notes = [] if tests["has_tls"] else ["built without TLS"]
    notes += ["a selection"] if tests.get("is_selection") else []
    notes += [f"{len(tests['skipped'])} cases skipped"] if tests.get("skipped") else []
    return ", ".join([f"{tests['total'] - len(tests['failed'])} of {tests['total']}", *notes])


def server_table(document):
    rows = []
    for row in document["servers"]:
        cells = [words] if (words := without_cells(row)) else [
            *(count(row, mode) for mode in serving.MODES), tests_cell(row)]
        cells += [""] * (len(serving.MODES) + 1 - len(cells))
        rows.append([row["name"], row["version"], *cells, row["date"]])
    return ["server", "version", *serving.MODES, "integration and cli tests", "tried"], rows


def problems(document):
    """Every cell that is not a yes and why; those who share both share a line."""
    found = {}
    for row in document["peers"] + document["servers"]:
        for why, what in problems_of(row).items():
            words = "; ".join(in_words(name, modes) for name, modes in what.items())
            found.setdefault((why, words), []).append(row.get("title", row["name"]))
    return [f"{', '.join(who)}: {words}: {why}" for (why, words), who in found.items()]


def problems_of(row):
    """By reason, and by behaviour: in which modes."""
    found = {}
    for mode, cells in row.get("modes", {}).items():
        for name, cell in cells.items():
            if cell["outcome"] == "no":
                found.setdefault(cell["why"], {}).setdefault(name, []).append(mode)
    failed = row.get("tests", {}).get("failed")
    return found | ({"these tests fail with it": {test: [] for test in failed}} if failed else {})


def skips(document):
    """Cases that tests of ours skipped, and the servers with which they did."""
    found = {}
    for row in document["servers"]:
        for case in row.get("tests", {}).get("skipped", []):
            found.setdefault(case, []).append(row["name"])
    return [f"skipped with {', '.join(names)}: {case}" for case, names in found.items()]


def in_words(name, modes):
    return name.replace("_", " ") + (f" ({', '.join(modes)})" if modes else "")


def as_text(table):
    headers, rows = table
    rows = [row + [""] * (len(headers) - len(row)) for row in [headers, *rows]]
    widths = [max(len(row[i]) for row in rows if not row[i].startswith(("skipped", "broken"))) for i in range(len(headers))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def as_markdown(table):
    headers, rows = table
    lines = [headers, ["---"] * len(headers), *(row + [""] * (len(headers) - len(row)) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def document_text(document):
    parts = []
    for heading, in_own_format in HEADINGS.items():
        if (table := peer_table(document, in_own_format))[1]:
            parts += [heading, as_text(table), ""]
    if document["servers"]:
        parts += ["Servers", as_text(server_table(document)), ""]
    return "\n".join(parts + wakes(document) + problems(document) + skips(document))


def served_by(document):
    return ", ".join(sorted({row["server"] for row in document["peers"] if row["server"]}))


def tables_before(text):
    """The rows of each table in the document as it is, by heading: what each column says."""
    found = {}
    date = re.search(r"^redlock \S+, (\d{4}-\d\d-\d\d)", text, re.M)
    for heading in (*HEADINGS, "Servers"):
        part = re.search(rf"### {heading}\n\n((?:\|.*\n)+)", text)
        lines = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in part[1].splitlines()] if part else [[], []]
        found[heading] = [{"tried": date[1] if date else ""} | dict(zip(lines[0], cells)) for cells in lines[2:]]
    return found


def wakes_with_earlier(document, before):
    """How long wakes took, with the lines of the document about peers that were not tried again."""
    now = wakes(document)
    titles = {line.split(": ours ")[0] for line in now}
    return now + [line for line in re.findall(r"^- (.*: ours .* ms after ours)$", before, re.M) if line.split(": ours ")[0] not in titles]


def with_earlier(table, earlier, order):
    """The table with those rows of the document that it has none for; a column that they lack is about what they cannot do."""
    headers, rows = table
    names = {row[0] for row in rows}
    kept = [[row.get(header, LEGEND["none"]) for header in headers] for row in earlier if row.get(headers[0]) not in names]
    places = {name: place for place, name in enumerate(order)}
    return headers, sorted(rows + kept, key=lambda row: places.get(row[0].split(", keys")[0], len(places)))


def document_markdown(document, before=""):
    earlier = tables_before(before)
    tried = with_earlier(server_table(document), earlier["Servers"], [*(server.name for server in servers.SERVERS), "mixed"])
    on = f", libraries on {served_by(document)}" if document["peers"] else ""
    parts = [BEGIN, f"redlock {document['redlock']}, {document['date']}{on}. Rows with an earlier date are of the version of that day.", ""]
    for heading, in_own_format in HEADINGS.items():
        table = with_earlier(peer_table(document, in_own_format), earlier[heading], [peer.title for peer in peers.PEERS])
        parts += [f"### {heading}", "", as_markdown(table), ""]
    parts += ["### Servers", "", as_markdown(tried), ""]
    if told := wakes_with_earlier(document, before):
        parts += ["From a release to the entry of the other side's waiter, by the clock of the node that was last, in one run each:", "",
                  *(f"- {line}" for line in told), ""]
    parts += [f"mixed: one node each of {', '.join(servers.MIXED)}.", ""]
    notes = problems(document)
    parts += ["What failed:", "", *(f"- {line}" for line in notes), ""] if notes else []
    return "\n".join(parts + [END])


def write_into(path, document):
    """Replaces the tables of a Markdown document."""
    text = path.read_text()
    before, rest = text.split(BEGIN)
    tables, behind = rest.split(END)
    path.write_text(before + document_markdown(document, tables) + behind)
