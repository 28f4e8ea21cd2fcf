import BackupCore
import Synchronization
import SystemIO

/// The snapshots of a repository: reads their records and labels, notices additions and removals by other processes, and changes
/// names.
final class SnapshotStore: Sendable {
    private struct State: Sendable {
        var list = SnapshotList.empty
        var labels: [SnapshotID: ReadLabel] = [:]
        var stamps: [FolderVersion] = []
        /// The status of the register's file at the last scan; `nil` if it did not exist.
        var unusableRegister: FileStatus?
        /// The number of the scan that produced it: a slow scan must not replace the result of a later one.
        var scanNumber = 0
    }

    /// A label, and the status of the file it was read from.
    private struct ReadLabel: Sendable {
        let label: SnapshotLabel
        let file: FileStatus
    }

    let layout: RepositoryLayout
    let protection: RepositoryProtection
    private let state = Mutex(State())
    /// The snapshots that could be undeleted at the last query.
    let lastRemoved = Mutex<KnownRemoved?>(nil)
    let lastExpectedLabels = Mutex<ExpectedLabels?>(nil)
    private let removedIDs = Mutex<Set<SnapshotID>>([])
    private let lastScanNumber = Mutex(0)

    init(layout: RepositoryLayout, protection: RepositoryProtection) throws(BackupError) {
        self.layout = layout
        self.protection = protection
        try scan()
    }

    var list: SnapshotList { state.withLock { $0.list } }

    /// Snapshots that this process has permanently removed: the register still names them if there was no space to write it.
    var removedForGood: Set<SnapshotID> { removedIDs.withLock { $0 } }

    func noteRemovedForGood(_ id: SnapshotID) { removedIDs.withLock { _ = $0.insert(id) } }

    /// Checks whether snapshots were added, removed or relabelled since the last scan.
    /// - Returns: whether the list has changed.
    @discardableResult
    func refresh() throws(BackupError) -> Bool {
        let now = try stamps()
        let isCovered = state.withLock { state in
            guard state.stamps.count == now.count, zip(state.stamps, now).allSatisfy({ $0.covers($1) }) else { return false }
            // Copying the register back changes none of the folders.
            return state.list.registerError == nil || state.unusableRegister == FileSystem.statusIfPresent(layout.register)
        }
        return isCovered ? false : try scan()
    }

    /// Scans again, independent of the folders' times.
    func rescan() throws(BackupError) { try scan() }

    private func stamps() throws(BackupError) -> [FolderVersion] {
        [try FolderVersion(path: layout.snapshots), try FolderVersion(path: layout.labels)]
    }

    private func nextScanNumber() -> Int {
        lastScanNumber.withLock { number in
            number += 1
            return number
        }
    }

