import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Backups that render only rows in changed pages: their exports must be those of a rendering from scratch, byte by byte.
struct RowRenderingTests {
    /// Whether the next backup takes rows from the newest one: it fails where it would.
    private static func takesRows(_ sandbox: Sandbox) throws -> Bool {
        let result = try sandbox.run("BACKUPFS_FAULT=records.spliced=fail backupfs backup --store $S --label probe")
        if result.exitCode == 0 { try sandbox.sh("backupfs delete probe --yes --store $S") }
        return result.exitCode != 0
    }

    /// Compares the newest backup's export with one that is rendered from the app's database as a whole.
    private static func compare(_ store: Store, _ label: String, _ place: SourceLocation = #_sourceLocation) throws {
        try store.repository.refresh()
        let snapshot = try store.snapshot(named: label)
        let root = try store.repository.rootDirectory(of: snapshot)
        let export = try #require(root.entry(named: "export.json"))
        let stored = try store.repository.bytes(of: export.content, limitBytes: 1 << 28)
        let folder = try TemporaryFolder()
        let rendering = try AppRendering(of: store.database, in: folder.path, createdAt: snapshot.creationTime)
        let whole = try rendering.export.bytes(at: 0, upTo: Int(rendering.export.size))
        #expect(stored == whole, "\(label)", sourceLocation: place)
        #expect(export.crc32 == CRC32.of(whole), sourceLocation: place)
    }

