import ArgumentParser
import BackupRepository
import Export
import Operations
import SystemIO

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
            Terminal.say(
                OrderedJSON.members([
                    "message_type": .text("unlock"), "held": .array(locks.present.map(Self.describe)),
                    "removed": .array(locks.stale.map(Self.describe)),
                ]).compactText + [10])
            return
        }
        for holder in locks.stale { Terminal.say("Removed the lock of \(holder.text).") }
        for holder in locks.present { Terminal.say("Held for \(holder.text).") }
        if locks.present.isEmpty, locks.stale.isEmpty { Terminal.say("There are no locks.") }
    }

    private static func describe(_ holder: LockHolder) -> OrderedJSON {
        .members([
            "lock": .text(holder.lock), "exclusive": .boolean(holder.isExclusive), "operation": .text(holder.operation),
            "host": .text(holder.host), "pid": .integer(Int(holder.process)), "since": .text(ISO8601.format(holder.since)),
        ])
    }
}
