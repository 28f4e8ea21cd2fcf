import BackupCore
import SQLite
import Synchronization
import SystemIO

/// The checksums of files that were read in the last hour or so, on the disk, so that a second verification reads no content.
///
/// It may only save work: whatever is wrong with it, checksums are computed as if it were not there.
public final class ChecksumCache: Sendable {
    /// How long a checksum counts, if the user says nothing else.
    public static let defaultAgeSeconds: Int64 = 3_600
    /// Older rows are removed, and the oldest beyond this number.
    private static let keptSeconds: Int64 = 30 * 86_400
    private static let rowLimit: Int64 = 500_000
    private static let pendingLimit = 500

    private struct State {
        var connection: DatabaseConnection?
        var pending: [ChecksumRow] = []
        var problem: BackupError?
        var hasReset = false
        var hasAdded = false
    }

    /// Of its file.
    public let path: String
    private let ageSeconds: Int64
    private let state: Mutex<State>

    /// `$XDG_CACHE_HOME/backupfs/checksums.sqlite`, or that in `~/.cache`.
    /// - Throws: `notFound` when neither variable has an absolute path.
    public static func defaultPath() throws(BackupError) -> String {
        if let cache = Environment.text("XDG_CACHE_HOME"), cache.hasPrefix("/") { return "\(cache)/backupfs/checksums.sqlite" }
        guard let home = Environment.text("HOME"), home.hasPrefix("/") else {
            throw BackupError(
                .notFound, "there is no place for the cache of checksums: neither XDG_CACHE_HOME nor HOME is set",
                remedy: "Set HOME to your home folder, or say --no-cache.")
        }
        return "\(home)/.cache/backupfs/checksums.sqlite"
    }

    /// A cache that cannot be opened stays empty.
    /// - Parameter ageSeconds: how old a checksum may be.
    public init(path: String, ageSeconds: Int64 = defaultAgeSeconds) {
        self.path = path
        self.ageSeconds = ageSeconds
        var first = State()
        do throws(BackupError) {
            first.connection = try ChecksumDatabase.open(path)
        } catch {
            first.problem = error
        }
        state = Mutex(first)
    }

    /// Why it is not used, or was emptied.
    public var problem: BackupError? { state.withLock { $0.problem } }

    // MARK: Rows

    /// - Returns: `nil` when it is not known, or too old.
    func digest(_ key: ChecksumKey) -> [UInt8]? {
        state.withLock { state in
            Self.attempt(&state, path) { (connection) throws(BackupError) in try find(key, connection) } ?? nil
        }
    }

    /// - Parameter digest: of the file in the state that the key has.
    func keep(_ digest: [UInt8], for key: ChecksumKey) {
        let row = ChecksumRow(key: key, digest: digest, storedAt: SystemClock.now().seconds)
        state.withLock { state in
            guard state.connection != nil else { return }
            state.pending.append(row)
            if state.pending.count >= Self.pendingLimit { flush(&state) }
        }
    }

    /// Writes what is not on the disk yet, and removes what is old.
    public func finish() {
        state.withLock { state in
            flush(&state)
            guard state.hasAdded else { return }
            state.hasAdded = false
            Self.attempt(&state, path) { (connection) throws(BackupError) in try Self.removeOld(connection) }
        }
    }

