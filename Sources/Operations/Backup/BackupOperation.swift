import AppData
import BackupCore
import BackupRepository
import Formats
import Restore
import SnapshotFormats
import SystemIO

/// A backup: the app's records, database and media as of one instant. It is durable and becomes visible in one step.
public struct BackupOperation: Sendable {
    private let store: Store
    private let channel: Channel?
    private let readsAll: Bool
    private let checksRoom: Bool
    private let milestones: BackupMilestones

    /// - Parameters:
    ///   - channel: the backup's channel; `nil` for the one in the settings.
    ///   - readsAll: whether to read media files that look unchanged.
    ///   - checksRoom: whether to refuse, before it begins, a first backup that does not fit on its disk.
    ///   - milestones: receives what is known before the backup ends.
    public init(
        store: Store, channel: Channel? = nil, readsAll: Bool = false, checksRoom: Bool = true,
        milestones: BackupMilestones = BackupMilestones()
    ) {
        self.checksRoom = checksRoom
        self.milestones = milestones
        self.store = store
        self.channel = channel
        self.readsAll = readsAll
    }

    /// - Parameters:
    ///   - label: the snapshot's name; the local time if not given.
    ///   - tag: stored with the snapshot.
    /// - Throws: `busy` while another operation runs, `alreadyExists` for a label that is taken, …; leaves no snapshot then.
    public func run(label: String?, tag: String?, progress: ProgressHandler?) throws(BackupError) -> BackupResult {
        guard case .made(let result) = try run(label: label, tag: tag, skipsUnchanged: false, progress: progress) else {
            throw Self.notMade
        }
        return result
    }

    /// What came of a backup that may be skipped.
    public enum Outcome: Sendable {
        case made(BackupResult)
        /// Nothing has changed since this backup, the newest of the channel.
        case unchanged(FileName)
    }

