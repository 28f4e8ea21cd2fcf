import AppData
import BackupCore
import Formats
import SystemIO

/// Where each media file of an archive goes beside the existing files. Nothing is replaced: an identical file stays, and a file
/// whose name another one has gets a free name, `beach-2.jpg`. The plan is computed before any change, and is deterministic as
/// long as the folder does not change.
///
/// A database and its logs stay together (`x-2.db` with `x-2.db-wal`), and never beside another one's: SQLite would use the wrong
/// log.
struct MediaPlan {
    enum Place: Equatable {
        /// Does not exist, and is added under its own name.
        case added
        case renamed([UInt8])
        /// Exists, under its own name or one from an earlier restore.
        case present([UInt8])
    }

    /// A log beside a database in the archive.
    private struct Log {
        let suffix: ArraySlice<UInt8>
        let path: [UInt8]
        let entry: ArchiveEntry
    }

    private(set) var places: [[UInt8]: Place] = [:]
    /// Target paths of folders: their own, or the replacement's if a file is in the way.
    private var folders: [[UInt8]: [UInt8]] = [:]
    private let tree: MediaTree
    private let archive: ArchiveImport
    /// Names assigned to files: no other file may have them.
    private var taken: Set<[UInt8]> = []
    /// The archive's databases and their logs.
    private let units: DatabaseUnits
    /// For existing folders, the names that SQLite would treat as the database of a log in them.
    private var databasesOfLogs: [[UInt8]: Set<[UInt8]>] = [:]

    /// - Parameter matchesContent: whether a file whose bytes exist under another name is that file.
    init(_ archive: ArchiveImport, in mediaPath: String, matchesContent: Bool) throws(BackupError) {
        tree = try MediaTree(mediaPath)
        self.archive = archive
        var own: Set<[UInt8]> = []
        try archive.forEachMediaFile { (path, _) throws(BackupError) in own.insert(path) }
        units = DatabaseUnits(own)
        if matchesContent { try matchContents() }
        var logs: [[UInt8]: [Log]] = [:]
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            guard let database = units.database(of: path) else { return }
            logs[database, default: []].append(Log(suffix: path.dropFirst(database.count), path: path, entry: entry))
        }
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            if units.database(of: path) == nil, places[path] == nil { try place(path, entry, logs[path] ?? [], own) }
        }
    }

    /// Finds the files that exist, under their own names first. Each existing file is that of one file of the archive: two with
    /// the same bytes stay two. Empty files are not compared, nor databases, which have logs.
    private mutating func matchContents() throws(BackupError) {
        var others: [(path: [UInt8], entry: ArchiveEntry, digest: SHA256Digest)] = []
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            guard entry.size > 0, let digest = archive.digest(of: entry), units.database(of: path) == nil,
                units.companions[path] == nil
            else { return }
            if try compare(entry, with: path) == true {
                places[path] = .present(path)
                taken.insert(path)
            } else {
                others.append((path, entry, digest))
            }
        }
        var contents = try MediaContents(tree, sizes: Set(others.lazy.map(\.entry.size)))
        for other in others {
            let found = try contents.path(of: other.digest, sizeBytes: other.entry.size) { !taken.contains($0) }
            guard let found else { continue }
            places[other.path] = .present(found)
            taken.insert(found)
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

    /// Where to stage a file; `nil` when it exists.
    func stagedPath(_ path: [UInt8]) -> [UInt8]? {
        switch places[path] {
        case .added: path
        case .renamed(let other): other
        case .present, nil: nil
        }
    }

    /// Where to stage a folder; `nil` when it exists.
    mutating func stagedFolder(_ path: [UInt8]) throws(BackupError) -> [UInt8]? {
        let folder = try folder(path)
        if case .folder = try tree.find(folder) { return nil }
        return folder
    }

    /// The outcome for the files, once it is known which of them skipped records name.
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

    /// The staging paths of files that are not needed: the skipped records that name them have another version.
    func unneeded(_ names: MediaNames) -> [[UInt8]] {
        places.compactMap { path, place in
            guard case .renamed(let other) = place, isUnneeded(path, names) else { return nil }
            return other
        }
    }

    /// A log follows its database.
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

    /// Whether all of them exist beside a file, byte for byte.
    private func areThere(_ logs: [Log], beside path: [UInt8]) throws(BackupError) -> Bool {
        for log in logs where try compare(log.entry, with: path + log.suffix) != true { return false }
        return true
    }

    /// Whether SQLite would use a log in the folder for a file of this name.
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

    /// - Returns: `nil` when nothing has the path; otherwise whether the existing entry is identical.
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

    /// `name-2.jpg` for `name.jpg` and 2. Truncates the end of the stem if needed.
    /// - Parameter reservedBytes: how far it must stay below the length limit of a name.
    static func numbered(_ name: [UInt8], _ number: Int, reservedBytes: Int = 0) -> [UInt8] {
        guard number > 1 else { return name }
        return FileName.fitting(name, "-\(number)", reservedBytes: reservedBytes)
    }
}

