"""Brings the catalogs in step with the sources, or says where they are not.

translations.py update|check FOLDER < what `swiftc -dump-ast` printed

FOLDER has a .po file for each language. `update` adds what is new, without a translation, and takes out what is gone. `check` changes nothing
and ends with 1 when a text has no translation, or one that does not have the same values in it.
"""

import pathlib
import re
import sys

import catalog
import collect

FORM_COUNTS = {"de": 2, "kk": 2, "ru": 3, "tr": 2}
PLURALS = {
    "de": "nplurals=2; plural=(n != 1);",
    "kk": "nplurals=2; plural=(n != 1);",
    "ru": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);",
    "tr": "nplurals=2; plural=(n != 1);",
}
# The built-in definitions have texts of their own.
DEFINED = [
    re.compile(r'^\s*\w*[nN]ote: "(.*)"$'),
    re.compile(r"^ *(?:- )?\{?heading: (.*)$"),
    re.compile(r'\{label: "?(.*?)"?, command:'),
    re.compile(r"\bmessage: (.*?)(?:, each: .*)?\}$"),
    re.compile(r'\beach: "(.*)"\}$'),
]
# What a collection is called at the beginning of a line.
HEADING = re.compile(r"^ *plural: (.*)$")


def values(text):
    return sorted(re.findall(r"\{\d+\}", text.replace("{{", "").replace("}}", "")))


def sources(lines, definitions):
    """The texts in the order of their templates, and the problems that need no catalog to be seen."""
    entries, problems = {}, []
    for template, plural, place in collect.collect(lines):
        if template is None:
            problems.append(f"{place}: “{plural}” would stay English: it is no message of its own")
            continue
        if plural is not None and values(template) != values(plural):
            problems.append(f"{place}: the two forms have different values: {template}")
        entry = entries.setdefault(template, catalog.Entry(template, plural))
        if entry.plural != plural:
            problems.append(f"{place}: the same text has another plural elsewhere: {template}")
        entry.places.append(place.rsplit(":", 1)[0])
    for path in sorted(pathlib.Path(definitions).glob("*.yaml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for match in (pattern.search(line) for pattern in DEFINED):
                if match:
                    numbers = iter(range(100))
                    template = re.sub(r"\{\w+\}", lambda _: "{%d}" % next(numbers), match[1])
                    entries.setdefault(template, catalog.Entry(template)).places.append(str(path))
            if match := HEADING.search(line):
                template = match[1][:1].upper() + match[1][1:]
                entries.setdefault(template, catalog.Entry(template)).places.append(str(path))
    for entry in entries.values():
        entry.places = sorted(set(entry.places))
    return [entries[template] for template in sorted(entries)], problems


def header(language):
    return (
        f"Language: {language}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n"
        f"Content-Transfer-Encoding: 8bit\nPlural-Forms: {PLURALS[language]}\n"
    )


def update(path, wanted):
    known = {}
    if path.exists():
        known = {entry.template: entry for entry in catalog.read(path)[1]}
    for entry in wanted:
        old = known.get(entry.template)
        isSame = old is not None and old.plural == entry.plural
        entry.forms, entry.fuzzy = (old.forms, old.fuzzy) if isSame else ([], False)
    catalog.write(path, header(path.stem), wanted, FORM_COUNTS[path.stem])


def check(path, wanted):
    known = {entry.template: entry for entry in catalog.read(path)[1]}
    for entry in wanted:
        found = known.pop(entry.template, None)
        place = f"{path.name}: {entry.places[0]}"
        if found is None or found.plural != entry.plural:
            yield f"{place}: not in the catalog: {entry.template}"
            continue
        count = 1 if entry.plural is None else FORM_COUNTS[path.stem]
        if found.fuzzy or len(found.forms) != count or "" in found.forms:
            yield f"{place}: not translated: {entry.template}"
            continue
        for form in found.forms:
            if values(form) != values(entry.template):
                yield f"{place}: other values than in the English text: {form}"
            if form.endswith("\n") != entry.template.endswith("\n"):
                yield f"{place}: a line that ends in one language and not in the other: {form}"
    for template in known:
        yield f"{path.name}: no longer in the sources: {template}"


def main():
    task, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    wanted, problems = sources(sys.stdin, sys.argv[3])
    if len(wanted) < 500:
        sys.exit("there are far too few texts: the compiler's output was not understood")
    for language in FORM_COUNTS:
        path = folder / f"{language}.po"
        if task == "update":
            update(path, wanted)
        else:
            problems += check(path, wanted)
    print(f"{len(wanted)} texts in {len(FORM_COUNTS) + 1} languages")
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


main()
