import BackupRepository
import TestSupport
import Testing

@testable import Operations

/// A rule that was lost, with the settings or with their copy in the repository, must not be replaced by one that keeps less.
struct SettingsLossTests {
    /// Eight monthly backups of a store that keeps 24; the app's own rule would keep five.
    private func makeRoom() throws -> Room {
        let room = try Room()
        try room.sh(
            """
            export BACKUPFS_NOW=2026-01-01T10:00:00Z
            backupfs init --store $S --repository $R/disk --sample
            backupfs config set undelete-days 365 --store $S; backupfs config set keep-monthly 24 --store $S
            for month in 01 02 03 04 05 06 07 08; do BACKUPFS_NOW=2026-$month-15T10:00:00Z backupfs backup --store $S; done
            """)
        return room
    }

    private func count(_ room: Room) throws -> String { try room.sh("backupfs snapshots --json --store $S | jq length") }

    private func backUp(_ room: Room, day: Int) throws -> (status: Int32, output: String, complaint: String) {
        let result = try room.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-08-\(day)T10:00:00Z"])
        return (result.status, result.output, result.complaint)
    }

    @Test func `check finds a damaged document of a source, and the next backup mends it`() throws {
        let room = try makeRoom()
        let path = try room.sh("ls $R/disk/sources/*.source")
        try room.sh("printf X | dd of=\(path) bs=1 seek=60 conv=notrunc status=none")
        let found = try room.run("backupfs check --store $S")
        #expect(found.status == 1 && (found.output + found.complaint).contains("source: \(path): "), "\(found)")
        #expect(
            try room.run(
                "backupfs check --json --store $S | jq -r 'select(.message_type == \"finding\") | [.kind, .path] | join(\" \")'"
            ).output
                == "source \(path)\n")
        #expect(try backUp(room, day: 16).status == 0)
        #expect(try room.sh("backupfs check --store $S | tail -n 1") == "No damage was found.")
    }

    @Test(arguments: ["damaged", "newer", "missing"])
    func `a store that adopts a source without readable settings removes nothing`(loss: String) throws {
        let room = try makeRoom()
        switch loss {
        case "damaged": try room.sh("printf X | dd of=$(ls $R/disk/sources/*.source) bs=1 seek=60 conv=notrunc status=none")
        case "missing": try room.sh("rm $R/disk/sources/*.source")
        default:
            // A setting of a later version.
            let store = try Store.open(room.storePath)
            var document = try #require(try store.repository.source(store.source))
            document.settings += "keep-forever: \"yes\"\n"
            try store.repository.write(document)
        }
        try room.sh("rm -r $S")
        let text = try room.sh("backupfs init --store $S --repository $R/disk")
        #expect(text.contains("so retention and prune are off"), "\(text)")
        #expect(try room.sh("for n in retention prune; do backupfs config get $n --store $S; done") == "off\noff")
        try room.sh("backupfs restore latest --yes --store $S", ["BACKUPFS_NOW": "2026-08-15T11:00:00Z"])
        for day in 16...18 { #expect(try backUp(room, day: day).status == 0) }
        #expect(try count(room) == "11")
        // With the rule that the user sets.
        try room.sh("backupfs config set keep-last 3 --store $S; backupfs config set retention on --store $S")
        _ = try backUp(room, day: 19)
        #expect(try count(room) == "3")
    }

    @Test func `settings that are cut off remove nothing, and do not reach the repository`() throws {
        let room = try makeRoom()
        // As left by an editor that crashes while it writes the file.
        try room.sh("cp $S/store.yaml $R/whole.yaml; sed -i '/^keep-monthly/,$d' $S/store.yaml")
        for day in 16...18 {
            let result = try backUp(room, day: day)
            #expect(result.status == 0 && result.complaint.contains("may be cut off"), "\(result.complaint)")
        }
        #expect(try count(room) == "11")
        let refused = try room.run("backupfs forget --yes --store $S")
        #expect(refused.status == 1 && refused.complaint.contains("may be cut off"), "\(refused.complaint)")
        let checked = try room.run("backupfs config check --store $S")
        #expect(checked.status == 1 && (checked.output + checked.complaint).contains("# End of settings"), "\(checked)")
        // A change by a command does not mean that the rest is there.
        try room.sh("backupfs config set language de --store $S")
        #expect(try backUp(room, day: 19).complaint.contains("store.yaml"))
        #expect(try count(room) == "12")
        // A new store gets the complete settings.
        try room.sh(
            """
            cp -a $R/disk $R/copy; source=$(backupfs status --json --store $S | jq -r .source)
            backupfs init --store $R/again --repository $R/copy --adopt $source
            """)
        #expect(
            try room.sh("for n in keep-monthly undelete-days; do backupfs config get $n --store $R/again; done") == "24\n365")
        // The user confirms that the file is complete, as for one written by hand.
        try room.sh("echo '# End of settings' >> $S/store.yaml; backupfs config set keep-last 2 --store $S")
        #expect(try backUp(room, day: 20).complaint == "")
    }

    @Test func `a mount takes no settings that are cut off`() throws {
        let room = try makeRoom()
        let store = try Store.open(room.storePath)
        try room.sh("cp $S/store.yaml $R/whole.yaml; sed -i '/^keep-monthly/,$d' $S/store.yaml")
        store.reloadSettings()
        #expect(store.settings.retention.policy.monthly == .count(24))
        try room.sh("sed 's/^keep-monthly.*/keep-monthly: \"12\"/' $R/whole.yaml > $S/store.yaml")
        store.reloadSettings()
        #expect(store.settings.retention.policy.monthly == .count(12))
    }
}
