import BackupRepository
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// The size of a backup is that of the app's database and media.
struct DataSizeTests {
    /// Written into a folder, so that stat(1) tells the sizes.
    private static let measured =
        "rm -rf $R/out; backupfs restore $NAME --target $R/out --store $S >/dev/null"
        + "; find $R/out/database.sqlite $R/out/media -type f -printf '%s\\n' | awk '{sum += $1} END {print sum}'"

    @Test(arguments: ["always", "off", "live"])
    func `all commands show it`(setting: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs config set export \(setting) --store $S
            backupfs backup --label one --store $S --json | tail -1 > $R/summary
            """)
        let size = try sandbox.sh(Self.measured, ["NAME": "one"])
        #expect(try #require(UInt64(size)) > 10_000)
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[0] | .size_bytes, .attributes[\"data-size\"]'")
                == "\(size)\n\(size)")
        #expect(try sandbox.sh("jq .bytes $R/summary") == size)
        #expect(try sandbox.sh("backupfs status --json --store $S | jq .lastBackup.sizeBytes") == size)
        #expect(try sandbox.sh("backupfs history --json --store $S | jq '.[0].size_bytes'") == size)
        #expect(
            try sandbox.sh("backupfs status --prometheus --store $S | grep ^backupfs_last_backup_size_bytes | grep -o '[0-9]*$'")
                == size)
    }

    @Test func `a backup of an older program has it from its folder`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --label one --store $S")
        let store = try Store.open(sandbox.storePath)
        let snapshot = try store.snapshot(named: "one")
        var attributes = snapshot.record.attributes
        attributes["data-size"] = nil
        let old = try store.repository.makeWriter().commit(
            SnapshotRecord(
                kind: .snapshot, name: "old", creationTime: snapshot.creationTime, parent: nil, root: snapshot.record.root,
                archiveSizeBytes: snapshot.record.archiveSizeBytes, archiveLayout: snapshot.record.archiveLayout,
                attributes: attributes))
        #expect(old.dataSizeBytes == old.record.root.totals.byteCount)
        let size = try sandbox.sh(Self.measured, ["NAME": "one"])
        #expect(String(store.repository.dataSizeBytes(of: old)) == size)
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq '.[] | select(.name==\"old\").size_bytes'") == size)
    }
}
