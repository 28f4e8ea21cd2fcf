import BackupCore
import SystemIO

/// One of the two states that are compared: a folder, a backup, an archive, a manifest.
public protocol ComparedSide: Sendable {
    /// As the user named it.
    var title: String { get }
    /// Whether the side says the size of each file.
    var knowsSizes: Bool { get }
    /// Whether the side says which folders there are. Otherwise there are those that its files need.
    var knowsFolders: Bool { get }
    /// The algorithms that the side has a checksum of for each file, when it has no bytes; `nil` for a side with bytes.
    var onlyAlgorithms: [HashAlgorithm]? { get }

    /// The folder that everything is in.
    func root() throws(BackupError) -> any ComparedFolder
    /// Called when everything was compared: a card that was pulled out meanwhile has looked empty, without an error.
    /// - Parameter names: those that were in the root at the beginning.
    /// - Throws: `stale` when the side is not the one that it was.
    func requireUnchanged(_ names: [FileName]) throws(BackupError)
}

extension ComparedSide {
    /// Whether the bytes can be read.
    var hasBytes: Bool { onlyAlgorithms == nil }

    /// What is in memory, or in a repository, does not change.
    public func requireUnchanged(_ names: [FileName]) {}
}

/// A folder of a side. Several threads may use it at once.
public protocol ComparedFolder: Sendable {
    /// Sorted by their bytes.
    func names() throws(BackupError) -> [FileName]
    /// What has a name; `nil` when it has gone since the folder was listed.
    func item(_ name: FileName) throws(BackupError) -> ComparedItem?
    /// The folder of that name.
    /// - Throws: `notADirectory` for what is none any more.
    func folder(_ name: FileName) throws(BackupError) -> any ComparedFolder
    /// The target of a link, as bytes.
    func linkTarget(_ name: FileName) throws(BackupError) -> [UInt8]
    /// The checksum of a file.
    /// - Throws: `stale` when the file is no longer the item, or changed while it was read.
    func checksum(_ name: FileName, _ item: ComparedItem, _ algorithm: HashAlgorithm) throws(BackupError) -> [UInt8]
    /// The bytes of a file.
    func content(_ name: FileName, _ item: ComparedItem) throws(BackupError) -> any ComparedContent
}

extension ComparedFolder {
    /// The checksum of a file, computed from its bytes.
    public func computeChecksum(
        _ name: FileName, _ item: ComparedItem, _ algorithm: HashAlgorithm
    ) throws(BackupError) -> [UInt8] {
        var hasher = ChecksumHasher(algorithm)
        var content = try content(name, item)
        while let bytes = try content.next() { hasher.update(bytes) }
        return hasher.finish()
    }
}

/// The bytes of a file, a part at a time. For one thread.
public protocol ComparedContent {
    /// The next bytes, at least one, valid until the next call.
    /// - Returns: `nil` at the end, if all of it was as it should be.
    /// - Throws: `stale` when the file changed while it was read; `damagedContent`; the errors of reading it.
    mutating func next() throws(BackupError) -> UnsafeRawBufferPointer?
}

/// What a side has under a name.
public struct ComparedItem: Sendable {
    /// What it is; the raw value is that in JSON.
    public enum Kind: String, Sendable {
        case file, folder, link
        /// Never opened.
        case pipe, socket, device
    }

    public let kind: Kind
    /// Of a file; `nil` when the side does not say it.
    public let sizeBytes: UInt64?
    /// `nil` when the side does not say it.
    public let modificationTime: Timestamp?
    /// Of a file, where it costs nothing.
    public let crc32: UInt32?
    /// The checksums of a file that cost nothing.
    public let known: [HashAlgorithm: [UInt8]]
    /// Of a file on a disk.
    let status: FileStatus?

    /// - Parameter status: of a file on a disk.
    public init(
        _ kind: Kind, sizeBytes: UInt64? = nil, modificationTime: Timestamp? = nil, crc32: UInt32? = nil,
        known: [HashAlgorithm: [UInt8]] = [:], status: FileStatus? = nil
    ) {
        self.kind = kind
        self.sizeBytes = sizeBytes
        self.modificationTime = modificationTime
        self.crc32 = crc32
        self.known = known
        self.status = status
    }
}
