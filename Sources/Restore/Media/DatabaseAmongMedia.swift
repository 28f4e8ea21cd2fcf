import AppData
import BackupCore
import SystemIO

/// The app's database if it is in the app's media folder, as with Calibre, Vaultwarden and Anki. It is not a media file: backups
/// store it, and restores replace it, through SQLite and in place. Every walk of the media skips its files, the symbolic links
/// that lead to it, and entries that belong to the file system or to this program.
public struct DatabaseAmongMedia: Sendable, Equatable {
    /// A path below the folder that this value describes.
    private struct Place: Equatable {
        let path: ArraySlice<FileName>
        /// A symbolic link to a folder, on the path to the database.
        let isFolderLink: Bool
    }

    private static let suffixes = [""] + DatabaseLogs.suffixes

    /// The paths of the database, and of each link that leads to it; empty when none of them is in the folder.
    private let places: [Place]
    /// Whether names are case-insensitive.
    private let ignoresCase: Bool
    /// Whether the folder is the root of a file system: then `lost+found` belongs to the file system, and usually only root may
    /// read it.
    private let isFileSystemRoot: Bool
    /// The number of folders between this one and the media folder.
    private let depth: Int

    /// No database in the folder.
    public static let none = DatabaseAmongMedia([])

    private init(_ places: [Place], ignoresCase: Bool = false, isFileSystemRoot: Bool = false, depth: Int = 0) {
        self.places = places
        self.ignoresCase = ignoresCase
        self.depth = depth
        self.isFileSystemRoot = isFileSystemRoot
    }

    /// Compares folders by device and inode, to see through links and bind mounts. Compares missing paths by name.
    public init(database: String, media: String) throws(BackupError) {
        let root = try FileSystem.realPath(media)
        let identity = try FileSystem.identityIfPresent(root)
        let parent = try FileSystem.identityIfPresent(FileSystem.parentPath(root))
        var places: [Place] = []
        for stop in try FileSystem.stops(onTheWayTo: database) {
            guard let path = try Self.path(of: stop.path, below: root, identity) else { continue }
            places.append(Place(path: path[...], isFolderLink: stop.isFolderLink))
        }
        self.init(
            places, ignoresCase: places.isEmpty ? false : try Self.ignoresCase(database),
            isFileSystemRoot: identity != nil && identity?.device != parent?.device)
    }

    /// - Parameter path: with the links in its folder resolved.
    /// - Returns: the path below the root; `nil` when it is not there.
    private static func path(
        of path: String, below root: String, _ identity: FileIdentity?
    ) throws(BackupError) -> [FileName]? {
        var folder = path
        var names: [FileName] = []
        while folder != "/" {
            names.insert(FileName(FileSystem.lastComponent(folder)), at: 0)
            folder = FileSystem.parentPath(folder)
            let found = try FileSystem.identityIfPresent(folder)
            if folder == root || found != nil && found == identity { return names }
        }
        return nil
    }

    /// Whether the database's name in different case names the same file: then its files may use any case.
    private static func ignoresCase(_ database: String) throws(BackupError) -> Bool {
        let name = FileSystem.lastComponent(database)
        let other = name == name.lowercased() ? name.uppercased() : name.lowercased()
        guard other != name, let identity = try FileSystem.identityIfPresent(database) else { return false }
        return try FileSystem.identityIfPresent("\(FileSystem.parentPath(FileSystem.absolutePath(database)))/\(other)")
            == identity
    }

    private func isSame(_ first: some Sequence<UInt8>, _ second: some Sequence<UInt8>) -> Bool {
        guard ignoresCase else { return first.elementsEqual(second) }
        return first.lazy.map(Self.lowercased).elementsEqual(second.lazy.map(Self.lowercased))
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

    /// Whether an entry of the folder is not a media file.
    public func hides(_ name: FileName) -> Bool {
        if depth == 0 && MediaFolder.isOurs(name) || isFileSystemRoot && name == "lost+found" { return true }
        return places.contains { place in
            guard place.path.count == 1, let own = place.path.first else { return false }
            if place.isFolderLink { return isSame(name.bytes, own.bytes) }
            return Self.suffixes.contains { isSame(name.bytes, own.bytes + Array($0.utf8)) }
        }
    }

    /// The same for a subfolder.
    public func entering(_ name: FileName) -> DatabaseAmongMedia {
        let inner = places.filter { isBelow(name, $0) }.map { Place(path: $0.path.dropFirst(), isFolderLink: $0.isFolderLink) }
        return DatabaseAmongMedia(inner, ignoresCase: ignoresCase, depth: depth + 1)
    }

    /// Whether not to enter the folders in this one: the walk is recursive, and the stack is limited.
    public var isDepthLimit: Bool { depth >= MediaFolder.depthLimit }

    /// Whether the database, or a link to it, is somewhere below this folder's entry `name`, which therefore must stay in place.
    func isBelow(_ name: FileName) -> Bool { places.contains { isBelow(name, $0) } }

    private func isBelow(_ name: FileName, _ place: Place) -> Bool {
        place.path.count > 1 && place.path.first.map { isSame($0.bytes, name.bytes) } ?? false
    }

    /// Whether a path below the folder is not a media file, or is inside such an entry. Files behind a folder link are media
    /// (`isBehindLink`).
    func hides(path: [UInt8]) -> Bool {
        var place = self
        let components = BytePath.components(of: path)
        for (index, name) in components.enumerated() {
            if place.hides(name) { return index == components.count - 1 || !isBehindLink(path) }
            place = place.entering(name)
        }
        return false
    }

    /// Whether a path must be a folder, since the database is below it.
    func needsFolder(at path: [UInt8]) -> Bool {
        let components = BytePath.components(of: path)
        return places.contains { components.count < $0.path.count && isPrefix(components[...], of: $0.path) }
    }

    /// Whether a path leads through a folder link that must stay, since the database is behind it.
    func isBehindLink(_ path: [UInt8]) -> Bool {
        let components = BytePath.components(of: path)
        return places.contains { $0.isFolderLink && components.count > $0.path.count && isPrefix($0.path, of: components[...]) }
    }

    private func isPrefix(_ first: ArraySlice<FileName>, of second: ArraySlice<FileName>) -> Bool {
        first.count <= second.count && zip(first, second).allSatisfy { isSame($0.bytes, $1.bytes) }
    }
}
