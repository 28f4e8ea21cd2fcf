import BackupCore
import ObjectStorage
import SystemIO

extension RepositoryMirror {
    /// How much a mirror holds, and would hold after an update.
    public struct Size: Sendable {
        /// Of all objects that are there now.
        public let storedBytes: UInt64
        /// Of the packs and snapshot records that an update would add. The other objects are small.
        public let missingBytes: UInt64
    }

    /// - Throws: errors of reading the repository's folders.
    func missingBytes(_ packs: PackUpload, _ managed: ManagedMirror?) throws(BackupError) -> UInt64 {
        var bytes = try packs.missing(in: layout).reduce(UInt64(0)) { $0.addingSaturating($1.sizeBytes) }
        for snapshot in repository.snapshots()
        where packs.present[.snapshot(snapshot.id)] == nil && managed?.includes(snapshot.id) != false {
            bytes = bytes.addingSaturating(try FileSystem.look(layout.snapshotPath(of: snapshot.id))?.size ?? 0)
        }
        return bytes
    }
}
