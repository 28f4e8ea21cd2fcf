import BackupCore
import ObjectStorage
import SystemIO

extension RepositoryMirror {
    /// How much a mirror holds, and would hold after an update.
    public struct Size: Sendable {
        /// Of all objects that are there now.
        public var storedBytes: UInt64 = 0
        /// Of the packs and snapshot records that an update would add. The other objects are small.
        public var missingBytes: UInt64 = 0
    }

    /// Asks for the list of all objects, and uploads nothing.
    /// - Throws: errors of the storage and of reading the repository's folders.
    public func size() throws(BackupError) -> Size {
        var size = Size()
        var present: [MirrorObject: UInt64] = [:]
        try storage.forEachObject { (facts) throws(BackupError) in
            size.storedBytes = size.storedBytes.addingSaturating(facts.sizeBytes)
            if let object = MirrorObject(facts.name) { present[object] = facts.sizeBytes }
        }
        for (pack, bytes) in try PackFolder.list(layout) where present[.pack(pack)] != bytes {
            size.missingBytes = size.missingBytes.addingSaturating(bytes)
        }
        for snapshot in repository.snapshots() where present[.snapshot(snapshot.id)] == nil {
            let bytes = try FileSystem.look(layout.snapshotPath(of: snapshot.id))?.size ?? 0
            size.missingBytes = size.missingBytes.addingSaturating(bytes)
        }
        return size
    }
}
