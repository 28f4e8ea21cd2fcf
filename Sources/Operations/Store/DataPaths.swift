import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

/// The places of a store's data and backups. A backup reads the whole media folder and a restore replaces it, so none of the
/// store's files may be in it; and a mount hides what is below it. The database may be in it: it is excluded from the media
/// (`DatabaseAmongMedia`).
struct DataPaths {
    struct Place {
        let name: Message
        let path: String
        /// With links resolved.
        let realPath: String
        /// The identities of the folder and all its parent folders.
        let identities: Set<FileIdentity>
        let identity: FileIdentity?

        /// The folder, or its nearest existing parent.
        func existingFolder(startingAt path: String) throws(BackupError) -> FileIdentity? {
            var folder = path
            while folder != "/" {
                if let identity = try FileSystem.identityIfPresent(folder) { return identity }
                folder = FileSystem.parentPath(folder)
            }
            return nil
        }

        /// - Parameter isSeenFromParent: whether to examine it only from its parent: a filesystem mounted there may not respond,
        ///   and a link there is not followed.
        init(_ name: Message, _ path: String, isSeenFromParent: Bool = false) throws(BackupError) {
            self.name = name
            self.path = path
            if isSeenFromParent {
                let parent = try FileSystem.realPath(FileSystem.parentPath(FileSystem.absolutePath(path)))
                realPath = (parent == "/" ? "" : parent) + "/" + FileSystem.lastComponent(FileSystem.absolutePath(path))
                identity = nil
            } else {
                realPath = try FileSystem.realPath(path)
                identity = try FileSystem.identityIfPresent(realPath)
            }
            var identities: Set<FileIdentity> = []
            var folder = isSeenFromParent ? FileSystem.parentPath(realPath) : realPath
            while true {
                if let identity = try FileSystem.identityIfPresent(folder) { identities.insert(identity) }
                if folder == "/" { break }
                folder = FileSystem.parentPath(folder)
            }
            self.identities = identities
        }

        func isIn(_ other: Place) -> Bool {
            if realPath == other.realPath || realPath.hasPrefix("\(other.realPath)/") { return true }
            return other.identity.map(identities.contains) ?? false
        }
    }

    private let database: Place
    private let media: Place?
    private let stores: [Place]
    private let repository: Place
    private let spool: Place
    private let mountpoint: Place?

    /// - Parameters:
    ///   - storePaths: the store's folder, and its future place.
    init(
        database: String, media: String?, storePaths: [String], repository: String, mountpoint: String? = nil
    ) throws(BackupError) {
        self.database = try Place("the database", database)
        var stores: [Place] = []
        for path in storePaths { stores.append(try Place("the store", path)) }
        self.stores = stores
        self.repository = try Place("the repository", repository)
        spool = try Place("the store's spool", StorePaths(root: storePaths[0]).spool)
        if let media { self.media = try Place("the media folder", media) } else { self.media = nil }
        if let mountpoint {
            self.mountpoint = try Place("the mountpoint", mountpoint, isSeenFromParent: true)
        } else {
            self.mountpoint = nil
        }
    }

    /// Pairs of places that must not be nested.
    private var pairs: [(inner: Place, outer: Place)] {
        var pairs: [(Place, Place)] = stores.map { ($0, repository) }
        pairs += [(database, repository), (database, spool), (repository, spool)]
        if let media { pairs += stores.map { ($0, media) } + [(repository, media), (media, repository), (media, spool)] }
        if let mountpoint {
            pairs += [(mountpoint, repository), (mountpoint, spool), (database, mountpoint), (repository, mountpoint)]
            pairs += stores.map { ($0, mountpoint) }
            if let media { pairs += [(mountpoint, media), (media, mountpoint)] }
        }
        return pairs
    }

    /// The first conflict; `nil` when there is none.
    var problem: BackupError? {
        guard let (inner, outer) = pairs.first(where: { $0.inner.isIn($0.outer) }) else { return nil }
        return BackupError(
            .notSupported,
            inner.realPath == outer.realPath
                ? "\(inner.name) and \(outer.name) are one folder" : "\(inner.name) is inside \(outer.name) \(outer.path)",
            path: inner.path,
            remedy: "A backup would hold itself, and a restore would replace it: use folders that are not inside one another.")
    }

    /// - Throws: `notSupported` for places that overlap.
    func check() throws(BackupError) {
        if let problem { throw problem }
    }

