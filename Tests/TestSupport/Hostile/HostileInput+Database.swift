/// Databases that are damaged, belong to something else, or are crafted to act when they are opened.
extension HostileInput {
    private static let corrupted = "This backup file is corrupted and cannot be restored."
    /// Writes to the schema's own table, which SQLite then trusts.
    private static let writable = "'pragma writable_schema = on', "

    public static let databases: [HostileInput] = [
        .database("the first 50 bytes", .damagedContent, corrupted, "write(original()[:50])"),
        .database("half of it", .damagedContent, corrupted, "d = original(); write(d[:len(d) // 2 + 100])"),
        .database(
            "noise behind the header", .damagedContent, corrupted,
            "d = original(); d[100:] = bytes((i * 31) & 255 for i in range(len(d) - 100)); write(d)"),
        .database(
            "a page of noise", .damagedContent, corrupted,
            "d = original(); d[8192:12288] = bytes((i * 31) & 255 for i in range(4096)); write(d)"),
        .database("a header of noise", .damagedContent, corrupted, "d = original(); d[28:100] = b'\\xff' * 72; write(d)"),
        .database(
            "a page that is its own child", .damagedContent, corrupted,
            "d = original(); i = next(p for p in range(4096, len(d), 4096) if d[p] == 5); d[i + 8:i + 12] = (i // 4096 + 1).to_bytes(4, 'big'); write(d)"
        ),
        .database(
            "a freelist that goes round", .damagedContent, corrupted,
            "d = original(); d[32:36] = (3).to_bytes(4, 'big'); d[36:40] = (9).to_bytes(4, 'big'); write(d)"),
        .database(
            "an index without its rows", .damagedContent, corrupted,
            "write(sql('create index i on expenses (id)', 'pragma writable_schema = on', \"update sqlite_schema set rootpage = (select rootpage from sqlite_schema where name = 'cars') where name = 'i'\"))"
        ),
        .database(
            "another app's", .invalidContent, "Import failed: there is no table",
            "import os; p = sys.argv[1] + '.x'; c = sqlite3.connect(p); c.execute('create table photos (id)'); c.commit(); c.close(); d = open(p, 'rb').read(); os.remove(p); write(d)"
        ),
        .database(
            "an empty database", .invalidContent, "Import failed: there is no table",
            "write(sql('drop table expenses', 'drop table cars', 'vacuum'))"),
        .database(
            "a view in place of a table", .invalidContent, "Import failed: there is no table cars",
            "write(sql('pragma legacy_alter_table = on', 'pragma foreign_keys = off', 'alter table cars rename to c', 'create view cars as select * from c'))"
        ),
        .database(
            "a view that never ends", .invalidContent, "Import failed: there is no table cars",
            "write(sql('pragma foreign_keys = off', 'drop table cars', 'create view cars as with recursive n(id) as (select 1 union all select id + 1 from n) select id from n'))"
        ),
        .database(
            "a virtual table in place of a table", .invalidContent, "Import failed: there is no table cars",
            "write(sql('pragma foreign_keys = off', 'drop table cars', 'create virtual table cars using fts5(name)'))"),
        .database(
            "a column that is computed", .invalidContent, "has no column cost",
            "write(sql('alter table expenses drop column cost', \"alter table expenses add column cost text as ('1' || odometer)\"))"
        ),
        .database(
            "a column missing", .invalidContent, "has no column cost", "write(sql('alter table expenses drop column cost'))"),
        .database(
            "a schema that is no SQL", .damagedContent, corrupted,
            "write(sql(\(writable)\"update sqlite_schema set sql = 'create tabel cars (x' where name = 'cars'\"))"),
        .database(
            "a schema that reads another file", .invalidContent, "",
            "write(sql('pragma foreign_keys = off', 'drop table cars', \(writable)\"insert into sqlite_schema values ('table', 'cars', 'cars', 0, 'create virtual table cars using csv(filename=''/etc/passwd'')')\"))"
        ),
        .database(
            "a schema that loads a library", .invalidContent, "Import failed: there is no table cars",
            "write(sql('pragma foreign_keys = off', 'drop table cars', \"create view cars as select load_extension('/tmp/evil.so') as id\"))"
        ),
        .database(
            "a reference to nothing", .invalidContent, "Import failed: expense 3 refers to unknown car 4711",
            "write(sql('pragma foreign_keys = off', 'update expenses set car_id = 4711 where id = 3'))"),
        .database(
            "values of the wrong kind", .invalidContent, "odometer must be a whole number",
            "write(sql(\"update expenses set odometer = 'far' where id = 7\"))"),
        .database(
            "a text of 100 MB", .tooLarge, "a value is too large",
            "write(sql(\"update expenses set notes = cast(zeroblob(100000000) as text), odometer = 'far' where id = 7\"))"),
    ]

    /// Accepted, since their malicious parts have no effect.
    public static let harmlessDatabases: [HostileInput] = [
        .database(
            "triggers that delete everything", .invalidContent, "",
            "write(sql('create trigger t after insert on cars begin delete from expenses; end', 'create trigger u before delete on expenses begin select raise(abort, \"no\"); end'))"
        ),
        .database(
            "other tables, views and indices", .invalidContent, "",
            "write(sql('create table evil (a)', 'create index i on expenses (cost)', 'create view v as select * from cars'))"),
        .database("in WAL mode", .invalidContent, "", "d = original(); d[18:20] = b'\\x02\\x02'; write(d)"),
    ]
}
