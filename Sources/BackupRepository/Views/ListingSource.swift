import BackupCore
import Synchronization
import SystemIO

/// A checksum listing as a member of an archive: computed when it is read, and released at its end. For 100,000 files it takes nine megabytes.
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
