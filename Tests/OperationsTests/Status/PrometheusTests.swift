import BackupCore
import Foundation
import TestSupport
import Testing

@testable import Operations

/// `backupfs status --prometheus`, checked by an independent strict parser of the text format.
struct PrometheusTests {
    /// Prints `name{labels in order} value`; fails on anything outside the format.
    private static let reader = #"""
        import re, sys
        data = sys.stdin.buffer.read()
        assert data.endswith(b"\n") and b"\r" not in data
        helped, types, seen, families = set(), {}, set(), []
        for line in data.decode("utf-8").split("\n")[:-1]:
            comment = re.fullmatch(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)", line)
            if comment:
                kind, name, rest = comment.groups()
                if kind == "HELP":
                    assert name not in helped, name
                    assert not re.search(r"\\[^\\n]", rest), rest
                    helped.add(name)
                else:
                    assert name in helped and name not in types and rest in ("gauge", "counter"), line
                    types[name] = rest
                    families.append(name)
                continue
            sample = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (\S+)', line)
            assert sample, line
            name, labels, value = sample.groups()
            # All samples of a metric stand together, below its type.
            assert families and families[-1] == name, line
            assert (name, labels) not in seen, line
            seen.add((name, labels))
            pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"', labels)
            assert len(dict(pairs)) == len(pairs), line
            float(value)
            plain = [(k, re.sub(r'\\(.)', lambda m: "\n" if m[1] == "n" else m[1], v)) for k, v in pairs]
            print(name, *[f"{k}={v}" for k, v in plain], value, sep="|")
        assert helped == set(types)
        """#

    private func samples(_ sandbox: Sandbox, _ command: String, _ environment: [String: String] = [:]) throws -> [String] {
        try Self.reader.write(toFile: sandbox("reader.py"), atomically: true, encoding: .utf8)
        return try sandbox.sh("\(command) | python3 $R/reader.py", environment).split(separator: "\n").map(String.init)
    }

    private static let clock = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]

    @Test func `the state as metrics`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        let place = "app=ev-charging-tracker|store=\(sandbox.storePath)"
        let before = try samples(sandbox, "backupfs status --prometheus --store $S", Self.clock)
        #expect(before.contains("backupfs_backups|\(place)|0") && before.contains("backupfs_last_error|\(place)|0"))
        #expect(!before.contains { $0.hasPrefix("backupfs_last_backup") })
        #expect(before.contains("backupfs_next_backup_timestamp_seconds|\(place)|1768176000"))

        try sandbox.sh("backupfs backup --label one --store $S >/dev/null", Self.clock)
        let after = try samples(sandbox, "backupfs status --prometheus --store $S")
        for line in [
            "backups|\(place)|1", "safety_backups|\(place)|0", "last_backup_timestamp_seconds|\(place)|1768141800",
            "last_backup_files|\(place)|9", "last_backup_warnings|\(place)|0", "records|\(place)|collection=cars|3",
            "records|\(place)|collection=expenses|1200",
            "database_readable|\(place)|1", "operation_running|\(place)|0", "automatic_backup_failures|\(place)|0",
        ] {
            #expect(after.contains("backupfs_\(line)"), "\(line)")
        }
        let size = try sandbox.sh("backupfs snapshots --json --store $S | jq '.[0].size_bytes'")
        #expect(after.contains("backupfs_last_backup_size_bytes|\(place)|\(size)"))
        let packs = try sandbox.sh("backupfs stats --json --store $S | jq .repository.pack_bytes")
        #expect(after.contains("backupfs_repository_size_bytes|\(place)|\(packs)"))
        #expect(!after.contains { $0.hasPrefix("backupfs_last_error_timestamp") || $0.hasPrefix("backupfs_operation_percent") })

        // A failure after the newest backup was made.
        _ = try sandbox.run(
            "BACKUPFS_FAULT=backup.begun=fail backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-11T15:00:00Z"])
        let failed = try samples(sandbox, "backupfs status --prometheus --store $S")
        #expect(failed.contains("backupfs_last_error|\(place)|1"))
        #expect(
            failed.contains("backupfs_last_error_timestamp_seconds|\(place)|operation=backup|code=inputOutput|1768143600"))
    }

    @Test func `a running operation, and a store whose path needs escapes`() throws {
        let sandbox = try Sandbox()
        let script = #"""
            T="$R/a \"quoted\" back\\slash"; backupfs init --sample --store "$T" > /dev/null; touch $R/pause
            BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --store "$T" > /dev/null & backup=$!
            wait_until 'backupfs status --json --store "$T" | grep -q running'
            backupfs status --prometheus --store "$T" > $R/metrics; rm $R/pause; wait $backup; cat $R/metrics
            """#
        let lines = try samples(sandbox, "(\(script))")
        let place = #"app=ev-charging-tracker|store=\#(sandbox.path)/a "quoted" back\slash"#
        #expect(lines.contains("backupfs_operation_running|\(place)|1"), "\(lines)")
        #expect(lines.contains("backupfs_operation_percent|\(place)|operation=backup|0"))
    }

    @Test func `a file is replaced as a whole, and may be read by the collector`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --sample --store $S >/dev/null; mkdir $R/collector; echo old > $R/collector/backupfs.prom
            umask 077; ls -i $R/collector | cut -d' ' -f1 > $R/before; backupfs status --prometheus $R/collector/backupfs.prom --store $S
            """)
        #expect(try sandbox.sh("ls -A $R/collector; stat -c %a $R/collector/backupfs.prom") == "backupfs.prom\n644")
        #expect(try sandbox.sh("[ $(cat $R/before) != $(stat -c %i $R/collector/backupfs.prom) ] && echo new") == "new")
        #expect(try samples(sandbox, "cat $R/collector/backupfs.prom").count == 13)
        let result = try sandbox.run("backupfs status --prometheus $R/none/x.prom --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("\(sandbox.path)/none"), "\(result.errors)")
    }

    @Test func `the counts of requests survive the way through the store's file; lines of later versions do not matter`() {
        let counts = RequestCounts(parsing: "served read 12\nserved lookup 3\nfailed ENOENT 2\nlater x 1\nserved odd\n")
        #expect(counts.served == ["read": 12, "lookup": 3] && counts.failed == ["ENOENT": 2])
        #expect(RequestCounts(parsing: counts.text) == counts)
    }
}
