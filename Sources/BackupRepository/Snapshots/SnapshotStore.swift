import BackupCore
import Synchronization
import SystemIO

/// The snapshots of a repository: reads their records and labels, notices what other processes add and remove, and changes names.
final class SnapshotStore: Sendable {
    private struct State: Sendable {
        var list = SnapshotList.empty
        var stamps: [FolderStamp] = []
        /// Which scan made it: a slow scan must not replace the result of a later one.
        var scanNumber = 0
    }

    let layout: RepositoryLayout
    private let protection: RepositoryProtection
    private let state = Mutex(State())
    private let lastScanNumber = Mutex(0)

    init(layout: RepositoryLayout, protection: RepositoryProtection) throws(BackupError) {
        self.layout = layout
        self.protection = protection
        try scan()
    }

    var list: SnapshotList { state.withLock { $0.list } }

    /// Looks whether snapshots came, went or changed their label since the last look.
    /// - Returns: whether the list differs now.
    @discardableResult
    func refresh() throws(BackupError) -> Bool {
        let now = try stamps()
        let isCovered = state.withLock { state in
            state.stamps.count == now.count && zip(state.stamps, now).allSatisfy { $0.covers($1) }
        }
        return isCovered ? false : try scan()
    }

    /// Looks anew, whatever the folders' times say.
    func rescan() throws(BackupError) { try scan() }

    private func stamps() throws(BackupError) -> [FolderStamp] {
        [try FolderStamp(path: layout.snapshots), try FolderStamp(path: layout.labels)]
    }

    /// Reads all labels, and the records that are not known yet.
    /// - Returns: whether the list differs now.
    @discardableResult
    func scan() throws(BackupError) -> Bool {
        let number = lastScanNumber.withLock { number in
            number += 1
            return number
        }
        // Taken before reading: what changes while it is read is found by the next look.
        let stamps = try stamps()
        let known = list
        var snapshots: [Snapshot] = []
        var damages: [BackupError] = []
        for name in try DirectoryReader(path: layout.snapshots).names() {
            guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.snapshotExtension) else { continue }
            let id = SnapshotID(digest)
            do {
                let record: SnapshotRecord
                if let before = known[id] { record = before.record } else { record = try readRecord(id) }
                snapshots.append(Snapshot(id: id, record: record, label: try readLabel(id, record, &damages)))
            } catch {
                // Removed since the folder was listed, or damaged: the others are as good as before.
                if error.code != .notFound { damages.append(error) }
            }
        }
        let list = SnapshotList(snapshots, damages: damages)
        return state.withLock { state in
            guard state.scanNumber < number else { return false }
            let isDifferent = state.list.snapshots != list.snapshots
            state = State(list: list, stamps: stamps, scanNumber: number)
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
            throw BackupError(
                error.code, error.message, path: path,
                remedy: error.remedy ?? "Copy this file back from another copy of the repository, if there is one.")
        }
    }

    /// A label that cannot be read leaves the record's name and pins the snapshot: retention must not remove what may have been
    /// pinned.
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
                BackupError(
                    error.code, error.message, path: error.path ?? path,
                    remedy: "Rename the snapshot or set its pin again: that writes the label anew."))
            return SnapshotLabel(name: record.name, isPinned: true, verifiedAt: nil)
        }
    }
}

// MARK: - Changes

