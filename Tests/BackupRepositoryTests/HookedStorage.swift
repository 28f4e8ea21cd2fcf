import BackupCore
import ObjectStorage
import StorageSimulation

/// A storage that calls a function before it creates an object, and another one before it replaces one.
struct HookedStorage: ObjectStorage {
    let storage: SimulatedStorage
    /// As for a key that may store and replace objects, but not delete them.
    var deniesRemoval = false
    var willReplace: @Sendable (ObjectName) throws(BackupError) -> Void = { (_) throws(BackupError) in }
    let willCreate: @Sendable (ObjectName) throws(BackupError) -> Void

    var location: String { storage.location }
    var capabilities: StorageCapabilities { storage.capabilities }

    func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        try storage.list(prefix: prefix, after: previous, limit: limit)
    }

    func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? { try storage.look(name) }

    func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts { try storage.read(name, range: range, consume) }

    func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try willCreate(name)
        return try storage.create(name, draft)
    }

    func replace(_ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try willReplace(name)
        return try storage.replace(name, version: version, draft)
    }

    func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) {
        if deniesRemoval { throw BackupError(.accessDenied, "the key may not delete", path: name.text) }
        try storage.remove(name, version: version)
    }
}
