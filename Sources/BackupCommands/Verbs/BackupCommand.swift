import AppData
import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up now.",
        discussion: """
            Prints the new backup's name. Exit code 3: the backup was made, but some file could not be read. With --if-due it is the backup of \
            the store's schedule, made only when it is due and something has changed: for a timer, where the store is not always mounted. \
            Then the backup is uploaded to the remotes with after-backup; a failure of that is a warning, and is retried later.

            Example:
              backupfs backup --label before-upgrade --tag manual
              backupfs backup --if-due
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Option(name: .long, help: "The backup's name (default: the local time, as 2026-01-11_14-30-00).")
    var label: String?
    @Option(name: .long, help: "A tag to find the backup by.")
    var tag: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Of which version of the app it is: production or development, for apps that have both (default: the store's settings).",
            valueName: "channel"))
    var channel: Channel?
    @Flag(name: [.long, .customShort("n")], help: "Only say what would be backed up.")
    var dryRun = false
    @Flag(name: .long, help: "Back up only if a backup is due by the schedule.")
    var ifDue = false
    @Flag(name: .long, help: "Make no backup if nothing has changed since the newest one.")
    var skipIfUnchanged = false

    @Flag(name: .long, help: "Read every media file, even those that look unchanged.")
    var readAll = false
    @Flag(name: .long, help: "Start a first backup even if the disk seems too small.")
    var skipRoomCheck = false
    @Flag(name: .long, help: "Do not upload the backup to remotes.")
    var noSync = false

    func validate() throws {
        if ifDue, label != nil || tag != nil || channel != nil || dryRun || readAll || skipRoomCheck || skipIfUnchanged {
            throw ValidationError(
                "--if-due takes neither --label, --tag, --channel, --dry-run, --read-all, --skip-room-check nor --skip-if-unchanged."
            )
        }
    }

    func run() throws {
        if let tag { try SnapshotTag.check(tag) }
        DescriptorLimit.raise()
        let store = try openStore()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        if dryRun {
            let counts = try store.counts()
            report(
                [
                    "message_type": "dry_run", "app": store.definition.name,
                    "records": OrderedJSON.object(counts.map { .init($0.name, $0.count) }), "media": store.mediaPath,
                ],
                text: Self.intention(counts.map { "\($0.count) \($0.plural)" }.joined(separator: ", "), store.mediaPath))
            return
        }
        // A backup that may be skipped should not ask a server anything.
        let looks = ifDue || skipIfUnchanged || noSync ? [] : AutomaticSync(store: store).lookAhead()
        let made = try ifDue ? runIfDue(store, printer) : runNow(store, printer)
        printer.finish()
        guard let result = made else {
            // What could not be uploaded before is tried again when its time has come.
            sync(store, AutomaticSync(store: store).due(retriesNow: false))
            return
        }
        MountRecord.letMountNotice(store.paths)
        report(
            [
                "message_type": "summary", "snapshot": result.snapshot.name, "snapshot_id": result.snapshot.id,
                "created_at": result.snapshot.creationTime.wholeSeconds, "files": result.snapshot.record.root.totals.fileCount,
                "bytes": result.snapshot.dataSizeBytes, "bytes_stored": result.storedBytes,
                "unreadable": result.unreadable, "missing": result.missing, "removed": result.removed.map(\.name),
                "warnings": result.warnings.map(\.message),
            ],
            text: "\(Terminal.successMark)\(result.snapshot.name)")
        if !ifDue { OperationNotification(.backup, named: result.snapshot.name.description, of: store).send() }
        if !result.missing.isEmpty, !output.json {
            Terminal.writeError("The app has records of files that are not in its media folder:")
            for line in result.missing.prefix(10) { Terminal.writeError("  \(line)") }
            if result.missing.count > 10 { Terminal.writeError("  … (manifest.json has more)") }
        }
        if !output.json { for warning in result.warnings { Terminal.writeError("warning: \(warning.message)") } }
        sync(store, AutomaticSync(store: store).remotes, looks)
        if let incompleteness = result.incompleteness { throw incompleteness }
    }

    /// The backup is made and reported, whatever comes of this.
    private func sync(_ store: Store, _ remotes: [RemoteSettings], _ looks: [RemoteLookAhead] = []) {
        if noSync { return }
        _ = SyncReport(store: store, isJSON: output.json, failure: .warning, earlier: looks).run(remotes)
    }

    private func openStore() throws(BackupError) -> Store {
        do {
            // A backup that is made looks for news under the repository's lock.
            return try store.open(look: ifDue || dryRun ? .news : .identity)
        } catch {
            // When started by a timer, this is the only way to report it.
            if ifDue, let path = try? store.path() { UnopenedBackup.note(error, storeAt: path) }
            throw error
        }
    }

    /// - Returns: `nil` when nothing has changed, which has been reported.
    private func runNow(_ store: Store, _ printer: ProgressPrinter) throws -> BackupResult? {
        do throws(BackupError) {
            let operation = BackupOperation(store: store, channel: channel, readsAll: readAll, checksRoom: !skipRoomCheck)
            switch try operation.run(label: label, tag: tag, skipsUnchanged: skipIfUnchanged, progress: printer.handler) {
            case .made(let result): return result
            case .unchanged(let name): skippedAsUnchanged(since: name)
            }
        } catch {
            OperationNotification(.backup, named: label ?? "", of: store, error: error).send()
            throw error
        }
        return nil
    }

    private func skippedAsUnchanged(since name: FileName) {
        skipped("unchanged", "Nothing has changed since the backup \(name).", next: nil)
    }

    /// - Returns: `nil` when none was made, which has been reported.
    private func runIfDue(_ store: Store, _ printer: ProgressPrinter) throws -> BackupResult? {
        switch try AutomaticBackup(store: store).runIfDue(isStart: true, progress: printer.handler) {
        case .made(let result): return result
        case .quiet:
            skipped(
                "adopted",
                "The store has adopted a source: it backs up by itself after its first restore, or its first `backupfs backup`.",
                next: nil)
        case .off: skipped("off", "There is no schedule.", next: nil)
        case .switchedOff(let name):
            skipped(
                "switched_off",
                "The schedule is off, since \(name) is off in \(store.definition.title). Back up all the same with: backupfs backup",
                next: nil)
        case .paused(let end):
            skipped("paused", "The schedule is paused until \(SystemClock.localTime(end)).", next: end)
        case .notDue(let next):
            skipped("not_due", next.map { "Not due until \(SystemClock.localTime($0))." } ?? "Never due again.", next: next)
        case .unchanged(let name): skippedAsUnchanged(since: name)
        }
        return nil
    }

    private func skipped(_ reason: String, _ text: Message, next: Timestamp?) {
        report(
            ["message_type": "skipped", "reason": reason, "next": next], text: text)
    }

    private static func intention(_ records: String, _ mediaPath: String?) -> Message {
        mediaPath.map { "Would back up \(records) and the media folder \($0)." } ?? "Would back up \(records)."
    }

    private func report(_ document: OrderedJSON, text: Message) {
        if output.json {
            Terminal.write(jsonLine: document)
        } else if dryRun {
            Terminal.write(text)
        } else {
            Terminal.writeUnlessQuiet(text)
        }
    }
}
