import BackupCore
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import SystemIO

/// Folders with names that are bytes, and links that are never followed.
struct DirectoryTests {
    private static let nasty: [[UInt8]] = [
        [10], Array("new\nline".utf8), [0xFF, 0xFE], [0xC3], Array("ä".utf8), Array("a\u{308}".utf8),
        [UInt8](repeating: 120, count: 255),
        Array(" ".utf8), Array("-rf".utf8), Array("*".utf8), Array("...".utf8), Array(".hidden".utf8), [1], Array("a\\b".utf8),
    ]

    /// A folder that holds one file for each nasty name, its name as content.
    private static func fill(_ path: String) throws {
        let reader = try DirectoryHandle(path: path)
        for name in nasty {
            let file = try reader.open(FileName(bytes: name), O_WRONLY | O_CREAT | O_EXCL)
            try file.writeAll(name)
        }
    }

    @Test func `several threads make one folder at the same moment, and each gets it`() throws {
        let folder = try TemporaryFolder()
        let handle = try DirectoryHandle(path: folder.path)
        for round in 0..<200 {
            let failures = Monitor(0)
            let threads = try (0..<4).map { _ in
                try SystemThread {
                    if (try? handle.openOrMakeFolder(FileName("folder-\(round)"))) == nil { failures.withLock { $0 += 1 } }
                }
            }
            for thread in threads { thread.join() }
            #expect(failures.withLock { $0 } == 0)
        }
    }

    @Test func `ARC-04: names are listed by their bytes, and each is found again`() throws {
        let folder = try TemporaryFolder()
        try Self.fill(folder.path)
        let reader = try DirectoryHandle(path: folder.path)
        let names = try reader.names()
        #expect(names == Self.nasty.map { FileName(bytes: $0) }.sorted())
        for name in names {
            let file = try reader.open(name, O_RDONLY)
            #expect(try file.readExactly(at: 0, count: name.bytes.count) == name.bytes)
            #expect(try reader.status(name).size == UInt64(name.bytes.count))
        }
        // Listing twice gives the same: the position is not shared.
        #expect(try reader.names() == names)
    }

    @Test func `names that are too long or not there are errors`() throws {
        let folder = try TemporaryFolder()
        let reader = try DirectoryHandle(path: folder.path)
        let long = FileName(bytes: [UInt8](repeating: 120, count: 256))
        #expect(errorCode { _ = try reader.status(long) } == .nameTooLong)
        #expect(errorCode { _ = try reader.status("none") } == .notFound)
        #expect(errorCode { _ = try DirectoryHandle(path: folder("none")) } == .notFound)
        try writeFile(folder("file"), [])
        #expect(errorCode { _ = try DirectoryHandle(path: folder("file")) } == .notADirectory)
        #expect(errorCode { _ = try reader.openDirectory("file") } == .notADirectory)
    }

