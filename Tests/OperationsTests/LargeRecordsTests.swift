import TestSupport
import Testing

/// Memory use does not grow with the data: neither with the number of records nor with their content.
@Suite(.rotating(oneIn: 3)) struct LargeRecordsTests {
    private static let memoryLimitKiB = 96 << 10

    /// Runs a command and prints its peak memory in KiB.
    private static let peak = """
        import resource, subprocess, sys
        subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        """

    private func peak(_ sandbox: Sandbox, _ command: String) throws -> Int {
        try #require(Int(sandbox.sh("python3 -c \"$PEAK\" \(command)", ["PEAK": Self.peak])))
    }

    /// Requirements FEV-14, PER-07, PER-11, PER-13.
    @Test func `two hundred thousand expenses are exported and imported in less memory than half their file`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample --sample-expenses 200000 > /dev/null; backupfs init --store $R/empty > /dev/null
            sqlite3 $S/app/database.sqlite "update expenses set notes = printf('%0700d', id) || 'ночной тариф'"
            """)
        #expect(try peak(sandbox, "backupfs export --json --output $R/export.json --store $S") < Self.memoryLimitKiB)
        let size = try #require(Int(sandbox.sh("stat -c %s $R/export.json")))
        #expect(size > 200_000_000)
        #expect(size > 2 * Self.memoryLimitKiB << 10)
        #expect(try peak(sandbox, "backupfs restore $R/export.json --yes --store $R/empty") < Self.memoryLimitKiB)
        let facts =
            "sqlite3 -readonly $D 'select count(*), sum(id), sum(length(notes)), min(notes), max(notes), sum(energy_charged) from expenses'"
        let expected = try sandbox.sh("D=$S/app/database.sqlite; \(facts)")
        #expect(expected.hasPrefix("200000|20000100000|142400000|"))
        #expect(try sandbox.sh("D=$R/empty/app/database.sqlite; \(facts)") == expected)
    }
}
