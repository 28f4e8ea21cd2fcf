"""Makes a legal SQLite database of any kind, from a number: python3 generate_database.py NUMBER FILE

Tables with any keys, types, constraints and options, with names and values that few programs expect. What SQLite refuses is left out.
"""
import random
import sqlite3
import sys

LETTERS = list("aBz _1,;$#*?<&-+=%./\\`[]'\"\n\t") + ["é", "ß", "Ж", "日", "😀", "..", "\u202e", "\u0301"]
WORDS = ["order", "select", "id", "ID", "rowid", "table", "group", "index", "key", "value", "type", "metadata", "settings", "data", "export", "name", "Items", "photos"]
TYPES = ["", "INTEGER", "INT", "TEXT", "REAL", "BLOB", "NUMERIC", "VARCHAR(20)", "DATETIME", "BOOLEAN", "DECIMAL(10,2)", "JSON", "any thing", "FLOAT", "CHARINT", "BIGINT UNSIGNED"]
STRICT_TYPES = ["INT", "INTEGER", "REAL", "TEXT", "BLOB", "ANY"]
COLLATIONS = ["", "", "", " collate nocase", " collate rtrim", " collate binary"]
DEFAULTS = ["", "", "", " default 5", " default 'x'", " default (1 + 1)", " default current_timestamp", " default null", " default x'00ff'", " default -1.5", " default (hex(randomblob(4)))"]
INTEGERS = [0, 1, -1, 2, 127, 128, 255, 2**31 - 1, 2**31, -2**31, 2**53, 2**53 + 1, -2**53 - 1, 2**63 - 1, 2**63 - 2, -2**63, -2**63 + 1]
REALS = [0.0, -0.0, 0.1, 1.0, -1.5, 1 / 3, 1e15, 1e16, 1e100, 1e308, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 123456789.123456789, 2.0**53, 2.0**63, -2.0**63, float("inf"), float("-inf")]
TEXTS = ["", "a", "0", "1", "-0", "1e5", "0x10", "1.0", " 12 ", "12abc", "9223372036854775808", "null", "NULL", "true", "2024-01-02", "2024-01-02 03:04:05", "line\nbreak", "\r", "tab\t", "quote\"s'", "é", "e\u0301", "日本", "😀", "\u2028", "\ufeff", "\ufffd", "\0", "nul\0inside", "nul\0other", "{\"a\": [1]}"]
NOT_UTF8 = [b"\xff", b"a\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"ok\xc3"]


def quote(name):
    return '"' + name.replace('"', '""') + '"'


class Table:
    def __init__(self, name, columns, is_strict, key):
        self.name, self.columns, self.is_strict, self.key = name, columns, is_strict, key


class Generator:
    def __init__(self, number, path):
        self.random = random.Random(number)
        self.database = sqlite3.connect(path, isolation_level=None)
        self.names = set()
        self.tables = []

    def likely(self, share):
        return self.random.random() < share

    def choose(self, *values):
        return self.random.choice(values)

    def try_to(self, sql, values=()):
        """Whether SQLite takes it."""
        try:
            self.database.execute(sql, values)
            return True
        except (sqlite3.Error, OverflowError):
            return False

    def name(self, taken):
        while True:
            kind = self.random.random()
            if kind < 0.4:
                text = self.random.choice(WORDS)
            elif kind < 0.9:
                text = "".join(self.random.choice(LETTERS) for _ in range(self.random.randrange(1, 8)))
            else:
                text = self.choose("x" * 60, "n" * 250, "Ж" * 130)
            if text.lower() not in taken and not text.lower().startswith("sqlite_"):
                taken.add(text.lower())
                return text

    # Values: an expression with its parameters.

    def text(self):
        kind = self.random.random()
        if kind < 0.8:
            return self.random.choice(TEXTS)
        if kind < 0.85:
            return "x" * self.random.randrange(3000)
        ranges = [(1, 128), (128, 0xD800), (0xE000, 0x110000)]
        return "".join(chr(self.random.randrange(*self.random.choice(ranges))) for _ in range(self.random.randrange(12)))

    def blob(self):
        return self.random.randbytes(self.choose(0, 1, 2, 16, 100, self.random.randrange(3000)))

    def value(self):
        kind = self.random.random()
        if kind < 0.12:
            return "null", ()
        if kind < 0.35:
            return "?", (self.random.choice(INTEGERS) if self.likely(0.6) else self.random.randrange(-10**6, 10**6),)
        if kind < 0.5:
            return "?", (self.random.choice(REALS) if self.likely(0.7) else self.random.uniform(-1e6, 1e6),)
        if kind < 0.62:
            return "?", (self.blob(),)
        if kind < 0.67:
            return "cast(? as text)", (self.random.choice(NOT_UTF8),)
        return "?", (self.text(),)

    def value_of(self, declared_type):
        if declared_type in ("INT", "INTEGER"):
            return "?", (self.random.choice(INTEGERS),)
        if declared_type == "REAL":
            return "?", (self.random.choice(REALS),)
        if declared_type == "TEXT":
            return "?", (self.text(),)
        if declared_type == "BLOB":
            return "?", (self.blob(),)
        return self.value()

    # Tables.

    def add_table(self):
        name, names = self.name(self.names), set()
        is_strict = self.likely(0.15)
        count = self.choose(1, 2, 3, 4, 6, 12, 40) if self.likely(0.95) else 300
        columns = [(self.name(names), self.random.choice(STRICT_TYPES if is_strict else TYPES)) for _ in range(count)]
        parts, key, is_without_rowid = [], [], False
        kind = self.random.random()
        if kind < 0.3:
            key = [columns[0][0]]
            columns[0] = (key[0], "INTEGER")
            parts.append(f"{quote(key[0])} INTEGER PRIMARY KEY{self.choose('', '', '', ' DESC', ' AUTOINCREMENT')}")
        elif kind < 0.75:
            key = [column for column, _ in self.random.sample(columns, min(count, self.random.randrange(1, 4)))]
            is_without_rowid = self.likely(0.6)
        parts += [self.column(column, declared_type, is_strict) for column, declared_type in columns[len(parts):]]
        if self.likely(0.2):
            source = quote(columns[-1][0])
            declared_type = "TEXT" if is_strict else self.choose("", "TEXT", "INT")
            parts.append(f"{quote(self.name(names))} {declared_type} generated always as (typeof({source}) || '!') {self.choose('virtual', 'stored')}")
        if key and kind >= 0.3:
            orders = [quote(column) + ("" if is_strict else self.choose("", "", " collate nocase")) + self.choose("", "", " desc", " asc") for column in key]
            parts.append(f"primary key ({', '.join(orders)}){self.choose('', '', ' on conflict replace', ' on conflict ignore')}")
        if self.tables and self.likely(0.3):
            action = self.choose("", "on delete cascade", "deferrable initially deferred", "on update set null")
            parts.append(f"foreign key ({quote(columns[0][0])}) references {quote(self.random.choice(self.tables).name)} {action}")
        options = ["without rowid"] * is_without_rowid + ["strict"] * is_strict
        if not self.try_to(f"create table {quote(name)} ({', '.join(parts)}) {', '.join(options)}"):
            return
        self.tables.append(Table(name, columns, is_strict, key))
        self.add_indexes(self.tables[-1])
        self.add_rows(self.tables[-1])
        if not is_without_rowid and kind >= 0.3 and "rowid" not in names and self.likely(0.3):
            self.try_to(f"delete from {quote(name)} where rowid % 3 = 0")
            self.try_to(f"insert into {quote(name)} (rowid) values (?)", (self.choose(-5, 10**12, 2**63 - 1),))

    def column(self, name, declared_type, is_strict):
        text = f"{quote(name)} {declared_type}" + ("" if declared_type == "ANY" else self.random.choice(COLLATIONS))
        if self.likely(0.1):
            text += " not null"
        if not is_strict:
            text += self.random.choice(DEFAULTS)
        if self.likely(0.05):
            text += " unique"
        if self.likely(0.05):
            text += f" check ({quote(name)} is null or length({quote(name)}) >= 0)"
        return text

    def add_indexes(self, table):
        for _ in range(self.choose(0, 0, 1)):
            columns = self.random.sample(table.columns, min(len(table.columns), self.random.randrange(1, 3)))
            terms = ", ".join(quote(column) + self.choose("", " desc", " collate nocase") for column, _ in columns)
            condition = self.choose("", f" where {quote(table.columns[0][0])} is not null")
            self.try_to(f"create {self.choose('', '', 'unique ')}index {quote(self.name(self.names))} on {quote(table.name)} ({terms}){condition}")
        if self.likely(0.1):
            self.try_to(f"create index {quote(self.name(self.names))} on {quote(table.name)} (lower({quote(table.columns[0][0])}))")

    def add_rows(self, table):
        columns = ", ".join(quote(column) for column, _ in table.columns)
        for _ in range(self.choose(0, 1, 3, 20, 60, 60) if len(table.columns) < 50 else 3):
            values = [self.value_of(declared_type) if table.is_strict or self.likely(0.3) else self.value() for _, declared_type in table.columns]
            expressions = ", ".join(expression for expression, _ in values)
            self.try_to(f"insert into {quote(table.name)} ({columns}) values ({expressions})", [value for _, parameters in values for value in parameters])

    # Objects other than tables.

    def add_others(self):
        for _ in range(self.choose(0, 0, 1, 2)):
            self.try_to(f"create view {quote(self.name(self.names))} as select * from {quote(self.random.choice(self.tables).name)}")
        if self.likely(0.2):
            self.try_to("create table log_of_triggers(what)")
            event = f"{self.choose('before', 'after')} {self.choose('insert', 'delete', 'update')}"
            self.try_to(f"create trigger {quote(self.name(self.names))} {event} on {quote(self.random.choice(self.tables).name)} begin insert into log_of_triggers values ('fired'); end")
        if self.likely(0.15) and self.try_to("create virtual table words_fts using fts5(body)"):
            for _ in range(5):
                self.try_to("insert into words_fts values (?)", (self.choose("some words", "other words here", "Ж"),))
        if self.likely(0.08) and self.try_to("create virtual table boxes using rtree(id, x0, x1)"):
            self.try_to("insert into boxes values (1, 0, 5)")
        if self.likely(0.1):
            self.try_to("analyze")

    def run(self):
        if self.likely(0.3):
            self.try_to(f"pragma page_size = {self.choose(512, 1024, 8192, 65536)}")
        if self.likely(0.25):
            self.try_to(f"pragma encoding = '{self.choose('UTF-16le', 'UTF-16be')}'")
        if self.likely(0.3):
            self.try_to(f"pragma auto_vacuum = {self.choose(1, 2)}")
        if self.likely(0.5):
            self.try_to("pragma journal_mode = wal")
        for _ in range(self.random.randrange(1, 6)):
            self.add_table()
        if not self.tables:
            self.try_to("create table only(a)")
            self.tables.append(Table("only", [("a", "")], False, []))
            self.add_rows(self.tables[0])
        self.add_others()
        if self.likely(0.5):
            self.try_to(f"pragma user_version = {self.choose(1, 7, 2**31 - 1, -1)}")
        if self.likely(0.3):
            self.try_to(f"pragma application_id = {self.choose(1, 2**31 - 1, -2)}")
        self.database.close()


Generator(int(sys.argv[1]), sys.argv[2]).run()
