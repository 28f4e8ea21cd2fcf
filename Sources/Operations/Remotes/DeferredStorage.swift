import BackupCore
import ObjectStorage
import Synchronization

/// A storage that is opened when it is first needed, and again after an attempt that has failed: the disk of a folder may be
/// mounted later. Until then each call throws the error of the last attempt.
final class DeferredStorage: ObjectStorage {
    let location: String
    private let open: @Sendable () throws(BackupError) -> any ObjectStorage
    private let opened = Mutex<(any ObjectStorage)?>(nil)

    /// - Parameter open: called by any thread, also by several at once.
    init(at location: String, _ open: @escaping @Sendable () throws(BackupError) -> any ObjectStorage) {
        self.location = location
        self.open = open
    }

    private func storage() throws(BackupError) -> any ObjectStorage {
        if let storage = opened.withLock({ $0 }) { return storage }
        let storage = try open()
        opened.withLock { $0 = storage }
        return storage
    }

    /// None before it was opened, which is always safe.
    var capabilities: StorageCapabilities { opened.withLock { $0?.capabilities } ?? [] }

    func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        try storage().list(prefix: prefix, after: previous, limit: limit)
    }

    func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? { try storage().look(name) }

    func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts {
        try storage().read(name, range: range, consume)
    }

    func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try storage().create(name, draft)
    }

    func replace(_ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try storage().replace(name, version: version, draft)
    }

    func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) {
        try storage().remove(name, version: version)
    }

    func removeIfPresent(_ name: ObjectName) throws(BackupError) { try storage().removeIfPresent(name) }
}
