import BackupCore
import BackupRepository
import Synchronization

/// An open file that is a table of extents: every file of the tree but the dropped ones.
final class OpenExtents: OpenFile {
    private let table: ExtentTable
    private let repository: Repository
    let keepsCache: Bool
    let usesDirectIO: Bool
    private let readAhead = Mutex(SequentialReader())
    /// Named in errors.
    private let path: @Sendable () -> String

    init(_ table: ExtentTable, repository: Repository, isImmutable: Bool, path: @escaping @Sendable () -> String) {
        self.table = table
        self.repository = repository
        self.path = path
        keepsCache = isImmutable
        usesDirectIO = !isImmutable
    }

    convenience init(_ table: ExtentTable, repository: Repository, path: String, isImmutable: Bool) {
        self.init(table, repository: repository, isImmutable: isImmutable) { path }
    }

    var size: UInt64? { table.size }
    var storedContent: ExtentTable? { keepsCache ? table : nil }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        if let expected = readAhead.withLock({ $0.next(after: offset, count: buffer.count, size: table.size) }) {
            repository.expectReading(table, expected)
        }
        do {
            return try repository.read(table, at: offset, into: buffer)
        } catch {
            // The person knows the file, the message the chunk and the pack.
            let message: Message = error.path.map { "\(error.message) (\($0))" } ?? error.message
            throw BackupError(error.code, message, path: path(), remedy: error.remedy, findings: error.findings)
        }
    }
}
