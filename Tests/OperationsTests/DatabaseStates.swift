/// Databases in the states that apps and crashes leave, with their companion files.
enum DatabaseStates {
    /// A Python program that creates `x.db` with a table `t`. Its arguments are the kind, the folder, and the file that a journal
    /// names. For a database in use there is also a file that is created when it is ready, and whose removal ends it.
    static let script = #"""
        import os, shutil, sqlite3, struct, sys, time
        kind, folder, victim = sys.argv[1:4]
        os.chdir(folder)

        def make(path, count, mode="delete", page=4096):
            c = sqlite3.connect(path, isolation_level=None)
            c.execute(f"pragma page_size = {page}"); c.execute(f"pragma journal_mode = {mode}"); c.execute("pragma wal_autocheckpoint = 0")
            c.execute("create table t(id integer primary key, a blob)"); c.execute("begin")
            for number in range(count): c.execute("insert into t values (?, randomblob(1000))", (number,))
            c.execute("commit")
            return c

        def caught(path, count):
            """A database and its journal in the middle of a transaction."""
            c = make("tmp", count); c.execute("pragma cache_size = 5"); c.execute("begin"); c.execute("update t set a = randomblob(1000)")
            shutil.copy("tmp", path); shutil.copy("tmp-journal", path + "-journal"); c.execute("rollback"); c.close(); os.remove("tmp")

        def add_super_journal(path, name):
            """As a transaction over several databases writes it: it names the file that is deleted after a rollback."""
            name = name.encode()
            with open(path, "ab") as f:
                f.write(struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name))
                    + bytes.fromhex("d9d505f920a163d7"))

        def wal(path, with_index):
            c = make("tmp", 200, "wal"); c.execute("pragma wal_checkpoint"); c.execute("insert into t values (1000, 'in the log')")
            for suffix in ["", "-wal"] + (["-shm"] if with_index else []): shutil.copy("tmp" + suffix, path + suffix)
            c.close(); os.remove("tmp")

        if kind == "hot": caught("x.db", 400)
        if kind == "stale": make("x.db", 2000).close(); caught("y", 300); os.remove("y"); os.rename("y-journal", "x.db-journal")
        if kind == "super":
            caught("x.db", 400); add_super_journal("x.db-journal", victim)
        if kind == "own super":
            caught("x.db", 400); add_super_journal("x.db-journal", os.path.abspath("x.db-mj12345678"))
            with open("x.db-mj12345678", "wb") as f: f.write(os.path.abspath("x.db-journal").encode() + b"\0")
        if kind == "wal": wal("x.db", False)
        if kind == "wal with index": wal("x.db", True)
        if kind == "other wal": wal("y", False); os.remove("y"); os.rename("y-wal", "x.db-wal"); make("x.db2", 500, "wal").close(); os.rename("x.db2", "x.db")
        if kind == "empty journal": make("x.db", 100).close(); open("x.db-journal", "w").close()
        if kind == "kept journal": c = make("x.db", 100, "persist"); c.execute("delete from t where id < 50"); c.close()
        if kind == "both": wal("x.db", True); caught("y", 300); os.remove("y"); os.rename("y-journal", "x.db-journal")
        if kind == "empty": open("x.db", "w").close(); caught("y", 50); os.remove("y"); os.rename("y-journal", "x.db-journal")
        if kind == "log of a log": wal("x.db", True); shutil.copy("x.db-wal", "x.db-wal-wal"); shutil.copy("x.db", "x.db-shm-journal")
        if kind.startswith("live"):
            c = make("x.db", 400, "wal" if "wal" in kind else "delete")
            c.execute("pragma cache_size = 5")
            c.execute("begin immediate"); c.execute("insert into t values (5000, 'uncommitted')")
            if "spilled" in kind: c.execute("update t set a = randomblob(1000)")
            open(sys.argv[4], "w").close()
            any(not os.path.exists(sys.argv[4]) or time.sleep(0.01) for _ in range(12_000))
            c.execute("rollback"); c.close()
        """#
}
