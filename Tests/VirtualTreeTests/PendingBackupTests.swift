import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// Backups that are not finished when `mkdir` answers.
struct PendingBackupTests {
    /// A tree whose backups wait at a gate.
    private func withGate(waitSeconds: Double? = 0, _ body: (TestTree, BackupGate, InodeNumber) throws -> Void) throws {
        let test = try TestTree()
        let gate = BackupGate()
        test.services.state.withLock { state in
            state.backupGate = gate
            state.makeDirectoryWaitSeconds = waitSeconds
        }
        try body(test, gate, try test.tree.find("snapshots").inode)
        gate.open()
        test.tree.waitForBackups()
    }

    private func state(_ test: TestTree, _ inode: InodeNumber) throws -> String {
        String(decoding: try test.tree.extendedAttribute("user.backupfs.state", of: inode), as: UTF8.self)
    }

    @Test func `the folder is there at once, is pending, and has what the backup has when it is finished`() throws {
        try withGate { (test, gate, snapshots) throws in
            let made = try test.tree.makeDirectory("new", in: snapshots)
            #expect(made.kind == .directory && made.entryTimeoutSeconds == 0 && !made.isImmutable)
            #expect(test.tree.isPending(made.inode, forAttributes: false))
            let pending = try state(test, made.inode)
            #expect(pending == "pending")
            #expect(try test.tree.extendedAttributeNames(of: made.inode) == ["user.backupfs.pinned", "user.backupfs.state"])
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new", "second"])
            #expect(errorCode { _ = try test.tree.lookUp(".hidden", in: made.inode) } == .notFound)
            let file = try test.tree.lookUp("export.json", in: made.inode)
            let folder = try test.tree.lookUp("data", in: made.inode)
            #expect(file.kind == .file && folder.kind == .directory && file.entryTimeoutSeconds == 0)
            #expect(test.tree.isPending(file.inode, forAttributes: true) && !test.tree.isPending(made.inode, forAttributes: true))
            try test.tree.setExtendedAttribute("user.backupfs.pinned", of: made.inode, to: Array("1".utf8))
            #expect(try test.tree.names("exports").count == 2)
            // A script that goes on with `latest` gets what it has begun.
            #expect(try test.tree.readLink(test.tree.find("snapshots/latest").inode) == Array("new".utf8))
            gate.open()
            test.tree.waitForBackups()
            #expect(!test.tree.isPending(made.inode, forAttributes: false))
            let finished = try state(test, made.inode)
            #expect(finished == "finished")
            // What was looked up before is the file now, under the number that it has in the tree.
            let known = try test.tree.attributes(of: file.inode, handle: nil)
            let seen = try test.tree.lookUp("export.json", in: made.inode)
            #expect(known.inode == file.inode && known.shownInode == seen.inode && known.size == seen.size && seen.size > 10)
            #expect(try test.tree.lookUp("cars.json", in: folder.inode).kind == .file)
            #expect(try test.tree.attribute("user.backupfs.pinned", "snapshots/new") == "1")
            let found = try test.tree.find("snapshots/new")
            #expect(found.inode == made.inode && found.isImmutable)
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new", "second"])
            #expect(try test.tree.names("exports").count == 3)
            #expect(try test.tree.readLink(test.tree.find("snapshots/latest").inode) == Array("new".utf8))
        }
    }

