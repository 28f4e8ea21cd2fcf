import ArgumentParser
import BackupCore
import DeviceSync
import Formats
import Operations
import SystemIO

struct DeviceSyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-sync",
        abstract: "Exchange changes of the app's records with other devices.",
        discussion: """
            What the app has changed on this device goes to the remote that the setting device-sync names, and what others have \
            changed comes into the app's database. A mounted store does this by itself.

            Example:
              backupfs device-sync
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(help: "Delete on the other devices, too, what waits for that.") var acceptDeletions = false

    func run() throws {
        DescriptorLimit.raise()
        let store = try store.open()
        let cancellation = Cancellation()
        let outcome = try CancellingSignals.run { () throws(BackupError) in
            try cancellation.run { () throws(BackupError) in
                try DeviceSyncOperation(store: store).run(acceptsDeletions: acceptDeletions)
            }
        }
        switch outcome {
        case .off:
            throw BackupError(
                .usage, "no remote is named for an exchange with other devices",
                remedy: "Name one with: backupfs config set device-sync NAME")
        case .switchedOff(let name):
            throw BackupError(
                .notPermitted, "the exchange with other devices is switched off in \(store.definition.title): \(name)",
                remedy: "Switch it on in the app.")
        case .done(let result):
            if output.json { Terminal.write(jsonLine: Self.json(result)) } else { Self.report(result) }
            guard let problem = result.report.problems.first else { return }
            if !output.json { for problem in result.report.problems { Terminal.writeErrorAsRequested(problem) } }
            throw ExitCode(ExitStatus(problem.code).rawValue)
        }
    }

    private static func report(_ result: DeviceSyncOperation.Result) {
        let (report, status) = (result.report, result.status)
        Terminal.writeUnlessQuiet(
            "\(Terminal.successMark)\(status.remote): sent changes: \(report.uploadedCount), received: \(report.mergedCount)")
        for path in result.conflictPaths {
            Terminal.writeUnlessQuiet("Changed on two devices at once; the earlier values are kept in: \(path)")
        }
        if report.newIdentityCount > 0 {
            Terminal.writeUnlessQuiet(
                "Another device had the same identity: a copy of this store. This one has a new identity now.")
        }
        guard status.waitingDeletionCount > 0 else { return }
        Terminal.writeUnlessQuiet(
            "Deletions that wait, since there are many: \(status.waitingDeletionCount). If they are right: backupfs device-sync --accept-deletions"
        )
    }

    private static func json(_ result: DeviceSyncOperation.Result) -> OrderedJSON {
        let (report, status) = (result.report, result.status)
        let problem = report.problems.first
        return [
            "message_type": "device_sync", "remote": status.remote, "sent": report.uploadedCount, "received": report.mergedCount,
            "queued": status.queuedCount, "conflicts": status.conflictCount, "new_conflicts": result.conflictPaths,
            "waiting_deletions": status.waitingDeletionCount, "new_identity": report.newIdentityCount > 0,
            "error": problem?.code.rawValue, "message": problem?.message, "remedy": problem?.remedy,
            "problems": report.problems.map(\.summary),
        ]
    }
}
