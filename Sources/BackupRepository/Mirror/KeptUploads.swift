import BackupCore
import ObjectStorage
import SystemIO

/// Keeps what an update of a mirror uploads, for readers of the mirror on this machine. The functions are called from several
/// threads, after an upload has succeeded.
public struct KeptUploads: Sendable {
    let keepObject: @Sendable (MirrorObject, [UInt8], ObjectVersion) -> Void
    /// The file is of this machine's repository, and must only be read.
    let keepPack: @Sendable (PackID, SharedFile) -> Void
    let keepBatch: @Sendable (IndexBatchID, [UInt8]) -> Void
}
