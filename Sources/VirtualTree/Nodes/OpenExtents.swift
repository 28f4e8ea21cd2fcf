import BackupCore
import BackupRepository
import Synchronization

/// An open file that consists of extents: every file of the tree except dropped ones.
final class OpenExtents: OpenFile {
    private let table: ExtentTable
    private let repository: Repository
    let keepsCache: Bool
    let usesDirectIO: Bool
    private let isOwnMaking: Bool
    private let whenReleased: (@Sendable () -> Void)?
    private let readAhead = Mutex(SequentialReader())
    /// Named in errors.
    private let path: @Sendable () -> String

    /// - Parameter isOwnMaking: whether this program created the file for a backup (archive, export, copy of the database). Unlike the media files, it does not
    ///   hold a user's bytes, and it never changes.
    init(
        _ table: ExtentTable, repository: Repository, isImmutable: Bool, isOwnMaking: Bool = false,
        whenReleased: (@Sendable () -> Void)? = nil, path: @escaping @Sendable () -> String
    ) {
        self.table = table
        self.repository = repository
        self.isOwnMaking = isOwnMaking
        self.whenReleased = whenReleased
        self.path = path
        keepsCache = isImmutable
        usesDirectIO = !isImmutable
    }

    convenience init(
        _ table: ExtentTable, repository: Repository, path: String, isImmutable: Bool, isOwnMaking: Bool = false
    ) {
        self.init(table, repository: repository, isImmutable: isImmutable, isOwnMaking: isOwnMaking) { path }
    }

    var size: UInt64? { table.size }
    func release() { whenReleased?() }
    /// Content that refers to it counts as created by this program, which disables the guards against bombs and links: see `isOwnMaking`.
    var storedContent: ExtentTable? { isOwnMaking ? table : nil }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        if let expected = readAhead.withLock({ $0.next(after: offset, count: buffer.count, size: table.size) }) {
            repository.expectReading(table, expected)
        }
        do {
            return try repository.read(table, at: offset, into: buffer)
        } catch {
            // The user knows the file; the message names the chunk and the pack.
            let message: Message = error.path.map { "\(error.message) (\($0))" } ?? error.message
            throw BackupError(error.code, message, path: path(), remedy: error.remedy, findings: error.findings)
        }
    }
}
