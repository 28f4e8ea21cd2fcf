import AppData
import BackupCore
import BackupRepository
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Databases that no definition describes: every row comes back, whatever its content, by the export and by the database itself.
struct WholeDatabaseTests {
    /// Everything that SQLite can hold, in every kind of table.
    private static let fill = #"""
        import os, random, sqlite3, sys
        db = sqlite3.connect(os.environ["R"] + "/my books.sqlite3")
        db.executescript('''
            PRAGMA user_version = 42; PRAGMA application_id = 305419896;
            CREATE TABLE authors (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE UNIQUE, born REAL, portrait BLOB,
                initial TEXT GENERATED ALWAYS AS (substr(name, 1, 1)) STORED, length AS (length(name)));
            CREATE TABLE books (isbn TEXT PRIMARY KEY, author INTEGER REFERENCES authors(id), title, price DECIMAL(10, 2), extra ANY);
            CREATE TABLE links (book TEXT, tag BLOB, weight REAL, PRIMARY KEY (tag, book)) WITHOUT ROWID;
            CREATE TABLE notes (text);
            CREATE TABLE exact (id INT PRIMARY KEY, i INTEGER, r REAL, t TEXT, b BLOB, a ANY) STRICT;
            CREATE TABLE "odd ""name""/%\u00e9" ("rowid" TEXT, "a b" , "select" DEFAULT 7);
            CREATE TABLE metadata (key TEXT, value);
            CREATE TABLE backupfs (x);
            CREATE TABLE empty (id INTEGER PRIMARY KEY DESC, a, b);
            CREATE VIEW titles AS SELECT title FROM books;
            CREATE VIRTUAL TABLE search USING fts5(title, content=books, content_rowid=rowid);
            CREATE VIRTUAL TABLE places USING rtree(id, x1, x2, y1, y2);
            CREATE TRIGGER after_book AFTER INSERT ON books BEGIN
                INSERT INTO search (rowid, title) VALUES (new.rowid, new.title); INSERT INTO notes VALUES ('trigger'); END;
            CREATE TRIGGER no_delete BEFORE DELETE ON authors BEGIN SELECT RAISE(ABORT, 'authors stay'); END;
            CREATE INDEX books_by_price ON books (price DESC) WHERE price IS NOT NULL;
        ''')
        names = [f"column{number}" for number in range(90)]
        db.execute(f"CREATE TABLE wide ({', '.join(names)})")
        values = [None, "", b"", 0, -1, 2**63 - 1, -2**63, 2**53 + 1, 0.0, -0.0, 0.1, 1e308, 5e-324, 1/3, 1e15, 1e16, float("inf"), float("-inf"),
            "a\0b", "e\u0301 \u00e9 \U0001F697", "\u2028\x7f\x01\t\n\r\\\"/", "x" * 100_000, bytes(range(256)), b"\0", "1", "1.0", "NULL", "{}", 100.0]
        for number, value in enumerate(values):
            db.execute("INSERT INTO notes VALUES (?)", (value,))
            db.execute("INSERT INTO exact (id, a) VALUES (?, ?)", (number, value))
            db.execute("INSERT INTO wide (column0, column89) VALUES (?, ?)", (value, number))
            db.execute("INSERT INTO books VALUES (?, ?, ?, ?, ?)", (f"isbn{number}", number % 3 + 1, value if isinstance(value, str) else "t", value, value))
            if value is not None: db.execute("INSERT INTO links VALUES (?, ?, ?)", (f"b{number}", value, number / 7))
        db.execute("INSERT INTO notes VALUES (CAST(x'ff61fe' AS TEXT))")
        db.execute("INSERT INTO notes (rowid, text) VALUES (-7, 'minus'), (9223372036854775807, 'last')")
        db.execute("INSERT INTO links VALUES (CAST(x'c328' AS TEXT), CAST(x'ff' AS TEXT), NULL)")
        db.execute("INSERT INTO exact VALUES (1000, 1, 2.0, 'three', x'04', 5)")
        db.executemany("INSERT INTO authors (name, born, portrait) VALUES (?, ?, ?)", [("Ann", 1900, b"\x89PNG"), ("bob", None, None), ("Cäs", -5.5, b"")])
        db.execute("INSERT INTO authors (id, name) VALUES (50, 'gone')")
        db.execute("UPDATE sqlite_sequence SET seq = 77")
        db.execute("INSERT INTO \"odd \"\"name\"\"/%é\" VALUES ('r', 1, 2)")
        db.execute("INSERT INTO metadata VALUES ('k', 1)")
        db.execute("INSERT INTO backupfs VALUES (1)")
        db.executemany("INSERT INTO places VALUES (?, ?, ?, ?, ?)", [(number, number, number + 1.5, -number, 0) for number in range(100)])
        db.commit()
        """#

    /// Every row of every table with its type and bytes, the tables themselves, and whether full-text search works.
    private static let describe = #"""
        import os, sqlite3, sys
        db = sqlite3.connect(f"file:{sys.argv[1].replace(' ', '%20')}?mode=ro", uri=True)
        db.text_factory = bytes
        quoted = lambda name: '"' + name.decode().replace('"', '""') + '"'
        print(db.execute("PRAGMA user_version").fetchone(), db.execute("PRAGMA application_id").fetchone())
        for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2").fetchall():
            print(kind, name, sql)
        for name, without in db.execute("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') AND name <> 'sqlite_schema' ORDER BY 1").fetchall():
            columns = [row[0] for row in db.execute("SELECT name FROM pragma_table_xinfo(?)", (name.decode(),))]
            number = [] if without else ["_rowid_"]
            parts = number + [f"typeof({quoted(c)}), hex({quoted(c)}), quote({quoted(c)})" for c in columns]
            for row in db.execute(f"SELECT {', '.join(parts)} FROM {quoted(name)} ORDER BY {', '.join(str(n + 1) for n in range(len(number) + 3 * len(columns)))}"):
                print(name, row)
        print(db.execute("SELECT count(*) FROM search WHERE search MATCH 't'").fetchall())
        print(db.execute("SELECT count(*) FROM places WHERE x1 > 40").fetchall())
        db.close()
        db = sqlite3.connect(sys.argv[1])
        db.execute("INSERT INTO search(search) VALUES ('integrity-check')")
        print(db.execute("PRAGMA integrity_check").fetchall(), db.execute("SELECT rtreecheck('places')").fetchall())
        """#

    /// Different rows everywhere, and none in some tables.
    private static let scramble = #"""
        sqlite3 "$D" "DROP TRIGGER no_delete; DELETE FROM authors; DELETE FROM links; DELETE FROM notes; UPDATE books SET price = 1, extra = 2; INSERT INTO books VALUES ('new', 1, 't t t', 1, x'00');
            INSERT INTO notes VALUES ('new'); UPDATE sqlite_sequence SET seq = 5; DELETE FROM exact WHERE id % 2; DELETE FROM places WHERE id < 50;
            INSERT INTO metadata VALUES ('other', 2); DELETE FROM wide; INSERT INTO empty VALUES (3, 4, 5);
            CREATE TRIGGER no_delete BEFORE DELETE ON authors BEGIN SELECT RAISE(ABORT, 'authors stay'); END"
        """#

    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(fill, to: "fill.py")
        try sandbox.write(describe, to: "describe.py")
        try sandbox.sh("python3 $R/fill.py; mkdir $R/covers; echo photo > $R/covers/one.jpg")
        return sandbox
    }

    private func sh(_ sandbox: Sandbox, _ script: String, at place: SourceLocation = #_sourceLocation) throws -> String {
        try sandbox.sh("D=\"$R/my books.sqlite3\"\n" + script, at: place)
    }

    @Test(arguments: ["export.json", "database.sqlite", "archive.zip"])
    func `every row comes back as it was`(form: String) throws {
        let sandbox = try Self.makeSandbox()
        let result = try sh(
            sandbox,
            """
            python3 $R/describe.py "$D" > $R/before
            backupfs init --store $S --database "$D" --media $R/covers > $R/answer
            grep -qx "Made the store $S for my-books." $R/answer
            backupfs backup --label one --store $S > $R/answer
            backupfs restore one --target $R/one --store $S > $R/answer
            backupfs export one --zip -o $R/one/archive.zip --store $S > $R/answer
            \(Self.scramble)
            echo other > $R/covers/one.jpg
            python3 $R/describe.py "$D" > $R/between
            ! cmp -s $R/before $R/between
            backupfs restore $R/one/\(form) --yes --store $S > $R/answer
            python3 $R/describe.py "$D" > $R/after
            diff $R/before $R/after | head -c 3000
            backupfs verify one --store $S > $R/verified
            [ \(form) != archive.zip ] || grep -qx photo $R/covers/one.jpg
            sqlite3 "$D" "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'backupfs_%'"
            """)
        #expect(result == "0")
    }

    @Test func `the export is what an independent reader takes for the rows`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.write(
            #"""
            import base64, json, sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.text_factory = bytes
            export = json.load(open(sys.argv[2]), parse_float=lambda text: ("real", float(text)))
            def value(cell):
                if isinstance(cell, dict):
                    [(kind, text)] = cell.items()
                    if kind == "real": return ("real", float(text))
                    return ("blob" if kind == "blob" else "text", base64.b64decode(text, validate=True))
                if isinstance(cell, str): return ("text", cell.encode())
                if isinstance(cell, int): return ("integer", cell)
                return ("null", None) if cell is None else cell
            for member, table in [("notes", "notes"), ("books", "books"), ("exact", "exact"), ("wide", "wide"), ("links", "links"), ("authors", "authors"),
                    ("backupfs_", "backupfs"), ("metadata", "metadata"), ("odd%20%22name%22%2f%25%c3%a9", 'odd ""name""/%é'), ("empty", "empty")]:
                rows = export[member]
                columns = [name for name in (rows[0] if rows else {}) if name != "_key"]
                if not rows:
                    assert db.execute(f'SELECT count(*) FROM "{table}"').fetchone() == (0,), table
                    continue
                names = ", ".join(f'typeof("{c}"), "{c}"' for c in columns)
                expected = [list(zip([k.decode() for k in row[::2]], row[1::2])) for row in db.execute(f'SELECT {names} FROM "{table}"')]
                found = [[value(row[c]) for c in columns] for row in rows]
                key = lambda row: repr(row)
                assert sorted(found, key=key) == sorted(expected, key=key), (table, [p for p in zip(found, expected) if p[0] != p[1]][:1])
            print(sorted(export))
            """#, to: "compare.py")
        let result = try sh(
            sandbox,
            """
            backupfs init --store $S --database "$D" > /dev/null; backupfs export --json -o $R/e.json --store $S > /dev/null
            python3 $R/compare.py "$D" $R/e.json
            """)
        #expect(
            result == """
                ['authors', 'backupfs', 'backupfs_', 'books', 'empty', 'exact', 'links', 'metadata', 'notes', 'odd%20%22name%22%2f%25%c3%a9', \
                'places_node', 'places_parent', 'places_rowid', 'search_config', 'search_data', 'search_docsize', 'search_idx', 'sqlite_sequence', \
                'wide']
                """)
    }

    @Test func `names of tables and columns may have control characters`() throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.execute('CREATE TABLE "price\\tlist\\x1f" (id INTEGER PRIMARY KEY, "size\\n(cm)" TEXT, "a\\r\\b\\f\\x01\\x7f" BLOB)')
            db.execute('INSERT INTO "price\\tlist\\x1f" VALUES (1, \\'x\\', x\\'00ff\\')')
            db.commit()
            """, to: "make.py")
        try sandbox.sh(
            """
            python3 $R/make.py $R/a.db; backupfs init --store $S --database $R/a.db >/dev/null; sqlite3 $R/a.db .dump >$R/before
            backupfs backup --label A --store $S; backupfs verify A --store $S
            backupfs export --json -o $R/a.json --store $S
            python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["price%09list%1f"])' $R/a.json >$R/rows
            grep -F 'size\\n(cm)' $R/rows | grep -F 'a\\r\\x08\\x0c\\x01\\x7f'
            for name in A $R/a.json
            do sqlite3 $R/a.db "UPDATE [$(printf 'price\\tlist\\037')] SET id = 2"
               backupfs restore $name --yes --store $S >/dev/null; sqlite3 $R/a.db .dump | cmp - $R/before
            done
            """)
    }

    @Test func `changed columns are refused and named, and adapted to where the definition says so`() throws {
        let sandbox = try Sandbox()
        let result = try sh(
            sandbox,
            """
            sqlite3 "$D" "CREATE TABLE a (id INTEGER PRIMARY KEY, x, y); INSERT INTO a VALUES (1, 'one', 'two'), (2, NULL, 5);
                CREATE TABLE b (id INTEGER PRIMARY KEY)"
            backupfs init --store $S --database "$D" > /dev/null; backupfs backup --label one --store $S > /dev/null
            backupfs export one --json -o $R/one.json --store $S > /dev/null; backupfs restore one --target $R/one --store $S > /dev/null
            sqlite3 "$D" "ALTER TABLE a DROP COLUMN y; ALTER TABLE a ADD COLUMN z NOT NULL DEFAULT 'zed'; CREATE TABLE c (id INTEGER PRIMARY KEY);
                INSERT INTO c VALUES (7); DELETE FROM a; INSERT INTO a (id) VALUES (3)"
            sqlite3 "$D" .dump > $R/before
            ! backupfs restore $R/one.json --yes --store $S 2> $R/complaint
            grep -c 'the file has a.y, which the database does not have now' $R/complaint
            grep -c 'the file has no a.z, which the database has now' $R/complaint
            sqlite3 "$D" .dump | cmp - $R/before
            sed -i 's/schemaDrift: refuse/schemaDrift: adapt/' $S/app.yaml
            backupfs restore $R/one.json --yes --store $S 2>&1 | grep -c 'the table stays as it is'
            sqlite3 "$D" "SELECT * FROM a; SELECT * FROM c"
            backupfs restore $R/one/database.sqlite --yes --store $S > /dev/null
            sqlite3 "$D" .dump | cmp - <(sqlite3 $R/one/database.sqlite .dump)
            """)
        #expect(result == "1\n1\n1\n1|one|zed\n2||zed\n7")
    }

    @Test func `a database that was lost comes back whole, and one in use too`() throws {
        let sandbox = try Self.makeSandbox()
        let result = try sh(
            sandbox,
            """
            python3 $R/describe.py "$D" > $R/before
            backupfs init --store $S --database "$D" > /dev/null; backupfs backup --label one --store $S > /dev/null
            rm "$D"
            ! backupfs restore one --yes --store $S --dry-run > /dev/null 2>&1 || true
            backupfs restore one --yes --store $S > /dev/null
            python3 $R/describe.py "$D" | cmp - $R/before; stat -c %a "$D"
            # With a log, pages of another size, and a reader that stays.
            sqlite3 "$D" "PRAGMA journal_mode = WAL; DROP TABLE wide" > /dev/null
            python3 - "$D" <<'END'
            import os, sqlite3, subprocess, sys
            db = sqlite3.connect(sys.argv[1])
            db.execute("SELECT count(*) FROM books").fetchall()
            subprocess.run(["backupfs", "restore", "one", "--yes", "--store", os.environ["S"]], check=True, stdout=subprocess.DEVNULL)
            print(db.execute("SELECT count(*) FROM wide").fetchall(), db.execute("PRAGMA journal_mode").fetchall())
            END
            python3 $R/describe.py "$D" | cmp - $R/before
            """)
        #expect(result == "600\n[(29,)] [('wal',)]")
    }

    @Test func `a kill at any point of a restore leaves the old database and media, or the new ones`() throws {
        let sandbox = try Sandbox()
        let result = try sh(
            sandbox,
            """
            mkdir $R/media; echo old > $R/media/a
            sqlite3 "$D" "CREATE TABLE t (id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (1, 'old'); CREATE INDEX i ON t (x)"
            backupfs init --store $S --database "$D" --media $R/media > /dev/null; backupfs backup --label old --store $S > /dev/null
            for point in safety-made media-staged journal-written transaction-begun committed media-published journal-published \
                marker-removed journal-removed; do
                sqlite3 "$D" "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, x, y); INSERT INTO t VALUES (2, 'new', 3)"
                echo new > $R/media/a
                BACKUPFS_FAULT=restore.$point backupfs restore old --yes --store $S > /dev/null 2>&1 && echo "$point was not met"
                backupfs status --store $S > /dev/null
                echo $point $(sqlite3 "$D" "SELECT * FROM t; SELECT group_concat(name) FROM sqlite_schema; PRAGMA integrity_check") \
                    $(cat $R/media/a) $(ls -a $R | grep -c staging || true)
            done 2> /dev/null
            """)
        #expect(
            result == """
                safety-made 2|new|3 t ok new 0
                media-staged 2|new|3 t ok new 0
                journal-written 2|new|3 t ok new 0
                transaction-begun 2|new|3 t ok new 0
                committed 1|old t,i ok old 0
                media-published 1|old t,i ok old 0
                journal-published 1|old t,i ok old 0
                marker-removed 1|old t,i ok old 0
                journal-removed 1|old t,i ok old 0
                """)
    }

    @Test func `app add writes a definition that is right, and init takes it`() throws {
        let sandbox = try Self.makeSandbox()
        let result = try sh(
            sandbox,
            """
            cd $R; backupfs app add --database "$D" --media $R/covers > $R/answer
            grep -x 'empty: 0 rows of rowid, id, a, b' $R/answer
            grep -x '#   authors: 4 rows of id, name, born, portrait' my-books.yaml
            backupfs app check my-books.yaml
            ! backupfs app add --database "$D" 2> $R/complaint; grep -o 'there is a file here already' $R/complaint
            backupfs app add --database "$D" -o - --name other | grep -x 'name: other'
            backupfs app add --database "$D" -o third.yaml --json \
                | jq -c '[.name, .tables[-1].name, (.tables | map(select(.name == "wide"))[0].rows)]'
            backupfs init --store $S --app my-books.yaml --database "$D" --media covers > $R/answer
            backupfs backup --label one --store $S
            """)
        #expect(
            result == """
                empty: 0 rows of rowid, id, a, b
                #   authors: 4 rows of id, name, born, portrait
                my-books.yaml: no problems
                there is a file here already
                name: other
                ["my-books","sqlite_sequence",29]
                one
                """)
    }

    @Test func `another application's database, and what is none, are refused`() throws {
        let sandbox = try Self.makeSandbox()
        let result = try sh(
            sandbox,
            """
            backupfs init --store $S --database "$D" > /dev/null
            sqlite3 "$D" .dump > $R/before
            sqlite3 $R/other.sqlite "PRAGMA application_id = 9; CREATE TABLE t (x)"
            printf 'SQLite format 3' > $R/none.sqlite
            for file in other none; do ! backupfs restore $R/$file.sqlite --yes --store $S 2>> $R/complaint; done
            grep -c "another application's" $R/complaint
            sqlite3 "$D" .dump | cmp - $R/before
            echo nothing > $R/text; ! backupfs init --store $R/s2 --database $R/text 2>&1 | head -c 300
            """)
        #expect(result.hasPrefix("1\n"))
        #expect(result.contains("database"))
    }
}