extension SnapshotStore {
    /// Makes a snapshot visible. Everything it refers to must be durable.
    /// - Parameters:
    ///   - requireHeld: asked just before the record gets its name, whether the writer's lock is still held; throws if not.
    ///   - willAppear: called just before the record gets its name. An error before that leaves nothing; an error after it
    ///     may, if the file system fails, leave the snapshot.
    /// - Throws: `alreadyExists` when another visible snapshot has its name.
    func publish(
        _ record: SnapshotRecord, requireHeld: () throws(BackupError) -> Void, willAppear: () -> Void
    ) throws(BackupError) -> Snapshot {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try requireFree(record.name)
        let bytes = try protection.seal(record.encode(), as: .snapshotRecord)
        guard bytes.count <= SnapshotRecord.byteCountLimit,
            try SnapshotRecord(decoding: try protection.open(bytes, as: .snapshotRecord)) == record
        else {
            throw BackupError(.invalidArgument, "the snapshot record is too large or does not survive being written")
        }
        let id = SnapshotID(SHA256Hasher.hash(bytes))
        let path = layout.snapshotPath(of: id)
        try synchronizeRemoved()
        var mayBeThere = false
        do {
            try OwnerOnly.publish(bytes, to: path, temporaryFolder: layout.temporary) { () throws(BackupError) in
                try FaultInjection.reached("backup.record-written")
                try requireHeld()
                try lock.requireHeld()
                willAppear()
                mayBeThere = true
            }
        } catch {
            // It was perhaps renamed but not made durable: a backup that is reported as failed should not be seen.
            if mayBeThere, (try? requireHeld()) != nil { try? FileSystem.removeFile(path) }
            throw error
        }
        // The snapshot is there; if it cannot be listed now, the next look finds it.
        _ = try? scan()
        try FaultInjection.reached("backup.published")
        return Snapshot(id: id, record: record, label: nil)
    }

    /// Replaces a snapshot's label.
    /// - Throws: `notFound`; `alreadyExists` when another visible snapshot has the new name.
    func changeLabel(_ id: SnapshotID, _ change: (inout SnapshotLabel) throws(BackupError) -> Void) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        let snapshot = try require(id)
        var label = snapshot.label
        try change(&label)
        if label.name != snapshot.name { try requireFree(label.name) }
        try write(label, of: id, lock)
        try scan()
    }

    /// Writes a label while the names are locked.
    func write(_ label: SnapshotLabel, of id: SnapshotID, _ lock: borrowing NamesLock) throws(BackupError) {
        let bytes = try protection.seal(label.encode(for: id), as: .snapshotLabel(id))
        try lock.requireHeld()
        try OwnerOnly.publish(bytes, to: layout.labelPath(of: id), temporaryFolder: layout.temporary)
    }

    /// Removes a snapshot's record durably, and then its label: it cannot be brought back.
    /// - Throws: `notFound`.
    func remove(_ id: SnapshotID) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        _ = try require(id)
        try synchronizeRemoved()
        try lock.requireHeld()
        try FileSystem.removeFile(layout.snapshotPath(of: id))
        try FileSystem.synchronizeDirectory(layout.snapshots)
        try FileSystem.removeFile(layout.labelPath(of: id))
        try scan()
    }

    /// Removes what crashes left: labels of snapshots that are gone and cannot be brought back, and all temporary files. Only for the holder of
    /// the writer's lock, since packs are written in the same folder.
    /// - Parameter requireHeld: whether the writer's lock is still held, asked before anything is removed; throws if not.
    func sweep(requireHeld: () throws(BackupError) -> Void) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        for name in try DirectoryReader(path: layout.labels).names() {
            guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.labelExtension) else { continue }
            let id = SnapshotID(digest)
            if try !FileSystem.exists(layout.snapshotPath(of: id)), try !FileSystem.exists(layout.removedPath(of: id)) {
                try requireHeld()
                try lock.requireHeld()
                try FileSystem.removeFile(layout.labelPath(of: id))
            }
        }
        for name in try DirectoryReader(path: layout.temporary).names() {
            try requireHeld()
            try FileSystem.removeTree("\(layout.temporary)/\(name)")
        }
    }

    /// - Throws: `invalidArgument`, `alreadyExists`.
    func requireFree(_ name: FileName) throws(BackupError) {
        guard name.isSafeComponent else {
            throw BackupError(.invalidArgument, "“\(name)” cannot be a snapshot's name", remedy: "Choose another name.")
        }
        try scan()
        if list[name] != nil {
            throw BackupError(
                .alreadyExists, "there is a snapshot named “\(name)” already", remedy: "Choose another name.")
        }
    }

    func require(_ id: SnapshotID) throws(BackupError) -> Snapshot {
        guard let snapshot = list[id] else {
            throw BackupError(.notFound, "there is no such snapshot", path: layout.snapshotPath(of: id))
        }
        return snapshot
    }
}