    /// - Parameters:
    ///   - label: the snapshot's name; the local time if not given.
    ///   - tag: stored with the snapshot.
    ///   - skipsUnchanged: whether no snapshot is made when nothing has changed since the newest one of the channel.
    /// - Throws: as the other `run`.
    public func run(
        label: String?, tag: String?, skipsUnchanged: Bool, progress: ProgressHandler?
    ) throws(BackupError) -> Outcome {
        try store.recorded(.backup) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            // If a restore in another process died between records and media, a backup would mix two states.
            try store.requireWholeData()
            // Another process may have made one.
            if skipsUnchanged { try store.repository.refresh() }
            let newest = skipsUnchanged ? try store.newestOwnSnapshot(in: channel) : nil
            let made = try store.monitor.run(
                "backup", phase: BackupProgress.firstMessage(store.definition), percent: 0,
                retry: store.command(["backup"] + options(label, tag, skipsUnchanged)), progress
            ) { (report) throws(BackupError) -> BackupResult? in
                try make(.snapshot, label: label, tag: tag, unlessAs: newest, report).map { removingOld($0, report) }
            }
            // The user asked for this backup, so the store is in use. From the next backup on, its retention rules apply.
            defer { try? store.identityFile.change { $0.isQuiet = false } }
            guard let made else {
                guard let newest else { throw Self.notMade }
                facts.noteUnchanged(since: newest)
                return .unchanged(newest.name)
            }
            facts.note(made)
            store.recordWarnings(of: made, isAutomatic: false)
            return .made(made)
        }
    }

    private static var notMade: BackupError { BackupError(.invalidArgument, "the backup was not made") }

    private func options(_ label: String?, _ tag: String?, _ skipsUnchanged: Bool) -> [String] {
        [("label", label), ("tag", tag), ("channel", channel?.rawValue)].compactMap { name, value in
            value.map { "--\(name)=\($0)" }
        } + (readsAll ? ["--read-all"] : []) + (checksRoom ? [] : ["--skip-room-check"])
            + (skipsUnchanged ? ["--skip-if-unchanged"] : [])
    }

    /// Removes the backups that retention no longer keeps after a new one. For the holder of the operation lock.
    func removingOld(_ result: BackupResult, _ report: @escaping ProgressHandler) -> BackupResult {
        var result = result
        // The backup exists whether or not the removal succeeds; the next backup tries again.
        try? Cancellation.shielded { () throws(BackupError) in
            let removal = try ForgetOperation(store: store).removeOld(after: result, report)
            result.removed = removal.removed
            result.warnings += removal.warnings
        }
        return result
    }

    /// For the holder of the operation lock.
    func make(
        _ kind: SnapshotKind, label: String?, tag: String?, requiresAllFiles: Bool = false, _ report: @escaping ProgressHandler
    ) throws(BackupError) -> BackupResult {
        guard
            let result = try make(
                kind, label: label, tag: tag, unlessAs: nil, requiresAllFiles: requiresAllFiles, report)
        else { throw Self.notMade }
        return result
    }

    private static func holes(_ unreadable: [Message]) -> BackupError {
        BackupError(
            .inputOutput,
            .plural(
                unreadable.count, one: "\(unreadable.count) media file cannot be read, so it would not be in the safety backup",
                other: "\(unreadable.count) media files cannot be read, so they would not be in the safety backup"),
            remedy:
                "Nothing was changed. Make them readable, or move them away, and try again; or restore into another folder with --target.",
            findings: unreadable)
    }

    /// For the holder of the operation lock.
    /// - Parameter requiresAllFiles: whether an unreadable media file fails the backup instead of being left out.
    /// - Returns: `nil` when nothing has changed since `unchanged`.
    func make(
        _ kind: SnapshotKind, label: String?, tag: String?, unlessAs unchanged: Snapshot?, requiresAllFiles: Bool = false,
        _ report: @escaping ProgressHandler
    ) throws(BackupError) -> BackupResult? {
        let replacementCount = store.repository.catalogReplacementCount
        var mayMend = true
        var rows = EarlierRows()
        // What an attempt has written is gone again when it has failed.
        while true {
            do throws(BackupError) {
                return try makeOnce(
                    kind, label: label, tag: tag, unlessAs: unchanged, requiresAllFiles: requiresAllFiles, rows, report)
            } catch {
                // The packs may be whole and only the catalog wrong.
                if mayMend, error.code == .repositoryDamaged,
                    store.repository.catalogReplacementCount != replacementCount || (try? store.repository.mendCatalog()) == true
                {
                    mayMend = false
                } else if rows.areTaken, error.code == .repositoryDamaged || error.code == .unsupportedVersion {
                    // Rows of the newest backup that cannot be read can still be rendered.
                    rows = EarlierRows(mayBeTaken: false)
                } else {
                    throw kind == .snapshot ? BackupSpaceRequirement(store).naming(error) : error
                }
            }
        }
    }

    private func makeOnce(
        _ kind: SnapshotKind, label: String?, tag: String?, unlessAs unchanged: Snapshot?, requiresAllFiles: Bool,
        _ rows: EarlierRows, _ report: @escaping ProgressHandler
    ) throws(BackupError) -> BackupResult? {
        // A safety backup is part of a restore, which has already locked the media folder.
        let media = kind == .snapshot ? try store.lockMediaForBackup() : nil
        defer { withExtendedLifetime(media) {} }
        try store.database.check()
        if kind == .snapshot, checksRoom { try BackupSpaceRequirement(store).require() }
        try FaultInjection.reached("backup.begun")
        let channel = try kind == .snapshot ? store.channel(channel) : nil
        let createdAt = SystemClock.now()
        if let label {
            // Before a wait for the lock, under which the name is looked at again. What a server has is known only then.
            let name = try Self.name(label)
            if !store.repository.isRemote {
                try store.repository.refresh()
                try requireUnused(name)
            }
        }
        let writer = try store.repository.makeWriter(expectsSnapshots: store.hasMadeBackups)
        // Not only when the last thread lets go of it: after an error, the program may end before that.
        defer { writer.abandon() }
        let name = try snapshotName(kind, label, createdAt)
        milestones.hasBegun()
        try FaultInjection.reached("backup.writing")
        let otherStore = try store.claimSource()
        let parent = store.ownSnapshots(kind: .snapshot).last
        let earlier = PreviousBackup(of: store)

        let readRecord = MediaReadState(path: store.paths.mediaReadRecord)
        let lastReadAt = earlier.snapshot.flatMap { readRecord.lastReadAt($0) }
        let reading = MediaReading(
            readsAll: readsAll, isLastChance: requiresAllFiles, lastReadAt: lastReadAt, now: createdAt,
            intervalHours: store.settings.readAgainHours)

        let progress = BackupProgress(store.definition, report)
        // A safety backup is one file in `safety/`, with which any program can undo the restore.
        let export = kind == .safety ? .always : store.settings.export
        let storesExport = export == .always
        let places = try store.places()
        let parts = try BackupParts(
            store: store, writer: writer, earlier: earlier, createdAt: createdAt, progress: progress, reading: reading,
            readsPhotos: kind == .safety ? .nothing : readsAll ? .all : .new, rows: rows, storesExport: storesExport
        ).run()
        // A restore is undone with this backup: better none than one with gaps. Files moved meanwhile are no obstacle: a restore
        // keeps the files that the backup lacks.
        if requiresAllFiles, !parts.unreadable.isEmpty { throw Self.holes(parts.unreadable) }
        // What was read of photos would be read again next time.
        if let unchanged, parts.unreadable.isEmpty, parts.moved.isEmpty, parts.photos?.newCount ?? 0 == 0,
            parts.photos?.attributes[Snapshot.photoStarsAttribute] == unchanged.record.attributes[Snapshot.photoStarsAttribute],
            SameContent(repository: store.repository).isSame(parts, as: unchanged)
        {
            if parts.hasUntracedMedia, reading.readsUntraced, unchanged.id == earlier.snapshot?.id {
                readRecord.note(unchanged, readAt: createdAt)
            }
            return nil
        }
        progress.enter(.metadata)
        let records = parts.records
        let damage: [Message] = records.damage.map { ["database.sqlite: SQLite finds it damaged: \($0)"] } ?? []
        var entries = parts.entries
        var changes: ChangesDocument?
        if storesExport {
            entries.append(try file("schema.json", ExportSchema(records.facts.definition).json.prettyText, writer, createdAt))
            let made = try self.changes(since: parent, entries, records, writer)
            entries.append(try file("changes.json", made.json.prettyText, writer, createdAt))
            changes = made
        }
        let manifest = ManifestDocument(
            store: store, facts: records.facts, parent: parent, label: name, tag: tag, createdAt: createdAt,
            content: try Directory(entries: entries).totals, unreadable: parts.unreadable + damage)
        entries.append(try file("manifest.json", manifest.json.prettyText, writer, createdAt))

        let root = try writer.store(entries)
        try writer.publishChunks()
        // The app's own layout may have no place for the database.
        let layout = storesExport ? store.definition.archiveLayout : .identity
        let directory = try store.repository.directory(root)
        progress.enter(.archive)
        let naming = storesExport ? ManifestNaming(records.facts.definition) : nil
        let archives = try ArchiveSizes(
            of: directory, layout: layout, names: ManifestNaming.names(naming, root: directory, in: store.repository),
            time: createdAt, in: store.repository, known: writer.knownPlaces)
        progress.update(always: true) { $0[.archive].processedItems = archives.memberCount }
        let storedBytes = writer.storedByteCount
        let record = SnapshotRecord(
            kind: kind, name: name, creationTime: createdAt, parent: parent?.id, root: root,
            archiveSizeBytes: archives.zip, archiveLayout: layout,
            attributes: manifest.attributes(
                totals: root.totals, dataSizeBytes: directory.dataSizeBytes, storedBytes: storedBytes, tarSizeBytes: archives.tar,
                stamp: SnapshotStamp.unused(at: createdAt, kind, in: store.repository), databaseState: records.databaseState,
                archiveNames: naming?.text, channel: channel
            ).merging(try sourceAttributes()) { $1 }.merging(mediaAttributes(directory)) { $1 }.merging(
                parts.metadata?.attributes ?? [:]
            ) { $1 }.merging(
                parts.photos?.attributes ?? [:]
            ) { $1 }.merging(
                records.inexact?.attributes ?? [:]
            ) { $1 }.merging(records.refused?.attributes ?? [:]) { $1 }.merging(
                storesExport ? [:] : [Snapshot.exportAttribute: export.rawValue]
            ) { $1 }.merging(
                Snapshot.unreadFileAttributes(parts.unreadable.count)
            ) { $1 }.merging(
                Self.readAttributes(parts.hasUntracedMedia ? (reading.readsUntraced ? createdAt : lastReadAt) : nil)
            ) { $1 })
        // A safety backup runs where no other restore can run. It may be inside a transaction, which rules out the check.
        if kind == .snapshot { try store.requireNoRestoreMeanwhile() }
        try store.noteLastBackup(record)
        let snapshot = try writer.commit(record, willAppear: milestones.willAppear)
        // A restore does not show its safety backup's warnings.
        if otherStore != nil, kind == .snapshot { store.noteLineAnnounced() }
        progress.enter(.end)
        var result = BackupResult(
            snapshot: snapshot, requestedName: label.map { FileName($0) }, storedBytes: storedBytes,
            unreadable: parts.unreadable + damage,
            missing: records.facts.missingFiles.lines, mediaBytesRead: progress[.media].processedBytes,
            warnings: [
                otherStore.map { BackupWarning(.successor, $0) },
                places.problemInMedia().map { BackupWarning(.places, $0.message) },
                records.facts.unexported.map { BackupWarning(.unexported, $0.warning) },
                records.inexact.map { BackupWarning(.inexact, $0.warning) },
                records.refused.map { BackupWarning(.values, $0.warning) },
                changes?.warning.map { BackupWarning(.inexact, $0) },
                records.facts.triggerProblem.map { BackupWarning(.triggers, "a restore would be refused: \($0)") },
                parts.moved.isEmpty ? nil : MediaMoves.warning(parts.moved), parts.metadata?.warning, parts.photos?.warning,
            ].compactMap { $0 })
        if let renaming = result.renaming { result.warnings.append(BackupWarning(.name, renaming.message)) }
        return result
    }

    private static func readAttributes(_ time: Timestamp?) -> [String: String] {
        time.map { [Snapshot.mediaReadAttribute: ISO8601.format($0)] } ?? [:]
    }

    /// The owner of the backup, and what the next backup compares itself with.
    private func sourceAttributes() throws(BackupError) -> [String: String] {
        var attributes = [
            Snapshot.sourceAttribute: store.source.hexadecimal, Snapshot.sequenceAttribute: String(try store.nextSequence()),
        ]
        if let mediaPath = store.mediaPath, let space = try? FileSystem.space(at: mediaPath), space.fileSystemID != 0 {
            attributes[Snapshot.mediaFileSystemAttribute] = String(space.fileSystemID, radix: 16)
        }
        return attributes
    }

    /// The totals that retention compares, so that it need not read the folder.
    private func mediaAttributes(_ root: Directory) -> [String: String] {
        let media = root.entry(named: "media")?.storedDirectory?.totals ?? DirectoryTotals()
        return [
            Snapshot.mediaFilesAttribute: String(media.fileCount), Snapshot.mediaBytesAttribute: String(media.byteCount),
        ]
    }

    /// A parent that is unreadable, because it is damaged or from a later version, or whose records cannot be rendered, counts as
    /// none: it must not block a new backup. The same goes for a parent with two records of one name: older programs gave files
    /// whose names were not UTF-8 the same name.
    private func changes(
        since parent: Snapshot?, _ entries: [TreeEntry], _ records: StoredRecords, _ writer: BackupWriter
    ) throws(BackupError) -> ChangesDocument {
        func document(_ parent: Snapshot?) throws(BackupError) -> ChangesDocument {
            try ChangesDocument(from: parent, to: entries, records, records.facts.definition, writer, for: store)
        }
        do throws(BackupError) {
            let changes = try document(parent)
            guard parent != nil, !changes.incomparable.isEmpty else { return changes }
            let all = try document(nil)
            return all.incomparable.isEmpty ? all : changes
        } catch {
            guard let parent, error.code != .interrupted,
                !parent.storesExport || error.code == .repositoryDamaged || error.code == .unsupportedVersion
            else { throw error }
            return try document(nil)
        }
    }

    private func file(
        _ name: FileName, _ text: [UInt8], _ writer: BackupWriter, _ time: Timestamp
    ) throws(BackupError) -> TreeEntry {
        .file(name: name, mode: 0o600, modificationTime: time, stored: try writer.store(text, policy: .structuredText))
    }

    /// The label, or the local time; a second backup within one second gets `_2`.
    private static func name(_ label: String) throws(BackupError) -> FileName {
        let name = FileName(label)
        guard name.isSnapshotName else {
            throw BackupError(
                .invalidArgument, "this cannot be the name of a backup", path: label, remedy: "Choose another name.")
        }
        return name
    }

    private func requireUnused(_ name: FileName) throws(BackupError) {
        guard store.repository.snapshot(named: name) != nil else { return }
        throw BackupError(
            .alreadyExists, "there is a backup of that name already", path: name.description, remedy: "Choose another name.")
    }

    private func snapshotName(_ kind: SnapshotKind, _ label: String?, _ time: Timestamp) throws(BackupError) -> FileName {
        if let label {
            let name = try Self.name(label)
            try requireUnused(name)
            return name
        }
        // Safety backups have names that users do not give their own backups.
        let prefix = kind == .safety ? "~safety-" : ""
        for candidate in SnapshotStamp.candidates(at: time) {
            let name = FileName(prefix + candidate)
            if store.repository.snapshot(named: name) == nil { return name }
        }
        throw BackupError(.alreadyExists, "too many backups were made within one second", remedy: "Try again.")
    }
}
