"""The tables of a benchmark, as aligned text and as Markdown, from the document that summary.py makes."""

LIMIT_FIGURES = (("acquire_p50_us", "acquire p50, us", 0), ("acquire_p99_us", "acquire p99, us", 0),
                 ("pairs_per_s", "pairs per second", 0), ("cpu_us_per_pair", "client CPU, us a pair", 1))
CLASSIC = {1: ("2 ms", "5,000"), 3: ("5 ms", "2,000"), 5: ("8 ms", "1,200")}  # published for 100 clients
NETWORKS = {"tcp": "", "unix": " unix", "1ms": " 1 ms", "spare": ""}
LEGEND = """\
A cell is what was measured / what it is compared with = ratio. Figures are medians of the turns; the ratio is the median of
the ratios within a turn, and ~ instead of = says that these differed by more than half: the machine did something else.
The bare loop is one epoll loop that sends the same bytes for as many callers over one connection per node and waits for
N/2+1 answers; 1.00 is as good as that. The hiredis loop does the same on hiredis. Latency and CPU: lower is better. A
pair is an acquire and a release. Nodes, client and, with a 1 ms round trip, the proxy share the cores.
Contention: all want one name, hold it for no time and ask again at once. fifo is a bare loop that knows the order and sends
the next acquire right behind the release; naive asks again after a random 0 to 200 (or 10) ms. A bare
hand-over stands in line at the nodes by the library's own scripts and does nothing else. A wait that the end of
the run cut off counts as long as it was."""


def count(value, digits=0):
    return f"{value:,.{digits}f}"


def cell(figure, digits):
    if not figure:
        return ""
    if "ratio" not in figure:
        return count(figure["subject"], digits)
    sign = "~" if figure["ratio_max"] > 1.5 * figure["ratio_min"] else "="
    return f"{count(figure['subject'], digits)} / {count(figure['base'], digits)} {sign} {figure['ratio']:.2f}"


def alone(row, key, digits=0, scale=1):
    figure = row["figures"].get(key)
    return count(figure["subject"] * scale, digits) if figure else ""


def place(row):
    transport, nodes = row["run"]["fleet"].split()
    return nodes + NETWORKS.get(transport, "")


def of_table(document, table):
    return [row for row in document["rows"] if row["table"] == table]


def ratio_table(document, table, title):
    headers = ["workload", "nodes", "mode", "against", *(heading for _, heading, _ in LIMIT_FIGURES)]
    rows = []
    for row in of_table(document, table):
        if row["label"] == "acquire alone":
            continue
        cells = [cell(row["figures"].get(key), digits) for key, _, digits in LIMIT_FIGURES]
        rows.append([row["label"], place(row), row["run"]["mode"], row["against"], *(cells if "skipped" not in row else skip(row, cells))])
    return title, headers, rows


def skip(row, cells):
    return [f"skipped: {row['skipped']}"] + [""] * (len(cells) - 1)


def cost_table(document):
    rows = []
    for row in of_table(document, "itself"):
        if row["against"] != "plain":
            continue
        acquired, twice = (row["figures"].get(key, {}).get("subject") for key in ("acquired", "fence_rounds"))
        share = f"{100 * (1 - twice / acquired):.3f} %" if acquired else ""
        rows.append([row["label"], place(row), cell(row["figures"].get("node_us_per_acquire"), 2),
                     cell(row["figures"].get("nodes_cpu_us_per_pair"), 1), share])
    return ("What the nodes do: guarded / plain",
            ["workload", "nodes", "a node's us per acquire", "all nodes' CPU, us a pair", "fencing token agreed in one round"], rows)


def classic_table(document):
    """The published table of 100 clients, and ours."""
    found = {(row["label"], row["run"]["mode"], row["run"]["fleet"]): row
             for row in of_table(document, "limit") if row["against"] == "bare loop"}
    rows = []
    for nodes, (latency, rate) in CLASSIC.items():
        ours = [found.get((label, mode, f"tcp {nodes}"))
                for mode in ("plain", "guarded") for label in ("100 threads", "100 async")]
        if any(ours):
            rows.append([str(nodes), latency, rate, *(latency_and_rate(row) if row else "" for row in ours)])
    return ("100 clients: latency p50 and pairs per second, beside published figures",
            ["nodes", "published", "per second", "threads, plain", "async, plain", "threads, guarded", "async, guarded"], rows)


def latency_and_rate(row):
    return f"{alone(row, 'acquire_p50_us', 2, 0.001)} ms, {alone(row, 'pairs_per_s')}"


def contention_table(document):
    headers = ["contenders", "nodes", "mode", "against", "acquisitions/s", "wait p50, ms", "p99, ms", "max, ms",
               "least", "most"]
    rows = []
    for row in of_table(document, "contention"):
        cells = [cell(row["figures"].get("pairs_per_s"), 0),
                 *(alone(row, f"acquire_{key}_us", 2, 0.001) for key in ("p50", "p99", "max")),
                 alone(row, "least"), alone(row, "most")]
        rows.append([row["label"], place(row), row["run"]["mode"], row["against"], *(cells if "skipped" not in row else skip(row, cells))])
    return "Contention: one name", headers, rows


