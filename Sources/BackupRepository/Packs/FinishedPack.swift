import BackupCore

/// A pack that is durable and published.
struct FinishedPack {
    let id: PackID
    let index: PackIndex
    /// Length of the file in bytes.
    let byteCount: UInt64
    /// False when a pack with this name existed before and was replaced by the same content: then the writer must not remove it.
    let isNew: Bool
}
