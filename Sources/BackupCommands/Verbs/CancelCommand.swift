import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Glibc
import Operations
import SystemIO

struct CancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel the operation that is running on the store.",
        discussion: """
            A backup, a restore or whatever else runs ends as soon as it can, and nothing of it is left half done. Returns when it has ended. \
            What can no longer be taken back is finished instead.

            Example:
              backupfs cancel
            """)

    private static let timeoutSeconds = 60

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        // Needs neither the repository nor its password.
        let path = try store.path()
        guard let operation = try RunningOperation.of(storeAt: path) else {
            return report("Nothing is running.", name: nil)
        }
        guard operation.cancel() else {
            throw BackupError(
                .accessDenied, "the operation cannot be cancelled: \(operation.text)", path: path,
                remedy: "Cancel it as the user who runs it.")
        }
        for _ in 0..<Self.timeoutSeconds * 50 {
            guard try RunningOperation.of(storeAt: path) == operation else {
                return report("Ended: \(operation.name)", name: operation.name)
            }
            usleep(20_000)
        }
        throw BackupError(
            .busy, "it was asked to stop and is still running: \(operation.text)", path: path,
            remedy: "It may be finishing what can no longer be taken back. Wait, and look with: backupfs status")
    }

    private func report(_ text: Message, name: String?) {
        guard output.json else { return Terminal.write(text) }
        Terminal.write(jsonLine: ["message_type": "cancelled", "operation": name])
    }
}

struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Show the repository's locks, and remove stale ones.",
        discussion: """
            Locks expire by themselves; this only tidies up. A lock whose holder is still there is never removed.

            Example:
              backupfs unlock
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let store = try store.open()
        let locks = try store.repository.unlock()
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "unlock", "held": locks.present.map(Self.describe), "removed": locks.stale.map(Self.describe),
            ])
            return
        }
        for holder in locks.stale { Terminal.write("Removed the lock of \(holder.text).") }
        for holder in locks.present { Terminal.write("Held for \(holder.text).") }
        if locks.present.isEmpty, locks.stale.isEmpty { Terminal.write("There are no locks.") }
    }

    private static func describe(_ holder: LockHolder) -> OrderedJSON {
        [
            "lock": holder.lock, "exclusive": holder.isExclusive, "operation": holder.operation, "host": holder.host,
            "pid": Int(holder.process), "since": holder.since,
        ]
    }
}
