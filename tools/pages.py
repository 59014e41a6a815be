"""The pages of the documentation, their code blocks, headings and links. It runs nothing and checks nothing."""

import dataclasses
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(.*)$")
MARK = re.compile(r"^<!-- (not run|run by): (.+) -->$")
HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclasses.dataclass(frozen=True)
class Block:
    page: pathlib.Path
    line: int  # of its first fence, from 1
    language: str
    text: str
    not_run: str = ""  # why, when the page says that no test runs it
    run_by: str = ""  # the test that runs it, when that is not test/docs

    @property
    def where(self):
        return f"{self.page.relative_to(SOURCE)}:{self.line}"


def all_pages(source=SOURCE):
    """README.md, CONTRIBUTING.md and docs, in a fixed order."""
    return [source / "README.md", source / "CONTRIBUTING.md", *sorted((source / "docs").glob("*.md"))]


def blocks(page):
    """The fenced blocks of a page, each with the mark in the line before it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found, start = [], None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if not fence:
            continue
        if start is None:
            start = number
            continue
        mark = MARK.match(lines[start - 1]) if start else None
        found.append(Block(page, start + 1, FENCE.match(lines[start])[1], "\n".join(lines[start + 1:number]),
                           mark[2] if mark and mark[1] == "not run" else "", mark[2] if mark and mark[1] == "run by" else ""))
        start = None
    return found


def prose(page):
    """The lines of a page outside its code blocks, as (number, text)."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def slug(heading, seen):
    """The anchor of a heading, as GitHub makes it; seen counts those of the page so far."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    made = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    count = seen.get(made, 0)
    seen[made] = count + 1
    return f"{made}-{count}" if count else made


def headings(page):
    """(level, text, anchor) of each heading."""
    seen = {}
    matches = (HEADING.match(line) for _, line in prose(page))
    return [(len(match[1]), match[2], slug(match[2], seen)) for match in matches if match]


def links(page):
    """(line, target) of each link and picture."""
    return [(number, match[1]) for number, line in prose(page) for match in LINK.finditer(re.sub(r"`[^`]*`", "", line))]


def is_example(block):
    """Whether its lines are in one of the examples, one after the other and each as a whole."""
    endings = {"c": ["*.c"], "cpp": ["*.cpp"], "sh": ["shell/*.sh", "serve/*.sh"], "python": ["serve/*.py"]}
    files = [file for ending in endings.get(block.language, []) for file in (SOURCE / "examples").glob(ending)]
    return any(f"\n{block.text}\n" in f"\n{file.read_text(encoding='utf-8')}\n" for file in files)
