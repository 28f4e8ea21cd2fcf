import BackupCore
import SystemIO
import TestSupport

/// All files of a store and their bytes, but for those that mean nothing: locks, the catalog (which may be lost at any time),
/// SQLite's logs (what is in them is compared as rows), what failed last.
enum StoredFiles {
    static func read(_ world: World) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        try add(world.storePath, &files)
        return files.reduce(into: [:]) { $0[String($1.key.dropFirst(world.storePath.count + 1))] = $1.value }
    }

    private static func add(_ folder: String, _ files: inout [String: [UInt8]]) throws {
        for name in try DirectoryHandle(path: folder).names() {
            let path = "\(folder)/\(name)"
            switch try FileSystem.status(path).kind {
            case .directory:
                // An empty folder is nothing.
                try add(path, &files)
            case .symbolicLink: files[path] = Array((Machine.linkTarget(path) ?? "").utf8)
            default: if !meansNothing(path) { files[path] = try readFile(path) }
            }
        }
    }

    private static func meansNothing(_ path: String) -> Bool {
        path.hasSuffix("-wal") || path.hasSuffix("-shm") || path.hasSuffix("lock") || path.hasSuffix("/last-error.json")
            // Beside the packs; in the folder `catalog` when it could not be opened there.
            || path.hasSuffix("/catalog.sqlite")
    }
}
