import AppData
import BackupCore
import BackupRepository
import Synchronization

/// A media folder in a backup, or in one being made. Reads only folders.
package final class StoredMediaCatalog: MediaCatalog {
    /// How many folders to cache.
    private static let countLimit = 64

    private let root: StoredDirectory
    private let repository: Repository
    private let known = Mutex<[[UInt8]: Directory]>([:])

    /// - Parameter root: a folder whose chunks are all in the catalog.
    package init(_ root: StoredDirectory, in repository: Repository) {
        self.root = root
        self.repository = repository
    }

    /// - Parameter path: relative to the folder.
    package func entry(at path: [UInt8]) throws(BackupError) -> TreeEntry? {
        try folder(BytePath.folder(of: path))?.entry(named: FileName(bytes: BytePath.lastComponent(of: path)))
    }

    private func folder(_ path: [UInt8]) throws(BackupError) -> Directory? {
        if let directory = known.withLock({ $0[path] }) { return directory }
        let directory: Directory
        if path.isEmpty {
            directory = try repository.directory(root)
        } else {
            guard let entry = try entry(at: path), entry.kind == .directory else { return nil }
            directory = try repository.directory(of: entry)
        }
        known.withLock { known in
            if known.count >= Self.countLimit { known.removeAll() }
            known[path] = directory
        }
        return directory
    }

    package func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? {
        guard let entry = try entry(at: path), entry.kind == .file else { return nil }
        return Self.facts(of: entry, path)
    }

    package func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try forEachFile(in: repository.directory(root), [], body)
    }

    private func forEachFile(
        in directory: Directory, _ prefix: [UInt8], _ body: (MediaFileFacts) throws(BackupError) -> Void
    ) throws(BackupError) {
        for entry in directory.entries.sorted(by: {
            MediaOrder.precedes(($0.name, $0.kind == .directory), ($1.name, $1.kind == .directory))
        }) {
            let path = prefix + entry.name.bytes
            switch entry.kind {
            case .file: try body(Self.facts(of: entry, path))
            case .directory: try forEachFile(in: repository.directory(of: entry), path + [UInt8(ascii: "/")], body)
            case .symbolicLink: continue
            }
        }
    }

    private static func facts(of entry: TreeEntry, _ path: [UInt8]) -> MediaFileFacts {
        MediaFileFacts(
            path: path, size: entry.size, modificationTime: entry.modificationTime, checksums: entry.checksums)
    }

    package func state() -> String? { root.content.fingerprint.hexadecimal }
}

/// Orders a folder's entries so that whole paths ascend by their bytes: a folder sorts as its name with a slash.
package enum MediaOrder {
    package static func precedes(_ left: (name: FileName, isFolder: Bool), _ right: (name: FileName, isFolder: Bool)) -> Bool {
        let slash: [UInt8] = [UInt8(ascii: "/")]
        let leftBytes = left.isFolder ? left.name.bytes + slash : left.name.bytes
        let rightBytes = right.isFolder ? right.name.bytes + slash : right.name.bytes
        return leftBytes.lexicographicallyPrecedes(rightBytes)
    }
}
