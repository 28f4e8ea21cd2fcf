import BackupCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import SystemIO

/// Small files are replaced as a whole, durably, and for their owner only.
struct FileWritingTests {
    private static func mode(_ path: String) throws -> UInt32 { try FileSystem.status(path).mode & 0o7777 }

    @Test func `a file is replaced and leaves nothing beside it`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.writeFileAtomically(folder("f"), [1, 2, 3])
        try FileSystem.writeFileAtomically(folder("f"), [4])
        #expect(try readFile(folder("f")) == [4])
        try FileSystem.writeForReaders(folder("f"), [5, 6])
        #expect(try readFile(folder("f")) == [5, 6])
        #expect(try DirectoryHandle(path: folder.path).names() == ["f"])
        #expect(try Self.mode(folder("f")) == 0o600)
    }

    @Test func `what was open before keeps the old content`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.writeFileAtomically(folder("f"), Array("old".utf8))
        let reader = try SharedFile(path: folder("f"))
        try FileSystem.writeFileAtomically(folder("f"), Array("newer".utf8))
        #expect(try reader.readExactly(at: 0, count: 3) == Array("old".utf8))
    }

    /// In a child, since the umask is the process's: every program and file that other tests make meanwhile would have it too.
    @Test(arguments: [0o000, 0o077, 0o022]) func `modes do not widen with the umask`(mask: Int) async throws {
        let folder = try TemporaryFolder()
        await #expect(processExitsWith: .success) { [path = folder.path as String, mask] in
            umask(mode_t(mask))
            try FileSystem.writeFileAtomically(path + "/f", [1])
            try FileSystem.makeDirectories(path + "/d/e")
        }
        #expect(try shell("stat -c %a \"$1/f\" \"$1/d/e\" | paste -sd' '", folder.path).output == "600 700\n")
    }

    @Test func `a failure leaves the old file, and nothing beside it`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("taken/inside"))
        #expect(errorCode { try FileSystem.writeFileAtomically(folder("taken"), [1]) } == .isADirectory)
        #expect(errorCode { try FileSystem.writeForReaders(folder("taken"), [1]) } == .isADirectory)
        #expect(errorCode { try FileSystem.writeFileAtomically(folder("none/f"), [1]) } == .notFound)
        #expect(try DirectoryHandle(path: folder.path).names() == ["taken"])
        #expect(try DirectoryHandle(path: folder("taken")).names() == ["inside"])
    }

    @Test func `a full disk is an error that says what to do`() throws {
        let device = try OwnedDescriptor.open("/dev/full", O_WRONLY)
        var failure: BackupError?
        do { try device.writeAll([1, 2, 3]) } catch { failure = error }
        #expect(failure?.code == .noSpace)
        #expect(
            failure?.description
                == "/dev/full: could not write: No space left on device. Free some space and try again.")
    }

    /// The draft's name can be guessed, and a folder may be open to others.
    @Test func `a draft never goes through a planted link`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("victim"), Array("untouched".utf8))
        try shell("ln -s victim \"$1/f.tmp-$2\"; ln \"$1/victim\" \"$1/g.tmp-$2\"", folder.path, "\(getpid())")
        try FileSystem.writeFileAtomically(folder("f"), [1])
        try FileSystem.writeFileAtomically(folder("g"), [2])
        #expect(try readFile(folder("victim")) == Array("untouched".utf8))
        #expect(try readFile(folder("f")) == [1] && readFile(folder("g")) == [2])
        #expect(try DirectoryHandle(path: folder.path).names() == ["f", "g", "victim"])
    }

    @Test func `a lock never goes through a planted link`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("victim"), [])
        try shell(
            "chmod 644 \"$1/victim\"; ln -s victim \"$1/l\"; ln -s nothing \"$1/m\"; ln \"$1/victim\" \"$1/h\"", folder.path)
        #expect(throws: BackupError.self) { try AdvisoryLock(path: folder("l")) }
        #expect(throws: BackupError.self) { try AdvisoryLock(path: folder("m")) }
        #expect(access(folder("nothing"), F_OK) != 0)
        // By another name of the file its mode does not change either.
        _ = try AdvisoryLock(path: folder("h"))
        #expect(try Self.mode(folder("victim")) == 0o644)
    }

    @Test func `what was a file when it was listed, and is a pipe or a device now, is not waited for`() throws {
        let folder = try TemporaryFolder()
        try shell("mkfifo \"$1/pipe\"; ln -s /dev/zero \"$1/link\"; echo content > \"$1/file\"", folder.path)
        let reader = try DirectoryHandle(path: folder.path)
        #expect(
            failure { _ = try reader.openFile("pipe") }?.description.hasSuffix("pipe: is neither a file nor a folder nor a link")
                == true)
        #expect(throws: BackupError.self) { _ = try reader.openFile("link") }
        #expect(try reader.openFile("file").readExactly(at: 0, count: 7) == Array("content".utf8))
        #expect(failure { _ = try DirectoryHandle(path: "/dev").openFile("null") }?.code == .notSupported)
    }

    @Test func `what a crash left under the temporary name does no harm`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("f.tmp-\(getpid())"), [UInt8](repeating: 9, count: 100))
        try FileSystem.writeFileAtomically(folder("f"), [1])
        #expect(try readFile(folder("f")) == [1])
        #expect(try DirectoryHandle(path: folder.path).names() == ["f"])
    }

    @Test func `reading checks sizes before it reads`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("f"), scrambled(5000))
        #expect(try FileSystem.readFile(folder("f"), limitBytes: 5000) == scrambled(5000))
        #expect(errorCode { _ = try FileSystem.readFile(folder("f"), limitBytes: 4999) } == .tooLarge)
        #expect(errorCode { _ = try FileSystem.readFile(folder("g")) } == .notFound)
        let file = try SharedFile(path: folder("f"))
        #expect(try file.readExactly(at: 4990, count: 10) == Array(scrambled(5000)[4990...]))
        #expect(errorCode { _ = try file.readExactly(at: 4990, count: 11) } == .damagedContent)
        var buffer = [UInt8](repeating: 0, count: 100)
        let counts = try [0, 4950, 5000, 9999].map { offset in
            try buffer.withUnsafeMutableBytes { try file.read(at: UInt64(offset), into: $0) }
        }
        #expect(counts == [100, 50, 0, 0])
    }

    @Test func `folders are made with those above them`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("a/b/c"))
        try FileSystem.makeDirectories(folder("a/b/c"))
        #expect(try FileSystem.status(folder("a/b/c")).kind == .directory)
        try writeFile(folder("file"), [1])
        #expect(errorCode { try FileSystem.makeDirectories(folder("file")) } == .notADirectory)
        #expect(errorCode { try FileSystem.makeDirectories(folder("file/x")) } == .notADirectory)
    }

    @Test func `two names change places in one step`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("a"))
        try FileSystem.makeDirectories(folder("b"))
        try writeFile(folder("a/of-a"), [])
        let inodes = try (FileSystem.status(folder("a")).inode, FileSystem.status(folder("b")).inode)
        try FileSystem.exchange(folder("a"), folder("b"))
        #expect(try DirectoryHandle(path: folder("b")).names() == ["of-a"])
        #expect(try FileSystem.status(folder("a")).inode == inodes.1)
        #expect(try FileSystem.status(folder("b")).inode == inodes.0)
        #expect(errorCode { try FileSystem.exchange(folder("a"), folder("none")) } == .notFound)
        #expect(try FileSystem.status(folder("a")).inode == inodes.1)
    }

    @Test func `ARC-04: times and modes are set exactly`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("f"), [1])
        let file = try OwnedDescriptor.open(folder("f"), O_RDWR)
        try file.setModificationTime(Timestamp(seconds: 1_768_141_800, nanoseconds: 123_456_789))
        try file.setPermissions(0o640)
        #expect(try shell("stat -c '%a %.9Y' \"$1\"", folder("f")).output == "640 1768141800.123456789\n")
        try file.truncate(to: 10)
        try file.writeAll(Data([7]).withUnsafeBytes { Array($0) })
        #expect(try readFile(folder("f")) == [7] + [UInt8](repeating: 0, count: 9))
    }

    @Test(arguments: [("/a/b/c", "/a/b", "c"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b", "a", "b")])
    func `paths are taken apart`(path: String, parent: String, last: String) {
        #expect(FileSystem.parentPath(path) == parent)
        #expect(FileSystem.lastComponent(path) == last)
    }

    @Test(arguments: [("/a/", "/a"), ("/a//", "/a"), ("/", "/"), ("//", "/"), ("/a/b", "/a/b")])
    func `a slash at the end of a path says nothing`(path: String, absolute: String) {
        #expect(FileSystem.absolutePath(path) == absolute)
        #expect(FileSystem.absolutePath("x/") == FileSystem.absolutePath("x"))
        #expect(FileSystem.absolutePath("x") == FileManager.default.currentDirectoryPath + "/x")
    }
}
