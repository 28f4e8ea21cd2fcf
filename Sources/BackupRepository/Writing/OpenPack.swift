import BackupCore
import Synchronization

/// The pack of one kind that chunks are currently added to. Thread-safe.
final class OpenPack: Sendable {
    /// A pack is published when it has reached this length.
    static let standardSizeBytes: UInt64 = 32 << 20
    /// A pack with many tiny chunks is published before its index gets large.
    static let chunkCountLimit = 65_536

    private let kind: PackKind
    private let layout: RepositoryLayout
    private let protection: RepositoryProtection
    private let packSizeBytes: UInt64
    private let writer = Mutex<PackWriter?>(nil)

    init(
        kind: PackKind, in layout: RepositoryLayout, _ protection: RepositoryProtection,
        packSizeBytes: UInt64 = standardSizeBytes
    ) {
        self.kind = kind
        self.layout = layout
        self.protection = protection
        self.packSizeBytes = packSizeBytes
    }

    /// Adds a chunk, to a new pack if there is none.
    /// - Parameter packed: its bytes as stored in the pack.
    /// - Returns: the pack, if this chunk has filled it: the caller owns it now and has to publish it.
    func append(_ entry: PackEntry, _ packed: UnsafeRawBufferPointer) throws(BackupError) -> PackWriter? {
        try writer.withLock { (writer) throws(BackupError) in
            let pack: PackWriter
            if let open = writer {
                pack = open
            } else {
                pack = try PackWriter(kind: kind, temporaryFolder: layout.temporary, protection: protection)
                writer = pack
            }
            try pack.append(entry, packed)
            guard pack.byteCount >= packSizeBytes || pack.chunkCount >= Self.chunkCountLimit else { return nil }
            writer = nil
            return pack
        }
    }

    /// Hands over the pack in its current state.
    func take() -> PackWriter? {
        writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
    }
}
