"""Draws the results as one SVG of four panels, with the standard library alone."""

import html
import math

WIDTH, HEIGHT = 1100, 900
PANEL_WIDTH, PANEL_HEIGHT = 450, 290
COLOURS = {"bare loop": "#555555", "fifo": "#555555", "async": "#1b6ca8", "threads": "#d1495b", "processes": "#1b6ca8",
           "plain": "#1b6ca8", "guarded": "#d1495b", "naive": "#b58900"}


def points(document, table, label, x, y, **wanted):
    """What a line goes through: [(x, y)] of the rows with this label and these properties of their run."""
    found = []
    for row in document["rows"]:
        same = all(row["run"].get(key) == value for key, value in wanted.items())
        if row["table"] == table and row["label"] == label and same and row["against"] in ("bare loop", "fifo", ""):
            point = (x(row["run"]), y(row["figures"]))
            if None not in point:
                found.append(point)
    return sorted(set(found))


def nodes_of(run):
    """None: not on plain TCP, not in this picture."""
    return int(run["fleet"].split()[1]) if run["fleet"].startswith("tcp") else None


def figure(key, part="subject", scale=1):
    def pick(figures):
        value = figures.get(key, {}).get(part)
        return None if value is None else value * scale
    return pick


def over_nodes(document, label, mode, y):
    return points(document, "limit", label, nodes_of, y, mode=mode)


def panels(document):
    pairs, bare = figure("pairs_per_s", scale=0.001), figure("pairs_per_s", "base", 0.001)
    p50, bare_p50 = figure("acquire_p50_us"), figure("acquire_p50_us", "base")
    yield ("One caller: acquire p50, µs", "nodes", [
        (f"{name} {mode}", mode if name == "redlock" else "bare loop", mode == "plain", over_nodes(document, "1 caller", mode, y))
        for mode in ("plain", "guarded") for name, y in (("redlock", p50), ("bare loop", bare_p50))])
    yield ("100 callers: thousand pairs per second", "nodes", [
        (f"{name} {mode}", name, mode == "plain", over_nodes(document, f"100 {'threads' if name == 'threads' else 'async'}", mode, y))
        for mode in ("plain", "guarded") for name, y in (("threads", pairs), ("async", pairs), ("bare loop", bare))])
    yield ("One name, no delay: acquisitions per second", "contenders", contention_lines(document, "tcp 5"))
    yield ("One name, 1 ms round trip: acquisitions per second", "contenders", contention_lines(document, "1ms 5"))


def contention_lines(document, fleet):
    rate, limit = figure("pairs_per_s"), figure("pairs_per_s", "base")
    lines = {"fifo": [], "threads": [], "processes": [], "naive 200 ms": []}
    for contenders in (16, 64):
        for how, mode in (("threads", "guarded"), ("processes", "guarded"), ("naive 200 ms", "plain")):
            lines[how] += points(document, "contention", f"{contenders} {how}", lambda _, at=contenders: at, rate, fleet=fleet, mode=mode)
        lines["fifo"] += points(document, "contention", f"{contenders} threads", lambda _, at=contenders: at, limit, fleet=fleet, mode="guarded")
    return [(name, name.split()[0], name != "fifo", line) for name, line in lines.items()]


def ticks(top):
    step = 10 ** math.floor(math.log10(top))
    step = next(step * part for part in (0.1, 0.2, 0.25, 0.5, 1, 2) if top / (step * part) <= 6)
    return [i * step for i in range(int(top / step) + 2) if i * step <= top * 1.02]


def text(x, y, words, size=13, anchor="start", colour="#222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{html.escape(words)}</text>')


def draw_axes(places, top, unit, left, base):
    for value in ticks(top):
        y = base - PANEL_HEIGHT * value / (top * 1.05)
        yield f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL_WIDTH}" y2="{y:.1f}" stroke="#ddd"/>'
        yield text(left - 8, y + 4, f"{value:,g}", 12, "end", "#555")
    for value, x in places.items():
        yield text(x, base + 18, str(value), 12, "middle", "#555")
    yield text(left + PANEL_WIDTH, base + 34, unit, 12, "end", "#555")


def draw_line(number, name, colour, solid, line, places, y_of, left, top_y):
    dash = "" if solid else ' stroke-dasharray="6 4"'
    path = " ".join(f"{places[x]:.1f},{y_of(y):.1f}" for x, y in line)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2"{dash}/>'
    for x, y in line:
        yield f'<circle cx="{places[x]:.1f}" cy="{y_of(y):.1f}" r="3.2" fill="{colour}"/>'
    x, y = left + 8 + 150 * (number % 3), top_y + 18 * (number // 3)
    yield f'<line x1="{x}" y1="{y}" x2="{x + 26}" y2="{y}" stroke="{colour}" stroke-width="2.2"{dash}/>'
    yield text(x + 32, y + 4, name, 12)


def draw_panel(title, unit, lines, left, top):
    """Values of x stand side by side at equal distances; y starts at 0."""
    lines = [line for line in lines if line[3]]
    if not lines:
        return
    values = sorted({x for _, _, _, line in lines for x, _ in line})
    step = PANEL_WIDTH / len(values)
    places = {value: left + step * (i + 0.5) for i, value in enumerate(values)}
    highest = max(y for _, _, _, line in lines for _, y in line)
    base = top + 66 + PANEL_HEIGHT
    yield text(left, top, title, 15, weight="bold")
    yield from draw_axes(places, highest, unit, left, base)
    for number, (name, colour, solid, line) in enumerate(lines):
        yield from draw_line(number, name, COLOURS[colour], solid, line, places,
                             lambda y: base - PANEL_HEIGHT * y / (highest * 1.05), left, top + 20)


def as_svg(document, heading):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', text(30, 26, "redlock: " + heading, 12, colour="#555")]
    for number, (title, unit, lines) in enumerate(panels(document)):
        parts += draw_panel(title, unit, lines, 70 + 535 * (number % 2), 60 + 430 * (number // 2))
    return "\n".join([*parts, "</svg>"]) + "\n"
