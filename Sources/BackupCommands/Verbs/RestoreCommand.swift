import AppData
import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore the app's data from a backup or a file, or write a backup into a folder.",
        discussion: """
            With --target nothing of the app is touched: the backup's files are written into that folder, which must be empty or not be there. \
            With SNAP:PATH it is only that file, or what is in that folder.

            The file (.json, .zip, .tar or .sqlite) or backup is checked whole first; then a safety backup is made; then all of it is restored \
            in one step, or nothing.

            With the strategy replace all data that is there goes first. With merge, records that are not there come, and those that are \
            get the file's values. With skip, those that are there stay as they are. --dry-run tells how many would be what.

            Example:
              backupfs restore old.json --dry-run
              backupfs restore before-upgrade --yes
              backupfs restore other-phone.json --strategy merge --yes
              ssh phone cat export.json | backupfs restore - --yes
              backupfs restore latest --target /tmp/latest
              backupfs restore latest:media/2024 --target /tmp/photos
              backupfs restore latest --remote offsite --yes
              backupfs restore --from-photos --month 2024/06 --target ~/Photos
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @OptionGroup var output: OutputOptions
    @Argument(
        help: ArgumentHelp(
            "A file (\"-\" is standard input), or a backup's name (or \"latest\"); with --target also a part of it.",
            valueName: "file|snap[:path]"),
        completion: .restorable)
    var source: String?
    @Option(
        name: .long,
        help: ArgumentHelp("Write the backup's files into this folder, and leave the app's data alone.", valueName: "dir"),
        completion: .directory)
    var target: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "What happens to the data that is there: replace, merge or skip. Without it, what the app's definition says.",
            valueName: "strategy"))
    var strategy: ImportStrategy?
    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp("Restore the settings, or leave those that are there. Without it, what the app's definition says."))
    var settings: Bool?
    @Flag(
        name: .long,
        help: "Leave out files of an archive that are damaged or missing, say which, and restore the rest (exit code 3).")
    var allowDamaged = false
    @Flag(name: .long, help: "Restore the backup of another store, also of another machine or app.")
    var otherSource = false
    @Flag(name: [.long, .customShort("n")], help: "Only say what would happen.")
    var dryRun = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false
    @OptionGroup var photos: PhotoRestoreOptions

    func validate() throws {
        try photos.validate(source: source, target: target)
        guard photos.fromPhotos || source != nil else {
            throw ValidationError("Missing expected argument '<file|snap[:path]>'")
        }
    }

    func run() throws {
        if photos.fromPhotos, let target { return try photos.restore(store, remote, to: target, isJSON: output.json) }
        guard let source else { return }
        // A safety backup comes first.
        DescriptorLimit.raise()
        // The copy can be read without the store's own repository; a restore into the app needs that for its safety backup.
        let copy = remote.remote == nil ? nil : try self.store.open(remote, isJSON: output.json)
        if let target {
            let store = try copy ?? self.store.open()
            let printer = ProgressPrinter(isJSON: output.json)
            defer { printer.finish() }
            SuccessorWarning.show(store)
            return try write(store, source, to: target, printer)
        }
        let store = try store.open()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let runner = RestoreRunner(
            store: store, restoresSettings: settings, allowsDamage: allowDamaged, allowsOtherSources: otherSource)
        let restore = CommandRestore(
            store: store, runner: runner, strategy: strategy, isJSON: output.json, isDryRun: dryRun, asks: !yes, printer: printer)
        if let copy {
            SuccessorWarning.show(copy)
            let reader = RestoreRunner(
                store: copy, restoresSettings: settings, allowsDamage: allowDamaged, allowsOtherSources: otherSource)
            let again = runner.command(restoring: source, strategy: strategy, remote: remote.remote)
            return try restore.run(again: again) { () throws(BackupError) in try reader.backup(named: source) }
        }
        if source == "-" {
            SuccessorWarning.show(store)
            return try runner.withStandardInput { content in try restore.run(again: nil) { content } }
        }
        try Self.requireWhole(source, in: store)
        let again = runner.command(restoring: source, strategy: strategy)
        var mustWarn = true
        try restore.run(again: again) { () throws(BackupError) in
            // The error for a refused `latest` contains the warning.
            let content = try runner.source(named: source)
            if mustWarn { SuccessorWarning.show(store) }
            mustWarn = false
            return content
        }
    }

    private func write(_ store: Store, _ source: String, to target: String, _ printer: ProgressPrinter) throws {
        let (snapshot, path) = try Self.place(source, in: store)
        try store.requireWritable(target)
        let restore = FolderRestore(store: store)
        if dryRun {
            let totals = try restore.check(snapshot, at: path, to: target)
            writeResult("would_write", snapshot, target, totals.fileCount, totals.byteCount, isDone: false)
            return
        }
        let report = try restore.run(snapshot, at: path, to: target, progress: printer.handler)
        printer.finish()
        writeResult("summary", snapshot, target, report.fileCount, report.byteCount, isDone: true)
        if let first = report.firstIncomplete { Terminal.writeError(first.note(count: report.incompleteCount)) }
        guard report.failureCount > 0 else { return }
        throw BackupError(
            .repositoryDamaged, "\(report.failureCount) files or folders of the backup could not be read and were left out",
            path: snapshot.name.description, remedy: "The others are whole. See: backupfs check",
            findings: report.failures.map { "\($0.path): \($0.error)" })
    }

    /// A backup whose name has a colon is that backup.
    /// - Returns: also the path below its folder.
    private static func place(_ text: String, in store: Store) throws(BackupError) -> (Snapshot, [FileName]) {
        do throws(BackupError) {
            return (try store.anySnapshot(named: text), [])
        } catch {
            let (name, path) = SnapshotPathArgument.split(text)
            guard error.code == .notFound, name != text else { throw error }
            return (try store.anySnapshot(named: name), BytePath.components(of: Array(path.utf8)))
        }
    }

    /// - Throws: `usage` for a part of a backup, which cannot be restored into the app.
    private static func requireWhole(_ source: String, in store: Store) throws(BackupError) {
        let (name, path) = SnapshotPathArgument.split(source)
        guard name != source, !path.isEmpty, try !FileSystem.exists(source), (try? store.anySnapshot(named: source)) == nil,
            (try? store.anySnapshot(named: name)) != nil
        else { return }
        throw BackupError(
            .usage, "a part of a backup cannot be restored into the app", path: source,
            remedy: "Write it into a folder with: --target DIR")
    }

    private func writeResult(
        _ type: String, _ snapshot: Snapshot, _ target: String, _ files: UInt64, _ bytes: UInt64, isDone: Bool
    ) {
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": type, "snapshot": snapshot.name, "target": target, "files": files, "bytes": bytes,
            ])
        } else {
            let size = ByteCount.text(bytes)
            Terminal.write(
                isDone
                    ? .plural(
                        files, one: "Wrote \(files) file, \(size), of \(snapshot.name) to \(target).",
                        other: "Wrote \(files) files, \(size), of \(snapshot.name) to \(target).")
                    : .plural(
                        files, one: "Would write \(files) file, \(size), of \(snapshot.name) to \(target).",
                        other: "Would write \(files) files, \(size), of \(snapshot.name) to \(target)."))
        }
    }
}

struct UndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo the last restore.",
        discussion: """
            Restores the safety backup that the last restore has made: all data is as it was before it. What the app has changed since then is in \
            the safety backup that this makes. It is a restore itself, so a second undo brings back what the first one took away. Restores that \
            failed have changed nothing, and do not count.

            Example:
              backupfs undo --dry-run
              backupfs undo --yes
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: [.long, .customShort("n")], help: "Only say what would happen.")
    var dryRun = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func run() throws {
        // A safety backup comes first.
        DescriptorLimit.raise()
        let store = try store.open()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let runner = RestoreRunner(store: store)
        let undo = try runner.undo()
        SuccessorWarning.show(store)
        let restore = CommandRestore(
            store: store, runner: runner, strategy: nil, isJSON: output.json, isDryRun: dryRun, asks: !yes, printer: printer)
        let lead: Message = "This takes back the restore of \(undo.name), made at \(SystemClock.localTime(undo.time))."
        // A retry undoes this same restore, even if there is another one meanwhile.
        try restore.run(again: runner.command(restoring: undo.source.name, strategy: nil), lead: lead) { undo.source }
    }
}
