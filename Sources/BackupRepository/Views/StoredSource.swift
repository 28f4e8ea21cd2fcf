import BackupCore
import SystemIO

/// A served file as a byte source: for passing stored content to code that reads files.
public final class StoredSource: ByteSource {
    private let table: ExtentTable
    private let repository: Repository

    public init(_ table: ExtentTable, in repository: Repository) {
        self.table = table
        self.repository = repository
    }

    /// Size in bytes.
    public var size: UInt64 { table.size }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try repository.read(table, at: offset, into: buffer)
    }
}

extension Repository {
    /// All checksums of a served file, computed by reading it in bounded memory.
    public func checksums(of table: ExtentTable) throws(BackupError) -> Checksums {
        var hasher = ContentHasher()
        try copy(table) { bytes in hasher.update(bytes) }
        return hasher.finish()
    }

    /// Passes all bytes of a served file, or the first `limit`, to `sink`, in order and in bounded memory.
    public func copy(
        _ table: ExtentTable, upTo limit: UInt64 = .max, to sink: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: UInt64 = 0
        let end = min(table.size, limit)
        while offset < end {
            let size = Int(min(UInt64(buffer.count), end - offset))
            let count = try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                try read(table, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<size]))
            }
            guard count > 0 else { throw BackupError(.repositoryDamaged, "a file ends too early") }
            try buffer.withUnsafeBytesThrowing(count: count) { (bytes) throws(BackupError) in try sink(bytes) }
            offset += UInt64(count)
        }
    }

    /// A small served file as a whole.
    public func readAll(_ table: ExtentTable) throws(BackupError) -> [UInt8] {
        var bytes: [UInt8] = []
        try copy(table) { bytes.append(contentsOf: $0) }
        return bytes
    }
}
