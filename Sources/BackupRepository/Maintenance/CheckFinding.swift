import BackupCore

/// Something that is wrong with a repository.
public struct CheckFinding: Sendable {
    public enum Kind: String, Sendable {
        /// `config`, the key file, or the copy of one of them.
        case config
        /// A snapshot's record is missing or cannot be read: the snapshot is not listed.
        case record
        /// A snapshot's label is missing or cannot be read: it has its first name, and counts as pinned.
        case label
        /// The document of a source: which store continues it, with the app's definition and the store's settings.
        case source
        /// A pack's header, index or end.
        case pack
        /// A chunk in a pack.
        case chunk
        /// The catalog says something else than the packs.
        case catalog
        /// A chunk that a snapshot needs is in no pack.
        case missing
        /// A folder or a content list of a snapshot does not fit together.
        case structure
    }

    public let kind: Kind
    public let error: BackupError
    public let pack: PackID?
    public let chunk: ChunkID?
    /// Whether it has been put right already.
    public let isRepaired: Bool

    init(_ kind: Kind, _ error: BackupError, pack: PackID? = nil, chunk: ChunkID? = nil, isRepaired: Bool = false) {
        self.kind = kind
        self.error = error
        self.pack = pack
        self.chunk = chunk
        self.isRepaired = isRepaired
    }
}

/// A file or folder of a snapshot that cannot be read, or not all of it.
public struct HurtFile: Sendable {
    public let snapshot: Snapshot
    /// Seen from the snapshot's folder; empty for that folder itself.
    public let path: FileName
    /// A folder of which nothing is known any more.
    public let isFolder: Bool
}

/// What a check tells while it runs, from the thread that called it.
public enum CheckEvent: Sendable {
    case finding(CheckFinding)
    case hurt(HurtFile)
    /// A file or folder that only a later version of this program can read.
    case unreadable(HurtFile)
    /// What a repair did.
    case repaired(Message)
}

/// How a check ended.
public struct CheckSummary: Sendable {
    public var snapshotCount = 0
    public var packCount = 0
    public var chunkCount = 0
    /// Packs of which all bytes were read.
    public var readPackCount = 0
    /// Bytes of chunks that were read and compared.
    public var readByteCount: UInt64 = 0
    /// What is damaged or missing.
    public var findingCount = 0
    /// What a later version of this program has written, and this one cannot check.
    public var newerCount = 0
    public var hurtFileCount = 0
    public var hurtSnapshotCount = 0

    /// Whether nothing is wrong, or nothing any more, and everything could be checked.
    public var isSound: Bool { !isDamaged && newerCount == 0 }
    public var isDamaged: Bool { findingCount > 0 || hurtFileCount > 0 }
}
