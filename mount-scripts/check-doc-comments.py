#!/usr/bin/env python3
"""Finds public declarations without a doc comment: check-doc-comments.py [TARGET ...]

Public declarations and the requirements of public protocols need one. These need none, because a comment could only repeat
what is known already: cases; members that fulfil a requirement of a protocol (all members of an extension that adds a
conformance, the members below, and those that a protocol in Sources requires of the type); overrides; an initializer whose
arguments all have the names of properties of its type; and a stored property whose type has its name (`kind: Kind`,
`md5: MD5Digest`). Prints one line for each violation and ends with exit code 1 if there is any.
"""
import importlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
code_of = importlib.import_module("check-architecture").code_of

MODIFIER = r"(?:public|package|internal|private|fileprivate|open|final|static|class|mutating|nonmutating|consuming|borrowing|" \
    r"override|required|convenience|indirect|lazy|weak|unowned|nonisolated|isolated|prefix|postfix|infix|dynamic)(?:\([a-z]+\))?"
DECLARATION = re.compile(
    rf"^[ ]*(?:@\w+(?:\([^)\n]*\))?[ ]+)*((?:{MODIFIER}[ ]+)*)"
    r"(struct|class|enum|protocol|actor|extension|func|var|let|init|subscript|typealias|associatedtype)\b[ ]*"
    r"(`?[\w.]+`?|[^\s\w(]+)?",
    re.MULTILINE)
TYPES = {"struct", "class", "enum", "protocol", "actor", "extension"}
# What the standard library and the packages require.
REQUIRED_ELSEWHERE = {
    "==", "<", "hash", "description", "debugDescription", "encode", "init(from:)", "init(rawValue:)", "rawValue", "RawValue",
    "allCases", "id", "next", "makeIterator", "startIndex", "endIndex", "index", "Element", "Index", "Iterator",
    "init(arrayLiteral:)", "init(stringLiteral:)", "init(dictionaryLiteral:)", "init(stringInterpolation:)",
    "init(literalCapacity:interpolationCount:)", "appendLiteral", "subscript(position:)", "init(argument:)", "configuration",
    "run",
}


class Enclosing:
    """What an open brace belongs to."""

    def __init__(self, kind, name="", parents=(), is_public=False):
        self.kind, self.name, self.parents, self.is_public = kind, name, parents, is_public


class Declaration:
    def __init__(self, path, line, kind, name, arguments, is_public, exempt, enclosing, documented):
        self.path, self.line, self.kind, self.name = path, line, kind, name
        self.labels, self.arguments = arguments
        self.is_public, self.exempt, self.enclosing, self.documented = is_public, exempt, enclosing, documented

    @property
    def full_name(self):
        labels = "".join(label + ":" for label in self.labels)
        return f"{self.kind}({labels})" if self.kind in ("init", "subscript") else self.name


def head_of(code, start):
    """The declaration from `start` to its body, or to the end of its line: parentheses may span lines."""
    depth = 0
    for index in range(start, len(code)):
        character = code[index]
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character in "{}=" or depth == 0 and character == "\n" and not re.match(
                r"\s*(where|throws|->|[:,&{])", code[index:]) and code[start:index].rstrip()[-1:] not in (",", ":", "&"):
            return code[start:index]
    return code[start:]


def labels_of(head):
    """The labels of the arguments in the first parentheses, and their names inside."""
    depth, current, arguments = 0, "", []
    for character in head[head.find("("):] if "(" in head else "":
        if character in "([<":
            depth += 1
            if depth == 1:
                continue
        if character in ")]" or character == ">" and not current.endswith("-"):
            depth -= 1
            if depth == 0:
                break
        if depth == 1 and character == ",":
            arguments.append(current)
            current = ""
        else:
            current += character
    names = [argument.split(":")[0].split() for argument in arguments + [current] if ":" in argument]
    return [words[0] for words in names], [words[-1] for words in names]


