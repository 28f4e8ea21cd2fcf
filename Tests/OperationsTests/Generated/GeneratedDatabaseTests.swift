import TestSupport
import Testing

/// Whatever the program accepts it can back up, and whatever it has backed up it can restore. An independent program generates
/// databases with any legal schema and any values from a seed. Each is restored in every possible way, each time followed by an
/// undo. An independent program compares them as well.
struct GeneratedDatabaseTests {
    private static let folder = "\(Machine.projectPath)/Tests/OperationsTests/Generated"

    private static func describe(_ sandbox: Sandbox) throws -> String {
        try sandbox.sh("python3 \(folder)/describe_database.py $R/app.db")
    }

    /// - Returns: how many kinds of restore were tried.
    @discardableResult
    private static func check(_ number: Int) throws -> Int {
        let sandbox = try Sandbox()
        try sandbox.sh("python3 \(folder)/generate_database.py \(number) $R/app.db")
        let first = try describe(sandbox)
        // SQLite reports some databases as damaged that it created itself, such as those with texts that are not UTF-8 and an
        // index.
        let isSound = first.hasSuffix("[(b'ok',)]")
        // Which rows such a report names depends on the order in which they were inserted: after REINDEX, the same rows have no
        // report.
        func comparable(_ text: String) -> Substring {
            isSound ? text[...] : text[..<(text.lastIndex(of: "\n") ?? text.endIndex)]
        }
        try sandbox.sh("backupfs init --store $S --database $R/app.db >/dev/null")
        let backup = try sandbox.run("backupfs backup --label one --store $S")
        #expect(backup.exitCode == 0 || !isSound && backup.exitCode == 3, "\(number): \(backup)")
        let verification = try sandbox.run("backupfs verify one --store $S")
        #expect(verification.exitCode == 0 || !isSound, "\(number): \(verification)")
        try sandbox.sh(
            """
            backupfs export one --json -o $R/one.json --store $S >/dev/null; python3 -m json.tool $R/one.json /dev/null
            backupfs export one --zip -o $R/one.zip --store $S >/dev/null
            backupfs restore one --target $R/out --store $S >/dev/null; cp $R/out/database.sqlite $R/one.sqlite
            """)
        let ways = ["one", "$R/one.zip", "$R/one.json", "$R/one.sqlite"]
        for way in ways {
            try sandbox.sh("python3 \(folder)/change_database.py $R/app.db")
            let changed = try describe(sandbox)
            let restore = try sandbox.run("backupfs restore \(way) --yes --store $S")
            #expect(restore.exitCode == 0, "\(number), \(way): \(restore)")
            guard restore.exitCode == 0 else { continue }
            #expect(comparable(try describe(sandbox)) == comparable(first), "\(number), \(way)")
            let undo = try sandbox.run("backupfs undo --yes --store $S")
            #expect(undo.exitCode == 0, "\(number), \(way): \(undo)")
            #expect(try describe(sandbox) == changed, "\(number), \(way), undone")
        }
        return ways.count
    }

    /// SQLite reports other rows of the last one after a restore of its export.
    @Test(arguments: Rounds.part(of: [1, 2, 3, 4, 5, 6], oneIn: 6) + [439_530_941])
    func `a generated database comes back by every way, and so does what that replaced`(number: Int) throws {
        try Self.check(number)
    }

    @Test(.enabled(if: PropertyPlan.isWanted, "only `make property` runs it"))
    func `generated databases, for as long as one likes`() throws {
        let count = try PropertyPlan.forEachNumber { try Self.check($0) }
        print("property: \(count) databases")
    }
}
