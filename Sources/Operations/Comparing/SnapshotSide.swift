import BackupCore
import BackupRepository
import CopyVerify
import SystemIO

/// The media files of a backup. Their checksums are those that the repository has: no chunk is read for them.
public struct SnapshotSide: ComparedSide {
    private static let mediaName: FileName = "media"

    public let title: String
    public var knowsSizes: Bool { true }
    public var knowsFolders: Bool { true }
    public var onlyAlgorithms: [HashAlgorithm]? { nil }

    private let stored: StoredDirectory
    private let repository: Repository

    /// - Throws: `notFound` for a backup without media files.
    public init(_ snapshot: Snapshot, of store: Store) throws(BackupError) {
        title = snapshot.name.description
        repository = store.repository
        let media = try repository.rootDirectory(of: snapshot).entry(named: Self.mediaName)
        guard let stored = media?.storedDirectory else {
            throw BackupError(
                .notFound, "the backup has no media files", path: title,
                remedy: "Name a backup of an app with media files, or a folder.")
        }
        self.stored = stored
    }

    public func root() throws(BackupError) -> any ComparedFolder {
        StoredFolder(directory: try repository.directory(stored), repository: repository)
    }
}

private struct StoredFolder: ComparedFolder {
    let directory: Directory
    let repository: Repository

    func names() -> [FileName] { directory.entries.map(\.name).sorted() }

    func item(_ name: FileName) -> ComparedItem? {
        guard let entry = directory.entry(named: name) else { return nil }
        switch entry.kind {
        case .directory: return ComparedItem(.folder)
        case .symbolicLink: return ComparedItem(.link)
        case .file:
            let checksums = entry.checksums
            return ComparedItem(
                .file, sizeBytes: entry.size, modificationTime: entry.modificationTime, crc32: entry.crc32,
                known: checksums.map { [.sha256: $0.sha256.bytes, .sha1: $0.sha1.bytes, .md5: $0.md5.bytes] } ?? [:])
        }
    }

    private func entry(_ name: FileName) throws(BackupError) -> TreeEntry {
        guard let entry = directory.entry(named: name) else {
            throw BackupError(.notFound, "there is no such file in the backup", path: name.description)
        }
        return entry
    }

    func folder(_ name: FileName) throws(BackupError) -> any ComparedFolder {
        StoredFolder(directory: try repository.directory(of: entry(name)), repository: repository)
    }

    func linkTarget(_ name: FileName) throws(BackupError) -> [UInt8] { try entry(name).linkTarget ?? [] }

    func checksum(
        _ name: FileName, _ item: ComparedItem, _ algorithm: HashAlgorithm
    ) throws(BackupError) -> [UInt8] {
        guard let checksums = try repository.checksums(of: entry(name)) else {
            throw BackupError(.notSupported, "only files have checksums", path: name.description)
        }
        return switch algorithm {
        case .sha256: checksums.sha256.bytes
        case .sha1: checksums.sha1.bytes
        case .md5: checksums.md5.bytes
        // The repository has no others.
        case .c4, .xxh128, .xxh64, .xxh3: try computeChecksum(name, item, algorithm)
        }
    }

    func content(_ name: FileName, _ item: ComparedItem) throws(BackupError) -> any ComparedContent {
        StoredBytes(StoredSource(try repository.extents(of: entry(name).content), in: repository))
    }
}

/// The bytes of a stored file. Each chunk is verified when it is read.
private struct StoredBytes: ComparedContent {
    private static let partByteCount = 1 << 20

    private let source: StoredSource
    private let part: PartMemory
    private var position: UInt64 = 0

    init(_ source: StoredSource) {
        self.source = source
        part = PartMemory(byteCount: Self.partByteCount)
    }

    mutating func next() throws(BackupError) -> UnsafeRawBufferPointer? {
        try Cancellation.check()
        guard position < source.size else { return nil }
        let count = try source.readFully(at: position, into: part.bytes)
        guard count > 0 else { throw BackupError(.repositoryDamaged, "a file of the backup ends too early") }
        position += UInt64(count)
        return UnsafeRawBufferPointer(rebasing: part.bytes[..<count])
    }
}

private final class PartMemory {
    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int) { bytes = .allocate(byteCount: byteCount, alignment: 16) }

    deinit { bytes.deallocate() }
}
