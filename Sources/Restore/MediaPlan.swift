import AppData
import BackupCore
import Export
import SystemIO

/// Where each media file of an archive goes beside the files that are there. Nothing is replaced: what is there byte for byte stays, and what
/// has the name of another file gets a free one, `beach-2.jpg`. Made before anything is changed, and the same each time as long as the
/// folder is.
///
/// A database and its logs stay together (`x-2.db` with `x-2.db-wal`), and none comes beside another's: SQLite would take one's log for the other's.
struct MediaPlan {
    enum Place: Equatable {
        /// Is not there, and comes under its own name.
        case added
        case renamed([UInt8])
        /// Is there, under its own name or one that an earlier restore gave it.
        case present([UInt8])
    }

    /// What the archive has beside a database.
    private struct Log {
        let suffix: ArraySlice<UInt8>
        let path: [UInt8]
        let entry: ArchiveEntry
    }

    private(set) var places: [[UInt8]: Place] = [:]
    /// Folders that are in the way of nothing: their own paths, or those of the folders that take their place.
    private var folders: [[UInt8]: [UInt8]] = [:]
    private let tree: MediaTree
    private let archive: ArchiveImport
    /// Names that files get: no other file may have them.
    private var taken: Set<[UInt8]> = []
    /// The archive's databases and their logs.
    private let units: DatabaseUnits
    /// Of folders that are there, the files that would be taken for the database of a log in them.
    private var databasesOfLogs: [[UInt8]: Set<[UInt8]>] = [:]

    init(_ archive: ArchiveImport, in mediaPath: String) throws(BackupError) {
        tree = try MediaTree(mediaPath)
        self.archive = archive
        var own: Set<[UInt8]> = []
        try archive.forEachMediaFile { (path, _) throws(BackupError) in own.insert(path) }
        units = DatabaseUnits(own)
        var logs: [[UInt8]: [Log]] = [:]
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            guard let database = units.database(of: path) else { return }
            logs[database, default: []].append(Log(suffix: path.dropFirst(database.count), path: path, entry: entry))
        }
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            if units.database(of: path) == nil { try place(path, entry, logs[path] ?? [], own) }
        }
    }

    /// The new path of each file that does not keep its own.
    var newPaths: [[UInt8]: [UInt8]] {
        var paths: [[UInt8]: [UInt8]] = [:]
        for (path, place) in places {
            switch place {
            case .renamed(let other), .present(let other): if other != path { paths[path] = other }
            case .added: break
            }
        }
        return paths
    }

    /// Where a file is to be staged; `nil` when it is there.
    func stagedPath(_ path: [UInt8]) -> [UInt8]? {
        switch places[path] {
        case .added: path
        case .renamed(let other): other
        case .present, nil: nil
        }
    }

    /// Where a folder is to be staged; `nil` when it is there.
    mutating func stagedFolder(_ path: [UInt8]) throws(BackupError) -> [UInt8]? {
        let folder = try folder(path)
        if case .folder = try tree.find(folder) { return nil }
        return folder
    }

    /// What will have become of the files, when it is known which of them skipped records name.
    func outcome(_ names: MediaNames) -> MediaOutcome {
        var outcome = MediaOutcome()
        for (path, place) in places {
            switch place {
            case .added: outcome.added += 1
            case .present: outcome.alreadyThere += 1
            case .renamed: if isUnneeded(path, names) { outcome.skipped += 1 } else { outcome.renamed += 1 }
            }
        }
        return outcome
    }

    /// Where the files would be staged that nobody needs: those who have the records that name them have another version.
    func unneeded(_ names: MediaNames) -> [[UInt8]] {
        places.compactMap { path, place in
            guard case .renamed(let other) = place, isUnneeded(path, names) else { return nil }
            return other
        }
    }

    /// A log goes the way of its database.
    private func isUnneeded(_ path: [UInt8], _ names: MediaNames) -> Bool {
        names.isNamedBySkippedRecordsOnly(units.database(of: path) ?? path)
    }

    // MARK: Making it

    private mutating func place(
        _ path: [UInt8], _ entry: ArchiveEntry, _ logs: [Log], _ own: Set<[UInt8]>
    ) throws(BackupError) {
        let parent = try folder(BytePath.folder(of: path))
        let name = BytePath.lastComponent(of: path)
        var number = 1
        while true {
            let reserved = logs.isEmpty ? 0 : DatabaseLogs.longestSuffixBytes
            let candidate = BytePath.join(parent, Self.numbered(name, number, reservedBytes: reserved))
            number += 1
            let files = [(path, candidate)] + logs.map { ($0.path, candidate + $0.suffix) }
            if files.contains(where: { $0.0 != $0.1 && (own.contains($0.1) || taken.contains($0.1)) }) { continue }
            let isSame = try compare(entry, with: candidate)
            switch isSame {
            case nil: if try isDatabaseOfLog(candidate, in: parent) { continue }
            case true?: if try !areThere(logs, beside: candidate) { continue }
            case false?: continue
            }
            for (path, place) in files {
                taken.insert(place)
                places[path] = isSame != nil ? .present(place) : place == path ? .added : .renamed(place)
            }
            return
        }
    }

    /// Whether all of them are beside a file, byte for byte.
    private func areThere(_ logs: [Log], beside path: [UInt8]) throws(BackupError) -> Bool {
        for log in logs where try compare(log.entry, with: path + log.suffix) != true { return false }
        return true
    }

    /// Whether a log in the folder would be taken for that of a file of this name.
    private mutating func isDatabaseOfLog(_ path: [UInt8], in folder: [UInt8]) throws(BackupError) -> Bool {
        if let known = databasesOfLogs[folder] { return known.contains(path) }
        let found = Set(
            try tree.names(in: folder).lazy.compactMap { DatabaseLogs.database(ofFile: $0.bytes) }.map {
                BytePath.join(folder, $0)
            })
        databasesOfLogs[folder] = found
        return found.contains(path)
    }

    /// `a-2/b` for `a/b`, when `a` is a file.
    private mutating func folder(_ path: [UInt8]) throws(BackupError) -> [UInt8] {
        if path.isEmpty { return path }
        if let known = folders[path] { return known }
        let parent = try folder(BytePath.folder(of: path))
        let name = BytePath.lastComponent(of: path)
        var number = 1
        while true {
            let candidate = BytePath.join(parent, Self.numbered(name, number))
            number += 1
            switch try tree.find(candidate) {
            case .nothing, .folder:
                folders[path] = candidate
                return candidate
            case .file, .link, .other, .blocked: continue
            }
        }
    }

    /// - Returns: `nil` when nothing has the path; whether what has it is the very same otherwise.
    private func compare(_ entry: ArchiveEntry, with path: [UInt8]) throws(BackupError) -> Bool? {
        switch try tree.find(path) {
        case .nothing: return nil
        case .file(let status):
            guard !entry.isSymbolicLink, status.size == entry.size else { return false }
            return try archive.isSame(entry, as: tree.open(path))
        case .link(let target):
            guard entry.isSymbolicLink else { return false }
            return try archive.linkTarget(entry) == target
        case .folder, .other, .blocked: return false
        }
    }

    /// `name-2.jpg` for `name.jpg` and 2. What is too long then loses the end of its stem.
    /// - Parameter reservedBytes: how much shorter than a name may be it must stay.
    static func numbered(_ name: [UInt8], _ number: Int, reservedBytes: Int = 0) -> [UInt8] {
        guard number > 1 else { return name }
        return FileName.fitting(name, "-\(number)", reservedBytes: reservedBytes)
    }
}
