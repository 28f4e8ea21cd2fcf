import BackupCore
import Glibc
import Photos
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// Closing a file in `photos/starred/`.
@Suite struct CopiedPhotoTests {
    private let test: TestTree
    private let context: TreeContext
    private let copies: KeptCopies

    init() throws {
        test = try TestTree(snapshots: false)
        context = TreeContext(services: test.services, repository: test.repository, isSharedWithOthers: false)
        copies = QueueFolder(root: "\(test.path)/photos").copies
    }

    private func write(_ text: String, to file: any OpenFile) throws {
        try Array(text.utf8).withUnsafeBytesThrowing { (buffer) throws(BackupError) in try file.write(at: 0, buffer) }
    }

    private func copy(_ name: FileName) -> CopiedPhoto {
        let file = CopiedPhoto(name: name, folder: InodeNumber(7), context: context)
        return context.copiedPhotos.add(file, as: name) as? CopiedPhoto ?? file
    }

    @Test(arguments: [nil, BackupError.Code.invalidArgument])
    func `two closes at once get one answer, and the photo is starred once`(code: BackupError.Code?) throws {
        let gate = Monitor(false)
        let count = Atomic<Int>(0)
        test.services.state.withLock { state in
            state.photoCopies = copies
            state.starring = { (draft) throws(BackupError) in
                count.add(1, ordering: .relaxed)
                gate.wait(until: { $0 }) { _ in }
                if let code { throw BackupError(code, "refused") }
                return try draft.sha256()
            }
        }
        let open = try copy("a.jpg").open(flags: O_WRONLY, process: getpid())
        try write("photo", to: open)
        let answers = Monitor<[BackupError.Code?]>([])
        let threads = try (0..<2).map { _ in
            try SystemThread {
                let answer = errorCode { try open.flush(process: getpid()) }
                answers.changeWakingAll { $0.append(answer) }
            }
        }
        while count.load(ordering: .relaxed) == 0 { usleep(1_000) }
        // While it is decided, nothing can be written.
        #expect(errorCode { try write("other", to: open) } == .busy)
        gate.changeWakingAll { $0 = true }
        for thread in threads { thread.join() }
        #expect(answers.withLock { $0 } == [code, code])
        // The answer stays the same, unless there are other bytes to decide about.
        #expect(errorCode { try open.flush(process: getpid()) } == code)
        #expect(count.load(ordering: .relaxed) == 1)
        #expect(errorCode { try write("other", to: open) } == (code == nil ? .busy : nil))
        #expect(errorCode { try open.flush(process: getpid()) } == code)
        #expect(count.load(ordering: .relaxed) == (code == nil ? 1 : 2))
        open.release()
        #expect(try FileSystem.names(in: copies.folder) == [])
        #expect(context.copiedPhotos.file(named: "a.jpg") == nil)
    }

    @Test func `a name that goes while the photo is starred is not starred, or its star is known`() throws {
        let wanted = Monitor<[Bool]>([])
        let photo = copy("a.jpg")
        test.services.state.withLock { state in
            state.photoCopies = copies
            state.starring = { (draft) throws(BackupError) in
                let content = try draft.sha256()
                wanted.withLock { $0.append(true) }
                return content
            }
        }
        let open = try photo.open(flags: O_WRONLY, process: getpid())
        try write("photo", to: open)
        #expect(photo.discard() == nil)
        #expect(errorCode { try open.flush(process: getpid()) } == .busy)
        open.release()
        #expect(wanted.withLock { $0 } == [])
        let second = copy("b.jpg")
        let other = try second.open(flags: O_WRONLY, process: getpid())
        try write("photo", to: other)
        try other.flush(process: getpid())
        let sha256 = SHA256Hasher.hash(Array("photo".utf8))
        #expect(second.discard() == sha256)
        other.release()
    }

    /// - Returns: a counter of what is judged.
    private func setUp(_ code: BackupError.Code? = nil) -> Monitor<Int> {
        let count = Monitor(0)
        test.services.state.withLock { state in
            state.photoCopies = copies
            state.starring = { (draft) throws(BackupError) in
                count.withLock { $0 += 1 }
                if let code { throw BackupError(code, "refused") }
                return try draft.sha256()
            }
        }
        return count
    }

    @Test func `a process that closes a file in the middle of the copy of another one decides nothing`() throws {
        let count = setUp()
        let open = try copy("a.jpg").open(flags: O_WRONLY, process: getppid())
        open.noteWriter(getpid())
        try write("photo", to: open)
        try open.flush(process: getppid())
        #expect(count.withLock { $0 } == 0)
        // The child that has written it is promised that it is kept.
        try open.flush(process: getpid())
        #expect(count.withLock { $0 } == 1)
        try open.flush(process: getppid())
        open.release()
        #expect(count.withLock { $0 } == 1)
        #expect(try FileSystem.names(in: copies.folder) == [])
    }

