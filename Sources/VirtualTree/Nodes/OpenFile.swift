import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// An open file: the state that stays the same for one open(2), whatever happens to the tree meanwhile.
protocol OpenFile: AnyObject, Sendable {
    /// See `OpenedFile`.
    var keepsCache: Bool { get }
    var usesDirectIO: Bool { get }
    /// The size of this open file, where it may differ from the node's.
    var size: UInt64? { get }
    /// Its content, if this program created it for a backup: a copy may refer to it instead, and then also counts as this
    /// program's own.
    var storedContent: ExtentTable? { get }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int
    /// See `TreeOperations`.
    func noteWriter(_ process: Int32)
    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError)
    /// copy_file_range(2) from another open file.
    /// - Returns: bytes copied, 0 at the end of the source.
    func copy(from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64) throws(BackupError) -> UInt64
    func flush(process: Int32) throws(BackupError)
    func synchronize() throws(BackupError)
    func release()
}

extension OpenFile {
    var size: UInt64? { nil }
    var storedContent: ExtentTable? { nil }
    func noteWriter(_ process: Int32) {}
    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) { throw .readOnlyHere }
    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 { throw .readOnlyHere }
    func flush(process: Int32) throws(BackupError) {}
    func synchronize() throws(BackupError) {}
    func release() {}
}

extension OpenFile {
    /// Reads from another open file, and writes into this one, for copy_file_range(2).
    /// - Returns: bytes copied: at most 64 MiB, since the program waits for them.
    func copyBytes(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        var done: UInt64 = 0
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        while done < min(count, 64 << 20) {
            try Cancellation.check()
            let part = Int(min(UInt64(bytes.count), count - done))
            let copied = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try source.read(at: sourceOffset + done, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<part]))
            }
            if copied == 0 { break }
            try bytes.withUnsafeBytesThrowing(count: copied) { (buffer) throws(BackupError) in
                try write(at: offset + done, buffer)
            }
            done += UInt64(copied)
        }
        return done
    }
}

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

    /// - Parameter isOwnMaking: whether this program created the file for a backup (archive, export, copy of the database).
    ///   Unlike the media files, it does not hold a user's bytes, and it never changes.
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
    /// Content that refers to it counts as created by this program, which disables the guards against bombs and links: see
    /// `isOwnMaking`.
    var storedContent: ExtentTable? { isOwnMaking && !repository.isRemote ? table : nil }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        if let expected = readAhead.withLock({ $0.next(after: offset, count: buffer.count, size: table.size) }) {
            repository.expectReading(table, expected)
        }
        do {
            return try repository.read(table, at: offset, into: buffer)
        } catch {
            // The user knows the file; the message names the chunk and the pack.
            let message: Message = error.path.map { "\(error.message) (\($0))" } ?? error.message
            throw error.with(nil, message, path: path())
        }
    }
}

/// Detects whether a file is read sequentially, and what will be read next.
struct SequentialReader: Sendable {
    /// How far ahead of a sequential reader to prefetch, in bytes.
    private static let distanceBytes: UInt64 = 8 << 20
    /// The kernel keeps several requests in flight, which arrive in any order.
    private static let toleranceBytes: UInt64 = 2 << 20
    /// This much must have been read sequentially before anything is prefetched: often only the head of a file is read.
    private static let beginningBytes: UInt64 = 256 << 10

    private var end: UInt64 = 0
    private var sequentialBytes: UInt64 = 0
    private var expectedEnd: UInt64 = 0

    /// Records a read.
    /// - Returns: the range to prefetch now, without what was returned before; `nil` when there is none, or when reads are
    ///   random.
    mutating func next(after offset: UInt64, count: Int, size: UInt64) -> Range<UInt64>? {
        let readEnd = min(size, offset + UInt64(count))
        let isNear = offset <= end + Self.toleranceBytes && offset + Self.toleranceBytes >= end
        guard isNear else {
            end = readEnd
            expectedEnd = 0
            sequentialBytes = 0
            return nil
        }
        end = max(end, readEnd)
        sequentialBytes += UInt64(count)
        guard sequentialBytes >= Self.beginningBytes else { return nil }
        // In halves, so that not every read triggers a prefetch.
        let start = max(end, expectedEnd)
        guard start < size, start < end + Self.distanceBytes / 2 else { return nil }
        expectedEnd = min(size, end + Self.distanceBytes)
        return start..<expectedEnd
    }
}

/// An open folder. Its listing is taken at the first read and after every rewind, so that changes in between neither repeat nor
/// skip a name.
final class OpenFolder: Sendable {
    let node: any FolderNode
    private let current = Mutex<FolderListing?>(nil)

    init(_ node: any FolderNode) { self.node = node }

    func listing(from offset: UInt64) throws(BackupError) -> FolderListing {
        if offset > 0, let listing = current.withLock({ $0 }) { return listing }
        let listing = try node.listing()
        current.withLock { $0 = listing }
        return listing
    }
}

/// Open files and folders by number.
final class HandleTable<Open: Sendable>: Sendable {
    private struct State {
        var next: UInt64 = 1
        var open: [UInt64: Open] = [:]
    }

    private let state = Monitor(State())

    func insert(_ open: Open) -> HandleNumber {
        state.withLock { state in
            defer { state.next += 1 }
            state.open[state.next] = open
            return HandleNumber(state.next)
        }
    }

    /// - Throws: `badHandle`.
    func get(_ handle: HandleNumber) throws(BackupError) -> Open {
        guard let open = state.withLock({ $0.open[handle.rawValue] }) else {
            throw BackupError(.badHandle, "the file is not open")
        }
        return open
    }

    func remove(_ handle: HandleNumber) -> Open? { state.withLock { $0.open.removeValue(forKey: handle.rawValue) } }

    var count: Int { state.withLock { $0.open.count } }
}
