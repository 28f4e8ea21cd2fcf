import BackupCore
import Foundation
import TestSupport

/// Folders and files, as bytes in memory.
struct DiskTree: Hashable {
    var folders: Set<String> = []
    var files: [String: [UInt8]] = [:]

    init() {}

    // As a whole: the standard library takes the bytes one by one, which takes long in a build for tests.
    func hash(into hasher: inout Hasher) {
        hasher.combine(folders)
        for path in files.keys.sorted() {
            hasher.combine(path)
            files[path]?.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    static func == (left: DiskTree, right: DiskTree) -> Bool {
        guard left.folders == right.folders, left.files.count == right.files.count else { return false }
        return left.files.allSatisfy { path, bytes in
            guard let other = right.files[path], other.count == bytes.count else { return false }
            return bytes.withUnsafeBytes { left in
                other.withUnsafeBytes { right in
                    guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else { return true }
                    return memcmp(leftStart, rightStart, left.count) == 0
                }
            }
        }
    }

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
