#!/usr/bin/env python3
"""Finds circles between the folders of each target under Sources, from the names that their files declare and use.

A folder uses another one when one of its files names a type, function or constant that is declared at the top level of a
file of the other, or calls a member that only an extension in the other declares. The compiler orders the targets; nothing
but this orders the folders. Exits with 1 when there is a circle.

    check-architecture.py [--edges] [--sizes] [--root FOLDER] [TARGET ...]

--edges: each use inside a circle, instead of three for each pair of folders
--sizes: the number of files and lines, and the median of lines, of each target and of all
--root: the folder with Sources, instead of this project's
"""
import collections
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DECLARATION = re.compile(
    r"\b(struct|class|enum|protocol|actor|typealias|associatedtype|func|let|var|case|macro|extension)\s+(`?[A-Za-z_][\w.]*`?)")
TOKEN = re.compile(r"\.?[A-Za-z_]\w*\(?")
TYPES = {"struct", "class", "enum", "protocol", "actor", "typealias", "macro"}


def code_of(text):
    """The text with comments and the contents of string literals blanked; code in interpolations stays."""
    out = []
    index, length = 0, len(text)
    # A stack of what encloses the position: ("string", delimiter, hashes) or ("interpolation", depth of parentheses).
    stack = []
    while index < length:
        inside = stack[-1] if stack else None
        character = text[index]
        if inside and inside[0] == "string":
            _, delimiter, hashes = inside
            if text.startswith("\\" + hashes + "(", index):
                out.append(" (")
                index += 2 + len(hashes)
                stack.append(["interpolation", 1])
            elif text.startswith(delimiter + hashes, index):
                out.append(" ")
                index += len(delimiter) + len(hashes)
                stack.pop()
            elif character == "\\" and not hashes:
                # A string of several lines can have a backslash at the end of a line.
                out.append("\n" if text.startswith("\n", index + 1) else "")
                index += 2
            else:
                out.append("\n" if character == "\n" else "")
                index += 1
            continue
        if text.startswith("//", index):
            end = text.find("\n", index)
            index = length if end < 0 else end
            continue
        if text.startswith("/*", index):
            end = text.find("*/", index)
            end = length if end < 0 else end + 2
            out.append("\n" * text.count("\n", index, end))
            index = end
            continue
        match = re.compile(r'(#*)("""|")').match(text, index)
        if match:
            stack.append(["string", match.group(2), match.group(1)])
            index = match.end()
            continue
        if inside and inside[0] == "interpolation":
            if character == "(":
                inside[1] += 1
            elif character == ")":
                inside[1] -= 1
                if inside[1] == 0:
                    stack.pop()
        out.append(character)
        index += 1
    return "".join(out)


class File:
    """What a file declares and uses."""

    def __init__(self, path, target):
        self.path = path
        text = path.read_text()
        self.line_count = text.count("\n")
        self.unit = str(path.parent.relative_to(ROOT / "Sources" / target)) or "."
        self.declared = {}  # names at the top level -> line
        self.extension_members = {}  # members that extensions declare -> line
        self.members = set()
        self.used = {}  # token -> first line
        code = code_of(text)
        for number, line in enumerate(code.split("\n"), 1):
            for token in TOKEN.findall(line):
                self.used.setdefault(token, number)
        # Labels of tuples and arguments can be read as members as well.
        self.members |= set(re.findall(r"[(,]\s*([a-z]\w*)\s*:", code))
        self.scan(code)

    def scan(self, code):
        # What each open brace belongs to: "extension", "type" or "other" (the body of a function, a closure, ...).
        enclosing, pending, number, is_private = [], "other", 1, False
        for match in re.finditer(DECLARATION.pattern + r"|[{}\n;]|\b(?:private|fileprivate)\b", code):
            text = match.group(0)
            if text == "\n":
                number, is_private = number + 1, False
            elif text in ("private", "fileprivate"):
                is_private = True
            elif text == "{":
                enclosing.append(pending)
                pending = "other"
            elif text == "}":
                if enclosing:
                    enclosing.pop()
                pending = "other"
            elif text != ";":
                kind, name = match.group(1), match.group(2).strip("`")
                if kind == "extension":
                    pending = "extension"
                    continue
                if kind in TYPES and kind != "typealias":
                    pending = "type"
                elif kind == "func":
                    pending = "other"
                if not enclosing:
                    if not is_private and kind not in ("case", "associatedtype"):
                        self.declared.setdefault(name, number)
                elif "other" not in enclosing:
                    if enclosing == ["extension"] and not is_private and kind not in ("case", "associatedtype"):
                        self.extension_members.setdefault(name, number)
                    else:
                        self.members.add(name)


