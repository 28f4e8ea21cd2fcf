import AppData
import BackupCore
import Glibc
import SystemIO

/// Checks that a file which the user names for an export, metrics or the log does not replace the app's data, or end up among the backups.
struct OutputPlaces {
    private static let remedy: Message =
        "Name another file, outside of the store, the repository and the media folder."

    private let databaseFiles: [String]
    private let mediaPath: String?
    private let paths: StorePaths
    private let repositoryPath: String

    /// All paths are absolute. The app's data is matched by path without being examined: its disk may not respond, and a backup can be exported regardless.
    /// The media folder is examined only if a file on its disk is to be replaced: a mount may lead into it by another path.
    init(database: String, media: String?, store: StorePaths, repository: String) {
        let database = Self.resolved(database)
        databaseFiles = ([""] + DatabaseLogs.suffixes).map { database + $0 }
        mediaPath = media.map(Self.resolved)
        paths = store
        repositoryPath = repository
    }

    init(_ settings: StoreSettings, _ paths: StorePaths) {
        self.init(
            database: paths.resolve(settings.databasePath), media: settings.mediaPath.map { paths.resolve($0) }, store: paths,
            repository: paths.resolve(settings.repositoryPath))
    }

    private static func resolved(_ path: String) -> String { (try? FileSystem.stops(onTheWayTo: path).last?.path) ?? path }

    /// - Parameter isLog: a log may be in the store, but must not replace the store's own files.
    /// - Throws: `usage` for a file that must not be written. A device or pipe is allowed, and a path that cannot be examined fails in the write that follows.
    func check(_ path: String, isLog: Bool = false) throws(BackupError) {
        // A log follows a link, and an export replaces it.
        for isSeenFromParent in [false, true] {
            guard let place = try? DataPlaces.Place("the file", path, isSeenFromParent: isSeenFromParent) else { continue }
            try check(place, isLog: isLog)
        }
    }

    private func check(_ place: DataPlaces.Place, isLog: Bool) throws(BackupError) {
        let path = place.path
        let status = FileSystem.statusIfPresent(place.realPath)
        if let status, status.kind != .regular, status.kind != .directory { return }
        if isOfApp(place, status) { throw Self.refusal("this is a file of the app's database", path) }
        if let mediaPath,
            place.realPath == mediaPath || place.realPath.hasPrefix("\(mediaPath)/")
                || status.map({ isInMedia(place, $0, mediaPath) }) == true
        {
            throw Self.lies(in: "the media folder", mediaPath, path)
        }
        if let repository = try? DataPlaces.Place("the repository", repositoryPath), place.isIn(repository), !isInMount(place) {
            throw Self.lies(in: repository.name, repository.path, path)
        }
        if let store = try? DataPlaces.Place("the store", paths.root), place.isIn(store), !isInMount(place),
            !(isLog && paths.allowsOther(place.realPath, in: store.realPath))
        {
            throw Self.lies(in: store.name, store.path, path)
        }
        if status?.kind == .regular, Self.isDatabase(place.realPath) {
            throw BackupError(
                .usage, "this file is an SQLite database, which would be lost", path: path,
                remedy: "Name another file, or move this one away first.")
        }
    }

    /// Whether it is one of the database's files: by path, or as another name of one of them where that is possible.
    private func isOfApp(_ place: DataPlaces.Place, _ status: FileStatus?) -> Bool {
        if databaseFiles.contains(place.realPath) { return true }
        let name = FileSystem.lastComponent(place.realPath)
        guard let status, status.kind == .regular,
            status.linkCount > 1 || databaseFiles.contains(where: { FileSystem.lastComponent($0) == name })
        else { return false }
        return databaseFiles.contains { FileSystem.statusIfPresent($0).map(FileIdentity.init) == FileIdentity(status) }
    }

    /// Whether the existing file is in the media folder, by whatever path. A disk that responds for one responds for the other.
    private func isInMedia(_ place: DataPlaces.Place, _ status: FileStatus, _ mediaPath: String) -> Bool {
        guard let mount = try? MountTable.current().entry(holding: mediaPath), mount.isOf(device: status.device),
            let media = try? DataPlaces.Place("the media folder", mediaPath)
        else { return false }
        return place.isIn(media)
    }

    /// A mountpoint may be in the store.
    private func isInMount(_ place: DataPlaces.Place) -> Bool {
        guard let bytes = try? FileSystem.readFile(paths.mountRecord, limitBytes: 1 << 16), !bytes.isEmpty else { return false }
        return place.realPath.hasPrefix(Self.resolved(String(decoding: bytes, as: UTF8.self)) + "/")
    }

    private static func isDatabase(_ path: String) -> Bool {
        guard let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NONBLOCK) else { return false }
        let magic = SQLiteHeader.magic
        return (try? file.readExactly(at: 0, count: magic.count)) == magic
    }

    private static func lies(in name: Message, _ outer: String, _ path: String) -> BackupError {
        refusal("the file is in \(name) \(outer)", path)
    }

    private static func refusal(_ message: Message, _ path: String) -> BackupError {
        BackupError(.usage, message, path: path, remedy: remedy)
    }
}

extension Store {
    /// Call before writing a file that the user named.
    /// - Throws: `usage` if it would replace the app's data, or be among the backups.
    public func requireWritable(_ path: String) throws(BackupError) { try outputPlaces.check(path) }

    var outputPlaces: OutputPlaces {
        OutputPlaces(database: database.path, media: mediaPath, store: paths, repository: repository.path)
    }
}
