import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Prove that backups can be restored, by a restore into a temporary folder.",
        discussion: """
            All files of a backup are written into a work folder of the store, which is removed again, and looked at there: every file's checksum, \
            the database's integrity, and the export as a restore would check it. The app's data is not touched. The time is kept with \
            the backup (user.backupfs.verified-at).

            Example:
              backupfs verify latest
              backupfs verify --all --json | jq -c 'select(.message_type == "verification")'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups' names, or \"latest\".", valueName: "snap"), completion: .snapshot)
    var snapshots: [String] = []
    @Flag(name: .long, help: "All backups, safety backups included.")
    var all = false

    func validate() throws {
        if all, !snapshots.isEmpty { throw ValidationError("Name backups, or say --all, but not both.") }
        if !all, snapshots.isEmpty { throw ValidationError("Name the backups to verify, or say --all.") }
    }

    func run() throws {
        let store = try store.open(remote)
        let chosen = all ? store.repository.snapshots() : try snapshots.map { try store.anySnapshot(named: $0) }
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let drill = SnapshotVerifier(store: store)
        var failed: [String] = []
        for snapshot in chosen {
            let outcome = try drill.run(snapshot, progress: printer.handler)
            printer.finish()
            if !outcome.findings.isEmpty { failed.append(snapshot.name.description) }
            show(outcome)
        }
        if chosen.isEmpty, !output.json { Terminal.write("No backups yet. Make one with: backupfs backup") }
        guard !failed.isEmpty else { return }
        throw BackupError(
            .repositoryDamaged, "\(failed.count) of \(chosen.count) backups cannot be restored as they were made",
            path: store.repositoryLocation,
            remedy: "See: backupfs check --read-data. If the app's data is still there, back it up again.",
            findings: failed.map(Message.verbatim))
    }

    private func show(_ outcome: SnapshotVerifier.Outcome) {
        let name = outcome.snapshot.name
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "verification", "snapshot": name.description, "snapshot_id": outcome.snapshot.id,
                "verified": outcome.verifiedAt != nil, "verified_at": outcome.verifiedAt?.wholeSeconds,
                "files": outcome.fileCount, "bytes": outcome.byteCount, "records": outcome.recordCount,
                "findings": outcome.findings, "notes": outcome.notes,
            ])
            return
        }
        if outcome.verifiedAt != nil {
            Terminal.writeUnlessQuiet(outcome.verdict)
        } else {
            Terminal.write(outcome.verdict)
        }
        for finding in outcome.findings { Terminal.write("  \(finding)") }
        for note in outcome.notes { Terminal.write("  (\(note))") }
    }
}