    @Test func `a part that a child has written is no failure, unless its parent closes the file, too`() throws {
        let count = setUp(.invalidArgument)
        let open = try copy("a.jpg").open(flags: O_WRONLY, process: getppid())
        open.noteWriter(getpid())
        try write("half", to: open)
        try open.flush(process: getpid())
        #expect(errorCode { try open.flush(process: getppid()) } == .invalidArgument)
        open.release()
        #expect(count.withLock { $0 } == 2)
        #expect(try FileSystem.names(in: copies.folder) == [])
        // Of a parent that is gone, there is no other close.
        let orphan = try copy("b.jpg").open(flags: O_WRONLY, process: try goneProcess())
        orphan.noteWriter(getpid())
        try write("half", to: orphan)
        #expect(errorCode { try orphan.flush(process: getpid()) } == .invalidArgument)
        orphan.release()
        #expect(try FileSystem.names(in: copies.folder) == [])
    }

    @Test(arguments: [BackupError.Code.invalidArgument, .noSpace])
    func `what no program knows to have failed is set aside`(code: BackupError.Code) throws {
        _ = setUp(.invalidArgument)
        let open = try copy("a.jpg").open(flags: O_WRONLY, process: getppid())
        open.noteWriter(getpid())
        try write("photo", to: open)
        try open.flush(process: getpid())
        _ = setUp(code)
        open.release()
        try copies.sweepDrafts()
        let names = try FileSystem.names(in: copies.folder).map(\.description)
        let name = try #require(names.first)
        #expect(names.count == 1 && name.hasSuffix(".unclaimed"))
        #expect(try readFile("\(copies.folder)/\(name)") == Array("photo".utf8))
        #expect(try copies.all() == [])
    }

    @Test func `what was removed on purpose is not set aside`() throws {
        _ = setUp(.invalidArgument)
        let photo = copy("a.jpg")
        let open = try photo.open(flags: O_WRONLY, process: getppid())
        open.noteWriter(getpid())
        try write("photo", to: open)
        try open.flush(process: getpid())
        #expect(photo.discard() == nil)
        open.release()
        #expect(try FileSystem.names(in: copies.folder) == [])
    }

    private static func star(_ path: String, _ text: String) -> StarredPhoto {
        let bytes = Array(text.utf8)
        let copy = StarredPhoto.Copy(
            sha256: SHA256Hasher.hash(bytes), sizeBytes: UInt64(bytes.count), modificationTime: Timestamp(seconds: 1_000))
        return StarredPhoto(path: path, name: FileName(path), status: "queued", starredAt: Timestamp(seconds: 2_000), copy: copy)
    }

    @Test func `a copy gets the name of its own star, also where nothing may be replaced`() throws {
        _ = setUp()
        test.services.state.withLock { $0.stars = [Self.star("a.jpg", "photo"), Self.star("b.jpg", "other")] }
        let folder = StarredFolder(inode: InodeNumber(7), context: context)
        let open = try folder.createFile(".a.part").open(flags: O_WRONLY, process: getpid())
        try write("photo", to: open)
        try open.flush(process: getpid())
        open.release()
        for mayReplace in [false, true] {
            let code = errorCode { try folder.rename(".a.part", to: "b.jpg", in: folder, mayReplace: mayReplace) }
            #expect(code == .alreadyExists)
        }
        try folder.rename(".a.part", to: "a.jpg", in: folder, mayReplace: false)
        #expect(context.copiedPhotos.sortedFiles.isEmpty)
        // One that has no bytes yet is no photo of that star.
        _ = try folder.createFile(".c.part").open(flags: O_WRONLY, process: getpid())
        #expect(errorCode { try folder.rename(".c.part", to: "a.jpg", in: folder, mayReplace: false) } == .alreadyExists)
    }

    @Test func `what reads whole photos does not wait among the requests that read none`() throws {
        _ = setUp()
        test.services.state.withLock { $0.stars = [Self.star("a.jpg", "photo")] }
        let tree = try test.remounted()
        let (folder, photo) = (try tree.find("photos/starred").inode, try tree.find("photos/starred/a.jpg").inode)
        #expect(tree.wait(of: photo, for: .content) == .checksums && tree.wait(of: photo, for: .attributes) == nil)
        // Closing what was only read, and removing stars, do not wait behind copies that are closed.
        #expect(tree.wait(of: photo, for: .closing) == nil && tree.wait(of: photo, for: .change) == .change)
        #expect(tree.wait(of: folder, for: .change) == .change && tree.wait(of: folder, for: .closing) == nil)
        let copy = try tree.createFile("b.jpg", in: folder, flags: O_WRONLY, process: getpid())
        #expect(tree.wait(of: copy.attributes.inode, for: .closing) == .star)
        #expect(tree.wait(of: copy.attributes.inode, for: .writing) == .drop)
        tree.release(copy.file.handle)
        #expect(tree.wait(of: .root, for: .closing) == nil)
    }

    private func goneProcess() throws -> Int32 {
        let result = try Job(["sh", "-c", "echo $$"], scratch: "\(test.path)/job").wait(limitSeconds: 60)
        return try #require(Int32(result.output.filter(\.isNumber)))
    }
}
