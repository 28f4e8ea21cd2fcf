#!/usr/bin/env python3
"""Builds CHANGELOG.md from the notes below changelog/: changelog.py [--check]

Each folder is a version: `unreleased`, or `VERSION_YEAR-MONTH-DAY`. The notes of a version are sorted by kind (Change, New, Fix) and then by the names of their files.
With --check, writes nothing: prints one line for each note that breaks the form (changelog/TEMPLATE.md), and one if CHANGELOG.md is not what would be written. The exit
code is 1 if there is any such line; without --check too, and nothing is written then.
"""
import os
import re
import sys

KINDS = ["Change", "New", "Fix"]
LIMIT = 120
BODY_LIMIT = 4
HEADER = """# Changelog

`mount-scripts/changelog.py` builds this page from the notes in `changelog/`.
*Change* is something that works otherwise now, *New* something that was not there before, *Fix* something that was wrong.
"""


class Note:
    def __init__(self, path):
        self.path, self.problems = path, []
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = text.split("\n")
        if lines[-1] != "" or text.endswith("\n\n"):
            self.problems.append("does not end with one line feed")
        while lines and lines[-1] == "":
            lines.pop()
        self.head, self.body = (lines or [""])[0], lines[2:]
        self.kind = self.head.partition(":")[0]
        if not re.match(rf"({'|'.join(KINDS)}): \S", self.head):
            self.problems.append(f"does not begin with one of {', '.join(kind + ':' for kind in KINDS)} and a space")
        elif self.head.endswith("."):
            self.problems.append("has a full stop at the end of its first line")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.md", os.path.basename(path)):
            self.problems.append("has a name with other characters than lower-case letters, digits and hyphens")
        if len(lines) > 1 and (lines[1] != "" or len(lines) == 2):
            self.problems.append("has no blank line after its first line")
        if len(self.body) > BODY_LIMIT:
            self.problems.append(f"has {len(self.body)} lines after the blank one, more than {BODY_LIMIT}")
        for number, line in enumerate(lines, 1):
            if len(line) > LIMIT:
                self.problems.append(f"has {len(line)} characters in line {number}, more than {LIMIT}")
            if line != line.strip() or (number > 2 and line == ""):
                self.problems.append(f"has a blank too many in line {number}")

    @property
    def order(self):
        return (KINDS.index(self.kind) if self.kind in KINDS else len(KINDS), os.path.basename(self.path))

    @property
    def text(self):
        return f"* {self.head}\n" + ("\n" + "".join(f"  {line}\n" for line in self.body) if self.body else "")


def versions():
    """Folders of notes with their headings: what is unreleased first, then the newest."""
    def key(name):
        return [int(part) for part in re.findall(r"\d+", name)]

    folders = [name for name in os.listdir("changelog") if os.path.isdir(os.path.join("changelog", name))]
    for name in sorted(folders, key=lambda name: (name == "unreleased", key(name)), reverse=True):
        version, _, day = name.partition("_")
        yield name, "Unreleased" if name == "unreleased" else f"{version} ({day})"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    text, problems = HEADER, []
    for name, heading in versions():
        folder = os.path.join("changelog", name)
        notes = sorted((Note(os.path.join(folder, file)) for file in os.listdir(folder)), key=lambda note: note.order)
        problems += [f"{note.path}: {problem}  <- changelog/TEMPLATE.md" for note in notes for problem in note.problems]
        text += f"\n## {heading}\n" + "".join("\n" + note.text for note in notes)
    if "--check" in sys.argv[1:] and not problems:
        with open("CHANGELOG.md", encoding="utf-8") as file:
            if file.read() != text:
                problems.append("CHANGELOG.md: is not up to date; run mount-scripts/changelog.py")
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(1)
    if "--check" not in sys.argv[1:]:
        with open("CHANGELOG.md", "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