def edges_of(target):
    files = [File(path, target) for path in sorted((ROOT / "Sources" / target).rglob("*.swift"))]
    owners = {}
    ambiguous = set()
    members = set()
    for file in files:
        members |= file.members
        for name in file.declared:
            if owners.setdefault(name, file.unit) != file.unit:
                ambiguous.add(name)
    # A member that only extensions in one folder declare: its use means that folder.
    extension_owners = {}
    for file in files:
        for name in file.extension_members:
            if name in members or name in owners or extension_owners.setdefault(name, file.unit) != file.unit:
                extension_owners[name] = None
    edges = collections.defaultdict(list)
    for file in files:
        for token, line in file.used.items():
            name = token.strip(".(")
            owner = None
            if name in owners and name not in ambiguous and (not token.startswith(".") or name[0].isupper()):
                owner = owners[name]
            elif extension_owners.get(name) and (token.startswith(".") or token.endswith("(")):
                owner = extension_owners[name]
            if owner and owner != file.unit:
                edges[(file.unit, owner)].append(f"{file.path.relative_to(ROOT)}:{line} {name}")
    return files, edges


def circles(units, edges):
    """The strongly connected components of more than one folder (Tarjan)."""
    successors = collections.defaultdict(set)
    for source, destination in edges:
        successors[source].add(destination)
    index, low, stack, on_stack, result = {}, {}, [], set(), []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        on_stack.add(unit)
        for other in sorted(successors[unit]):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in on_stack:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            component = []
            while True:
                other = stack.pop()
                on_stack.discard(other)
                component.append(other)
                if other == unit:
                    break
            if len(component) > 1:
                result.append(sorted(component))

    for unit in sorted(units):
        if unit not in index:
            visit(unit)
    return result


def main():
    global ROOT
    arguments = sys.argv[1:]
    if "--root" in arguments:
        position = arguments.index("--root")
        ROOT = pathlib.Path(arguments[position + 1])
        del arguments[position:position + 2]
    show_edges, show_sizes = "--edges" in arguments, "--sizes" in arguments
    targets = [name for name in arguments if not name.startswith("--")] or sorted(
        path.name for path in (ROOT / "Sources").iterdir() if any(path.rglob("*.swift")))
    violations, sizes = 0, []
    for target in targets:
        files, edges = edges_of(target)
        counts = [file.line_count for file in files]
        sizes += counts
        if show_sizes:
            print(f"{target}: {len(files)} files, {sum(counts)} lines, median {statistics.median(counts):.0f}")
        for circle in circles({file.unit for file in files}, edges):
            violations += 1
            print(f"{target}: the folders {', '.join(circle)} use one another in a circle")
            inside = sorted(
                ((source, destination), uses) for (source, destination), uses in edges.items()
                if source in circle and destination in circle)
            for (source, destination), uses in inside:
                back = len(edges.get((destination, source), []))
                print(f"    {source} -> {destination}: {len(uses)} uses, {back} back")
                for use in uses if show_edges else uses[:3]:
                    print(f"        {use}")
    if show_sizes:
        print(f"all: {len(sizes)} files, {sum(sizes)} lines, median {statistics.median(sizes):.0f}")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
