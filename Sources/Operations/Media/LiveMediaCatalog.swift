import AppData
import BackupCore
import BackupRepository
import Restore
import SnapshotFormats
import Synchronization
import SystemIO

/// The current media folder. Does not read files: checksums are those computed since the file was written, for instance by the
/// newest backup.
final class LiveMediaCatalog: MediaCatalog {
    /// How long the result of a walk is reused: a reader of several live files asks for the state with each.
    private static let stateLifetimeNanoseconds: UInt64 = 1_000_000_000

    let media: LiveMedia
    private let earlier: @Sendable () -> StoredMediaCatalog?
    private let walked = Mutex<(time: UInt64, state: String)?>(nil)

    /// - Parameters:
    ///   - amongMedia: entries of the folder that are not media.
    ///   - earlier: the folder in the newest backup.
    init(path: String, amongMedia: DatabaseAmongMedia, earlier: @escaping @Sendable () -> StoredMediaCatalog?) {
        media = LiveMedia(path: path, amongMedia: amongMedia)
        self.earlier = earlier
    }

    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? {
        let names = BytePath.components(of: path)
        guard let item = try media.item(at: names[...]), item.status.kind == .regular else { return nil }
        return facts(of: item, path, earlier())
    }

    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        let earlier = earlier()
        try walk([], []) { (path, item) throws(BackupError) in try body(facts(of: item, path, earlier)) }
    }

    private func facts(of item: LiveMedia.Item, _ path: [UInt8], _ earlier: StoredMediaCatalog?) -> MediaFileFacts {
        // An unreadable backup provides nothing.
        let entry = (try? earlier?.entry(at: path)).flatMap { $0 }
        let checksums = entry.flatMap { $0.kind == .file && $0.isUnchanged(item) ? $0.checksums : nil }
        return MediaFileFacts(
            path: path, size: item.status.size, modificationTime: item.status.modificationTime, checksums: checksums)
    }

    private func walk(
        _ folder: [FileName], _ prefix: [UInt8], _ body: ([UInt8], LiveMedia.Item) throws(BackupError) -> Void
    ) throws(BackupError) {
        let items = try media.items(in: folder[...]) ?? []
        for item in items.sorted(by: {
            MediaOrder.precedes(($0.name, $0.status.kind == .directory), ($1.name, $1.status.kind == .directory))
        }) {
            let path = prefix + item.name.bytes
            switch item.status.kind {
            case .regular: try body(path, item)
            case .directory: try walk(folder + [item.name], path + [UInt8(ascii: "/")], body)
            case .symbolicLink, .other: continue
            }
        }
    }

    /// A digest of the paths, sizes and times of all files, and of the newest backup's knowledge about them.
    func state() throws(BackupError) -> String? { try state(looksAgain: false) }

    /// - Parameter looksAgain: whether the folder is walked in any case.
    func state(looksAgain: Bool) throws(BackupError) -> String? {
        let now = SystemClock.monotonicNanoseconds()
        if !looksAgain, let walked = walked.withLock({ $0 }), now - walked.time < Self.stateLifetimeNanoseconds {
            return walked.state
        }
        var hasher = SHA256Hasher()
        let earlier = earlier()
        Array((earlier?.state() ?? "").utf8).withUnsafeBytes { hasher.update($0) }
        try walk([], []) { (path, item) throws(BackupError) in
            let status = item.status
            var writer = ByteWriter()
            writer.append(lengthPrefixed: path)
            for number in [status.inode, status.size, UInt64(bitPattern: status.modificationTime.seconds)] {
                writer.append(number)
            }
            writer.append(status.modificationTime.nanoseconds)
            writer.append(UInt64(bitPattern: status.changeTime.seconds))
            writer.append(status.changeTime.nanoseconds)
            writer.bytes.withUnsafeBytes { hasher.update($0) }
        }
        let state = hasher.finish().hexadecimal
        walked.withLock { $0 = (now, state) }
        return state
    }
}

/// A media folder that reads files for their checksums, unless these are known.
struct ReadMediaCatalog: MediaCatalog {
    private let checksums: LiveChecksums
    private let statuses: LiveMediaCatalog
    /// Whether an unreadable file is listed without its checksums.
    private let acceptsUnreadable: Bool

    /// Reads every file.
    init(path: String) {
        checksums = LiveChecksums()
        statuses = LiveMediaCatalog(path: path, amongMedia: .none) { nil }
        acceptsUnreadable = false
    }

    /// Reads files whose checksums `catalog` does not know.
    init(completing catalog: LiveMediaCatalog, _ checksums: LiveChecksums) {
        self.checksums = checksums
        statuses = catalog
        acceptsUnreadable = true
    }

    private func read(_ file: MediaFileFacts) throws(BackupError) -> MediaFileFacts {
        guard file.checksums == nil else { return file }
        let names = BytePath.components(of: file.path)
        guard let item = try statuses.media.item(at: names[...]) else { return file }
        do throws(BackupError) {
            let known = try checksums.checksums(of: item) { () throws(BackupError) in
                try statuses.media.open(names[...], expected: item.status)
            }
            return MediaFileFacts(path: file.path, size: file.size, modificationTime: file.modificationTime, checksums: known)
        } catch {
            guard acceptsUnreadable else { throw error }
            return file
        }
    }

    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? {
        guard let file = try statuses.file(at: path) else { return nil }
        return try read(file)
    }

    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try statuses.forEachFile { (file) throws(BackupError) in try body(read(file)) }
    }

    func state() throws(BackupError) -> String? { try statuses.state() }
}
