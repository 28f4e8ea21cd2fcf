import BackupCore
import Restore
import SystemIO

/// The places of a store's data and backups. A backup reads the whole media folder and a restore replaces it, so none of the store's files may be in it; and a
/// mount hides what is below it. The database may be in it: it is excluded from the media (`DatabaseAmongMedia`).
struct DataPlaces {
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

        /// - Parameter isSeenFromParent: whether to examine it only from its parent: a filesystem mounted there may not respond, and a link there is not
        ///   followed.
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

    /// The folders that must not be found among the media through another mount. The database's folder may, if it is in the media by path: then it is
    /// excluded.
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

    func places(mountpoint: String? = nil) throws(BackupError) -> DataPlaces {
        try DataPlaces(
            database: database.path, media: mediaPath, storePaths: [paths.root], repository: repository.path,
            mountpoint: mountpoint)
    }

    /// Checks that the store may be mounted there.
    /// - Throws: `notSupported` when the mount would be inside the data, or hide it.
    public func requireMountable(at mountpoint: String) throws(BackupError) { try places(mountpoint: mountpoint).check() }
}