    /// Reads new records, and new or changed labels.
    /// - Returns: whether the list has changed.
    @discardableResult
    func scan() throws(BackupError) -> Bool {
        let number = nextScanNumber()
        // Taken before reading: the next refresh finds changes made during the scan.
        let stamps = try stamps()
        let (known, knownLabels) = state.withLock { ($0.list, $0.labels) }
        // The register is read before the labels are listed: a label is written before it is added to the register, and removed
        // after it is deleted there.
        let register = FileSystem.statusIfPresent(layout.register)
        var registerError: BackupError?
        var expectedLabels: Set<SnapshotID>?
        do throws(BackupError) { expectedLabels = try readExpectedLabels() } catch { registerError = error }
        var missingLabels: [SnapshotID] = []
        var unlabelled: Set<SnapshotID> = []
        let labelFolder = try DirectoryHandle(path: layout.labels)
        let labelled = Set(try labelFolder.names())
        var labels: [SnapshotID: ReadLabel] = [:]
        var snapshots: [Snapshot] = []
        var damages: [BackupError] = []
        for name in try DirectoryHandle(path: layout.snapshots).names() {
            guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.snapshotExtension) else { continue }
            let id = SnapshotID(digest)
            do {
                let record: SnapshotRecord
                if let before = known[id] { record = before.record } else { record = try readRecord(id) }
                let labelName = FileName(FileSystem.lastComponent(layout.labelPath(of: id)))
                guard labelled.contains(labelName) else {
                    let isMissing = expectedLabels?.contains(id) == true
                    if isMissing { missingLabels.append(id) } else { unlabelled.insert(id) }
                    snapshots.append(Snapshot(id: id, record: record, label: isMissing ? Self.substitute(for: record) : nil))
                    continue
                }
                let file = try? labelFolder.status(labelName)
                if let before = knownLabels[id], before.file == file {
                    labels[id] = before
                    snapshots.append(Snapshot(id: id, record: record, label: before.label))
                    continue
                }
                let damageCount = damages.count
                let label = try readLabel(id, record, &damages)
                // A damaged label is reported by each scan, and one that has just changed may change again without a visible
                // difference.
                if let label, let file, file.isSettled, damages.count == damageCount {
                    labels[id] = ReadLabel(label: label, file: file)
                }
                snapshots.append(Snapshot(id: id, record: record, label: label))
            } catch {
                // Removed since the folder was listed, or damaged. The others are not affected.
                if error.code != .notFound { damages.append(error) }
            }
        }
        // The register and the very first snapshot may have been created since the register was looked up.
        if expectedLabels == nil, registerError == nil, Self.haveRegister(snapshots),
            FileSystem.statusIfPresent(layout.register) == nil
        {
            registerError = SnapshotRegister.missing(layout)
        }
        // Without the register, these snapshots may have labels with pins that are still to be copied.
        if registerError != nil {
            snapshots = snapshots.map { snapshot in
                guard unlabelled.contains(snapshot.id) else { return snapshot }
                return Snapshot(id: snapshot.id, record: snapshot.record, label: Self.substitute(for: snapshot.record))
            }
        }
        let list = SnapshotList(snapshots, damages: damages, missingLabels: missingLabels, registerError: registerError)
        return state.withLock { state in
            guard state.scanNumber < number else { return false }
            let isDifferent = state.list.snapshots != list.snapshots
            state = State(
                list: list, labels: labels, stamps: stamps, unusableRegister: register, scanNumber: number)
            return isDifferent
        }
    }

    private func readRecord(_ id: SnapshotID) throws(BackupError) -> SnapshotRecord {
        try readRecord(id, at: layout.snapshotPath(of: id))
    }

    func readRecord(_ id: SnapshotID, at path: String) throws(BackupError) -> SnapshotRecord {
        do throws(BackupError) {
            let bytes = try FileSystem.readFile(path, limitBytes: SnapshotRecord.byteCountLimit)
            guard SnapshotID(SHA256Hasher.hash(bytes)) == id else {
                throw BackupError(.repositoryDamaged, "the snapshot record does not fit its name")
            }
            return try SnapshotRecord(decoding: try protection.open(bytes, as: .snapshotRecord))
        } catch {
            throw error.with(
                path: path,
                remedy: error.remedy ?? "Copy this file back from another copy of the repository, if there is one.")
        }
    }

    /// If a label cannot be read, the snapshot has the record's name and is pinned: retention must not remove a snapshot that may
    /// have been pinned.
    func readLabel(
        _ id: SnapshotID, _ record: SnapshotRecord, _ damages: inout [BackupError]
    ) throws(BackupError) -> SnapshotLabel? {
        let path = layout.labelPath(of: id)
        do {
            let bytes = try FileSystem.readFile(path, limitBytes: SnapshotLabel.byteCountLimit)
            return try SnapshotLabel(decoding: try protection.open(bytes, as: .snapshotLabel(id)), for: id)
        } catch {
            if error.code == .notFound { return nil }
            damages.append(
                error.with(
                    path: error.path ?? path,
                    remedy: error.code == .unsupportedVersion
                        ? "Use a newer version of backupfs. The label stays as it is."
                        : "Rename the snapshot or set its pin again: that rewrites the label."))
            return Self.substitute(for: record)
        }
    }

    /// Replaces a label that is unreadable, missing, or possibly missing.
    static func substitute(for record: SnapshotRecord) -> SnapshotLabel {
        SnapshotLabel(name: record.name, isPinned: true, verifiedAt: nil)
    }
}

