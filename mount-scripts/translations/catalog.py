"""Reads and writes .po files: comments, msgid, msgid_plural and msgstr, nothing more."""

import json
import re


class Entry:
    def __init__(self, template, plural=None):
        self.template, self.plural = template, plural
        self.forms, self.places, self.fuzzy = [], [], False

    def key(self):
        return self.template, self.plural


def quoted(keyword, text):
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    if len(lines) <= 1:
        return f"{keyword} {json.dumps(text, ensure_ascii=False)}\n"
    return f'{keyword} ""\n' + "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def read(path):
    """The header as it stands in the file, and the entries."""
    header, entries, entry, target = "", [], None, None
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("#,") and "fuzzy" in line:
            entry = Entry("")
            entry.fuzzy = True
            target = None
            continue
        match = re.match(r'^(?:(msgid_plural|msgid|msgstr)(?:\[\d+\])? )?(".*")$', line)
        if not match:
            continue
        keyword, text = match[1], json.loads(match[2])
        if keyword == "msgid":
            if entry is None or entry.forms or entry.template:
                entry = Entry("")
            entries.append(entry)
            target = "template"
        elif keyword == "msgid_plural":
            entry.plural, target = "", "plural"
        elif keyword == "msgstr":
            entry.forms.append("")
            target = "form"
        if target == "template":
            entry.template += text
        elif target == "plural":
            entry.plural += text
        elif target == "form":
            entry.forms[-1] += text
    if entries and not entries[0].template:
        header = entries.pop(0).forms[0]
    return header, entries


def write(path, header, entries, form_count):
    with open(path, "w", encoding="utf-8") as file:
        file.write(quoted("msgid", "") + quoted("msgstr", header))
        for entry in entries:
            file.write("\n")
            for place in entry.places:
                file.write(f"#: {place}\n")
            file.write("#, fuzzy, python-brace-format\n" if entry.fuzzy else "#, python-brace-format\n")
            file.write(quoted("msgid", entry.template))
            if entry.plural is None:
                file.write(quoted("msgstr", entry.forms[0] if entry.forms else ""))
            else:
                file.write(quoted("msgid_plural", entry.plural))
                forms = entry.forms or [""] * form_count
                for index, form in enumerate(forms):
                    file.write(quoted(f"msgstr[{index}]", form))
