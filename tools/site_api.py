"""Reads include/redlock.h into sections of declarations, each with the comment above it. It knows this header's style, not C."""

import dataclasses
import re

SECTION = re.compile(r"^/\* -{4,} (.+?) -+ \*/$")


@dataclasses.dataclass
class Entry:
    name: str
    text: str  # the declaration as it is in the header
    words: list  # paragraphs of the comment
    is_function: bool


@dataclasses.dataclass
class Section:
    title: str
    entries: list

    @property
    def anchor(self):
        return "section-" + re.sub(r"\W+", "-", self.title.lower()).strip("-")


def paragraphs(comment):
    """The text of a comment, without its stars, as paragraphs; an item of a list is one."""
    lines = [re.sub(r"^\s*(/\*+|\*+/|\*)?\s?", "", line).replace("*/", "").strip() for line in comment.splitlines()]
    found = [""]
    for line in lines:
        if not line or line.startswith("- "):
            found.append("")
        found[-1] = f"{found[-1]} {line}".strip()
    return [words for words in found if words]


def name_of(text):
    """The name that a declaration declares, and whether it is a function; None for what is no part of the interface."""
    for pattern, is_function in ((r"^REDLOCK_API\b.*?\b(redlock_\w+)\(", True), (r"^typedef\b.*\(\*(redlock_\w+)\)\(", False),
                                 (r"^typedef\b.*?\b(redlock_\w+);\s*$", False), (r"^#define (REDLOCK_[A-Z_]*[A-Z])\b", False)):
        match = re.search(pattern, text, re.S)
        if match and not match[1].endswith(("_H", "_API", "_CHECK")):
            return match[1], is_function
    return None, False


def read_header(path):
    """Sections in the order of the header. What comes before the first one with a title are constants and types."""
    lines = path.read_text(encoding="utf-8").splitlines()
    sections, comment, at = [Section("Types", [])], "", 0
    while at < len(lines):
        line = lines[at]
        title = SECTION.match(line)
        if title:
            sections.append(Section(title[1].capitalize(), []))
        elif line.startswith("/*"):
            end = next(i for i in range(at, len(lines)) if "*/" in lines[i])
            comment, at = "\n".join(lines[at:end + 1]), end + 1
            continue
        elif line.startswith(("typedef", "REDLOCK_API")):
            ends = r"^\}.*;|^[^{]*\);|^typedef [^{]*;" if "{" not in line else r"^\}.*;"
            end = next(i for i in range(at, len(lines)) if re.search(ends, lines[i]))
            text = "\n".join(lines[at:end + 1])
            name, is_function = name_of(text)
            if name:
                shown = re.sub(r"^REDLOCK_API (REDLOCK_MUST_CHECK )?", "", text)
                sections[-1].entries.append(Entry(name, re.sub(r"\n {20,}", "\n    ", shown) if is_function else shown, paragraphs(comment), is_function))
            at = end
        if line.strip() and not line.startswith("/*"):
            comment = ""
        at += 1
    return [section for section in sections if section.entries]
