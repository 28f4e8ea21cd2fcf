import BackupCore
import Glibc
import ObjectStorage
import SystemIO
import TestSupport
import Testing

@Suite struct FolderStorageTests {
    private let folder: TemporaryFolder
    private let path: String
    private let storage: FolderStorage

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        path = folder("storage")
        storage = try FolderStorage.make(at: path)
    }

    @Test func `files and folders are for their owner alone`() throws {
        _ = try storage.create(name("a/b/c"), ObjectDraft("text"))
        let version = try #require(try storage.look(name("a/b/c"))).version
        _ = try storage.replace(name("a/b/c"), version: version, ObjectDraft("other"))
        #expect(try mode("") == 0o700)
        #expect(try mode("/a") == 0o700)
        #expect(try mode("/a/b") == 0o700)
        #expect(try mode("/a/b/c") == 0o600)
        #expect(try mode("/.backupfs-storage") == 0o700)
        #expect(try mode("/.backupfs-storage/lock") == 0o600)
        #expect(try readFile("\(path)/a/b/c") == Array("other".utf8))
    }

    @Test func `what is no object is neither listed nor found nor replaced`() throws {
        _ = try storage.create(name("objects/real"), ObjectDraft("real"))
        let outside = try folder.makeFolder("outside")
        try folder.write("secret", to: "outside/file")
        for (link, target) in [("link", "\(outside)/file"), ("inner", "real"), ("folder", outside), ("nothing", "missing")] {
            #expect(symlink(target, "\(path)/objects/\(link)") == 0)
        }
        #expect(mkfifo("\(path)/objects/pipe", 0o600) == 0)
        #expect(mknod("\(path)/objects/socket", S_IFSOCK | 0o600, 0) == 0)
        #expect(mkdir("\(path)/objects/empty", 0o700) == 0)
        for odd in ["a\nb", "\u{7F}", ".nfs000000000000000100000001", ".fuse_hidden0000000100000001"] {
            try writeFile("\(path)/objects/\(odd)", [1])
        }
        let invalid: [CChar] = Array("\(path)/objects/".utf8CString.dropLast()) + [-1, 0]
        close(open(invalid, O_WRONLY | O_CREAT, 0o600))

        #expect(try storage.names() == ["objects/real"])
        for text in ["link", "inner", "folder", "nothing", "pipe", "socket", "empty", "folder/file"] {
            let name = try name("objects/\(text)")
            #expect(try storage.look(name) == nil, "\(text)")
            #expect(errorCode { _ = try storage.bytes(name) } == .notFound, "\(text)")
            #expect(errorCode { try storage.remove(name, version: nil) } == .notFound, "\(text)")
            #expect(errorCode { _ = try storage.create(name, ObjectDraft("new")) } == .notSupported, "\(text)")
        }
        #expect(errorCode { _ = try storage.create(name("objects/folder/new"), ObjectDraft("new")) } == .notSupported)
        #expect(try DirectoryHandle(path: outside).names() == ["file"])
        #expect(try folder.read("outside/file") == Array("secret".utf8))
    }

    @Test func `a name cannot be the folder of another one`() throws {
        _ = try storage.create(name("a/b"), ObjectDraft("1"))
        #expect(errorCode { _ = try storage.create(name("a"), ObjectDraft("2")) } == .notSupported)
        #expect(errorCode { _ = try storage.create(name("a/b/c"), ObjectDraft("2")) } == .notSupported)
        #expect(try storage.look(name("a/b/c")) == nil)
        #expect(try storage.names() == ["a/b"])
    }

    @Test func `names of temporary files are reserved`() throws {
        for text in [".backupfs-storage", ".backupfs-storage/lock", "a/.nfs0000", ".fuse_hidden00/x"] {
            let name = try name(text)
            #expect(errorCode { _ = try storage.look(name) } == .invalidArgument)
            #expect(errorCode { _ = try storage.bytes(name) } == .invalidArgument)
            #expect(errorCode { _ = try storage.create(name, ObjectDraft("x")) } == .invalidArgument)
            #expect(errorCode { try storage.remove(name, version: nil) } == .invalidArgument)
        }
        #expect(try storage.names(prefix: ".backupfs-storage/").isEmpty)
    }

    @Test func `a file that is being written is no object`() throws {
        let source = GeneratedSource(sizeBytes: 2 << 20)
        let (storage, path) = (storage, path)
        let watching = CallingSource(source, at: 1 << 20) {
            #expect((try? storage.names()) == [])
            #expect((try? DirectoryHandle(path: "\(path)/.backupfs-storage").names().count) == 1)
        }
        _ = try storage.create(
            name("large"), ObjectDraft(source: watching, sizeBytes: source.sizeBytes, sha256: try source.sha256()))
        #expect(try storage.names() == ["large"])
        #expect(try DirectoryHandle(path: "\(path)/.backupfs-storage").names() == [])
    }

    @Test func `what a dead program left is removed after a day`() throws {
        _ = try storage.create(name("a"), ObjectDraft("a"))
        let control = "\(path)/.backupfs-storage"
        for (file, ageSeconds) in [("draft-old", 100_000), ("draft-new", 80_000), ("other", 100_000)] {
            try writeFile("\(control)/\(file)", [1])
            let time = timespec(tv_sec: Int(SystemClock.systemTime().seconds) - ageSeconds, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, "\(control)/\(file)", [time, time], 0) == 0)
        }
        #expect(try storage.names() == ["a"])
        _ = try FolderStorage(path: path).create(name("b"), ObjectDraft("b"))
        #expect(try DirectoryHandle(path: control).names() == ["draft-new", "other"])
    }

    @Test func `a folder that other programs wrote is a storage`() throws {
        for text in ["packs/ab/1", "packs/ab/2", "config"] {
            try FileSystem.makeDirectories(FileSystem.parentPath("\(path)/\(text)"))
            try writeFile("\(path)/\(text)", Array(text.utf8))
        }
        #expect(try storage.names() == ["config", "packs/ab/1", "packs/ab/2"])
        let facts = try #require(try storage.look(name("config")))
        #expect(facts.sizeBytes == 6)
        let version = try storage.replace(name("config"), version: facts.version, ObjectDraft("changed"))
        try storage.remove(name("config"), version: version)
        #expect(access("\(path)/config", F_OK) == -1)
    }

    /// Also when a clock was wrong, and for file systems whose clock counts in seconds.
    @Test(arguments: [timespec(tv_sec: 4_000_000_000, tv_nsec: 999_999_999), timespec(tv_sec: 4_000_000_000, tv_nsec: 5)])
    func `a later state has a later time`(time: timespec) throws {
        _ = try storage.create(name("a"), ObjectDraft("1"))
        #expect(utimensat(AT_FDCWD, "\(path)/a", [time, time], 0) == 0)
        let first = try #require(try storage.look(name("a"))).version
        let second = try storage.replace(name("a"), version: first, ObjectDraft("2"))
        var status = stat()
        #expect(lstat("\(path)/a", &status) == 0)
        #expect((status.st_mtim.tv_sec, status.st_mtim.tv_nsec) > (time.tv_sec, time.tv_nsec))
        #expect(first != second)
        #expect(try storage.look(name("a"))?.version == second)
    }

    @Test func `a reader keeps the object that it began to read`() throws {
        let old = GeneratedSource(sizeBytes: 1_000_000)
        let version = try storage.create(name("object"), old.draft())
        var bytes: [UInt8] = []
        let (storage, name) = (storage, try name("object"))
        let facts = try storage.read(name, range: nil) { (part) throws(BackupError) in
            if bytes.isEmpty { _ = try storage.replace(name, version: version, ObjectDraft("new")) }
            bytes += part
        }
        #expect(facts.version == version)
        #expect(try bytes == old.bytes(at: 0, upTo: 1_000_000))
        #expect(try storage.text(name) == "new")
    }

    @Test func `a large folder is listed page by page in order`() throws {
        try FileSystem.makeDirectories("\(path)/packs")
        let texts = (0..<6_000).map { "packs/\($0 &* 7_919 % 6_000)" }
        for text in texts { try writeFile("\(path)/\(text)", []) }
        for number in 0..<50 { #expect(mkdir("\(path)/packs/\(number)-empty", 0o700) == 0) }
        #expect(try storage.names() == texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    @Test func `a local folder can do everything`() {
        #expect(
            storage.capabilities == [
                .conditionalCreate, .compareAndSwap, .conditionalRemove, .cheapRandomReads, .rangedReads, .removal,
            ])
        #expect(storage.location == path)
    }

    private func mode(_ name: String) throws -> UInt32 {
        var value = stat()
        try #require(lstat(path + name, &value) == 0)
        return value.st_mode & 0o7777
    }
}