    @Test func `what is not finished cannot be renamed, made twice or replaced`() throws {
        try withGate { (test, _, snapshots) throws in
            _ = try test.tree.makeDirectory("new", in: snapshots)
            #expect(errorCode { _ = try test.tree.makeDirectory("new", in: snapshots) } == .alreadyExists)
            #expect(
                errorCode { try test.tree.rename("new", in: snapshots, to: "other", in: snapshots, mayReplace: true) } == .busy)
            #expect(
                errorCode { try test.tree.rename("first", in: snapshots, to: "new", in: snapshots, mayReplace: true) }
                    == .alreadyExists)
            #expect(errorCode { try test.tree.removeFile("new", in: snapshots) } == .isADirectory)
        }
    }

    @Test func `one that fails goes, and a file says why until it is removed or the backup is made`() throws {
        try withGate { (test, gate, snapshots) throws in
            let made = try test.tree.makeDirectory("new", in: snapshots)
            gate.open(BackupError(.inputOutput, "no space", path: "/store", remedy: "Free space."))
            test.tree.waitForBackups()
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new.error.txt", "second"])
            #expect(
                String(decoding: try test.tree.content("snapshots/new.error.txt"), as: UTF8.self)
                    == "The backup new: no space\nFree space.\n/store\n")
            #expect(errorCode { _ = try test.tree.lookUp("export.json", in: made.inode) } == .inputOutput)
            #expect(errorCode { _ = try test.tree.openDirectory(made.inode) } == .inputOutput)
            #expect(try test.tree.readLink(test.tree.find("snapshots/latest").inode) == Array("second".utf8))
            try test.tree.removeFile("new.error.txt", in: snapshots)
            #expect(errorCode { try test.tree.removeFile("new.error.txt", in: snapshots) } == .notFound)

            // It may fail before it is answered.
            _ = try? test.tree.makeDirectory("new", in: snapshots)
            test.tree.waitForBackups()
            #expect(try test.tree.names("snapshots").contains("new.error.txt"))
            test.services.state.withLock { $0.backupGate = nil }
            _ = try test.tree.makeDirectory("new", in: snapshots)
            test.tree.waitForBackups()
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new", "second"])
        }
    }

    @Test func `one that lacks files is there, and a file says what it lacks`() throws {
        try withGate(waitSeconds: nil) { (test, gate, snapshots) throws in
            gate.open()
            test.services.state.withLock { $0.incompleteness = BackupError(.sourceUnreadable, "1 file is missing") }
            #expect(errorCode { _ = try test.tree.makeDirectory("new", in: snapshots) } == .sourceUnreadable)
            #expect(
                String(decoding: try test.tree.content("snapshots/new.error.txt"), as: UTF8.self)
                    == "The backup new: 1 file is missing\n")
            #expect(try test.tree.find("snapshots/new/export.json").kind == .file)
        }
    }

    @Test func `rmdir ends it, and nothing of it is left`() throws {
        try withGate { (test, _, snapshots) throws in
            let made = try test.tree.makeDirectory("new", in: snapshots)
            try test.tree.removeDirectory("new", in: snapshots)
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "second"])
            #expect(errorCode { _ = try test.tree.lookUp("export.json", in: made.inode) } == .notFound)
        }
    }

    @Test func `rmdir of one that is finished meanwhile under another name removes no other backup`() throws {
        try withGate { (test, _, snapshots) throws in
            test.services.state.withLock { $0.finishesWhenCancelled = true }
            _ = try test.tree.makeDirectory("new", in: snapshots)
            _ = try test.services.make("new", seconds: 2500)
            #expect(errorCode { try test.tree.removeDirectory("new", in: snapshots) } == .busy)
            test.tree.waitForBackups()
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new", "new_2", "second"])
        }
        // Under its own name it is removed, as any backup.
        try withGate { (test, _, snapshots) throws in
            test.services.state.withLock { $0.finishesWhenCancelled = true }
            _ = try test.tree.makeDirectory("new", in: snapshots)
            try test.tree.removeDirectory("new", in: snapshots)
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "second"])
        }
    }

    @Test(arguments: [true, false]) func `one that is there and not finished can be pinned and unpinned`(isPinned: Bool) throws {
        try withGate { (test, gate, snapshots) throws in
            let published = BackupGate()
            test.services.state.withLock { $0.publishedGate = published }
            defer { published.open() }
            let made = try test.tree.makeDirectory("new", in: snapshots)
            try test.tree.setExtendedAttribute("user.backupfs.pinned", of: made.inode, to: Array((isPinned ? "0" : "1").utf8))
            gate.open()
            for _ in 0..<60_000 where test.services.repository.snapshot(named: "new") == nil { usleep(1_000) }
            if isPinned {
                try test.tree.setExtendedAttribute("user.backupfs.pinned", of: made.inode, to: Array("1".utf8))
            } else {
                try test.tree.removeExtendedAttribute("user.backupfs.pinned", of: made.inode)
            }
            #expect(test.services.repository.snapshot(named: "new")?.isPinned == isPinned)
            #expect(try state(test, made.inode) == "pending")
            published.open()
            test.tree.waitForBackups()
            #expect(try test.tree.attribute("user.backupfs.pinned", "snapshots/new") == (isPinned ? "1" : "0"))
        }
    }

    @Test func `rmdir of one that is to be pinned is refused, and it goes on`() throws {
        try withGate { (test, gate, snapshots) throws in
            let made = try test.tree.makeDirectory("new", in: snapshots)
            try test.tree.setExtendedAttribute("user.backupfs.pinned", of: made.inode, to: Array("1".utf8))
            #expect(errorCode { try test.tree.removeDirectory("new", in: snapshots) } == .notPermitted)
            #expect(try state(test, made.inode) == "pending")
            gate.open()
            test.tree.waitForBackups()
            #expect(try test.tree.attribute("user.backupfs.pinned", "snapshots/new") == "1")
            #expect(errorCode { try test.tree.removeDirectory("new", in: snapshots) } == .notPermitted)
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new", "second"])
        }
        // Without its pin it can be ended.
        try withGate { (test, _, snapshots) throws in
            let made = try test.tree.makeDirectory("new", in: snapshots)
            try test.tree.setExtendedAttribute("user.backupfs.pinned", of: made.inode, to: Array("1".utf8))
            try test.tree.removeExtendedAttribute("user.backupfs.pinned", of: made.inode)
            try test.tree.removeDirectory("new", in: snapshots)
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "second"])
        }
    }

    @Test(arguments: [BackupError.Code.busy, .alreadyExists])
    func `mkdir tells by itself that the backup cannot begin, though it does not wait for it`(code: BackupError.Code) throws {
        try withGate { (test, _, snapshots) throws in
            let beginning = BackupGate()
            test.services.state.withLock { $0.beginningGate = beginning }
            let opener = try SystemThread {
                usleep(300_000)
                beginning.open(BackupError(code, "another one is in the way"))
            }
            #expect(errorCode { _ = try test.tree.makeDirectory("new", in: snapshots) } == code)
            opener.join()
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "second"])
        }
    }

    @Test func `one whose name another backup takes meanwhile goes on under the next name`() throws {
        try withGate { (test, gate, snapshots) throws in
            let made = try test.tree.makeDirectory("new", in: snapshots)
            try test.services.make("new", seconds: 2500)
            // Until it is finished it has the name.
            #expect(try test.tree.find("snapshots/new").inode == made.inode)
            gate.open()
            test.tree.waitForBackups()
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new", "new_2", "second"])
            #expect(try test.tree.find("snapshots/new_2").inode == made.inode)
            #expect(try test.tree.find("snapshots/new").inode != made.inode)
            #expect(try test.tree.readLink(test.tree.find("snapshots/latest").inode) == Array("new_2".utf8))
            let text = String(decoding: try test.tree.content("snapshots/new_2/export.json"), as: UTF8.self)
            #expect(text == "{\"name\": \"new\"}\n")
        }
    }

    @Test func `a program that is ended while it waits cancels its backup`() throws {
        try withGate(waitSeconds: nil) { (test, _, snapshots) throws in
            let askedCount = Atomic(0)
            #expect(
                errorCode {
                    _ = try test.tree.makeDirectory("new", in: snapshots) {
                        askedCount.add(1, ordering: .relaxed).newValue > 2
                    }
                } == .interrupted)
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "second"])
        }
    }

    @Test func `errors that mkdir tells by itself leave no file`() throws {
        for code in [BackupError.Code.busy, .alreadyExists, .notPermitted, .noSpace, .interrupted] {
            try withGate(waitSeconds: nil) { (test, gate, snapshots) throws in
                gate.open(BackupError(code, "no"))
                #expect(errorCode { _ = try test.tree.makeDirectory("new", in: snapshots) } == code)
                #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "second"])
            }
        }
    }

    @Test func `each waiter learns when it has ended`() throws {
        final class Observer: TreeObserver {
            let endedCount = Atomic(0)
            func attributesChanged(_ inode: InodeNumber) {}
            func waitUntilNotified() {}
            func pendingEnded() { endedCount.add(1, ordering: .relaxed) }
        }
        try withGate { (test, gate, snapshots) throws in
            let observer = Observer()
            test.tree.setObserver(observer)
            let made = try test.tree.makeDirectory("new", in: snapshots)
            #expect(observer.endedCount.load(ordering: .relaxed) == 0)
            gate.open()
            test.tree.waitForBackups()
            #expect(observer.endedCount.load(ordering: .relaxed) == 1 && !test.tree.isPending(made.inode, forAttributes: false))
        }
    }

    @Test func `a long name leaves space for the file that says why`() throws {
        try withGate(waitSeconds: nil) { (test, gate, snapshots) throws in
            gate.open(BackupError(.inputOutput, "no disk"))
            let name = FileName(String(repeating: "ä", count: 127))
            #expect(errorCode { _ = try test.tree.makeDirectory(name, in: snapshots) } == .inputOutput)
            let files = try test.tree.names("snapshots").filter { $0.hasSuffix(".error.txt") }
            #expect(files.map(\.utf8.count) == [254] && files[0].hasPrefix("ää"))
        }
    }

    @Test func `a backup that is called like such a file stays in sight`() throws {
        try withGate(waitSeconds: nil) { (test, gate, snapshots) throws in
            try test.services.make("new.error.txt", seconds: 2500)
            gate.open(BackupError(.inputOutput, "no disk"))
            #expect(errorCode { _ = try test.tree.makeDirectory("new", in: snapshots) } == .inputOutput)
            #expect(try test.tree.names("snapshots").sorted() == ["first", "latest", "new.error.txt", "second"])
            #expect(try test.tree.find("snapshots/new.error.txt/export.json").kind == .file)
        }
    }
}
