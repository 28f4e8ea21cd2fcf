import BackupCore
import Foundation
import TestSupport

/// Folders and files, as bytes in memory.
struct DiskTree: Hashable {
    var folders: Set<String> = []
    var files: [String: [UInt8]] = [:]

    init() {}

    /// Reads what lies below a folder, without the files of the catalog, which SQLite writes.
    init(readingFrom root: String) throws {
        for path in try FileManager.default.subpathsOfDirectory(atPath: root) where !Self.isCatalog(path) {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(root)/\(path)", isDirectory: &isFolder)
            if isFolder.boolValue { folders.insert(path) } else { files[path] = try readFile("\(root)/\(path)") }
        }
    }

    static func isCatalog(_ path: String) -> Bool { path.split(separator: "/").last?.hasPrefix("catalog.sqlite") ?? false }

    /// Makes it in a new folder.
    func write(to root: String) throws {
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        for path in folders.sorted() {
            try FileManager.default.createDirectory(atPath: "\(root)/\(path)", withIntermediateDirectories: true)
        }
        for (path, bytes) in files { try writeFile("\(root)/\(path)", bytes) }
    }
}
