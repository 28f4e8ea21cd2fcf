import BackupCore
import Formats
import Glibc
import SystemIO

/// The stars of a store: `photos/` in it. A star is a file, so that each change is one rename(2): in `queue/` until its photo is
/// in the bucket and in the catalog, then in `uploaded/`.
public struct QueueFolder: Sendable {
    private static let suffix = ".json"
    private static let itemLimitBytes = 1 << 20
    private static let lockTimeoutNanoseconds: UInt64 = 30_000_000_000

    /// The folder `photos` of the store.
    public let root: String

    public init(root: String) { self.root = root }

    /// What waits, or has failed.
    public var queue: String { "\(root)/queue" }
    /// What is in the bucket and in its catalog.
    public var uploaded: String { "\(root)/uploaded" }
    /// The last catalog that this machine has published or read.
    public var catalog: String { "\(root)/catalog.jsonl" }
    /// The place of the bucket that `catalog` is a copy of, and `uploaded` is in.
    private var place: String { "\(root)/place" }
    /// Photos that are not on this disk, until they are uploaded.
    var downloads: String { "\(root)/downloads" }
    /// For programs: what the photos of the queue wait for.
    public var status: String { "\(root)/status/backup_status.json" }
    /// Held by the process that uploads.
    public var workerLock: String { "\(root)/worker.lock" }
    private var itemLock: String { "\(root)/items.lock" }
    /// The bytes of photos that were copied into `photos/starred/`.
    public var copies: KeptCopies { KeptCopies(root: root) }

    /// Makes the folders.
    public func make() throws(BackupError) {
        for folder in [queue, uploaded, FileSystem.parentPath(status)] { try FileSystem.makeDirectories(folder) }
    }

    /// Whether any photo was ever starred.
    public var exists: Bool { (try? FileSystem.exists(queue)) == true }

    // MARK: Reading

    /// The identifiers in the queue. Files that are no items are left out.
    public func queuedIDs() throws(BackupError) -> [String] { try ids(in: queue) }

    /// The identifiers of what is uploaded.
    public func uploadedIDs() throws(BackupError) -> [String] { try ids(in: uploaded) }

    private func ids(in folder: String) throws(BackupError) -> [String] {
        let names = try FileSystem.ifPresent { () throws(BackupError) in try FileSystem.names(in: folder) } ?? []
        return names.compactMap(Self.id)
    }

    /// - Returns: `nil` for a file that is no item.
    public static func id(ofFile name: FileName) -> String? {
        let text = name.description
        return text.hasSuffix(suffix) && !text.hasPrefix(".") ? String(text.dropLast(suffix.utf8.count)) : nil
    }

    /// Whether there is an item in the queue. It is not read.
    public func queuedIDExists(_ id: String) throws(BackupError) -> Bool {
        try FileSystem.exists("\(queue)/\(id)\(Self.suffix)")
    }

    /// - Returns: `nil` when there is none.
    /// - Throws: `damagedContent` for a file that is no item.
    public func item(_ id: String) throws(BackupError) -> QueueItem? {
        for path in paths(of: id) {
            if let item = try read(path) { return item }
        }
        return nil
    }

    /// Where an item can be. It moves in both directions, so the first place comes last again.
    func paths(of id: String) -> [String] { [queue, uploaded, queue].map { "\($0)/\(id)\(Self.suffix)" } }

    /// The identifiers of all stars, without an order. One that moves meanwhile is in the folder that is listed after.
    func allIDs() throws(BackupError) -> Set<String> {
        var ids = Set(try queuedIDs())
        ids.formUnion(try uploadedIDs())
        ids.formUnion(try queuedIDs())
        return ids
    }

    /// Only what is not done with.
    public func queuedItem(_ id: String) throws(BackupError) -> QueueItem? { try read("\(queue)/\(id)\(Self.suffix)") }