    @Test func `links are read and never followed`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("real"))
        try writeFile(folder("real/file"), [1])
        for (target, name) in [("real", "to-folder"), ("real/file", "to-file"), ("nowhere", "dangling")] {
            #expect(symlink(target, folder(name)) == 0)
        }
        let reader = try DirectoryHandle(path: folder.path)
        #expect(try reader.status("to-folder").kind == .symbolicLink)
        #expect(try reader.readLink("dangling") == Array("nowhere".utf8))
        #expect(errorCode { _ = try reader.open("to-file", O_RDONLY) } != nil)
        #expect(errorCode { _ = try reader.openDirectory("to-folder") } != nil)
        #expect(errorCode { try reader.makeDirectoryIfMissing("to-folder") } == nil)
        #expect(try reader.status("to-folder").kind == .symbolicLink)
    }

    @Test func `a path is opened in one call or one component after the other, and means the same`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("a/b/c"))
        try writeFile(folder("a/file"), [])
        #expect(symlink("b", folder("a/link")) == 0)
        #expect(symlink(folder("a"), folder("out")) == 0)
        let root = try DirectoryHandle(path: folder.path)
        let identity = FileIdentity(try FileSystem.status(folder("a/b/c")))
        let names: [FileName] = ["a", "b", "c"]
        #expect(try FileIdentity(root.openDirectory(at: names[...]).descriptor.status()) == identity)
        #expect(try root.openDirectory(at: names[...]).path == folder("a/b/c"))
        #expect(try root.openDirectory(at: []).path == folder.path)
        // Where the kernel has no such call, or a container forbids it, the other way gives the same.
        if let inner = root.openBeneath(names[...]) { #expect(try FileIdentity(inner.descriptor.status()) == identity) }
        // The cause is the last component of the second path.
        let wrong: [([FileName], String, BackupError.Code)] = [
            (["a", "link", "c"], "a/link", .notADirectory), (["a", "link"], "a/link", .notADirectory),
            (["out", "b"], "out", .notADirectory), (["a", "file", "c"], "a/file", .notADirectory),
            (["a", "none", "c"], "a/none", .notFound), (["a", "b", "none"], "a/b/none", .notFound),
        ]
        for (path, cause, code) in wrong {
            #expect(root.openBeneath(path[...]) == nil)
            let error = failure { _ = try root.openDirectory(at: path[...]) }
            #expect(error?.code == code)
            #expect(error?.path == folder(cause))
            #expect(try root.openFolder(at: path[...]) == nil)
        }
        #expect(root.openBeneath(["..", "x"]) == nil)
    }

    @Test func `a path that is too long for one call is opened component by component`() throws {
        let folder = try TemporaryFolder()
        let root = try DirectoryHandle(path: folder.path)
        let names = (0..<30).map { FileName(bytes: [UInt8](repeating: 97 + UInt8($0 % 26), count: 200)) }
        var inner = root
        for name in names { inner = try inner.makeFolder(name) }
        let identity = FileIdentity(try inner.descriptor.status())
        #expect(root.openBeneath(names[...]) == nil)
        #expect(try FileIdentity(root.openDirectory(at: names[...]).descriptor.status()) == identity)
        #expect(try root.openFolder(at: names[...]) != nil)
        try FileSystem.removeTree(folder.path + "/\(names[0])")
    }

    @Test(.enabled(if: !Machine.isRoot, "NOT TESTED: root may open any folder"))
    func `a folder that may not be opened is not missing`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("a/closed/c"))
        _ = try run(["chmod", "0", folder("a/closed")], in: folder.path)
        defer { _ = chmod(folder("a/closed"), 0o700) }
        let root = try DirectoryHandle(path: folder.path)
        #expect(errorCode { _ = try root.openFolder(at: ["a", "closed", "c"]) } == .accessDenied)
        #expect(errorCode { _ = try root.openDirectory("a").openFolder("closed") } == .accessDenied)
    }

    @Test func `looking for what is not there is no error`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("file"), [1])
        #expect(symlink("file", folder("link")) == 0)
        #expect(mkfifo(folder("pipe"), 0o600) == 0)
        let root = try DirectoryHandle(path: folder.path)
        #expect(try root.statusIfPresent("none") == nil)
        #expect(try root.statusIfPresent("link")?.kind == .symbolicLink)
        func opens(_ name: FileName) throws -> Bool {
            guard let file = try root.openFileIfPresent(name) else { return false }
            return try file.status().size == 1
        }
        #expect(try !opens("none") && !opens("link") && !opens("pipe") && opens("file"))
        #expect(try root.readLinkIfPresent("none") == nil && root.readLinkIfPresent("file") == nil)
        #expect(try root.readLinkIfPresent("link") == Array("file".utf8))
        #expect(try root.openDirectoryIfPresent("none") == nil && root.openFolder("file") == nil)
        #expect(errorCode { _ = try root.openDirectoryIfPresent("file") } == .notADirectory)
        try root.removeFile("none")
        try root.removeFolder("none")
        #expect(errorCode { try root.remove("none", isDirectory: false) } == .notFound)
        #expect(errorCode { try root.removeFolder("file") } == .notADirectory)
        #expect(errorCode { _ = try root.makeFolder("file") } == .alreadyExists)
    }

    @Test func `an open folder is the same one after it was renamed`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("old"))
        try writeFile(folder("old/file"), [1])
        let reader = try DirectoryHandle(path: folder("old"))
        try FileSystem.rename(folder("old"), to: folder("new"))
        #expect(try reader.names() == ["file"])
        #expect(try reader.open("file", O_RDONLY).readExactly(at: 0, count: 1) == [1])
    }

    @Test func `ARC-04: removing a tree takes odd names with it and nothing that links lead to`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("outside/deep"))
        try writeFile(folder("outside/kept"), [1])
        try FileSystem.makeDirectories(folder("tree/a/b/c"))
        try Self.fill(folder("tree/a/b"))
        for place in ["tree", "tree/a", "tree/a/b"] {
            #expect(symlink(folder("outside"), folder("\(place)/link")) == 0)
            #expect(symlink(folder("outside/kept"), folder("\(place)/file-link")) == 0)
        }
        try FileSystem.removeTree(folder("tree"))
        #expect(try DirectoryHandle(path: folder.path).names() == ["outside"])
        #expect(try DirectoryHandle(path: folder("outside")).names() == ["deep", "kept"])
        #expect(try readFile(folder("outside/kept")) == [1])
    }

    @Test func `removing a link removes the link, and removing nothing is fine`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("outside"))
        try writeFile(folder("outside/kept"), [1])
        #expect(symlink("outside", folder("link")) == 0)
        try FileSystem.removeTree(folder("link"))
        try FileSystem.removeTree(folder("none"))
        try FileSystem.removeFile(folder("none"))
        try writeFile(folder("file"), [])
        try FileSystem.removeTree(folder("file"))
        #expect(try DirectoryHandle(path: folder.path).names() == ["outside"])
        #expect(try DirectoryHandle(path: folder("outside")).names() == ["kept"])
    }

    @Test func `what lstat and stat tell`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("file"), [1, 2, 3])
        #expect(symlink("file", folder("link")) == 0)
        #expect(mkfifo(folder("pipe"), 0o600) == 0)
        #expect(try FileSystem.status(folder("link")).kind == .symbolicLink)
        #expect(FileSystem.statusIfPresent(folder("link"))?.kind == .regular)
        #expect(FileSystem.statusIfPresent(folder("link"))?.size == 3)
        #expect(try FileSystem.status(folder("pipe")).kind == .other)
        #expect(FileSystem.statusIfPresent(folder("none")) == nil)
        #expect(try !FileSystem.exists(folder("none")))
        let inode = try shell("stat -c '%i %h %u' \"$1\"", folder("file")).output
        let status = try FileSystem.status(folder("file"))
        #expect("\(status.inode) \(status.linkCount) \(status.owner)\n" == inode)
    }

    @Test func `the free space is what df says`() throws {
        let folder = try TemporaryFolder()
        let blocks = try shell("stat -f -c '%S %b' \"$1\"", folder.path).output
        let space = try FileSystem.space(at: folder.path)
        #expect("\(space.blockSizeBytes) \(space.blockCount)\n" == blocks)
        #expect(space.availableBytes > 0)
        #expect(errorCode { _ = try FileSystem.space(at: folder("none")) } == .notFound)
    }

    private final class Synchronized: FileObserver {
        private let paths = Mutex<[String]>([])
        var all: [String] { paths.withLock { $0 } }

        func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
            if case .synchronize(let path) = operation { paths.withLock { $0.append(path) } }
            try body()
        }
    }

    @Test func `R-B6: where syncfs may hide an error, each file and each folder is made durable`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("a/b"))
        for name in ["a/one", "a/b/two"] { _ = try OwnedDescriptor.open(folder(name), O_WRONLY | O_CREAT) }
        try #require(symlink("nowhere", folder("a/link")) == 0)
        let observer = Synchronized()
        try FileObservation.observing(below: folder.path, by: observer) { () throws(BackupError) in
            try DirectoryHandle(path: folder("a")).synchronizeContents()
        }
        #expect(observer.all.map { $0.dropFirst(folder.path.count) } == ["/a/b/two", "/a/b", "/a/one", "/a"])
        try FileSystem.synchronizeTree(folder("a"))
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: a mount needs root"))
    func `R-A6: a tree is never removed across a mount, be it of the same disk`() throws {
        let folder = try TemporaryFolder()
        for (name, options) in [("tmpfs", "-t tmpfs none"), ("bind", "--bind \(folder("other"))")] {
            try FileSystem.makeDirectories(folder("other"))
            try FileSystem.makeDirectories(folder("\(name)/in/mount"))
            guard try run(["bash", "-c", "mount \(options) \(folder("\(name)/in/mount"))"], in: folder.path).status == 0 else {
                return
            }
            defer { _ = try? run(["umount", folder("\(name)/in/mount")], in: folder.path) }
            _ = try OwnedDescriptor.open(folder("\(name)/in/mount/precious"), O_WRONLY | O_CREAT)
            #expect(errorCode { try FileSystem.removeTree(folder(name)) } == .busy)
            #expect(try FileSystem.exists(folder("\(name)/in/mount/precious")))
        }
    }

    @Test func `R-A8: moving replaces nothing, and what is there already is reported`() throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b"] {
            try FileSystem.makeDirectories(folder(name))
            try FileSystem.writeFileAtomically(folder("\(name)/x"), Array(name.utf8))
        }
        let (a, b) = (
            try DirectoryHandle(path: folder("a"), followsLink: false), try DirectoryHandle(path: folder("b"), followsLink: false)
        )
        #expect(errorCode { try a.move("x", to: b, as: "x") } == .alreadyExists)
        try a.move("x", to: b, as: "y")
        #expect(try FileSystem.readFile(folder("b/x")) == Array("b".utf8))
        #expect(try FileSystem.readFile(folder("b/y")) == Array("a".utf8))
        #expect(errorCode { try a.move("x", to: b, as: "z") } == .notFound)
    }

    @Test func `a folder is opened for its owner, and not what a link in its place leads to`() throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectories(folder("in/closed"))
        try FileSystem.makeDirectories(folder("other"))
        try FileSystem.writeFileAtomically(folder("in/file"), [])
        _ = try run(
            ["bash", "-c", "chmod 0 in/closed; chmod 750 other; ln -s ../other in/link; chmod 640 in/file"], in: folder.path)
        let handle = try DirectoryHandle(path: folder("in"), followsLink: false)
        let mode = { (name: String) in try FileSystem.status(folder(name)).mode & 0o7777 }
        #expect(handle.makeAccessible("closed"))
        #expect(!handle.makeAccessible("link") && !handle.makeAccessible("file") && !handle.makeAccessible("missing"))
        #expect(try mode("in/closed") == 0o700 && mode("other") == 0o750 && mode("in/file") == 0o640)
    }
}
