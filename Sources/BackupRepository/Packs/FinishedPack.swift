import BackupCore

/// A pack that was made durable and published.
struct FinishedPack {
    let id: PackID
    let index: PackIndex
    /// Length of the file in bytes.
    let byteCount: UInt64
    /// False when a pack of this name was there before and was replaced by the same content: it is not the writer's to remove.
    let isNew: Bool
}
