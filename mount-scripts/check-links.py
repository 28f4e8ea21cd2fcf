#!/usr/bin/env python3
"""Checks the relative links of all pages: check-links.py [FOLDER]

Each link must lead to a file or folder of the project, and its anchor to a heading of that page; a link in code is text. Notes in changelog/unreleased/ become a part of CHANGELOG.md, so
their links begin at the top of the project. A page in Docs/ must also be in the index, Docs/README.md; decisions have an index of their own. Prints one line for
each violation and ends with exit code 1 if there is any.
"""
import os
import re
import sys

FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SKIPPED_FOLDERS = {".git", ".build", "Sources", "Tests"}


def pages():
    found = []
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        found += [os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(".md")]
    return found


def prose(path):
    """The lines outside of code blocks, with their numbers."""
    fenced = False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if FENCE.match(line):
                fenced = not fenced
            elif not fenced and not line.startswith("    "):
                yield number, line.rstrip("\n")


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for _, line in prose(path):
        match = re.match(r"#+ +(.*)", line)
        if not match:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).strip().lower()
        name = "".join(c for c in title if c.isalnum() or c in " -_").replace(" ", "-")
        candidate, count = name, 0
        while candidate in found:
            count += 1
            candidate = f"{name}-{count}"
        found.add(candidate)
    return found


def check(path, known):
    base = "." if path.startswith("changelog/unreleased/") else os.path.dirname(path) or "."
    for number, line in prose(path):
        for target in LINK.findall(CODE.sub("", line)):
            if "://" in target or target.startswith("mailto:"):
                continue
            name, _, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(base, name)) if name else path
            if file.startswith("..") or not os.path.exists(file):
                yield f"{path}:{number}: {target} leads nowhere"
            elif anchor and file.endswith(".md"):
                if file not in known:
                    known[file] = anchors(file)
                if anchor not in known[file]:
                    yield f"{path}:{number}: {file} has no heading {anchor}"


def unlisted(paths):
    index = "Docs/README.md"
    if not os.path.exists(index):
        return
    listed = {os.path.normpath(os.path.join("Docs", target.partition("#")[0])) for _, line in prose(index) for target in LINK.findall(line)}
    for path in paths:
        if path.startswith("Docs/") and path != index and path not in listed and not path.startswith("Docs/decisions/"):
            yield f"{path}: {index} does not list this page"


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    paths, known = pages(), {}
    violations = [violation for path in paths for violation in check(path, known)] + list(unlisted(paths))
    for violation in violations:
        print(violation)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
