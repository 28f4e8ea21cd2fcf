import BackupCore
import Synchronization
import SystemIO

/// A star, and the name of its link in `photos/starred/`.
public struct NamedStar: Sendable {
    public let item: QueueItem
    public let name: FileName
}

/// The stars of a store, for questions that come often: a folder of thousands of stars is asked about each of them. A look costs
/// the status of two folders while no star changes, and otherwise that of each file; only files that have changed are read. While
/// other processes change stars all the time, looks take a twentieth of the time, and answers may be as old as that.
///
/// A star keeps its name as long as this object lives: what removes several links by their names must not meet other photos.
public final class StarList: Sendable {
    private static let restFactor = 20.0

    private struct File {
        let status: FileStatus
        /// Whether a later change shows in the status.
        let isSettled: Bool
        /// `nil` for what is no star.
        let item: QueueItem?
    }

    private struct State {
        /// The two folders when they were listed; `nil` for one that was not there.
        var folders: [FolderVersion?] = []
        /// Whether the next look has to list them in any case.
        var isUnsettled = true
        /// By their paths.
        var files: [String: File] = [:]
        /// Of the monotonic clock: until then, answers may be as old as the last look.
        var restsUntil = 0.0
        /// Whether this process has changed a star since.
        var isChanged = true
        /// In the order of their paths.
        var stars: [NamedStar] = []
        /// The places in `stars`.
        var places: [FileName: Int] = [:]
        var version: UInt64 = 0
        /// The names by the stars' identifiers.
        var names: [String: FileName] = [:]
        /// The next number for photos of one name.
        var numbers: [FileName: Int] = [:]
    }

    private let queue: QueueFolder
    private let state = Mutex(State())

    public init(_ queue: QueueFolder) { self.queue = queue }

    /// All stars, in the order of their paths.
    public func stars() throws(BackupError) -> [NamedStar] { try current { $0.stars } }

    /// The star whose link has this name.
    public func star(named name: FileName) throws(BackupError) -> NamedStar? {
        try current { state in state.places[name].map { state.stars[$0] } }
    }

    /// Grows with each change of a star.
    public func version() throws(BackupError) -> UInt64 { try current { $0.version } }

    private func current<Result: Sendable>(_ body: (borrowing State) -> Result) throws(BackupError) -> Result {
        try state.withLock { (state) throws(BackupError) in
            let began = SystemClock.monotonicSeconds()
            guard state.isChanged || began >= state.restsUntil else { return body(state) }
            let folders = try versions()
            if state.isChanged || state.isUnsettled || !Self.covers(state.folders, folders) {
                try read(into: &state)
                state.isChanged = false
                let end = SystemClock.monotonicSeconds()
                state.restsUntil = end + (end - began) * Self.restFactor
            }
            return body(state)
        }
    }

    /// To be called after this process has changed a star.
    public func noteChange() { state.withLock { $0.isChanged = true } }

    private func versions() throws(BackupError) -> [FolderVersion?] {
        let (waiting, done) = (try FileSystem.look(queue.queue), try FileSystem.look(queue.uploaded))
        return [waiting, done].map { status in status.map { FolderVersion($0) } }
    }

    private static func covers(_ known: [FolderVersion?], _ now: [FolderVersion?]) -> Bool {
        known.count == now.count
            && zip(known, now).allSatisfy { known, now in
                guard let known, let now else { return known == nil && now == nil }
                return known.covers(now)
            }
    }

    private func read(into state: inout State) throws(BackupError) {
        let folders = try versions()
        var files: [String: File] = [:]
        var items: [QueueItem] = []
        for id in try queue.allIDs() {
            for path in queue.paths(of: id) {
                guard let status = try FileSystem.look(path) else { continue }
                var file = state.files[path]
                if file.map({ !$0.isSettled || $0.status != status }) ?? true { file = try readFile(id, status) }
                guard let file else { continue }
                files[path] = file
                if let item = file.item { items.append(item) }
                break
            }
        }
        items.sort { $0.path < $1.path }
        state.files = files
        state.version += 1
        state.folders = folders
        state.isUnsettled = !files.values.allSatisfy(\.isSettled)
        name(items, &state)
    }

    /// - Returns: `nil` when it is gone meanwhile.
    private func readFile(_ id: String, _ status: FileStatus) throws(BackupError) -> File? {
        // Before the file is read.
        let isSettled = status.isSettled
        do throws(BackupError) {
            return try queue.item(id).map { File(status: status, isSettled: isSettled, item: $0) }
        } catch {
            guard error.code == .damagedContent else { throw error }
            return File(status: status, isSettled: isSettled, item: nil)
        }
    }

    private func name(_ items: [QueueItem], _ state: inout State) {
        let ids = Set(items.lazy.map(\.id))
        state.names = state.names.filter { ids.contains($0.key) }
        var taken = Set(state.names.values)
        state.stars = items.map { item in
            if let known = state.names[item.id] { return NamedStar(item: item, name: known) }
            let own = FileName(bytes: BytePath.lastComponent(of: Array(item.path.utf8)))
            var name = own
            while !taken.insert(name).inserted {
                let number = state.numbers[own, default: 2]
                name = FileName(bytes: FileName.fitting(own.bytes, " (\(number))"))
                state.numbers[own] = number + 1
            }
            state.names[item.id] = name
            return NamedStar(item: item, name: name)
        }
        if ids.isEmpty { state.numbers = [:] }
        state.places = Dictionary(state.stars.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }
}
