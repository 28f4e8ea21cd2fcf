import AppData
import BackupCore
import SystemIO

/// The app's database where it lies in the app's media folder, as Calibre, Vaultwarden and Anki have it. It is no medium: backups store it, and
/// restores replace it, through SQLite and in its place. Its files are left out wherever the media are gone through, with the symbolic links that lead
/// to it, and so is what belongs to the file system or to this program.
public struct DatabaseAmongMedia: Sendable, Equatable {
    /// Something below the folder that this value speaks of.
    private struct Place: Equatable {
        let path: ArraySlice<FileName>
        /// A symbolic link to a folder, on the way to the database.
        let isFolderLink: Bool
    }

    private static let suffixes = [""] + DatabaseLogs.suffixes

    /// Of the database, and of each link that leads to it; none when nothing of that lies in the folder.
    private let places: [Place]
    /// Whether names that differ in case alone are one.
    private let ignoresCase: Bool
    /// Whether the folder is the root of a file system: then `lost+found` is the file system's own, and most often for root alone.
    private let isFileSystemRoot: Bool
    /// How many folders lie above this one, up to the media folder.
    private let depth: Int

    /// There is none.
    public static let none = DatabaseAmongMedia([])

    private init(_ places: [Place], ignoresCase: Bool = false, isFileSystemRoot: Bool = false, depth: Int = 0) {
        self.places = places
        self.ignoresCase = ignoresCase
        self.depth = depth
        self.isFileSystemRoot = isFileSystemRoot
    }

    /// Compares folders by device and inode, so that links and bind mounts hide nothing. What is not there yet is compared by its path.
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

    /// - Parameter path: its folder without links.
    /// - Returns: the path below the root; `nil` when it does not lie there.
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

    /// Whether the database's name in other letters is the database: then its file may have any of them.
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

    /// Whether an entry of the folder is no medium.
    public func hides(_ name: FileName) -> Bool {
        if depth == 0 && MediaFolder.isOurs(name) || isFileSystemRoot && name == "lost+found" { return true }
        return places.contains { place in
            guard place.path.count == 1, let own = place.path.first else { return false }
            if place.isFolderLink { return isSame(name.bytes, own.bytes) }
            return Self.suffixes.contains { isSame(name.bytes, own.bytes + Array($0.utf8)) }
        }
    }

    /// The same for a folder of this folder.
    public func entering(_ name: FileName) -> DatabaseAmongMedia {
        let inner = places.filter { isBelow(name, $0) }.map { Place(path: $0.path.dropFirst(), isFolderLink: $0.isFolderLink) }
        return DatabaseAmongMedia(inner, ignoresCase: ignoresCase, depth: depth + 1)
    }

    /// Whether folders in this one are not gone into: what goes through folders calls itself for each, and has a stack that ends.
    public var isDepthLimit: Bool { depth >= MediaFolder.depthLimit }

    /// Whether the database, or a link to it, lies somewhere below this folder's entry `name`, which therefore must stay where it is.
    func isBelow(_ name: FileName) -> Bool { places.contains { isBelow(name, $0) } }

    private func isBelow(_ name: FileName, _ place: Place) -> Bool {
        place.path.count > 1 && place.path.first.map { isSame($0.bytes, name.bytes) } ?? false
    }

    /// Whether a path below the folder is no medium, or lies in what is none. What lies behind a link to a folder is a medium (`isBehindLink`).
    func hides(path: [UInt8]) -> Bool {
        var place = self
        let components = BytePath.components(of: path)
        for (index, name) in components.enumerated() {
            if place.hides(name) { return index == components.count - 1 || !isBehindLink(path) }
            place = place.entering(name)
        }
        return false
    }

    /// Whether a path must be a folder, since the database lies below it.
    func needsFolder(at path: [UInt8]) -> Bool {
        let components = BytePath.components(of: path)
        return places.contains { components.count < $0.path.count && isPrefix(components[...], of: $0.path) }
    }

    /// Whether a path leads through a link to a folder that stays, since the database lies behind it.
    func isBehindLink(_ path: [UInt8]) -> Bool {
        let components = BytePath.components(of: path)
        return places.contains { $0.isFolderLink && components.count > $0.path.count && isPrefix($0.path, of: components[...]) }
    }

    private func isPrefix(_ first: ArraySlice<FileName>, of second: ArraySlice<FileName>) -> Bool {
        first.count <= second.count && zip(first, second).allSatisfy { isSame($0.bytes, $1.bytes) }
    }
}
