"""Reads what `swiftc -dump-ast` prints and finds every text of the type Message.

Reading the compiler's own tree is exact: a text is a message because of its type, wherever it stands in the sources.
"""

import re

NODE = re.compile(r"^( *)\((?:\w+=)?(\w+)(.*)$")
VALUE = re.compile(r' encoding=utf8 value="((?:[^"\\]|\\.)*)" builtin_initializer')
PLACE = re.compile(r" location=(\S+?):(\d+):\d+ ")
LETTER = re.compile(r"[^\W\d_]")
# The order of a date's parts differs between languages, though there is no letter in it.
TIME_TEMPLATES = ("{0}-{1}-{2} {3}:{4}:{5}", "{0}-{1}-{2}")
ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", '"': b'"', "\\": b"\\", "'": b"'"}


class Node:
    def __init__(self, indent, kind, rest):
        self.indent, self.kind, self.rest, self.children = indent, kind, rest, []

    def all(self):
        yield self
        for child in self.children:
            yield from child.all()


def unescaped(text):
    """LLVM's way to write bytes: \\n, \\\\, \\" and \\NN in hexadecimal or \\NNN in octal digits."""
    result, index = b"", 0
    while index < len(text):
        if text[index] != "\\":
            result += text[index].encode()
            index += 1
        elif text[index + 1] in ESCAPES:
            result += ESCAPES[text[index + 1]]
            index += 2
        else:
            result += bytes([int(text[index + 1 : index + 3], 16)])
            index += 3
    return result.decode()


def trees(lines):
    """The nodes that stand at the left margin, each with all that is in it."""
    stack = []
    for line in lines:
        match = NODE.match(line.rstrip("\n"))
        if not match:
            continue
        node = Node(len(match[1]), match[2], match[3])
        while stack and stack[-1].indent >= node.indent:
            done = stack.pop()
            if not stack:
                yield done
        if stack:
            stack[-1].children.append(node)
        stack.append(node)
    if stack:
        yield stack[0]


def is_message(node):
    return node.kind in ("string_literal_expr", "interpolated_string_literal_expr") and ' type="Message"' in node.rest


def literal(node):
    match = VALUE.search(node.rest)
    return unescaped(match[1]).replace("{", "{{").replace("}", "}}") if match else ""


def pieces(node):
    """The calls that put an interpolated text together, in order: (whether it is text, the call)."""
    for statement in node.all():
        if statement.kind == "brace_stmt":
            for call in statement.children:
                if call.kind == "call_expr":
                    yield " implicit" in call.rest[: len(" implicit")], call
            return


def template(node):
    if node.kind == "string_literal_expr":
        return literal(node)
    text, count = "", 0
    for is_text, call in pieces(node):
        if is_text:
            found = [part for part in call.all() if part.kind == "string_literal_expr"]
            text += literal(found[0]) if found else ""
        else:
            text += "{%d}" % count
            count += 1
    return text


def untyped(node):
    """Words inside of a message that are no message themselves: `\\(isLast ? "last" : "next")`."""
    if node.kind != "interpolated_string_literal_expr":
        return
    for is_text, call in pieces(node):
        if is_text:
            continue
        inner = [call]
        while inner:
            part = inner.pop()
            if is_message(part):
                continue
            if part.kind == "string_literal_expr":
                value = literal(part)
                if re.search(r"[^\W\d_]{2}", value):
                    yield value
            inner += part.children


def place(node):
    match = PLACE.search(node.rest)
    return f"{match[1]}:{match[2]}" if match else "?"


def collect(lines):
    """Yields (template, plural template or None, place), and for words that stay English (None, words, place)."""
    for tree in trees(lines):
        pairs = {}
        for node in tree.all():
            if node.kind != "call_expr" or not node.children:
                continue
            if not any("Message.plural(_:one:other:)" in part.rest for part in node.children[0].all()):
                continue
            forms = [
                message
                for child in node.children[1:]
                for argument in child.children
                if ' label="one"' in argument.rest or ' label="other"' in argument.rest
                for message in argument.children
                if is_message(message)
            ]
            if len(forms) == 2:
                pairs[id(forms[0])] = forms
                pairs[id(forms[1])] = None
        for node in tree.all():
            if not is_message(node):
                continue
            for words in untyped(node):
                yield None, words, place(node)
            if id(node) in pairs:
                forms = pairs[id(node)]
                if forms:
                    yield template(forms[0]), template(forms[1]), place(node)
                continue
            text = template(node)
            if LETTER.search(re.sub(r"\{\d+\}", "", text)) or text in TIME_TEMPLATES:
                yield text, None, place(node)
