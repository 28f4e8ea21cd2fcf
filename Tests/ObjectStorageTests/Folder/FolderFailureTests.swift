import BackupCore
import Glibc
import ObjectStorage
import Synchronization
import SystemIO
import TestSupport
import Testing

/// A missing disk, a full one, folders that cannot be read, and errors at each call: none of them looks like "not there", and
/// none leaves a part of an object.
@Suite struct FolderFailureTests {
    private let folder: TemporaryFolder
    private let path: String
    private let storage: FolderStorage

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        path = folder("storage")
        storage = try FolderStorage.make(at: path)
        _ = try storage.create(name("a/b"), ObjectDraft("text"))
    }

    @Test func `without its folder, a storage is offline`() throws {
        try FileSystem.rename(path, to: path + "-away")
        try expectOffline(storage)
        #expect(errorCode { _ = try FolderStorage(path: path) } == .offline)
        // An empty folder in its place, as a mountpoint without its disk.
        try FileSystem.makeDirectories(path)
        try expectOffline(storage)
        #expect(try DirectoryHandle(path: path).names().isEmpty)
        try FileSystem.removeTree(path)
        try FileSystem.rename(path + "-away", to: path)
        #expect(try storage.text(name("a/b")) == "text")
    }

    @Test(.enabled(if: Machine.isRoot)) func `without its disk, a storage is offline`() throws {
        let disk = try folder.makeFolder("disk")
        try run("mount", "-t", "tmpfs", "-o", "size=1m", "backupfs-test", disk)
        defer { _ = try? run("umount", "-l", disk) }
        let storage = try FolderStorage(path: disk)
        _ = try storage.create(name("a/b"), ObjectDraft("text"))
        try run("umount", disk)
        try expectOffline(storage)
        #expect(try DirectoryHandle(path: disk).names().isEmpty)
        // Another disk.
        try run("mount", "-t", "tmpfs", "-o", "size=1m", "backupfs-test", disk)
        try expectOffline(storage)
        #expect(try DirectoryHandle(path: disk).names().isEmpty)
    }

    @Test(.enabled(if: Machine.isRoot)) func `a full disk keeps no part of an object`() throws {
        let disk = try folder.makeFolder("disk")
        try run("mount", "-t", "tmpfs", "-o", "size=1m", "backupfs-test", disk)
        defer { _ = try? run("umount", "-l", disk) }
        let storage = try FolderStorage(path: disk)
        let version = try storage.create(name("old"), ObjectDraft("old"))
        let large = try GeneratedSource(sizeBytes: 2 << 20).draft()
        #expect(errorCode { _ = try storage.create(name("new"), large) } == .noSpace)
        #expect(errorCode { _ = try storage.replace(name("old"), version: version, large) } == .noSpace)
        #expect(try storage.names() == ["old"])
        #expect(try storage.text(name("old")) == "old")
        #expect(try DirectoryHandle(path: "\(disk)/.backupfs-storage").names().isEmpty)
        _ = try storage.create(name("small"), try GeneratedSource(sizeBytes: 500_000).draft())
    }

    /// For root, no mode forbids reading: a thread gives that right away.
    @Test func `a folder that cannot be read is an error, not a shorter listing`() throws {
        try FileSystem.makeDirectories("\(path)/locked/folder")
        #expect(chmod("\(path)/locked", 0) == 0)
        defer { chmod("\(path)/locked", 0o700) }
        #expect(chmod(folder.path, 0o755) == 0 && chmod(path, 0o755) == 0 && chmod("\(path)/a", 0o755) == 0)
        let storage = storage
        let codes = try concurrently(1) { _ in
            try Self.giveUpRoot()
            return [
                errorCode { _ = try storage.list(prefix: "", after: nil) },
                errorCode { _ = try storage.list(prefix: "locked/", after: nil) },
                errorCode { _ = try storage.look(name("locked/x")) },
                errorCode { _ = try storage.bytes(name("locked/folder/x")) },
                errorCode { try storage.remove(name("locked/x"), version: nil) },
                errorCode { _ = try storage.list(prefix: "a/", after: nil) },
            ]
        }
        #expect(codes[0] == [.accessDenied, .accessDenied, .accessDenied, .accessDenied, .accessDenied, nil])
    }

    /// Each call that changes a file fails, with each of two errors.
    @Test(arguments: [ENOSPC, EIO]) func `after a failed call, the object is the old or the new one`(number: Int32) throws {
        let (old, new) = (ObjectDraft("old"), ObjectDraft("new"))
        for action in ["create", "replace", "remove"] {
            var failing = 1
            while true {
                let path = folder("\(action)-\(failing)")
                let storage = try FolderStorage.make(at: path)
                let (name, version) = try (name("a/b/object"), storage.create(name("a/b/object"), old))
                if action == "create" { try storage.remove(name, version: nil) }
                let observer = FailingCall(failing, number)
                let code = errorCode {
                    try FileObservation.observing(below: path, by: observer) {
                        switch action {
                        case "create": _ = try FolderStorage(path: path).create(name, new)
                        case "replace": _ = try FolderStorage(path: path).replace(name, version: version, new)
                        default: try storage.remove(name, version: version)
                        }
                    }
                }
                guard let failed = observer.failed else { break }
                let place: Comment = "\(action), \(failed)"
                let after = try storage.look(name) == nil ? nil : try storage.text(name)
                #expect(after == nil ? action != "replace" : after == "new" || action != "create" && after == "old", place)
                // Some calls may fail without harm: the removal of files of dead programs, and the probe's.
                switch code {
                case nil: #expect(after == (action == "remove" ? nil : "new"), place)
                case .noSpace: #expect(number == ENOSPC && after == (action == "create" ? nil : "old"), place)
                case .inputOutput: break
                default: Issue.record("\(action), \(failed): \(String(describing: code))")
                }
                #expect(try storage.names() == (after == nil ? [] : ["a/b/object"]), place)
                failing += 1
            }
            #expect(failing > (action == "remove" ? 2 : 6), "\(action)")
        }
    }

    private func expectOffline(_ storage: FolderStorage) throws {
        let name = try name("a/b")
        #expect(errorCode { _ = try storage.look(name) } == .offline)
        #expect(errorCode { _ = try storage.bytes(name) } == .offline)
        #expect(errorCode { _ = try storage.list(prefix: "", after: nil) } == .offline)
        #expect(errorCode { _ = try storage.create(name, ObjectDraft("new")) } == .offline)
        #expect(errorCode { _ = try storage.replace(name, version: ObjectVersion("1"), ObjectDraft("new")) } == .offline)
        #expect(errorCode { try storage.remove(name, version: nil) } == .offline)
    }

    private func run(_ command: String...) throws {
        let result = try Job(command, scratch: folder(RandomToken.make())).wait()
        try #require(result.exitCode == 0, "\(result.text)")
    }

    /// From now on, this thread's calls of the file system have the rights of another user (setfsuid(2)).
    private static func giveUpRoot() throws {
        guard Machine.isRoot else { return }
        let function = try #require(dlsym(nil, "setfsuid"))
        // The C library declares it as `int setfsuid(uid_t)`; Swift's module of it lacks the function.
        let setfsuid = unsafeBitCast(function, to: (@convention(c) (UInt32) -> Int32).self)
        _ = setfsuid(65_534)
    }
}

/// Makes one call fail.
private final class FailingCall: FileObserver {
    private let failing: Int
    private let number: Int32
    private let state = Mutex<(count: Int, failed: FileOperation?)>((0, nil))

    init(_ failing: Int, _ number: Int32) {
        self.failing = failing
        self.number = number
    }

    var failed: FileOperation? { state.withLock { $0.failed } }

    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        let fails = state.withLock { state in
            state.count += 1
            if state.count == failing { state.failed = operation }
            return state.count == failing
        }
        if fails { throw SystemCall.error(number, action: "do that", path: operation.path) }
        try body()
    }
}