    private func find(_ key: ChecksumKey, _ connection: DatabaseConnection) throws(BackupError) -> [UInt8]? {
        let query = try connection.keptStatement(
            """
            SELECT size, mtime, mtime_ns, ctime, ctime_ns, inode, device, digest, stored_at, row_check FROM checksums
            WHERE path = ? AND algorithm = ?
            """)
        defer { query.reset() }
        try key.path.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try query.bind(1, copying: bytes) }
        try query.bind(2, copyingText: Array(key.algorithm.rawValue.utf8))
        guard try query.step() else { return nil }
        let numbers = (0..<7).map { query.integer(Int32($0)) }
        let digest = Array(query.bytes(7, isText: false))
        let storedAt = query.integer(8)
        let check = ChecksumKey.rowCheck(
            path: key.path, algorithm: key.algorithm.rawValue, numbers: numbers, digest: digest, storedAt: storedAt)
        guard check == query.integer(9), digest.count == key.algorithm.byteCount else {
            throw BackupError(.damagedContent, "the cache of checksums is damaged", path: path)
        }
        let age = SystemClock.now().seconds.subtractingSaturating(storedAt)
        // A row of the future was written before the clock was set back.
        return numbers == key.numbers && age >= 0 && age <= ageSeconds ? digest : nil
    }

    private func flush(_ state: inout State) {
        guard !state.pending.isEmpty else { return }
        let rows = state.pending
        state.pending = []
        state.hasAdded = true
        Self.attempt(&state, path) { (connection) throws(BackupError) in
            try connection.transaction(.immediate) { () throws(BackupError) in
                for row in rows { try Self.insert(row, connection) }
            }
        }
    }

    private static func insert(_ row: ChecksumRow, _ connection: DatabaseConnection) throws(BackupError) {
        let insert = try connection.keptStatement("INSERT OR REPLACE INTO checksums VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        try row.key.path.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try insert.bind(1, copying: bytes) }
        try insert.bind(2, copyingText: Array(row.key.algorithm.rawValue.utf8))
        for (index, number) in row.key.numbers.enumerated() { insert.bind(Int32(index + 3), integer: number) }
        try row.digest.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try insert.bind(10, copying: bytes) }
        insert.bind(11, integer: row.storedAt)
        insert.bind(12, integer: row.check)
        try insert.run()
    }

    private static func removeOld(_ connection: DatabaseConnection) throws(BackupError) {
        try connection.transaction(.immediate) { () throws(BackupError) in
            try connection.run("DELETE FROM checksums WHERE stored_at < \(SystemClock.now().seconds - keptSeconds)")
            let count = try connection.integer("SELECT count(*) FROM checksums") ?? 0
            guard count > rowLimit else { return }
            try connection.run(
                """
                DELETE FROM checksums WHERE (path, algorithm) IN
                    (SELECT path, algorithm FROM checksums ORDER BY stored_at LIMIT \(count - rowLimit))
                """)
        }
    }

    /// A damaged cache is emptied, once; any other error ends its use.
    /// - Returns: `nil` after an error.
    @discardableResult
    private static func attempt<Result>(
        _ state: inout State, _ path: String, _ body: (DatabaseConnection) throws(BackupError) -> Result
    ) -> Result? {
        guard let connection = state.connection else { return nil }
        do throws(BackupError) {
            return try body(connection)
        } catch {
            state.problem = error
            connection.close()
            state.connection = nil
            state.pending = []
            guard error.code == .damagedContent, !state.hasReset else { return nil }
            state.hasReset = true
            guard (try? ChecksumDatabase.empty(path)) != nil else { return nil }
            state.connection = try? ChecksumDatabase.open(path)
            return nil
        }
    }
}

extension ChecksumCache {
    /// What is in it.
    public struct Statistics: Sendable {
        /// Of its file.
        public let path: String
        /// Of its file, with its log.
        public let sizeBytes: UInt64
        /// The number of checksums.
        public let count: UInt64
        /// How many are no older than an hour.
        public let currentCount: UInt64
        /// When the first one was computed; `nil` in an empty cache.
        public let oldest: Timestamp?
        /// When the last one was computed; `nil` in an empty cache.
        public let newest: Timestamp?
    }

    /// - Returns: zeros for a cache that does not exist yet.
    /// - Throws: why it cannot be used.
    public static func statistics(path: String) throws(BackupError) -> Statistics {
        guard try FileSystem.exists(path) else {
            return Statistics(path: path, sizeBytes: 0, count: 0, currentCount: 0, oldest: nil, newest: nil)
        }
        let connection = try ChecksumDatabase.open(path)
        defer { connection.close() }
        let now = SystemClock.now().seconds
        let count = try connection.integer("SELECT count(*) FROM checksums") ?? 0
        let current = try connection.integer(
            "SELECT count(*) FROM checksums WHERE stored_at BETWEEN \(now - defaultAgeSeconds) AND \(now)")
        let times = [
            try connection.integer("SELECT min(stored_at) FROM checksums"),
            try connection.integer("SELECT max(stored_at) FROM checksums"),
        ].map { count > 0 ? $0.map { Timestamp(seconds: $0) } : nil }
        let size = [path, "\(path)-wal"].reduce(UInt64(0)) { $0 + (FileSystem.statusIfPresent($1)?.size ?? 0) }
        return Statistics(
            path: path, sizeBytes: size, count: UInt64(clamping: count), currentCount: UInt64(clamping: current ?? 0),
            oldest: times[0], newest: times[1])
    }

    /// Throws all checksums away, also those of a damaged cache.
    /// - Returns: how many there were; `nil` when that cannot be said.
    public static func clear(path: String) throws(BackupError) -> UInt64? {
        guard try FileSystem.exists(path) else { return 0 }
        let count = try? statistics(path: path).count
        try ChecksumDatabase.empty(path)
        return count
    }
}