def kinds_table(document):
    headers = ["callers", "nodes", "against", "acquisitions/s", "acquire p50, us", "p99, us", "rounds each", "least", "most"]
    rows = []
    for row in of_table(document, "kinds"):
        cells = [cell(row["figures"].get("pairs_per_s"), 0), *(cell(row["figures"].get(f"acquire_{key}_us"), 1) for key in ("p50", "p99")),
                 alone(row, "rounds_per_pair", 2), alone(row, "least"), alone(row, "most")]
        rows.append([row["label"], place(row), row["against"], *(cells if "skipped" not in row else skip(row, cells))])
    return "Kinds of lock, guarded", headers, rows


def held_table(document):
    headers = ["held", "mode", "CPU, % of a core", "renewals in 5 s", "bytes a lock beyond its name",
               "resident bytes a lock", "client, KiB", "lost"]
    rows = []
    for row in of_table(document, "held"):
        many = row["run"]["clients"] >= 10000  # below that it is the pages and pools of the start that one would divide
        rows.append([row["label"], row["run"]["mode"], alone(row, "cpu_percent", 2), alone(row, "renewals"),
                     alone(row, "bytes_per_lock_beyond_name") if many else "",
                     alone(row, "resident_bytes_per_lock") if many else "", alone(row, "client_kib"), alone(row, "lost")])
    return "Locks that are held: auto-extend at a TTL of 15 s, 5 nodes", headers, rows


def waiting_table(document):
    rows = [[row["label"], row["run"]["mode"], alone(row, "node_commands_per_waiter", 1), alone(row, "cpu_percent", 2)]
            for row in of_table(document, "waiting")]
    return ("Waiting for a lock that is held for 10 s and renewed twice, 5 nodes",
            ["waiters", "mode", "commands at a node, each", "CPU, % of a core"], rows)


def peer_table(document):
    headers = ["peer", "nodes", "1 caller p50, us", "p99, us", "pairs/s", "100 callers pairs/s", "1 frozen p50, us",
               "pairs/s", "16 on one name, /s", "wait p99, ms", "least", "most"]
    rows = []
    for peer in document["peers"]:
        if "skipped" in peer:
            rows.append([peer["name"], "", f"skipped: {peer['skipped']}"] + [""] * 9)
            continue
        lone, many, frozen, one = (peer["rows"].get(key, {}) for key in ("lone", "callers", "frozen", "contend"))
        rows.append([peer["name"], peer["fleet"], number(lone, "acquire_p50_us"), number(lone, "acquire_p99_us"),
                     number(lone, "pairs_per_s"), number(many, "pairs_per_s"), number(frozen, "acquire_p50_us"),
                     number(frozen, "pairs_per_s", 1), number(one, "pairs_per_s"), number(one, "acquire_p99_us", 1, 0.001),
                     number(one, "least"), number(one, "most")])
    return "Peers, each as its documentation says", headers, rows


def number(figures, key, digits=0, scale=1):
    if "failed" in figures:
        return figures["failed"].split(":")[0]
    return count(figures[key] * scale, digits) if key in figures else ""


def target_table(document):
    rows = []
    for target in document["targets"]:
        value, low, high = target["measured"], target["min"], target["max"]
        spread = f"{low:.2f} to {high:.2f}" if low is not None else ""
        words = {True: "met", False: "not met", None: "not measured"}[target["met"]]
        rows.append([target["words"], f"{target['sign']} {target['target']:g}",
                     f"{value:.2f}" if value is not None else "", spread, words])
    return "Targets", ["what", "target", "measured", "of the turns", ""], rows


def tables(document):
    made = [ratio_table(document, "limit", "Against the limit"), ratio_table(document, "itself", "Against itself"),
            cost_table(document), classic_table(document), contention_table(document), kinds_table(document),
            held_table(document), waiting_table(document),
            *([peer_table(document)] if document["peers"] else []), target_table(document)]
    return [table for table in made if table[2]]


def heading(document):
    about = document["machine"]
    return (f"{about['cores']} cores, {about['arch']}, Redis {about['redis']}, load before {about['load']}, "
            f"up to {about['turns']} turns of {about['seconds']} s")


def aligned(headers, rows):
    plain = [row for row in rows if not any(word.startswith("skipped") for word in row)]
    widths = [max(len(line[i]) for line in [headers, *plain]) for i in range(len(headers))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in [headers, *rows])


def markdown(headers, rows):
    return "\n".join("| " + " | ".join(line) + " |" for line in [headers, ["---"] * len(headers), *rows])


def as_text(document):
    parts = [heading(document)]
    for title, headers, rows in tables(document):
        parts.append(f"{title.upper()}\n{aligned(headers, rows)}")
    return "\n\n".join([*parts, LEGEND])


def as_markdown(document):
    parts = [heading(document).capitalize() + "."]
    for title, headers, rows in tables(document):
        parts.append(f"### {title}\n\n{markdown(headers, rows)}")
    return "\n\n".join(parts)