/// Where the media files of an archive go, and the paths that their records get.
///
/// A file whose record names it in this program's form (`photos/beach.jpg`) gets that name back. A path of another device means
/// nothing here: the file keeps its name in the archive, and the record gets its path. Files that no record names also keep their
/// names.
struct MediaPlacement: Sendable {
    /// For entries that a manifest names: the target path below the media folder. There may be several.
    private(set) var targets: [[UInt8]: [[UInt8]]] = [:]
    /// New file paths for records, by their keys, where they differ from the records' own.
    private(set) var recordPaths: [FieldValue: [UInt8]] = [:]
    private var taken: [[UInt8]: Content] = [:]

    /// Identifies a file's content.
    private struct Content: Equatable {
        let archivePath: [UInt8]
        let digest: SHA256Digest?

        func isSame(as other: Content) -> Bool {
            archivePath == other.archivePath || (digest != nil && digest == other.digest)
        }
    }

    /// - Parameters:
    ///   - entries: the manifest's entries, with the paths of their files in the archive.
    ///   - others: files that no entry names.
    ///   - digests: of the entries' bytes.
    ///   - isOwn: whether the records are of this same folder: they keep their paths if their files can have them.
    init(
        _ entries: [(entry: ManifestEntry, path: [UInt8])], others: [(archivePath: [UInt8], path: [UInt8])],
        mediaPaths: ArchiveMediaPaths, pointer: MediaPointer?, digests: [[UInt8]: SHA256Digest],
        isOwn: Bool = false
    ) {
        for (entry, archivePath) in entries {
            let content = Content(archivePath: archivePath, digest: digests[archivePath])
            let usual = Self.fitting(mediaPaths.mediaPath(of: archivePath) ?? archivePath)
            guard let pointer else {
                place(content, at: [entry.recordPath, usual])
                continue
            }
            let own = Self.ownPath(entry.recordPath, pointer) ?? (isOwn ? pointer.paths(entry.recordPath).first : nil)
            let target = place(content, at: (own.map { [$0] } ?? []) + [usual])
            if isOwn, target == own { continue }
            let text = pointer.text(of: target)
            if text != entry.recordPath { recordPaths[entry.key] = text }
        }
        for other in others where targets[other.archivePath] == nil {
            let content = Content(archivePath: other.archivePath, digest: digests[other.archivePath])
            let target = place(content, at: [Self.fitting(other.path)])
            if target == other.path, targets[other.archivePath] == [target] { targets[other.archivePath] = nil }
        }
    }

    /// The path below the media folder, for a record that names its file in this program's form.
    private static func ownPath(_ recordPath: [UInt8], _ pointer: MediaPointer) -> [UInt8]? {
        let prefix = pointer.text(of: [])
        guard recordPath.starts(with: prefix) else { return nil }
        return pointer.paths(recordPath).first { pointer.text(of: $0) == recordPath }
    }

    /// Puts a file at the first free path; if none is free, numbers the last one.
    @discardableResult
    private mutating func place(_ content: Content, at candidates: [[UInt8]]) -> [UInt8] {
        var path = candidates.first { taken[$0].map(content.isSame) ?? true }
        var number = 2
        while path == nil, let last = candidates.last {
            let numbered = Self.numbered(last, number)
            if taken[numbered] == nil { path = numbered }
            number += 1
        }
        let target = path ?? content.archivePath
        if taken[target] == nil {
            taken[target] = content
            targets[content.archivePath, default: []].append(target)
        } else if targets[content.archivePath] == nil {
            // Another entry puts the same bytes there.
            targets[content.archivePath] = []
        }
        return target
    }

    /// Shortened to a valid file name.
    private static func fitting(_ path: [UInt8]) -> [UInt8] {
        BytePath.join(BytePath.folder(of: path), FileName.fitting(BytePath.lastComponent(of: path)))
    }

    /// `beach-2.jpg`.
    private static func numbered(_ path: [UInt8], _ number: Int) -> [UInt8] {
        BytePath.join(BytePath.folder(of: path), MediaPlan.numbered(BytePath.lastComponent(of: path), number))
    }

    /// The target paths of an entry.
    /// - Parameter path: the entry's own path below the media folder.
    func paths(of archivePath: [UInt8], usual path: [UInt8]) -> [[UInt8]] { targets[archivePath] ?? [path] }
}
