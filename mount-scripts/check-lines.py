#!/usr/bin/env python3
"""Finds lines of prose that are too long: check-lines.py FILE-OR-FOLDER…

Checks the pages (*.md) among them, and the comments of Swift files that have a line of their own: the formatter leaves those
alone. Tables, headings, code blocks, comments of pages and what precedes a page between lines of `---` may be of any length,
and so may a line that cannot be broken: one link, one piece of code, one word. Prints one line for each violation and ends
with exit code 1 if there is any.
"""
import os
import re
import sys

LIMIT = 120
# As for code: .swift-format.
COMMENT_LIMIT = 130
# Written by a program, or older than this rule.
SKIPPED = ("Docs/decisions/", "Docs/benchmarks.md")


def pages(arguments):
    for argument in arguments:
        if os.path.isfile(argument):
            yield argument
        for folder, _, names in sorted(os.walk(argument)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith((".md", ".swift")) and not path.startswith(SKIPPED):
                    yield path


def breakable(line):
    """Whether a line break could stand in it, after the mark of a list item."""
    text = re.sub(r"^\s*([-*]|\d+\.) +", "", line.strip())
    text = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\*\*[^*]+\*\*", "x", text)
    return " " in text


def violations(path):
    fenced = opening = listed = False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if number == 1 and line == "---":
                opening = True
            elif opening:
                opening = line != "---"
            elif re.match(r"\s*```", line):
                fenced = not fenced
            elif fenced or re.match(r"\s*(\||#|<!--)", line):
                continue
            else:
                # Four spaces are code, but not in a list.
                listed = re.match(r" {0,3}([-*]|\d+\.) ", line) is not None or (listed and (line == "" or line.startswith("  ")))
                if len(line) > LIMIT and (listed or not line.startswith("    ")) and breakable(line):
                    yield f"{path}:{number}: {len(line)} characters, more than {LIMIT}"


def comment_violations(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if len(line) > COMMENT_LIMIT and re.match(r"\s*/{2,3}(?!/) *[^| /]", line):
                yield f"{path}:{number}: a comment of {len(line)} characters, more than {COMMENT_LIMIT}"


def main():
    check = {True: comment_violations, False: violations}
    found = [violation for path in pages(sys.argv[1:]) for violation in check[path.endswith(".swift")](path)]
    for violation in found:
        print(violation)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
