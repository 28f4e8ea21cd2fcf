import BackupCore
import SystemIO

/// How the catalog is opened, and rebuilt where it cannot be used: nothing that is wrong with it may keep the packs from being read.
struct CatalogOpening {
    let repositoryID: String
    let places: CatalogPlaces

    /// Whether the catalog cannot be written where it lies, while the packs may well be readable: another place is taken then. On a
    /// disk that is full or fails the backups are needed more than ever.
    static func isUnwritable(_ error: BackupError) -> Bool {
        [.readOnly, .accessDenied, .notPermitted, .noSpace, .inputOutput].contains(error.code)
    }

    /// How the catalog may be used, the best way first. In memory it takes 150 bytes for each chunk, and each command reads all indexes.
    private var ways: [OpenCatalog.Way] {
        var ways = places.all.map { OpenCatalog.Way.file($0) }
        if let first = places.all.first(where: \.isBesidePacks) { ways.insert(.immutable(first), at: 1) }
        return ways + [.memory]
    }

    /// - Returns: the catalog, and why it had to be rebuilt, if it had to.
    func open() throws(BackupError) -> (catalog: OpenCatalog, reason: BackupError?) { try open(ways) }

    /// The catalog in the next best way, when it cannot be written in this one.
    /// - Returns: `nil` when there is no other.
    func open(after way: OpenCatalog.Way) throws(BackupError) -> OpenCatalog? {
        let rest = ways.drop { $0 != way }.dropFirst()
        return rest.isEmpty ? nil : try open(Array(rest)).catalog
    }

    private func open(_ ways: [OpenCatalog.Way]) throws(BackupError) -> (catalog: OpenCatalog, reason: BackupError?) {
        var reason: BackupError?
        for way in ways {
            do throws(BackupError) {
                return (try open(way), reason)
            } catch {
                guard way != .memory else { throw error }
                if error.code == .repositoryDamaged, case .file(let place) = way {
                    reason = reason ?? error
                    if let catalog = try emptied(place, unlessIn: nil) { return (catalog, reason) }
                } else if !Self.isUnwritable(error), error.code != .repositoryDamaged {
                    throw error
                }
            }
        }
        return (try open(.memory), reason)
    }

    private func open(_ way: OpenCatalog.Way) throws(BackupError) -> OpenCatalog {
        switch way {
        case .file(let place):
            if !place.isBesidePacks { try FileSystem.makeDirectories(place.folder) }
            return try CatalogDatabase.open(place, repositoryID: repositoryID)
        case .immutable(let place): return try CatalogDatabase.openImmutable(place, repositoryID: repositoryID)
        case .memory: return try CatalogDatabase.openInMemory(repositoryID: repositoryID)
        }
    }

    /// An empty catalog, in the place of one that says what is not so.
    func replace(_ old: OpenCatalog) throws(BackupError) -> OpenCatalog {
        if case .file(let place) = old.way, let catalog = try emptied(place, unlessIn: old) { return catalog }
        if case .memory = old.way { return try open(.memory) }
        if let next = try open(after: old.way) { return next }
        return try open(.memory)
    }

    /// Empties the catalog, unless another process did so while this one waited.
    /// - Returns: `nil` when it cannot be emptied, or is of no use after it: that is left for another time.
    private func emptied(_ place: CatalogPlace, unlessIn old: OpenCatalog?) throws(BackupError) -> OpenCatalog? {
        do throws(BackupError) {
            let lock = try WaitingLock.acquire(path: place.lock)
            defer { withExtendedLifetime(lock) {} }
            if let found = try? open(.file(place)), old == nil || found.generation != old?.generation { return found }
            try CatalogReset.run(path: place.file)
            return try open(.file(place))
        } catch {
            guard Self.isUnwritable(error) || error.code == .busy || error.code == .repositoryDamaged else { throw error }
            return nil
        }
    }

    /// Removes the catalog that an older program left beside the packs of an encrypted repository, once there is another. It is a cache: an older
    /// program makes it again.
    func removeOutdated(_ current: OpenCatalog) {
        guard let outdated = places.outdated, case .file = current.way, current.way.place != outdated else { return }
        for suffix in ["", "-wal", "-shm"] where (try? FileSystem.exists(outdated.file + suffix)) == true {
            try? FileSystem.removeFile(outdated.file + suffix)
        }
    }
}
