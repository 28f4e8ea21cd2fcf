/// Invalid databases.
enum DatabaseCraft {
    /// `good()` is the path of a copy of the app's database, which the environment names; `sql(…)` is one changed by statements.
    static let prelude = #"""
        import os, shutil, sqlite3

        def good():
            path = sys.argv[1] + ".base"
            shutil.copyfile(os.environ["GOOD_DATABASE"], path)
            os.chmod(path, 0o600)
            return path

        def sql(*statements):
            path = good()
            connection = sqlite3.connect(path, isolation_level=None)
            for statement in statements: connection.execute(statement)
            connection.close()
            with open(path, "rb") as file: data = file.read()
            os.remove(path)
            return data

        def original():
            path = good()
            with open(path, "rb") as file: data = file.read()
            os.remove(path)
            return bytearray(data)

        """#
}