    /// Changes a table of the database `$D` in a random way, by the seed `$SEED`.
    private static let changes = #"""
        import os, random, sqlite3
        seed = os.environ["SEED"]
        generator = random.Random(seed)
        connection = sqlite3.connect(os.environ["D"], isolation_level=None)
        # Not the extremes, whose neighbors are no row numbers.
        ids = [row[0] for row in connection.execute("SELECT id FROM expenses WHERE id BETWEEN -(1 << 50) AND 1 << 50")]
        def text(): return " ".join(generator.choices(["Öl", "tyres", "home", "\"quoted\"", "数", "back\\slash", "line\nfeed"], k=generator.randrange(1, 30)))
        def one(): return generator.choice(ids) if ids else 1
        columns = "id, date, energy_charged, charger_type, odometer, cost, notes, is_initial_record, expense_type, currency, car_id"
        def insert(number): connection.execute(f"INSERT OR REPLACE INTO expenses ({columns}) VALUES (?, '2024-01-02T03:04:05Z', 1.5, 'home7kW', 7, '9.50', ?, 0, 'charging', '€', 1)", (number, text()))
        kinds = {
            "update": lambda: [connection.execute("UPDATE expenses SET notes = ? WHERE id = ?", (text(), one())) for _ in range(generator.randrange(1, 40))],
            "null": lambda: connection.execute("UPDATE expenses SET notes = NULL WHERE id = ?", (one(),)),
            "delete": lambda: [connection.execute("DELETE FROM expenses WHERE id = ?", (one(),)) for _ in range(generator.randrange(1, 20))],
            "range": lambda: connection.execute("DELETE FROM expenses WHERE id BETWEEN ? AND ?", ((start := one()), start + generator.randrange(500))),
            "append": lambda: [insert(max(ids, default=0) + 1 + number) for number in range(generator.randrange(1, 100))],
            "fill": lambda: [insert(generator.choice([one() + 1, -generator.randrange(1000), generator.randrange(1 << 40)])) for _ in range(20)],
            "extremes": lambda: [insert(number) for number in (-(1 << 63), (1 << 63) - 1)],
            "overflow": lambda: connection.execute("UPDATE expenses SET notes = ? WHERE id = ?", (text() * generator.randrange(1, 200), one())),
            "first": lambda: connection.execute("UPDATE expenses SET notes = ? WHERE id = (SELECT min(id) FROM expenses)", (text(),)),
            "last": lambda: connection.execute("DELETE FROM expenses WHERE id = (SELECT max(id) FROM expenses)"),
            "vacuum": lambda: connection.execute("VACUUM"),
            "page size": lambda: connection.executescript(f"PRAGMA journal_mode = DELETE; PRAGMA page_size = {generator.choice([1024, 4096, 16384])}; VACUUM;"),
            "other table": lambda: connection.execute("UPDATE cars SET name = ? WHERE id = 1", (text(),)),
            "renumber": lambda: connection.execute("UPDATE expenses SET id = id + 100000000 WHERE id = ?", (one(),)),
            "index": lambda: connection.executescript("CREATE INDEX IF NOT EXISTS notes_index ON expenses (notes); DROP INDEX IF EXISTS notes_index;"),
        }
        for _ in range(generator.randrange(1, 4)):
            kind = generator.choice(list(kinds))
            kinds[kind]()
            print(kind, end=" ")
        connection.close()
        """#

    @Test(arguments: Rounds.seeds(24, oneIn: 6))
    func `exports are those of a whole rendering, whatever changes`(_ seed: UInt64) throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample --sample-expenses 8000 >/dev/null")
        let store = try Store.open(sandbox.storePath)
        let database = store.database.path
        try sandbox.sh("backupfs backup --store $S --label start >/dev/null")
        for round in 0..<8 {
            try sandbox.sh(
                "python3 -c \"$CHANGES\"", ["CHANGES": Self.changes, "D": database, "SEED": "\(seed)-\(round)"])
            try sandbox.sh("backupfs backup --store $S --label round-\(round) >/dev/null")
            try Self.compare(store, "round-\(round)")
        }
        try sandbox.sh("backupfs verify round-7 --store $S >/dev/null; backupfs check --read-data --store $S >/dev/null")
    }

    @Test func `rows are taken from the newest backup only while nothing else has changed on which they depend`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample --sample-expenses 8000 >/dev/null; backupfs backup --store $S --label start >/dev/null
            """)
        let store = try Store.open(sandbox.storePath)
        func change(_ sql: String) throws { try sandbox.sh("sqlite3 \(store.database.path) \"\(sql)\"") }
        let update = "UPDATE expenses SET notes = 'changed' || random() WHERE id % 4000 = 7"
        try change(update)
        #expect(try Self.takesRows(sandbox))
        try sandbox.sh("backupfs backup --store $S --label one >/dev/null")
        try Self.compare(store, "one")
        // A column that has a default in rows that were written before.
        try change("ALTER TABLE expenses ADD COLUMN more TEXT DEFAULT 'x'")
        #expect(try !Self.takesRows(sandbox))
        try sandbox.sh("backupfs backup --store $S --label two >/dev/null")
        try Self.compare(store, "two")
        // Most rows have changed.
        try change("UPDATE expenses SET odometer = odometer + 1")
        #expect(try !Self.takesRows(sandbox))
        try sandbox.sh("backupfs backup --store $S --label three >/dev/null")
        try change(update)
        #expect(try Self.takesRows(sandbox))
        // Without the record, with a damaged one, and with that of another backup.
        for damage in [
            "rm -r $S/rendered", "for f in $S/rendered/*; do printf XXXX | dd of=$f bs=1 seek=200 conv=notrunc status=none; done",
            "truncate -s 100 $S/rendered/*",
            "cp -r $S/rendered $R/kept; backupfs backup --store $S --label other >/dev/null; rm -r $S/rendered; cp -r $R/kept $S/rendered",
        ] {
            try change(update)
            try sandbox.sh(damage)
            try change(update)
            #expect(try !Self.takesRows(sandbox), "\(damage)")
            try sandbox.sh("backupfs backup --store $S --label \(RandomToken.make()) >/dev/null")
            try change(update)
            #expect(try Self.takesRows(sandbox), "\(damage)")
        }
        try sandbox.sh("backupfs backup --store $S --label last >/dev/null; backupfs verify last --store $S >/dev/null")
        try Self.compare(store, "last")
    }

    @Test func `rows whose earlier bytes cannot be read are rendered again`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample --sample-expenses 8000 >/dev/null; backupfs backup --store $S --label start >/dev/null
            sqlite3 $S/app/database.sqlite "UPDATE expenses SET notes = 'changed' WHERE id % 4000 = 7"
            for pack in $(find $S/repository/packs -type f -size +100k); do
                printf 'damage' | dd of=$pack bs=1 seek=$(($(stat -c %s $pack) / 2)) conv=notrunc status=none
            done
            backupfs backup --store $S --label one >/dev/null
            """)
        let store = try Store.open(sandbox.storePath)
        let database = try sandbox.sh("sqlite3 $S/app/database.sqlite \"SELECT count(*) FROM expenses WHERE notes = 'changed'\"")
        #expect(database == "2")
        let export = try store.repository.rootDirectory(of: store.snapshot(named: "one")).entry(named: "export.json")
        #expect(try #require(export).size > 1 << 20)
    }

    /// The list of changes reads the newest backup's rows again, when a collection cannot be compared.
    @Test func `damage in rows that are taken does not stop backups`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.sqlite "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); CREATE TABLE small (id INTEGER PRIMARY KEY, a TEXT);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, hex(randomblob(50)) FROM n;
                INSERT INTO small SELECT id, a FROM t WHERE id <= 3000"
            backupfs init --store $S --database $R/app.sqlite >/dev/null; backupfs backup --store $S --label start >/dev/null
            for pack in $(find $S/repository/packs -type f -size +100k); do
                size=$(stat -c %s $pack)
                for place in $(seq 10 10 990); do
                    printf damagedamage | dd of=$pack bs=1 seek=$((size * place / 1000)) conv=notrunc status=none
                done
            done
            """)
        for number in 0..<3 {
            try sandbox.sh(
                """
                sqlite3 $R/app.sqlite "UPDATE small SET a = hex(randomblob(50)) WHERE id % 500 = 1; UPDATE t SET a = 'x' WHERE id = 15000"
                backupfs backup --store $S --label round-\(number) >/dev/null
                """)
        }
    }

    /// A default of a column that was added is in the table's SQL alone.
    @Test func `defaults that differ only in bytes that are not UTF-8 are different`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            #"""
            sqlite3 $R/app.sqlite "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, hex(randomblob(50)) FROM n"
            printf "ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'ÿ';" | sqlite3 $R/app.sqlite
            backupfs init --store $S --database $R/app.sqlite >/dev/null; backupfs backup --store $S --label one >/dev/null
            sqlite3 $R/app.sqlite "ALTER TABLE t DROP COLUMN c"
            printf "ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'þ'; UPDATE t SET a = 'changed' WHERE id = 9000;" | sqlite3 $R/app.sqlite
            """#)
        #expect(try !Self.takesRows(sandbox))
        try sandbox.sh("backupfs backup --store $S --label two >/dev/null; backupfs verify two --store $S >/dev/null")
    }

    @Test func `records of collections that are gone are removed, and drafts`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.sqlite "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, hex(randomblob(50)) FROM n"
            backupfs init --store $S --database $R/app.sqlite >/dev/null; backupfs backup --store $S --label one >/dev/null
            touch $S/rendered/d9298a10d1b0735837dc4bd85dac641b.tmp-1-abc; sqlite3 $R/app.sqlite "ALTER TABLE t RENAME TO other"
            touch $S/rendered/notes.txt $S/rendered/0123 $S/rendered/0123.tmp-1-abc
            backupfs backup --store $S --label two >/dev/null
            """)
        let name = "d9298a10d1b0735837dc4bd85dac641b"
        #expect(try sandbox.sh("ls $S/rendered") == "0123\n0123.tmp-1-abc\n\(name)\nnotes.txt")
        // A folder of someone else behind a link.
        try sandbox.sh(
            """
            mkdir $R/foreign; touch $R/foreign/0123456789abcdef0123456789abcdef; rm -r $S/rendered; ln -s $R/foreign $S/rendered
            sqlite3 $R/app.sqlite "DELETE FROM other WHERE id = 7"; backupfs backup --store $S --label three >/dev/null
            """)
        #expect(try sandbox.sh("ls $R/foreign").hasPrefix("0123456789abcdef0123456789abcdef"))
    }

    /// A database without a definition has tables of all kinds.
    @Test func `tables without a definition, in the order of row numbers or not`() throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            #"""
            CREATE TABLE numbered (id INTEGER PRIMARY KEY, a TEXT, b REAL, c BLOB);
            CREATE TABLE plain (a TEXT, b);
            CREATE TABLE descending (id INTEGER PRIMARY KEY DESC, a TEXT);
            CREATE TABLE named (name TEXT PRIMARY KEY, a TEXT) WITHOUT ROWID;
            CREATE TABLE keyed (name TEXT PRIMARY KEY, a TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
            INSERT INTO numbered SELECT i * 3, 'text ' || i || hex(randomblob(40)), i / 7.0, randomblob(20) FROM n;
            INSERT INTO plain SELECT a, b FROM numbered; INSERT INTO descending SELECT id, a FROM numbered;
            INSERT INTO named SELECT a, c FROM numbered; INSERT INTO keyed SELECT a, b FROM numbered;
            """#, to: "tables.sql")
        try sandbox.sh(
            """
            sqlite3 $R/app.sqlite < $R/tables.sql; backupfs init --store $S --database $R/app.sqlite >/dev/null
            backupfs backup --store $S --label start >/dev/null
            """)
        let store = try Store.open(sandbox.storePath)
        for (number, sql) in [
            "UPDATE numbered SET a = 'x' WHERE id = 3000",
            "DELETE FROM plain WHERE rowid % 5000 = 1; INSERT INTO plain VALUES ('new', x'00')",
            "UPDATE descending SET a = NULL WHERE id IN (3, 9000, 36000)",
            "UPDATE keyed SET a = 2.5 WHERE rowid = 77; DELETE FROM named WHERE name LIKE 'text 77%'",
            "INSERT INTO numbered VALUES (1, 'between', 1e999, zeroblob(9000))",
        ].enumerated() {
            try sandbox.sh("sqlite3 $R/app.sqlite \"\(sql)\"")
            #expect(try Self.takesRows(sandbox), "\(sql)")
            try sandbox.sh("backupfs backup --store $S --label round-\(number) >/dev/null")
            try Self.compare(store, "round-\(number)")
        }
    }
}