// MARK: - Changes

extension SnapshotStore {
    /// Makes a snapshot visible. Everything it refers to must be durable.
    /// - Parameters:
    ///   - label: a label that it must have, or else it does not appear.
    ///   - requireHeld: called just before the record gets its name; throws if the writer's lock is no longer held.
    ///   - willAppear: called just before the record gets its name, with the snapshot's name; returns whether to pin it. An error
    ///     before that leaves nothing;
    ///     an error after it may leave the snapshot, if the file system fails.
    ///   - didPublish: gets the lock on names, which is released with it.
    /// - Returns: the snapshot, with the next free name if another visible one has its name: hours of work must not be lost for a
    ///   name. It is pinned from the first moment, unless the label could not be written.
    func publish(
        _ record: SnapshotRecord, label first: FirstLabel? = nil, requireHeld: () throws(BackupError) -> Void,
        willAppear: (FileName) -> Bool, didPublish: (RepositoryLock) -> Void = { _ in }
    ) throws(BackupError) -> Snapshot {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        let record = try record.renamed(freeName(record.name, in: list))
        let bytes = try protection.seal(record.encode(), as: .snapshotRecord)
        guard bytes.count <= SnapshotRecord.byteCountLimit,
            try SnapshotRecord(decoding: try protection.open(bytes, as: .snapshotRecord)) == record
        else {
            throw BackupError(.invalidArgument, "the snapshot record is too large or does not survive being written")
        }
        let id = SnapshotID(SHA256Hasher.hash(bytes))
        let path = layout.snapshotPath(of: id)
        try synchronizeRemoved()
        // For a repository with snapshots of older programs only: another process that saw the record before the register, or the
        // next process after a crash, would mistake a register that does not exist yet for a missing one.
        if !list.recorded.isEmpty, !Self.haveRegister(list.recorded) { changeRegister { _ in } }
        var mayBeThere = false
        var label: SnapshotLabel?
        do {
            try layout.publish(bytes, to: path) { () throws(BackupError) in
                try FaultInjection.reached("backup.record-written")
                try requireHeld()
                try lock.requireHeld()
                let isPinned = willAppear(record.name)
                mayBeThere = true
                // Before the record: a crash between the two leaves an orphaned label, which the next writer removes.
                if let first {
                    // The label that an equal snapshot had before it was removed must not be this one's.
                    let isReplacing = try FileSystem.exists(layout.labelPath(of: id))
                    guard first.isNeeded || isReplacing else { return }
                    let given = first.label(named: record.name)
                    try write(given, of: id, lock)
                    label = given
                } else {
                    guard isPinned else { return }
                    let pinned = SnapshotLabel(name: record.name, isPinned: true, verifiedAt: nil)
                    if (try? write(pinned, of: id, lock)) != nil { label = pinned }
                }
                try lock.requireHeld()
            }
        } catch {
            // It may have been renamed but not made durable: a backup that is reported as failed must not be visible.
            if mayBeThere {
                try? Cancellation.shielded { () throws(BackupError) in
                    try requireHeld()
                    try layout.remove(path)
                }
            }
            throw error
        }
        show(Snapshot(id: id, record: record, label: label))
        changeRegister(published: id) { register in if label != nil { register.enterLabel(of: id) } }
        // From now on the missing register is noticed.
        if FileSystem.statusIfPresent(layout.register) == nil { _ = try? scan() }
        try FaultInjection.reached("backup.published")
        didPublish(lock.shared())
        return Snapshot(id: id, record: record, label: label)
    }

