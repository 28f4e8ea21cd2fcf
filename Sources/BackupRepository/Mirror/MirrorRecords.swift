import BackupCore
import ObjectStorage
import SystemIO

/// Sources, records and labels in a mirror.
extension RepositoryMirror {
    func uploadSources(_ present: [MirrorObject: ObjectFacts], _ state: inout MirrorState) throws(BackupError) {
        for id in try FileSystem.names(in: layout.sources).compactMap({ RepositoryLayout.source(in: $0) }).sorted() {
            guard
                let bytes = try FileSystem.readFileIfPresent(layout.sourcePath(of: id), limitBytes: SourceDocument.byteCountLimit)
            else { continue }
            try putIfWhole(bytes, as: .source(id), present[.source(id)], &state) { () throws(BackupError) in
                _ = try SourceDocument(decoding: repository.protection.open(bytes, as: .source(id)), for: id)
            }
        }
    }

    /// - Returns: what was stored.
    func uploadRecords(
        _ ids: [SnapshotID], _ present: inout [MirrorObject: ObjectFacts], _ lock: RepositoryLock?
    ) throws(BackupError) -> Set<MirrorObject> {
        var stored: Set<MirrorObject> = []
        for id in ids {
            try Cancellation.check()
            let object = MirrorObject.snapshot(id)
            // Removed since the list was read.
            guard let bytes = try FileSystem.readFileIfPresent(object.path(in: layout), limitBytes: SnapshotRecord.byteCountLimit)
            else { continue }
            guard SnapshotID(SHA256Hasher.hash(bytes)) == id else {
                throw BackupError(
                    .repositoryDamaged, "the snapshot record does not fit its name", path: object.path(in: layout),
                    remedy: "See what is affected with: backupfs check")
            }
            if present[object] == nil { try lock?.requireHeld() }
            if let known = present[object] {
                guard known.sizeBytes != UInt64(bytes.count) else { continue }
                let version = try storage.replace(object.name, version: known.version, ObjectDraft(bytes))
                kept?.keepObject(object, bytes, version)
            } else {
                let draft = ObjectDraft(bytes)
                let version = try create(object.name, draft, bytes)
                present[object] = ObjectFacts(
                    name: object.name, sizeBytes: draft.sizeBytes, version: version, storedAt: SystemClock.systemTime())
                kept?.keepObject(object, bytes, version)
                summary.withLock { $0.addedSnapshotCount += 1 }
            }
            stored.insert(object)
            summary.withLock { $0.uploadedBytes += UInt64(bytes.count) }
            try FaultInjection.reached("sync.record-uploaded")
        }
        return stored
    }

    /// Whether another program has pinned a snapshot in the mirror, by a label that was not uploaded from here.
    private func isPinned(_ id: SnapshotID, _ known: ObjectFacts, _ state: MirrorState) throws(BackupError) -> Bool {
        guard state.version(of: known.name) != known.version,
            let (bytes, _) = try storage.contents(of: known.name, limitBytes: SnapshotLabel.byteCountLimit),
            let plain = try? repository.protection.open(bytes, as: .snapshotLabel(id)),
            let label = try? SnapshotLabel(decoding: plain, for: id), label.isPinned
        else { return false }
        let own = repository.snapshot(id: id)?.isPinned == true
        return !own
    }

    /// A label that is missing here stays in the mirror: without it, a pin could be lost.
    /// - Returns: what was stored, or found by reading it.
    func uploadLabels(
        of ids: [SnapshotID], _ present: [MirrorObject: ObjectFacts], _ state: inout MirrorState, keepingPins: Bool
    ) throws(BackupError) -> Set<MirrorObject> {
        var stored: Set<MirrorObject> = []
        for id in ids {
            try Cancellation.check()
            guard
                let bytes = try FileSystem.readFileIfPresent(
                    layout.labelPath(of: id), limitBytes: SnapshotLabel.byteCountLimit)
            else { continue }
            if keepingPins, let known = present[.label(id)], try isPinned(id, known, state) { continue }
            let isThere = try putIfWhole(bytes, as: .label(id), present[.label(id)], &state) { () throws(BackupError) in
                _ = try SnapshotLabel(decoding: repository.protection.open(bytes, as: .snapshotLabel(id)), for: id)
            }
            if isThere { stored.insert(.label(id)) }
        }
        return stored
    }
}
