import BackupCore
import Foundation
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// The drop folder's protocol: what hands a file in, what does not, and what becomes of it.
struct DropTests {
    private static let myself = getpid()
    /// Another process that is there: the first one of the system.
    private static let child: Int32 = 1

    private static func create(
        _ tree: VirtualTree, _ name: String, in folder: String = "restore", flags: Int32 = O_RDWR | O_CREAT
    ) throws(BackupError) -> HandleNumber {
        try tree.createFile(FileName(name), in: tree.find(folder).inode, flags: flags, process: myself).file.handle
    }

    @Test func `closing hands in, and the answer is the verdict`() throws {
        let test = try TestTree()
        try test.tree.drop("whole.", at: "restore/a.json")
        #expect(test.services.submissions == ["restore a.json: whole."])
        #expect(errorCode { try test.tree.drop("half", at: "restore/b.json") } == .invalidContent)
        #expect(try test.tree.attribute("user.backupfs.error", "restore/b.json") == "it does not end with a full stop")
        #expect(
            errorCode { _ = try test.tree.attribute("user.backupfs.error", "restore/a.json") }
                == .noAttribute)
        for code in [BackupError.Code.busy, .noSpace, .damagedContent, .unsupportedVersion, .tooLarge] {
            test.services.refuse(code)
            #expect(errorCode { try test.tree.drop("\(code).", at: "restore/c.json") } == code)
        }
        // Names stay listed, with their content.
        #expect(try test.tree.names("restore") == ["preview", "merge", "a.json", "b.json", "c.json"])
        #expect(try test.tree.content("restore/a.json") == Array("whole.".utf8))
    }

    @Test func `nothing written hands nothing in`() throws {
        let test = try TestTree()
        let tree = test.tree
        let handle = try Self.create(tree, "touched")
        try tree.flush(handle, process: Self.myself)
        try tree.flush(handle, process: Self.child)
        tree.release(handle)
        let again = try tree.openFile(tree.find("restore/touched").inode, flags: O_RDONLY, process: Self.myself)
        try tree.flush(again.handle, process: Self.myself)
        tree.release(again.handle)
        #expect(test.services.submissions == [])
        #expect(try tree.find("restore/touched").size == 0)
        // ERR-01: reported once, and not again by a later look.
        #expect(test.services.emptyDrops == ["touched"])
    }

    @Test func `a flush after the verdict says nothing more`() throws {
        let test = try TestTree()
        let tree = test.tree
        let handle = try Self.create(tree, "x")
        try tree.write("half", to: handle)
        #expect(errorCode { try tree.flush(handle, process: Self.myself) } == .invalidContent)
        try tree.flush(handle, process: Self.myself)
        try tree.flush(handle, process: Self.child)
        #expect(test.services.submissions.count == 1)
        // What is written later completes it, and the same descriptor hands it in again.
        try tree.write(" and whole.", to: handle, at: 4)
        try tree.flush(handle, process: Self.myself)
        #expect(test.services.submissions.last == "restore x: half and whole.")
        #expect(
            errorCode { _ = try tree.attribute("user.backupfs.error", "restore/x") } == .noAttribute)
        tree.release(handle)
    }

    @Test func `a child hands in what is whole, and lets be what is not`() throws {
        let test = try TestTree()
        let tree = test.tree
        let handle = try Self.create(tree, "x")
        try tree.write("first half", to: handle)
        try tree.flush(handle, process: Self.child)
        #expect(test.services.submissions == [])
        try tree.write(", second half.", to: handle, at: 10)
        try tree.flush(handle, process: Self.child)
        #expect(test.services.submissions == ["restore x: first half, second half."])
        // The opener's own close comes last and finds nothing left to judge.
        try tree.flush(handle, process: Self.myself)
        #expect(test.services.submissions.count == 1)
        tree.release(handle)
        // What children left incomplete is judged by the opener.
        let other = try Self.create(tree, "y")
        try tree.write("half", to: other)
        try tree.flush(other, process: Self.child)
        #expect(errorCode { try tree.flush(other, process: Self.myself) } == .invalidContent)
        tree.release(other)
    }

    /// As with `/proc` mounted `hidepid=2`: there is no process of these numbers.
    @Test(arguments: [(Int32.max, Int32.max - 1), (getpid(), .max), (.max, 1)])
    func `T-B6: a program that cannot be examined gets the refusal`(opener: Int32, closer: Int32) throws {
        let test = try TestTree()
        let tree = test.tree
        let flags = O_RDWR | O_CREAT
        let handle = try tree.createFile("x.json", in: tree.find("restore").inode, flags: flags, process: opener).file.handle
        try tree.write("half", to: handle)
        #expect(errorCode { try tree.flush(handle, process: closer) } == .invalidContent)
        // The rest may still come.
        try tree.write(".", to: handle, at: 4)
        try tree.flush(handle, process: closer)
        #expect(test.services.submissions == ["restore x.json: half", "restore x.json: half."])
        tree.release(handle)
    }

    @Test(arguments: [("restore", "restore/preview"), ("restore/preview", "restore"), ("restore", "restore/merge")])
    func `T-B4: a file that is being written keeps its meaning`(old: String, new: String) throws {
        let test = try TestTree()
        let tree = test.tree
        let handle = try Self.create(tree, "x.json", in: old)
        try tree.write("one.", to: handle)
        let (from, to) = (try tree.find(old).inode, try tree.find(new).inode)
        #expect(errorCode { try tree.rename("x.json", in: from, to: "x.json", in: to, mayReplace: true) } == .busy)
        #expect(test.services.submissions == [])
        // Within its folder it may go.
        try tree.rename("x.json", in: from, to: "y.json", in: from, mayReplace: true)
        try tree.write("two.", to: handle, at: 4)
        try tree.flush(handle, process: Self.myself)
        #expect(test.services.submissions.last?.hasSuffix(": one.two.") == true)
        let count = test.services.submissions.count
        try tree.rename("y.json", in: from, to: "x.json", in: to, mayReplace: true)
        #expect(test.services.submissions.count == count + 1)
        tree.release(handle)
    }

    @Test func `another thread of the opener is the opener`() throws {
        let test = try TestTree()
        let tree = test.tree
        let handle = try Self.create(tree, "x")
        try tree.write("half", to: handle)
        let code = Mutex<BackupError.Code?>(nil)
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            let number = link.flatMap { Int32($0.split(separator: "/").last ?? "") } ?? 0
            let found = errorCode { try tree.flush(handle, process: number) }
            code.withLock { $0 = found }
            done.signal()
        }
        thread.start()
        done.wait()
        #expect(code.withLock { $0 } == .invalidContent)
        tree.release(handle)
    }

    @Test func `the same content is not handed in twice, but a new copy of it is`() throws {
        let test = try TestTree()
        let tree = test.tree
        let handle = try Self.create(tree, "x")
        try tree.write("whole.", to: handle)
        try tree.flush(handle, process: Self.myself)
        // Written again as it was, by a program that syncs and closes twice.
        try tree.write("whole.", to: handle)
        try tree.flush(handle, process: Self.myself)
        #expect(test.services.submissions.count == 1)
        tree.release(handle)
        // A second copy over the first one asks for a second restore.
        let second = try tree.openFile(tree.find("restore/x").inode, flags: O_WRONLY | O_TRUNC, process: Self.myself)
        try tree.write("whole.", to: second.handle)
        try tree.flush(second.handle, process: Self.myself)
        tree.release(second.handle)
        #expect(test.services.submissions == ["restore x: whole.", "restore x: whole."])
    }

    @Test func `truncating is writing`() throws {
        let test = try TestTree()
        let tree = test.tree
        try tree.drop("whole. and more", at: "restore/.x")
        let inode = try tree.find("restore/.x").inode
        #expect(try tree.setAttributes(of: inode, to: AttributeChange(size: 6), handle: nil).size == 6)
        try tree.rename(".x", in: tree.find("restore").inode, to: "x", in: tree.find("restore").inode, mayReplace: true)
        #expect(test.services.submissions == ["restore x: whole."])
        let file = try tree.openFile(inode, flags: O_RDWR, process: Self.myself)
        _ = try tree.setAttributes(of: inode, to: AttributeChange(size: 5), handle: file.handle)
        #expect(errorCode { try tree.flush(file.handle, process: Self.myself) } == .invalidContent)
        tree.release(file.handle)
    }

    @Test(arguments: [".x.json.Ab12Cd", "x.json.part", "x.json.partial", "x.zip.crdownload", "x.tmp", "x.json~", "X.PART"])
    func `unfinished names are kept and not handed in, until they get a final name`(name: String) throws {
        let test = try TestTree()
        let tree = test.tree
        let folder = try tree.find("restore").inode
        try tree.drop("half", at: "restore/\(name)")
        #expect(test.services.submissions == [])
        // Refused under its final name: it keeps the old one.
        #expect(
            errorCode {
                try tree.rename(FileName(name), in: folder, to: "x.json", in: folder, mayReplace: true)
            } == .invalidContent)
        #expect(try tree.names("restore") == ["preview", "merge", name])
        let file = try tree.openFile(tree.find("restore/\(name)").inode, flags: O_RDWR, process: Self.myself)
        try tree.write(".", to: file.handle, at: 4)
        try tree.flush(file.handle, process: Self.myself)
        tree.release(file.handle)
        #expect(test.services.submissions.count == 1)
        try tree.rename(FileName(name), in: folder, to: "x.json", in: folder, mayReplace: true)
        #expect(test.services.submissions.last == "restore x.json: half.")
        #expect(try tree.names("restore") == ["preview", "merge", "x.json"])
        // From one final name to another nothing is handed in.
        try tree.rename("x.json", in: folder, to: "y.json", in: folder, mayReplace: true)
        #expect(test.services.submissions.count == 2)
    }

    @Test func `renaming over a file replaces it only when it was accepted`() throws {
        let test = try TestTree()
        let tree = test.tree
        let folder = try tree.find("restore").inode
        try tree.drop("old.", at: "restore/x")
        try tree.drop("half", at: "restore/.new")
        #expect(
            errorCode { try tree.rename(".new", in: folder, to: "x", in: folder, mayReplace: true) }
                == .invalidContent)
        #expect(try tree.content("restore/x") == Array("old.".utf8))
        try tree.drop("new.", at: "restore/.newer")
        #expect(
            errorCode { try tree.rename(".newer", in: folder, to: "x", in: folder, mayReplace: false) }
                == .alreadyExists)
        try tree.rename(".newer", in: folder, to: "x", in: folder, mayReplace: true)
        #expect(try tree.content("restore/x") == Array("new.".utf8))
        #expect(try tree.names("restore") == ["preview", "merge", ".new", "x"])
        // Two files, and a note for the one that is kept when the mount ends.
        let spooled = try FileManager.default.contentsOfDirectory(atPath: test.services.spoolPath)
        #expect(spooled.count == 3 && spooled.count { $0.hasSuffix(".left") } == 1)
    }

    @Test func `a folder for a strategy hands in with it, and only those are there that the app has`() throws {
        let test = try TestTree()
        let tree = test.tree
        try tree.drop("whole.", at: "restore/merge/x.json")
        #expect(test.services.submissions == [#"strategy("merge") x.json: whole."#])
        #expect(try tree.names("restore/merge") == ["x.json"])
        #expect(errorCode { try tree.drop("half", at: "restore/merge/y.json") } == .invalidContent)
        #expect(errorCode { _ = try tree.find("restore/skip") } == .notFound)
        // A strategy that is not there is no file's name: it would be restored with another one.
        for name in ["skip", "replace", "merge"] {
            #expect(errorCode { _ = try Self.create(tree, name) } == .readOnly, "\(name)")
        }
        // Moved to where it means something else, it is handed in again.
        let (merge, restore) = try (tree.find("restore/merge").inode, tree.find("restore").inode)
        try tree.rename("x.json", in: merge, to: "x.json", in: restore, mayReplace: true)
        #expect(test.services.submissions.last == "restore x.json: whole.")
        try tree.rename("x.json", in: restore, to: "x.json", in: merge, mayReplace: true)
        #expect(test.services.submissions.last == #"strategy("merge") x.json: whole."#)
        #expect(errorCode { _ = try tree.makeDirectory("z", in: merge) } == .notPermitted)
        #expect(errorCode { try tree.removeDirectory("merge", in: restore) } == .readOnly)
    }

    @Test func `a preview tells, and restores when it is moved`() throws {
        let test = try TestTree()
        let tree = test.tree
        try tree.drop("whole.", at: "restore/preview/x.json")
        #expect(test.services.submissions == ["preview x.json: whole."])
        #expect(try tree.names("restore/preview") == ["x.json.preview.json", "x.json.preview.txt", "x.json"])
        #expect(try tree.content("restore/preview/x.json.preview.txt") == Array("fine: whole.".utf8))
        let (preview, restore) = try (tree.find("restore/preview").inode, tree.find("restore").inode)
        try tree.rename("x.json", in: preview, to: "x.json", in: restore, mayReplace: true)
        #expect(test.services.submissions.last == "restore x.json: whole.")
        #expect(try tree.names("restore") == ["preview", "merge", "x.json"])
        #expect(try tree.names("restore/preview") == [])
        // Refused when it is moved: it stays a preview.
        try tree.drop("again.", at: "restore/preview/y.json")
        test.services.refuse(.busy)
        #expect(
            errorCode {
                try tree.rename("y.json", in: preview, to: "y.json", in: restore, mayReplace: true)
            } == .busy)
        #expect(try tree.names("restore/preview").contains("y.json"))
        #expect(try !tree.names("restore").contains("y.json"))
        test.services.refuse(nil)
        #expect(errorCode { try tree.drop("half", at: "restore/preview/z") } == .invalidContent)
        let told = String(decoding: try tree.content("restore/preview/z.preview.txt"), as: UTF8.self)
        #expect(told.hasPrefix("z: cannot be restored. it does not end with a full stop"))
    }

    @Test func `names of our own and of others' habits`() throws {
        let test = try TestTree()
        test.services.state.withLock {
            $0.reports = [ReportText(name: "last.txt", content: [65], modificationTime: Timestamp(seconds: 5))]
        }
        let tree = test.tree
        let (preview, restore) = try (tree.find("restore/preview").inode, tree.find("restore").inode)
        #expect(try tree.names("restore") == ["preview", "merge", "last.txt"])
        #expect(try tree.content("restore/last.txt") == [65])
        for name in ["last.json", "last.txt", "preview"] {
            #expect(errorCode { _ = try Self.create(tree, name) } == .readOnly, "\(name)")
        }
        for name in [".Trash-1000", ".Trash", "a/b", ""] {
            #expect(errorCode { _ = try Self.create(tree, name) } == .notPermitted, "\(name)")
        }
        #expect(
            errorCode { _ = try Self.create(tree, "a.preview.txt", in: "restore/preview") } == .readOnly
        )
        try tree.drop("x.", at: "restore/x")
        for name in ["last.json", "preview"] {
            #expect(
                errorCode {
                    try tree.rename("x", in: restore, to: FileName(name), in: restore, mayReplace: true)
                } == .readOnly)
        }
        #expect(
            errorCode {
                try tree.rename("x", in: restore, to: "y.preview.json", in: preview, mayReplace: true)
            } == .readOnly)
        #expect(
            errorCode { try tree.rename("x", in: restore, to: "x", in: .root, mayReplace: true) }
                == .readOnly)
        #expect(errorCode { try tree.removeFile("last.txt", in: restore) } == .readOnly)
        #expect(errorCode { try tree.removeFile("none", in: restore) } == .notFound)
        #expect(
            errorCode { try tree.rename("none", in: restore, to: "y", in: restore, mayReplace: true) }
                == .notFound)
        #expect(
            errorCode {
                try tree.rename("preview", in: restore, to: "y", in: restore, mayReplace: true)
            } == .readOnly)
    }

    @Test func `a file that is removed while it is open is not handed in, and leaves nothing in the spool`() throws {
        let test = try TestTree()
        let tree = test.tree
        let handle = try Self.create(tree, "x")
        try tree.write("whole.", to: handle)
        try tree.removeFile("x", in: tree.find("restore").inode)
        try tree.flush(handle, process: Self.myself)
        #expect(test.services.submissions == [])
        try tree.write("more", to: handle, at: 6)
        var buffer = [UInt8](repeating: 0, count: 20)
        #expect(try buffer.withUnsafeMutableBytes { try tree.read(handle, at: 0, into: $0) } == 10)
        tree.release(handle)
        #expect(try tree.names("restore") == ["preview", "merge"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: test.services.spoolPath) == [])
    }

    @Test func `times and modes that copy programs set last are kept`() throws {
        let test = try TestTree()
        let tree = test.tree
        try tree.drop("whole.", at: "restore/x")
        let inode = try tree.find("restore/x").inode
        let change = AttributeChange(
            permissions: 0o640, modificationTime: Timestamp(seconds: 42, nanoseconds: 7), changesOwner: true)
        let attributes = try tree.setAttributes(of: inode, to: change, handle: nil)
        #expect(attributes.permissions == 0o640)
        #expect(try tree.find("restore/x").modificationTime == Timestamp(seconds: 42, nanoseconds: 7))
        #expect(
            errorCode { try tree.setExtendedAttribute("user.x", of: inode, to: [1]) } == .notSupported)
        #expect(attributes.isImmutable == false && attributes.entryTimeoutSeconds == 0)
        #expect(test.services.submissions.count == 1)
    }

    @Test func `many files at once keep apart`() throws {
        let test = try TestTree()
        DispatchQueue.concurrentPerform(iterations: 24) { index in try? test.tree.drop("file \(index).", at: "restore/f\(index)")
        }
        #expect(test.services.submissions.sorted() == (0..<24).map { "restore f\($0): file \($0)." }.sorted())
    }
}