    /// Replaces a snapshot's label. A damaged label is repaired first if possible, and otherwise set aside in `damaged/`.
    /// - Throws: `notFound`; `alreadyExists` when another visible snapshot has the new name; `unsupportedVersion` and errors of
    ///   reading for a label that is currently unreadable, which is not replaced.
    func changeLabel(_ id: SnapshotID, _ change: (inout SnapshotLabel) throws(BackupError) -> Void) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        if try saveLabel(id, lock) { try scan() }
        let snapshot = try require(id)
        var label = snapshot.label
        try change(&label)
        if label.name != snapshot.name { try requireFree(label.name, in: list) }
        try write(label, of: id, lock)
        show(Snapshot(id: id, record: snapshot.record, label: label))
        changeRegister { $0.enterLabel(of: id) }
    }

    /// Writes a label under the lock on names.
    func write(_ label: SnapshotLabel, of id: SnapshotID, _ lock: borrowing NamesLock) throws(BackupError) {
        let bytes = try protection.seal(label.encode(for: id), as: .snapshotLabel(id))
        // Another host may have changed it while this one was suspended, even during the write.
        try layout.publish(bytes, to: layout.labelPath(of: id)) { () throws(BackupError) in try lock.requireHeld() }
    }

    /// Removes a snapshot's record durably, and then its label: it cannot be undeleted.
    /// - Throws: `notFound`.
    func remove(_ id: SnapshotID) throws(BackupError) { try remove([id]) }

    /// Removes snapshots under one lock and with one scan: for ten thousand of them this takes seconds instead of hours.
    /// - Throws: `notFound` when one does not exist; none is removed then. Snapshots removed before another error stay removed.
    func remove(_ ids: [SnapshotID]) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        for id in ids { _ = try require(id) }
        defer { _ = try? scan() }
        // On a full disk there may be space for it only afterwards.
        changeRegister { $0.strikeOut(ids) }
        defer {
            changeRegister { register in
                register.strikeOut(ids.filter { (try? FileSystem.exists(layout.snapshotPath(of: $0))) == false })
                register.strikeOut(perhapsGone(ids))
            }
        }
        try synchronizeRemoved()
        for id in ids {
            try lock.requireHeld()
            try layout.remove(layout.snapshotPath(of: id))
            noteRemovedForGood(id)
        }
        try layout.synchronize(layout.snapshots)
        for id in ids { try layout.remove(layout.labelPath(of: id)) }
    }

    /// Adds a snapshot that was just written to the list. The next refresh scans the folders again, since their times have
    /// changed.
    private func show(_ snapshot: Snapshot) {
        // The result of a scan that began earlier does not include it and is discarded.
        let number = nextScanNumber()
        state.withLock { state in
            let others = state.list.recorded.filter { $0.id != snapshot.id }
            let missingLabels = state.list.missingLabels.filter { $0 != snapshot.id }
            state.labels[snapshot.id] = nil
            state.list = SnapshotList(
                others + [snapshot], damages: state.list.damages, missingLabels: missingLabels,
                registerError: state.list.registerError)
            state.stamps = []
            state.scanNumber = max(state.scanNumber, number)
        }
    }

    /// - Throws: `invalidArgument`, `alreadyExists`.
    func requireFree(_ name: FileName, in list: SnapshotList) throws(BackupError) {
        guard name.isSafeComponent else {
            throw BackupError(
                .invalidArgument, "“\(MessageText.name(name.bytes))” cannot be a snapshot's name", remedy: "Choose another name.")
        }
        if list[name] != nil {
            throw BackupError(
                .alreadyExists, "there is a snapshot named “\(name)” already", remedy: "Choose another name.")
        }
    }

    /// The name, or the next free one: `NAME_2`, `NAME_3`, ….
    /// - Throws: `invalidArgument`.
    private func freeName(_ name: FileName, in list: SnapshotList) throws(BackupError) -> FileName {
        if list[name] == nil {
            try requireFree(name, in: list)
            return name
        }
        var number = 2
        while list[name.numbered(number)] != nil { number += 1 }
        return name.numbered(number)
    }

    func require(_ id: SnapshotID) throws(BackupError) -> Snapshot {
        guard let snapshot = list[id] else {
            throw BackupError(.notFound, "there is no such snapshot", path: layout.snapshotPath(of: id))
        }
        return snapshot
    }
}