    private func read(_ path: String) throws(BackupError) -> QueueItem? {
        guard let bytes = try FileSystem.readFileIfPresent(path, limitBytes: Self.itemLimitBytes) else { return nil }
        // A copy that another program has made beside it is no second star.
        guard let item = QueueItem(decoding: bytes), "\(item.id)\(Self.suffix)" == FileSystem.lastComponent(path) else {
            throw BackupError(
                .damagedContent, "this star cannot be read", path: path, remedy: "Remove the file, and star its photo again.")
        }
        return item
    }

    /// All stars, in the order of their paths.
    /// - Parameter damaged: receives files that are no items.
    public func items(_ damaged: (BackupError) -> Void = { _ in }) throws(BackupError) -> [QueueItem] {
        var found: [QueueItem] = []
        for id in try allIDs() {
            do throws(BackupError) {
                if let item = try item(id) { found.append(item) }
            } catch {
                guard error.code == .damagedContent else { throw error }
                damaged(error)
            }
        }
        return found.sorted { $0.path < $1.path }
    }

    // MARK: Changes

    /// Runs `body` while no other process changes an item.
    func withLock<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        try Self.withLock(itemLock, body)
    }

    static func withLock<Result>(
        _ path: String, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let end = SystemClock.monotonicNanoseconds() + lockTimeoutNanoseconds
        while true {
            do throws(BackupError) {
                let lock = try AdvisoryLock(path: path)
                defer { withExtendedLifetime(lock) {} }
                return try body()
            } catch {
                guard error.code == .busy, error.path == path, SystemClock.monotonicNanoseconds() < end else { throw error }
                try Cancellation.check()
                usleep(2_000)
            }
        }
    }

    /// Writes an item into the queue. Durable when it returns.
    /// - Parameter isNew: otherwise, one that was removed or starred again meanwhile stays as it is.
    /// - Returns: whether it was written.
    @discardableResult
    func write(_ item: QueueItem, isNew: Bool = false) throws(BackupError) -> Bool {
        let path = "\(queue)/\(item.id)\(Self.suffix)"
        return try withLock { () throws(BackupError) in
            var item = item
            if !isNew {
                guard let there = try read(path), there.queuedAt == item.queuedAt else { return false }
                // A copy may have been kept, or removed, since the item was read.
                item.copy = there.copy
            }
            try FileSystem.writeFileAtomically(path, item.encoded)
            // Starred again: the file has changed since.
            if isNew { try FileSystem.removeFile("\(uploaded)/\(item.id)\(Self.suffix)") }
            return true
        }
    }

    /// Adds a star, or has a photo uploaded again. Durable when it returns.
    public func add(_ item: QueueItem) throws(BackupError) { try write(item, isNew: true) }

    /// Notes the kept copy of a star, or that there is none any more. Nothing else of the star changes. Durable when it returns.
    /// - Parameter isWanted: asked with the star as it is now.
    /// - Returns: whether it was noted.
    public func setCopy(
        _ sha256: SHA256Digest?, of id: String, if isWanted: (QueueItem) -> Bool
    ) throws(BackupError) -> Bool {
        try withLock { () throws(BackupError) in
            for folder in [queue, uploaded] {
                let path = "\(folder)/\(id)\(Self.suffix)"
                guard var item = try read(path) else { continue }
                guard isWanted(item) else { return false }
                item.copy = sha256
                try FileSystem.writeFileAtomically(path, item.encoded)
                return true
            }
            return false
        }
    }

    /// Takes an uploaded item out of the queue, once the catalog has it.
    /// - Parameter queuedAt: of the star that the catalog has.
    func finish(_ id: String, queuedAt: Timestamp) throws(BackupError) {
        let path = "\(queue)/\(id)\(Self.suffix)"
        try withLock { () throws(BackupError) in
            // It may have been starred again, or unstarred.
            guard let item = try read(path), item.stage == .uploaded, item.queuedAt == queuedAt else { return }
            try FileSystem.rename(path, to: "\(uploaded)/\(id)\(Self.suffix)")
        }
    }

    /// Has the photos uploaded again that are not in the bucket any more, or not in this one.
    func requeueMissing(from catalog: PhotoCatalog) throws(BackupError) {
        for id in try uploadedIDs() {
            let (from, to) = ("\(uploaded)/\(id)\(Self.suffix)", "\(queue)/\(id)\(Self.suffix)")
            try withLock { () throws(BackupError) in
                do throws(BackupError) {
                    guard var item = try read(from), let content = item.content, !catalog.has(content.key.md5) else { return }
                    item.stage = .queued
                    item.attempts = 0
                    if try !FileSystem.exists(to) { try FileSystem.writeFileAtomically(to, item.encoded) }
                    try FileSystem.removeFile(from)
                } catch {
                    // It is reported where the stars are listed.
                    guard error.code == .damagedContent else { throw error }
                }
            }
        }
    }

    // MARK: The worker

    /// Held while photos are uploaded, or the catalog is made again.
    /// - Throws: `busy` while another process does that.
    public func lockForWorker() throws(BackupError) -> AdvisoryLock {
        do throws(BackupError) {
            return try AdvisoryLock(path: workerLock)
        } catch {
            guard error.code == .busy else { throw error }
            throw error.with(nil, "another process uploads the photos of this store")
        }
    }

    /// Removes what was downloaded.
    /// - Parameter id: of one photo; `nil` for all.
    func discardDownloads(of id: String? = nil) {
        for name in (try? FileSystem.names(in: downloads)) ?? [] where id.map({ name.description.hasPrefix($0) }) ?? true {
            try? FileSystem.removeFile("\(downloads)/\(name)")
        }
    }

    /// Removes a star.
    /// - Returns: the item that was there; `nil` if there was none.
    public func remove(_ id: String) throws(BackupError) -> QueueItem? {
        let item = try item(id)
        try withLock { () throws(BackupError) in
            for folder in [queue, uploaded] { try FileSystem.removeFile("\(folder)/\(id)\(Self.suffix)") }
            for folder in [queue, uploaded] { try FileSystem.synchronizeDirectory(folder) }
        }
        discardDownloads(of: id)
        return item
    }

    // MARK: The catalog of this machine

    /// - Parameter published: that of the bucket, which is the same most of the time.
    /// - Returns: an empty one if the file is missing or damaged: the bucket has it.
    func localCatalog(besides published: PhotoCatalog) -> PhotoCatalog {
        guard let bytes = try? FileSystem.readFile(catalog, limitBytes: PhotoCatalog.limitBytes) else { return PhotoCatalog() }
        if published.wasRead(from: bytes) { return published }
        return (try? PhotoCatalog(parsing: bytes, path: catalog)) ?? PhotoCatalog()
    }

    /// Where the bucket has contents, as the catalog of this machine says.
    public func catalogKeys(of contents: Set<SHA256Digest>) -> [SHA256Digest: PhotoKey] {
        let bytes = try? FileSystem.readFile(catalog, limitBytes: PhotoCatalog.limitBytes)
        return bytes.map { CatalogText.keys(of: contents, in: $0) } ?? [:]
    }

    /// Keeps a catalog as that of this machine.
    public func keep(_ catalog: PhotoCatalog) throws(BackupError) {
        try FileSystem.writeFileAtomically(self.catalog, catalog.encoded)
    }

    /// Whether this machine's catalog and uploaded stars are of the bucket at a place.
    public func isOf(_ place: String) throws(BackupError) -> Bool {
        try FileSystem.readFileIfPresent(self.place, limitBytes: Self.itemLimitBytes) == Array("\(place)\n".utf8)
    }

    func keep(place: String) throws(BackupError) {
        if try !isOf(place) { try FileSystem.writeFileAtomically(self.place, Array("\(place)\n".utf8)) }
    }
}
