import BackupRepository
import TestSupport
import Testing

@testable import Operations

/// A rule that was lost, with the settings or with their copy in the repository, must not be replaced by one that keeps less.
struct SettingsLossTests {
    /// Eight monthly backups of a store that keeps 24; the app's own rule would keep five.
    private func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            export BACKUPFS_NOW=2026-01-01T10:00:00Z
            backupfs init --store $S --repository $R/disk --sample
            backupfs config set undelete-days 365 --store $S; backupfs config set keep-monthly 24 --store $S
            for month in 01 02 03 04 05 06 07 08; do BACKUPFS_NOW=2026-$month-15T10:00:00Z backupfs backup --store $S; done
            """)
        return sandbox
    }

    private func count(_ sandbox: Sandbox) throws -> String { try sandbox.sh("backupfs snapshots --json --store $S | jq length") }

    private func backUp(_ sandbox: Sandbox, day: Int) throws -> Job.Result {
        try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-08-\(day)T10:00:00Z"])
    }

    @Test func `check finds a damaged document of a source, and the next backup mends it`() throws {
        let sandbox = try makeSandbox()
        let path = try sandbox.sh("ls $R/disk/sources/*.source")
        try sandbox.sh("printf X | dd of=\(path) bs=1 seek=60 conv=notrunc status=none")
        let found = try sandbox.run("backupfs check --store $S")
        #expect(found.exitCode == 1 && (found.output + found.errors).contains("source: \(path): "), "\(found)")
        #expect(
            try sandbox.run(
                "backupfs check --json --store $S | jq -r 'select(.message_type == \"finding\") | [.kind, .path] | join(\" \")'"
            ).output
                == "source \(path)\n")
        #expect(try backUp(sandbox, day: 16).exitCode == 0)
        #expect(try sandbox.sh("backupfs check --store $S | tail -n 1") == "No damage was found.")
    }

    @Test(arguments: ["damaged", "newer", "missing"])
    func `a store that adopts a source without readable settings removes nothing`(loss: String) throws {
        let sandbox = try makeSandbox()
        switch loss {
        case "damaged": try sandbox.sh("printf X | dd of=$(ls $R/disk/sources/*.source) bs=1 seek=60 conv=notrunc status=none")
        case "missing": try sandbox.sh("rm $R/disk/sources/*.source")
        default:
            // A setting of a later version.
            let store = try Store.open(sandbox.storePath)
            var document = try #require(try store.repository.source(store.source))
            document.settings += "keep-forever: \"yes\"\n"
            try store.repository.write(document)
        }
        try sandbox.sh("rm -r $S")
        let text = try sandbox.sh("backupfs init --store $S --repository $R/disk")
        #expect(text.contains("so retention and prune are off"), "\(text)")
        #expect(try sandbox.sh("for n in retention prune; do backupfs config get $n --store $S; done") == "off\noff")
        try sandbox.sh("backupfs restore latest --yes --store $S", ["BACKUPFS_NOW": "2026-08-15T11:00:00Z"])
        for day in 16...18 { #expect(try backUp(sandbox, day: day).exitCode == 0) }
        #expect(try count(sandbox) == "11")
        // With the rule that the user sets.
        try sandbox.sh("backupfs config set keep-last 3 --store $S; backupfs config set retention on --store $S")
        _ = try backUp(sandbox, day: 19)
        #expect(try count(sandbox) == "3")
    }

    @Test func `settings that are cut off remove nothing, and do not reach the repository`() throws {
        let sandbox = try makeSandbox()
        // As left by an editor that crashes while it writes the file.
        try sandbox.sh("cp $S/store.yaml $R/whole.yaml; sed -i '/^keep-monthly/,$d' $S/store.yaml")
        for day in 16...18 {
            let result = try backUp(sandbox, day: day)
            #expect(result.exitCode == 0 && result.errors.contains("may be cut off"), "\(result.errors)")
        }
        #expect(try count(sandbox) == "11")
        let refused = try sandbox.run("backupfs forget --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("may be cut off"), "\(refused.errors)")
        let checked = try sandbox.run("backupfs config check --store $S")
        #expect(checked.exitCode == 1 && (checked.output + checked.errors).contains("# End of settings"), "\(checked)")
        // A change by a command does not mean that the rest is there.
        try sandbox.sh("backupfs config set language de --store $S")
        #expect(try backUp(sandbox, day: 19).errors.contains("store.yaml"))
        #expect(try count(sandbox) == "12")
        // A new store gets the complete settings.
        try sandbox.sh(
            """
            cp -a $R/disk $R/copy; source=$(backupfs status --json --store $S | jq -r .source)
            backupfs init --store $R/again --repository $R/copy --adopt $source
            """)
        #expect(
            try sandbox.sh("for n in keep-monthly undelete-days; do backupfs config get $n --store $R/again; done") == "24\n365")
        // The user confirms that the file is complete, as for one written by hand.
        try sandbox.sh("echo '# End of settings' >> $S/store.yaml; backupfs config set keep-last 2 --store $S")
        #expect(try backUp(sandbox, day: 20).errors == "")
    }

    @Test func `a mount takes no settings that are cut off`() throws {
        let sandbox = try makeSandbox()
        let store = try Store.open(sandbox.storePath)
        try sandbox.sh("cp $S/store.yaml $R/whole.yaml; sed -i '/^keep-monthly/,$d' $S/store.yaml")
        store.reloadSettings()
        #expect(store.settings.retention.policy.monthly == .count(24))
        try sandbox.sh("sed 's/^keep-monthly.*/keep-monthly: \"12\"/' $R/whole.yaml > $S/store.yaml")
        store.reloadSettings()
        #expect(store.settings.retention.policy.monthly == .count(12))
    }
}
