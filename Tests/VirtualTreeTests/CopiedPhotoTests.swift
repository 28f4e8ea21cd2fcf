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

    @Test func `a child that closes an inherited file decides nothing while its parent lives`() throws {
        let count = Atomic<Int>(0)
        test.services.state.withLock { state in
            state.photoCopies = copies
            state.starring = { (draft) throws(BackupError) in
                count.add(1, ordering: .relaxed)
                return try draft.sha256()
            }
        }
        let open = try copy("a.jpg").open(flags: O_WRONLY, process: getpid())
        try write("photo", to: open)
        try open.flush(process: getppid())
        #expect(count.load(ordering: .relaxed) == 0)
        open.release()
        #expect(count.load(ordering: .relaxed) == 1)
        // Of a parent that is gone, there is no other close.
        let orphan = try copy("b.jpg").open(flags: O_WRONLY, process: try goneProcess())
        try write("photo", to: orphan)
        try orphan.flush(process: getpid())
        #expect(count.load(ordering: .relaxed) == 2)
        orphan.release()
    }

    private func goneProcess() throws -> Int32 {
        let result = try Job(["sh", "-c", "echo $$"], scratch: "\(test.path)/job").wait(limitSeconds: 60)
        return try #require(Int32(result.output.filter(\.isNumber)))
    }
}
