import AppData
import BackupCore
import SystemIO

/// The app's database where it lies in the app's media folder, as Calibre, Vaultwarden and Anki have it. It is no medium: backups store it, and
/// restores replace it, through SQLite and in its place. Its files are left out wherever the media are gone through, and so is what belongs to the
/// file system or to this program.
public struct DatabaseAmongMedia: Sendable, Equatable {
    private static let suffixes = [""] + DatabaseLogs.suffixes

    /// The database's path below the folder that this value speaks of; empty when it does not lie there.
    private let path: ArraySlice<FileName>
    /// Whether the folder is the root of a file system: then `lost+found` is the file system's own, and most often for root alone.
    private let isFileSystemRoot: Bool
    /// How many folders lie above this one, up to the media folder.
    private let depth: Int

    /// There is none.
    public static let none = DatabaseAmongMedia([])

    private init(_ path: ArraySlice<FileName>, isFileSystemRoot: Bool = false, depth: Int = 0) {
        self.path = path
        self.depth = depth
        self.isFileSystemRoot = isFileSystemRoot
    }

    /// Compares folders by device and inode, so that links and bind mounts hide nothing. What is not there yet is compared by its path.
    public init(database: String, media: String) throws(BackupError) {
        let root = try FileSystem.realPath(media)
        let identity = try FileSystem.identityIfPresent(root)
        let parent = try FileSystem.identityIfPresent(FileSystem.parentPath(root))
        let isFileSystemRoot = identity != nil && identity?.device != parent?.device
        var folder = try FileSystem.realPath(database)
        var path: [FileName] = []
        while folder != "/" {
            path.insert(FileName(FileSystem.lastComponent(folder)), at: 0)
            folder = FileSystem.parentPath(folder)
            let found = try FileSystem.identityIfPresent(folder)
            if folder == root || found != nil && found == identity {
                self.init(path[...], isFileSystemRoot: isFileSystemRoot)
                return
            }
        }
        self.init([], isFileSystemRoot: isFileSystemRoot)
    }

    /// Whether an entry of the folder is no medium.
    public func hides(_ name: FileName) -> Bool {
        if MediaFolder.isOurs(name) || isFileSystemRoot && name == "lost+found" { return true }
        guard path.count == 1, let database = path.first, name.bytes.starts(with: database.bytes) else { return false }
        let suffix = name.bytes.dropFirst(database.bytes.count)
        return Self.suffixes.contains { suffix.elementsEqual($0.utf8) }
    }

    /// The same for a folder of this folder.
    public func entering(_ name: FileName) -> DatabaseAmongMedia {
        DatabaseAmongMedia(path.count > 1 && path.first == name ? path.dropFirst() : [], depth: depth + 1)
    }

    /// Whether folders in this one are not gone into: what goes through folders calls itself for each, and has a stack that ends.
    public var isDepthLimit: Bool { depth >= MediaFolder.depthLimit }

    /// Whether the database lies somewhere below this folder's entry `name`, which therefore must stay where it is.
    func isBelow(_ name: FileName) -> Bool { path.count > 1 && path.first == name }

    /// Whether a path below the folder is no medium, or lies in what is none.
    func hides(path: [UInt8]) -> Bool {
        var place = self
        for name in BytePath.components(of: path) {
            if place.hides(name) { return true }
            place = place.entering(name)
        }
        return false
    }

    /// Whether a path must be a folder, since the database lies below it.
    func needsFolder(at path: [UInt8]) -> Bool {
        let components = BytePath.components(of: path)
        return components.count < self.path.count && self.path.starts(with: components)
    }
}
