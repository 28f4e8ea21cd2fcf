import TestSupport
import Testing

/// Keys and columns of sound databases in which generated ones have found bugs.
struct OddKeyTests {
    /// A store of a database created by Python, with the backup `one`, and the output of `.dump` before two rows are deleted.
    private static func restore(_ script: String, file: String = "one") throws -> (before: String, after: String) {
        let sandbox = try Sandbox()
        try sandbox.write(
            "import sqlite3, sys\ndatabase = sqlite3.connect(sys.argv[1])\n\(script)\ndatabase.commit()\n", to: "make.py")
        try sandbox.sh(
            """
            python3 $R/make.py $R/app.db; backupfs init --store $S --database $R/app.db >/dev/null
            backupfs backup --label one --store $S; backupfs verify one --store $S
            backupfs export one --json -o $R/one.json --store $S; python3 -m json.tool $R/one.json /dev/null
            """)
        let dump = "sqlite3 $R/app.db 'select hex(k), quote(v) from t order by 1, 2; pragma integrity_check'"
        let before = try sandbox.sh(dump)
        try sandbox.sh("sqlite3 $R/app.db 'delete from t'; backupfs restore \(file) --yes --store $S")
        return (before, try sandbox.sh(dump))
    }

    @Test(arguments: ["one", "$R/one.json"], ["UTF-8", "UTF-16le"])
    func `keys that differ after a NUL, or are not UTF-8, come back`(file: String, encoding: String) throws {
        let (before, after) = try Self.restore(
            #"""
            database.execute("pragma encoding = '\#(encoding)'")
            database.execute("create table t(k text primary key, v) without rowid")
            for key in ("", "\0", "\0\0", "a", "a\0b", "a\0c", "\ufffd", "it's"):
                database.execute("insert into t values (?, 1)", (key,))
            # In UTF-16 SQLite takes them for one another.
            for key in (b"\xff\xfe", b"\x00\xd8", b"\x00\xdc")[:1 if database.execute("pragma encoding").fetchone() != ("UTF-8",) else 3]:
                database.execute("insert into t values (cast(? as text), 2)", (key,))
            """#, file: file)
        #expect(before.split(separator: "\n").count == (encoding == "UTF-8" ? 12 : 10))
        #expect(before.hasSuffix("\nok"))
        #expect(after == before)
    }

    /// SQLite requests its own collations there as if it did not know them.
    @Test func `the order NOCASE of a database in UTF-16 is SQLite's own`() throws {
        let (before, after) = try Self.restore(
            """
            database.execute("pragma encoding = 'UTF-16le'")
            database.execute("create table t(k text collate nocase, v, primary key (k desc)) without rowid")
            database.execute("create index folded on t(v collate rtrim)")
            for key in ("B", "a", "C", "Ab", "aC", "_", "["): database.execute("insert into t values (?, ?)", (key, key + " "))
            """)
        #expect(before.hasSuffix("\nok"))
        #expect(after == before)
    }

    /// In Swift, an accent combines with the space before it.
    @Test func `a table whose name begins with an accent is not called damaged`() throws {
        let (before, after) = try Self.restore(
            #"""
            table = "\u0301t"
            database.execute(f'create table "{table}"(n real not null, k text, v any, primary key (v, k)) without rowid')
            database.execute(f"insert into \"{table}\" values (1, 'x', 2)")
            database.execute("create table t(k, v)")
            database.execute("insert into t values (1, 2), (3, 4)")
            """#)
        #expect(before.split(separator: "\n").count == 3)
        #expect(after == before)
    }

    @Test(arguments: ["one", "$R/one.json"])
    func `a generated column may have the name of the row's number`(file: String) throws {
        let (before, after) = try Self.restore(
            #"""
            database.execute("create table t(k, v, rowid text generated always as (typeof(k) || '!') virtual, OID as (v || '?') stored)")
            database.execute("insert into t(k, v) values (1, 2), ('x', null), (null, 'y')")
            """#, file: file)
        #expect(before.split(separator: "\n").count == 4)
        #expect(after == before)
    }

    /// SQLite 3.40 checks the columns in another order there.
    @Test func `columns of other types are no damage in a table without row numbers`() throws {
        let (before, after) = try Self.restore(
            """
            database.execute("create table t(n real, k text, v any, w text, primary key (v, k)) without rowid")
            database.execute("insert into t values ('x', 5, 'text', 7), (1.5, 'y', 2.5, '12'), (null, 'z', 3, null)")
            database.execute("create table s(a int, k text, v blob, primary key (v, k)) without rowid, strict")
            database.execute("insert into s values (1, 'x', x'00'), (null, 'y', x'01')")
            """)
        #expect(after.split(separator: "\n").dropLast().joined() == before.split(separator: "\n").dropLast().joined())
    }
}