    /// The folders that must not be found among the media through another mount. The database's folder may, if it is in the media
    /// by path: then it is excluded.
    func foreignFolders() throws(BackupError) -> ForeignFolders {
        guard let media else { return .none }
        var names: [FileIdentity: Message] = [:]
        for place in stores + [repository] {
            if let identity = try place.existingFolder(startingAt: place.realPath) { names[identity] = place.name }
        }
        let folders = [database.isIn(media) ? nil : database, mountpoint].compactMap { $0 }
        for place in folders {
            if let identity = try place.existingFolder(startingAt: FileSystem.parentPath(place.realPath)) {
                names[identity] = place.name
            }
        }
        return ForeignFolders(names)
    }

    /// Checks all folders in the media folder.
    /// - Throws: `notSupported` for a place inside it through another mount.
    func checkFoldersOfMedia() throws(BackupError) {
        guard let media else { return }
        try foreignFolders().check(in: media.realPath)
    }

    /// The first conflict, also in the media folder's subfolders; `nil` when there is none, or the folders are unreadable.
    func problemInMedia() -> BackupError? {
        if let problem { return problem }
        do {
            try checkFoldersOfMedia()
            return nil
        } catch {
            return error.code == .notSupported ? error : nil
        }
    }
}

extension Store {
    /// The database's files in the media folder, which are not media.
    func databaseAmongMedia() throws(BackupError) -> DatabaseAmongMedia {
        guard let mediaPath else { return .none }
        return try DatabaseAmongMedia(database: database.path, media: mediaPath)
    }

    func places(mountpoint: String? = nil) throws(BackupError) -> DataPaths {
        try DataPaths(
            database: database.path, media: mediaPath, storePaths: [paths.root], repository: repository.path,
            mountpoint: mountpoint)
    }

    /// Checks that the store may be mounted there.
    /// - Throws: `notSupported` when the mount would be inside the data, or hide it.
    public func requireMountable(at mountpoint: String) throws(BackupError) { try places(mountpoint: mountpoint).check() }
}

/// Checks that a file which the user names for an export, metrics or the log does not replace the app's data, or end up among the
/// backups.
struct OutputPaths {
    private static let remedy: Message =
        "Name another file, outside of the store, the repository and the media folder."

    private let databaseFiles: [String]
    private let mediaPath: String?
    private let paths: StorePaths
    private let repositoryPath: String

    /// All paths are absolute. The app's data is matched by path without being examined: its disk may not respond, and a backup
    /// can be exported regardless. The media folder is examined only if a file on its disk is to be replaced: a mount may lead
    /// into it by another path.
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
            repository: settings.repositoryFolder(in: paths))
    }

    private static func resolved(_ path: String) -> String { (try? FileSystem.stops(onTheWayTo: path).last?.path) ?? path }

    /// - Parameter isLog: a log may be in the store, but must not replace the store's own files.
    /// - Throws: `usage` for a file that must not be written. A device or pipe is allowed, and a path that cannot be examined
    ///   fails in the write that follows.
    func check(_ path: String, isLog: Bool = false) throws(BackupError) {
        // A log follows a link, and an export replaces it.
        for isSeenFromParent in [false, true] {
            guard let place = try? DataPaths.Place("the file", path, isSeenFromParent: isSeenFromParent) else { continue }
            try check(place, isLog: isLog)
        }
    }

    private func check(_ place: DataPaths.Place, isLog: Bool) throws(BackupError) {
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
        if let repository = try? DataPaths.Place("the repository", repositoryPath), place.isIn(repository), !isInMount(place) {
            throw Self.lies(in: repository.name, repository.path, path)
        }
        if let store = try? DataPaths.Place("the store", paths.root), place.isIn(store), !isInMount(place),
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
    private func isOfApp(_ place: DataPaths.Place, _ status: FileStatus?) -> Bool {
        if databaseFiles.contains(place.realPath) { return true }
        let name = FileSystem.lastComponent(place.realPath)
        guard let status, status.kind == .regular,
            status.linkCount > 1 || databaseFiles.contains(where: { FileSystem.lastComponent($0) == name })
        else { return false }
        return databaseFiles.contains { FileSystem.statusIfPresent($0).map(FileIdentity.init) == FileIdentity(status) }
    }

    /// Whether the existing file is in the media folder, by whatever path. A disk that responds for one responds for the other.
    private func isInMedia(_ place: DataPaths.Place, _ status: FileStatus, _ mediaPath: String) -> Bool {
        guard let mount = try? MountTable.current().entry(holding: mediaPath), mount.isOf(device: status.device),
            let media = try? DataPaths.Place("the media folder", mediaPath)
        else { return false }
        return place.isIn(media)
    }

    /// A mountpoint may be in the store.
    private func isInMount(_ place: DataPaths.Place) -> Bool {
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

    var outputPlaces: OutputPaths {
        OutputPaths(database: database.path, media: mediaPath, store: paths, repository: repository.path)
    }
}
