import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// `SHA256SUMS` and `MD5SUMS` of a stored folder: every stored file below it, in the order of the directory objects.
extension ChecksumListing {
    /// The digest that the list has, and with it its name.
    public enum Algorithm: Sendable {
        case md5
        case sha256

        var digestHexLength: Int {
            switch self {
            case .md5: MD5Digest.byteCount * 2
            case .sha256: SHA256Digest.byteCount * 2
            }
        }

        func hexadecimal(_ checksums: Checksums) -> String {
            switch self {
            case .md5: checksums.md5.hexadecimal
            case .sha256: checksums.sha256.hexadecimal
            }
        }
    }

    /// The listing's size in bytes, computed only from the folder's totals.
    public static func sizeBytes(of root: Directory, _ algorithm: Algorithm) -> UInt64 {
        root.totals.listingSizeBytes(digestHexLength: algorithm.digestHexLength)
    }

    /// The listing itself; reads the directory objects, but no files.
    /// - Throws: `repositoryDamaged`.
    public static func text(
        of root: Directory, _ algorithm: Algorithm, in repository: Repository
    ) throws(BackupError) -> [UInt8] {
        var text: [UInt8] = []
        // A hostile repository may claim any size, so the reservation is limited.
        text.reserveCapacity(Int(min(sizeBytes(of: root, algorithm), reservedByteLimit)))
        try append(root, prefix: [], algorithm, repository, to: &text)
        return text
    }

    private static let reservedByteLimit: UInt64 = 1 << 20

    private static func append(
        _ directory: Directory, prefix: [UInt8], _ algorithm: Algorithm, _ repository: Repository, to text: inout [UInt8]
    ) throws(BackupError) {
        for entry in directory.entries {
            let path = prefix + entry.name.bytes
            switch entry.kind {
            case .symbolicLink: continue
            case .directory:
                try append(
                    repository.directory(of: entry), prefix: path + [UInt8(ascii: "/")], algorithm, repository, to: &text)
            case .file:
                guard let checksums = entry.checksums else { continue }
                text.append(contentsOf: line(digest: algorithm.hexadecimal(checksums), path: path))
            }
        }
    }
}

/// A checksum listing as a member of an archive: computed when it is read, and released at its end. For 100,000 files it takes
/// nine megabytes.
final class ListingSource: ByteSource {
    private let root: Directory
    private let algorithm: ChecksumListing.Algorithm
    private let repository: Repository
    private let text = Mutex<[UInt8]?>(nil)

    init(_ root: Directory, _ algorithm: ChecksumListing.Algorithm, in repository: Repository) {
        self.root = root
        self.algorithm = algorithm
        self.repository = repository
    }

    func crc32() throws(BackupError) -> UInt32 { CRC32.of(try written()) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let kept = text.withLock { $0 }
        let text: [UInt8]
        if let kept { text = kept } else { text = try written() }
        guard offset < UInt64(text.count) else { return 0 }
        let start = Int(offset)
        let count = min(buffer.count, text.count - start)
        text.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
        let isAtEnd = start + count == text.count
        if isAtEnd || kept == nil { self.text.withLock { $0 = isAtEnd ? nil : text } }
        return count
    }

    private func written() throws(BackupError) -> [UInt8] { try ChecksumListing.text(of: root, algorithm, in: repository) }
}
