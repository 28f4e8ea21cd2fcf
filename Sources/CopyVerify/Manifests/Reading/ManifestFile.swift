import BackupCore
import SystemIO

/// A list of checksums of any kind that this program knows: of coreutils or BSD, of a bag, or a generation of an ASC MHL history.
public struct ManifestFile {
    private enum Kind { case sums, bag, mhl }

    /// Of the list.
    public let path: String
    private let kind: Kind

    /// - Parameter start: the first bytes of the file, at least 64 KiB if it has them.
    /// - Returns: `nil` when it is no list.
    public init?(path: String, start: [UInt8]) {
        self.path = path
        let name = FileSystem.lastComponent(path)
        if name.hasSuffix(MHLFormat.ending), start.starts(with: Array("<?xml".utf8)) {
            kind = .mhl
        } else if BagFiles.isList(name), FileSystem.statusIfPresent(Self.declaration(path)) != nil {
            kind = .bag
        } else if SumsFile.isSums(start, path: path) {
            kind = .sums
        } else {
            return nil
        }
    }

    private static func declaration(_ path: String) -> String { "\(FileSystem.parentPath(path))/\(BagFiles.declaration)" }

    /// Passes on the files in it; their paths are below the folder that the list is about.
    /// - Throws: `invalidContent` for a list that is damaged, or that leads out of its folder.
    public func read(_ body: @escaping (ManifestEntry) throws(BackupError) -> Void) throws(BackupError) {
        switch kind {
        case .sums:
            var sums = try SumsFile(path: path)
            while let entry = try sums.next() { try body(entry) }
        case .bag:
            try BagFiles.read(path, encodesPercent: BagFiles.encodesPercent(FileSystem.parentPath(path)), body)
        case .mhl:
            try MHLHistory.read(path, list: path, isHistory: false, prefix: []) { (line) throws(BackupError) in
                if !line.isGone { try body(line.entry) }
            }
        }
    }

    /// The list itself, and what belongs to it, wherever that is in the folder that it is about: no list has those.
    public func ownFiles() throws(BackupError) -> Set<FileIdentity> {
        let folder = FileSystem.parentPath(path)
        var own: Set<FileIdentity> = []
        if let identity = try FileSystem.identityIfPresent(path) { own.insert(identity) }
        switch kind {
        case .sums: break
        case .bag:
            let handle = try DirectoryHandle(path: folder)
            for name in try handle.names(where: BagFiles.isTagFile) {
                if let status = try handle.statusIfPresent(name) { own.insert(FileIdentity(status)) }
            }
        case .mhl:
            let isHistory = FileSystem.lastComponent(folder) == MHLFormat.folder.description
            if isHistory, let identity = try FileSystem.identityIfPresent(folder) { own.insert(identity) }
        }
        return own
    }
}
