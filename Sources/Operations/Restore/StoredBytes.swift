import BackupCore
import BackupRepository

/// A file that the repository serves, as bytes: read where they lie, and each chunk checked.
final class StoredBytes: ByteSource {
    private let table: ExtentTable
    private let repository: Repository

    init(_ table: ExtentTable, in repository: Repository) {
        self.table = table
        self.repository = repository
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try repository.read(table, at: offset, into: buffer)
    }
}
