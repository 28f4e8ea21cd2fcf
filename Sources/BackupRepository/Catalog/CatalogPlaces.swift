import BackupCore
import SystemIO

/// Where a catalog goes that must not lie beside the packs.
public enum CatalogHome: Sendable {
    /// A folder of this machine's own, that of a store: the catalog goes into a folder below it.
    case folder(String)
    /// `$XDG_CACHE_HOME/backupfs`, for what has no store.
    case cache
    /// Nowhere but in memory: for a repository that is not in its place yet.
    case memory
}

/// A folder for a catalog, and the lock held while the catalog is made anew.
struct CatalogPlace: Sendable, Equatable {
    let folder: String
    /// Whether the packs lie in the same folder.
    let isBesidePacks: Bool

    var file: String { "\(folder)/catalog.sqlite" }
    var lock: String { "\(folder)/catalog.lock" }
}

/// Where a repository's catalog may lie, the best place first.
///
/// A plain repository on a file system of this machine has it beside its packs, as always. The lengths in a catalog tell which files an encrypted
/// repository holds, and SQLite's write-ahead log is for the processes of one machine: so the catalog of an encrypted repository, and of one on a
/// shared file system, lies in a folder of this machine's own. The same folder takes it where the repository's cannot be written.
struct CatalogPlaces: Sendable {
    let all: [CatalogPlace]
    /// The catalog of an older program, which gives away what this one keeps to itself.
    let outdated: CatalogPlace?

    init(
        _ layout: RepositoryLayout, repositoryID: String, isEncrypted: Bool, home: CatalogHome,
        isShared: (String) -> Bool = { (try? FileSystem.isShared($0)) ?? true }
    ) {
        let beside = CatalogPlace(folder: layout.path, isBesidePacks: true)
        let isBeside = !isEncrypted && !isShared(layout.path)
        let ownFolders = Self.ownFolders(home).map { "\($0)/\(repositoryID)/\(Self.machineAndPath(layout.path))" }
        // A home folder may lie on a share as well: then the catalog does, in a folder that no other machine uses.
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

    /// Copies of a repository have the same ID and not the same packs; so have a machine's mount of it and another machine's.
    private static func machineAndPath(_ path: String) -> String {
        let text = "\(HostIdentity.machineID)\n\(HostIdentity.hostName)\n\(path)"
        return String(SHA256Hasher.hash(Array(text.utf8)).hexadecimal.prefix(16))
    }
}
