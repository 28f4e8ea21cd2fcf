import BackupCore
import SystemIO

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
struct CatalogPlace: Sendable, Equatable {
    let folder: String
    /// Whether the packs are in the same folder.
    let isBesidePacks: Bool

    var file: String { "\(folder)/catalog.sqlite" }
    var lock: String { "\(folder)/catalog.lock" }
}

/// Where a repository's catalog may be, best place first.
///
/// A plain repository on a local file system has it beside its packs. The lengths in a catalog reveal which files an encrypted repository holds, and SQLite's
/// write-ahead log works only for processes of one machine. So the catalog of an encrypted repository, or of one on a shared file system, is in a folder of
/// this machine. The same folder is used when the repository's folder cannot be written.
struct CatalogPlaces: Sendable {
    let all: [CatalogPlace]
    /// The catalog of an older program, which reveals what this one keeps private.
    let outdated: CatalogPlace?

    init(
        _ layout: RepositoryLayout, repositoryID: String, isEncrypted: Bool, home: CatalogHome,
        isShared: (String) -> Bool = { (try? FileSystem.isShared($0)) ?? true }
    ) {
        let beside = CatalogPlace(folder: layout.path, isBesidePacks: true)
        let isBeside = !isEncrypted && !isShared(layout.path)
        let ownFolders = Self.ownFolders(home).map { "\($0)/\(repositoryID)/\(Self.machineAndPath(layout.path))" }
        // A home folder may be on a share as well. Then the catalog is there too, in a folder that no other machine uses.
        let local = ownFolders.filter { !isShared($0) } + ownFolders.filter(isShared)
        all = (isBeside ? [beside] : []) + local.map { CatalogPlace(folder: $0, isBesidePacks: false) }
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
