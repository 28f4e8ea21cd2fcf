"""Prints all that is in an SQLite database, in an order of its own: python3 describe_database.py FILE

The last line is what SQLite's own check says.
"""
import sqlite3
import sys

database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
database.text_factory = bytes


def quote(name):
    return b'"' + name.replace(b'"', b'""') + b'"'


def rows(sql):
    return database.execute(sql.decode()).fetchall()


def describe(table):
    columns = [row for row in rows(b"pragma table_xinfo(" + quote(table) + b")") if row[6] != 1]
    names = {row[1].lower() for row in columns}
    parts = []
    for name in (quote(row[1]) for row in columns):
        parts += [b"typeof(" + name + b")", b"hex(" + name + b")", b"quote(" + name + b")"]
    number = next((name for name in (b"rowid", b"oid", b"_rowid_") if name not in names), None)
    try:
        if number:
            rows(b"select " + number + b" from " + quote(table) + b" limit 1")
            parts.insert(0, number)
    except sqlite3.OperationalError:
        pass
    # A statement has a limited number of columns.
    pieces = [rows(b"select " + b", ".join(parts[start : start + 400]) + b" from " + quote(table)) for start in range(0, len(parts), 400)]
    return sorted(map(repr, zip(*pieces)))


for pragma in (b"user_version", b"application_id", b"encoding"):
    print(pragma, rows(b"pragma " + pragma))
schema = rows(b"select type, name, tbl_name, sql from sqlite_master where name not like 'sqlite_stat%'")
for row in sorted(schema, key=repr):
    print(row)
for kind, name, _, sql in sorted(schema, key=repr):
    if kind != b"table":
        continue
    print(name)
    is_virtual = sql.lower().startswith(b"create virtual")
    print("\n".join(sorted(map(repr, rows(b"select * from " + quote(name)))) if is_virtual else describe(name)))
print(rows(b"pragma integrity_check")[:3])
