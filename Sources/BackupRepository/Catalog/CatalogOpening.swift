import BackupCore
import SystemIO

/// How the catalog is opened, and rebuilt where it is unusable: nothing that is wrong with it may prevent reading the packs.
struct CatalogOpening {
    let repositoryID: String
    let places: CatalogLocations

    /// Whether the catalog cannot be written at its place, although the packs may be readable; another place is used then. On a
    /// full or failing disk the backups are needed most.
    static func isUnwritable(_ error: BackupError) -> Bool {
        [.readOnly, .accessDenied, .notPermitted, .noSpace, .inputOutput].contains(error.code)
    }

    /// The ways to use the catalog, best first. In memory it takes 150 bytes for each chunk, and each command reads all indexes.
    private var ways: [OpenCatalog.Way] {
        var ways = places.all.map { OpenCatalog.Way.file($0) }
        if let first = places.all.first(where: \.isBesidePacks) { ways.insert(.immutable(first), at: 1) }
        return ways + [.memory]
    }

    /// - Returns: the catalog, and why it had to be rebuilt, if it was.
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

    /// An empty catalog in place of a wrong one.
    func replace(_ old: OpenCatalog) throws(BackupError) -> OpenCatalog {
        if case .file(let place) = old.way, let catalog = try emptied(place, unlessIn: old) { return catalog }
        if case .memory = old.way { return try open(.memory) }
        if let next = try open(after: old.way) { return next }
        return try open(.memory)
    }

    /// Empties the catalog, unless another process did so while this one waited for the lock.
    /// - Returns: `nil` when it cannot be emptied or is unusable afterwards; a later open tries again.
    private func emptied(_ place: CatalogLocation, unlessIn old: OpenCatalog?) throws(BackupError) -> OpenCatalog? {
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

    /// Removes the catalog that an older program left beside the packs of an encrypted
    /// repository, once there is another. It is a cache: an older program rebuilds it.
    func removeOutdated(_ current: OpenCatalog) {
        guard let outdated = places.outdated, case .file = current.way, current.way.place != outdated else { return }
        for suffix in ["", "-wal", "-shm"] where (try? FileSystem.exists(outdated.file + suffix)) == true {
            try? FileSystem.removeFile(outdated.file + suffix)
        }
    }
}

/// Where to put a catalog that must not be beside the packs.
public enum CatalogHome: Sendable {
    /// A folder on this machine, that of a store: the catalog goes into a folder below it.
    case folder(String)
    /// `$XDG_CACHE_HOME/backupfs`, when there is no store.
    case cache
    /// Only in memory: for a repository that is not in its final place yet.
    case memory
}

/// A folder for a catalog, and the lock held while the catalog is rebuilt.
struct CatalogLocation: Sendable, Equatable {
    let folder: String
    /// Whether the packs are in the same folder.
    let isBesidePacks: Bool

    var file: String { "\(folder)/catalog.sqlite" }
    var lock: String { "\(folder)/catalog.lock" }
}

/// Where a repository's catalog may be, best place first.
///
/// A plain repository on a local file system has it beside its packs. The lengths in a catalog reveal which files an encrypted
/// repository holds, and SQLite's write-ahead log works only for processes of one machine. So the catalog of an encrypted
/// repository, or of one on a shared file system, is in a folder of this machine. The same folder is used when the repository's
/// folder cannot be written.
struct CatalogLocations: Sendable {
    let all: [CatalogLocation]
    /// The catalog of an older program, which reveals what this one keeps private.
    let outdated: CatalogLocation?

    init(
        _ layout: RepositoryLayout, repositoryID: String, isEncrypted: Bool, home: CatalogHome,
        isShared: (String) -> Bool = { (try? FileSystem.isShared($0)) ?? true }
    ) {
        let beside = CatalogLocation(folder: layout.path, isBesidePacks: true)
        let isBeside = !isEncrypted && !isShared(layout.path)
        let ownFolders = Self.ownFolders(home).map { "\($0)/\(repositoryID)/\(Self.machineAndPath(layout.path))" }
        // A home folder may be on a share as well. Then the catalog is there too, in a folder that no other machine uses.
        let local = ownFolders.filter { !isShared($0) } + ownFolders.filter(isShared)
        all = (isBeside ? [beside] : []) + local.map { CatalogLocation(folder: $0, isBesidePacks: false) }
        outdated = isEncrypted ? beside : nil
    }

    private static func ownFolders(_ home: CatalogHome) -> [String] {
        switch home {
        case .folder(let path): [path] + cacheFolders
        case .cache: cacheFolders
        case .memory: []
        }
    }

    private static var cacheFolders: [String] {
        if let cache = Environment.text("XDG_CACHE_HOME"), cache.hasPrefix("/") { return ["\(cache)/backupfs"] }
        if let home = Environment.text("HOME"), home.hasPrefix("/") { return ["\(home)/.cache/backupfs"] }
        return []
    }

    /// Copies of a repository have the same ID but not the same packs. The same holds for mounts of it on two machines.
    private static func machineAndPath(_ path: String) -> String {
        let text = "\(HostIdentity.machineID)\n\(HostIdentity.hostName)\n\(path)"
        return String(SHA256Hasher.hash(Array(text.utf8)).hexadecimal.prefix(16))
    }
}