def is_named_by_type(head, kind, name):
    """Whether a stored property has the name of its type, or a part of it."""
    match = re.match(r"(?:let|var)\s+`?\w+`?\s*:\s*(?:any |some )?([\w.]+)\??\s*$", head.strip())
    if kind not in ("let", "var") or match is None:
        return False
    return f" {words_of(name)} " in f" {words_of(match.group(1).split('.')[-1])} "


def words_of(name):
    return " ".join(re.findall(r"[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*", name)).lower()


def is_documented(lines, number):
    """Whether a doc comment is above line `number` (from 1); attributes may stand between."""
    index = number - 2
    while index >= 0 and re.fullmatch(r"\s*(@\w+(\([^)]*\))?\s*)+", lines[index]):
        index -= 1
    return index >= 0 and lines[index].lstrip().startswith("///")


def declarations_of(path):
    text = path.read_text()
    lines, code = text.split("\n"), code_of(text)
    heads = {match.start(2): match for match in DECLARATION.finditer(code)}
    stack, pending = [], Enclosing("other")
    for position in sorted([*heads, *(match.start() for match in re.finditer(r"[{}]", code))]):
        if position in heads:
            match = heads[position]
            modifiers, kind, name = match.group(1).split(), match.group(2), (match.group(3) or "").strip("`")
            head = head_of(code, match.start(2))
            is_public = "public" in modifiers or "open" in modifiers
            if kind in TYPES:
                clause = re.match(r"\s*[\w.`]+(?:<[^{]*?>)?\s*:([^{]*)", head[len(kind):])
                parents = re.findall(r"[\w.]+", clause.group(1).split(" where ")[0]) if clause else []
                pending = Enclosing(kind, name.split(".")[-1], parents, is_public)
            else:
                pending = Enclosing("other")
            enclosing = stack[-1] if stack else None
            if kind == "extension" or enclosing and enclosing.kind == "other":
                continue
            is_requirement = enclosing is not None and enclosing.kind == "protocol"
            yield Declaration(
                path, code.count("\n", 0, position) + 1, kind, name, labels_of(head),
                is_public or is_requirement and enclosing.is_public,
                "override" in modifiers or kind == "associatedtype" or is_named_by_type(head, kind, name),
                enclosing, is_documented(lines, code.count("\n", 0, match.start()) + 1))
        elif code[position] == "{":
            stack.append(pending)
            pending = Enclosing("other")
        else:
            if stack:
                stack.pop()
            pending = Enclosing("other")


def main():
    declarations = [
        declaration for path in sorted((ROOT / "Sources").rglob("*.swift")) for declaration in declarations_of(path)]
    properties, requirements, parents = {}, {}, {}
    for declaration in declarations:
        enclosing = declaration.enclosing
        if enclosing is None:
            continue
        parents.setdefault(enclosing.name, set()).update(enclosing.parents)
        if enclosing.kind == "protocol":
            requirements.setdefault(enclosing.name, set()).add(declaration.full_name)
        elif declaration.kind in ("let", "var"):
            properties.setdefault(enclosing.name, set()).add(declaration.name)

    def is_witness(declaration):
        enclosing = declaration.enclosing
        if enclosing is None or enclosing.kind == "protocol":
            return False
        if declaration.full_name in REQUIRED_ELSEWHERE or enclosing.kind == "extension" and enclosing.parents:
            return True
        # An extension of a protocol has the defaults of its requirements.
        protocols = [enclosing.name, *parents.get(enclosing.name, ())]
        return any(declaration.full_name in requirements.get(name, ()) for name in protocols)

    def is_memberwise(declaration):
        return declaration.kind == "init" and declaration.enclosing is not None and set(declaration.arguments) <= properties.get(
            declaration.enclosing.name, set())

    targets = sys.argv[1:]
    violations = [
        declaration for declaration in declarations
        if declaration.is_public and not declaration.documented and not declaration.exempt
        and not is_witness(declaration) and not is_memberwise(declaration)
        and (not targets or declaration.path.relative_to(ROOT / "Sources").parts[0] in targets)]
    for declaration in violations:
        owner = f"{declaration.enclosing.name}." if declaration.enclosing else ""
        print(f"{declaration.path.relative_to(ROOT)}:{declaration.line}: {owner}{declaration.full_name} has no doc comment")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
