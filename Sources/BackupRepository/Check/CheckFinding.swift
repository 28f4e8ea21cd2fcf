import BackupCore

/// Something that is wrong with a repository.
public struct CheckFinding: Sendable {
    /// The part of the repository that is wrong.
    public enum Kind: String, Sendable {
        /// `config`, the key file, or the copy of one of them.
        case config
        /// A snapshot's record is missing or unreadable: the snapshot is not listed.
        case record
        /// A snapshot's label is missing or unreadable: the snapshot has its first name, and counts as pinned.
        case label
        /// A source document: which store continues the source, with the app's definition and the store's settings.
        case source
        /// A pack's header, index or end.
        case pack
        /// A chunk in a pack.
        case chunk
        /// The catalog disagrees with the packs.
        case catalog
        /// A chunk that a snapshot needs is in no pack.
        case missing
        /// A folder or a content list of a snapshot is inconsistent.
        case structure
    }

    public let kind: Kind
    public let error: BackupError
    public let pack: PackID?
    public let chunk: ChunkID?
    /// Whether it has already been repaired.
    public let isRepaired: Bool

    init(_ kind: Kind, _ error: BackupError, pack: PackID? = nil, chunk: ChunkID? = nil, isRepaired: Bool = false) {
        self.kind = kind
        self.error = error
        self.pack = pack
        self.chunk = chunk
        self.isRepaired = isRepaired
    }
}

/// A file or folder of a snapshot that cannot be read, or not completely.
public struct DamagedFile: Sendable {
    public let snapshot: Snapshot
    /// Relative to the snapshot's folder; empty for that folder itself.
    public let path: FileName
    /// A folder whose contents are unknown.
    public let isFolder: Bool
}

/// What a check reports while it runs, on the thread that called it.
public enum CheckEvent: Sendable {
    case finding(CheckFinding)
    case damaged(DamagedFile)
    /// A file or folder that only a later version of this program can read.
    case unreadable(DamagedFile)
    /// What a repair did.
    case repaired(Message)
}

/// How a check ended.
public struct CheckSummary: Sendable {
    /// Snapshots that have been checked.
    public var snapshotCount = 0
    /// Packs that have been examined.
    public var packCount = 0
    /// Chunks in these packs.
    public var chunkCount = 0
    /// Packs that were read completely.
    public var readPackCount = 0
    /// Bytes of chunks that were read and compared.
    public var readByteCount: UInt64 = 0
    /// Damaged or missing parts.
    public var findingCount = 0
    /// Parts that a later version of this program has written, and this one cannot check.
    public var newerCount = 0
    /// Files and folders that cannot be read completely, and the snapshots they are in.
    public var damagedFileCount = 0
    /// Snapshots with at least one such file or folder.
    public var damagedSnapshotCount = 0

    /// Whether nothing is wrong, or everything was repaired, and everything could be checked.
    public var isSound: Bool { !isDamaged && newerCount == 0 }
    /// Whether anything is wrong that has not been repaired.
    public var isDamaged: Bool { findingCount > 0 || damagedFileCount > 0 }
}

// MARK: - What is missing according to the register

extension CheckFinding {
    static let missingRecordRemedy: Message =
        "Copy the repository's folders snapshots and removed back from another copy of it. If there is none, give the backup up: backupfs prune --forget-missing"

    /// The findings for the snapshots that the register names and that are missing.
    static func missing(_ missing: SnapshotStore.MissingSnapshots, _ layout: RepositoryLayout) -> [CheckFinding] {
        missing.records.map { snapshot in
            CheckFinding(
                .record,
                BackupError(
                    .repositoryDamaged, "the backup’s record is missing: it is in neither snapshots nor removed",
                    path: layout.snapshotPath(of: snapshot), remedy: missingRecordRemedy))
        }
            + missing.labels.map { snapshot in
                CheckFinding(
                    .label,
                    BackupError(
                        .repositoryDamaged,
                        "the backup’s label is missing: it has the name and tags that it was made with, and counts as pinned",
                        path: layout.labelPath(of: snapshot),
                        remedy:
                            "Copy this file back from another copy of the repository, or rename, pin and tag the backup again."))
            }
    }
}
