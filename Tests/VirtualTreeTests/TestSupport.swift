import BackupCore
import BackupRepository
import Formats
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// A tree over a real repository in a temporary folder, with services that only note what they are asked.
final class TestTree: Sendable {
    let path: String
    let repository: Repository
    let services: TestServices
    let tree: VirtualTree

    /// A snapshot "first", a snapshot "second" with media, and a safety backup.
    init(snapshots: Bool = true) throws {
        let folder = try TemporaryFolder()
        path = folder.path
        try FileSystem.makeDirectories(folder("spool"))
        repository = try Repository.create(at: path + "/repository")
        services = TestServices(repository: repository, folder: folder)
        tree = VirtualTree(
            TreeContext(
                services: services, repository: repository, isSharedWithOthers: false, measureArchive: services.measure))
        guard snapshots else { return }
        try services.make("first", seconds: 1000)
        try services.make("second", seconds: 2000)
        try services.make("~safety-1", kind: .safety, seconds: 1500)
        try repository.refresh()
    }

    /// Another tree over the same repository, as after another mount.
    func remounted() throws -> VirtualTree {
        VirtualTree(services: services, repository: try Repository.open(at: path + "/repository"), isSharedWithOthers: false)
    }
}

extension VirtualTree {
    /// Follows a path of names from the root; the look-ups on the way are not given back.
    @discardableResult
    func find(_ path: String) throws(BackupError) -> NodeAttributes {
        var attributes = try attributes(of: .root, handle: nil)
        for name in path.split(separator: "/") { attributes = try lookUp(FileName(name), in: attributes.inode) }
        return attributes
    }

    /// All names of a folder, without `.` and `..`.
    func names(_ path: String) throws(BackupError) -> [String] {
        let handle = try openDirectory(find(path).inode).handle
        defer { releaseDirectory(handle) }
        var names: [String] = []
        try readDirectory(handle, from: 0, countsLookUps: false) { name, _, _ in
            names.append(name.description)
            return true
        }
        return Array(names.dropFirst(2))
    }

    /// All bytes of a file, read in pieces of an odd length.
    func content(_ path: String, pieceLength: Int = 777) throws(BackupError) -> [UInt8] {
        let file = try openFile(find(path).inode, flags: O_RDONLY, process: getpid())
        defer { release(file.handle) }
        var content: [UInt8] = []
        while true {
            var buffer = [UInt8](repeating: 0, count: pieceLength)
            let count = try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                try read(file.handle, at: UInt64(content.count), into: bytes)
            }
            if count == 0 { return content }
            content += buffer[..<count]
        }
    }

    func attribute(_ name: String, _ path: String) throws(BackupError) -> String {
        String(decoding: try extendedAttribute(name, of: find(path).inode), as: UTF8.self)
    }

    func write(_ text: String, to handle: HandleNumber, at offset: UInt64 = 0) throws(BackupError) {
        try Array(text.utf8).withUnsafeBytesThrowing { (bytes) throws(BackupError) in try write(handle, at: offset, bytes) }
    }

    /// A file copied in by one process: created, written, closed.
    func drop(_ text: String, at path: String, process: Int32 = getpid()) throws(BackupError) {
        let folder = try find(path.split(separator: "/").dropLast().joined(separator: "/")).inode
        let name = FileName(path.split(separator: "/").last ?? "")
        let file = try createFile(name, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC, process: process).file
        defer { release(file.handle) }
        try write(text, to: file.handle)
        try flush(file.handle, process: process)
    }
}

extension VirtualTree {
    /// Makes a folder for a program that waits until it is there.
    func makeDirectory(_ name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes {
        try makeDirectory(name, in: parent) { false }
    }
}
