import BackupCore
import BackupRepository
import Synchronization
import TestSupport
import Testing

@testable import VirtualTree

/// `snapshots/latest` as the kernel may keep it: another link for each target.
struct LatestLinkTests {
    /// Notes which links are to be dropped, and how many had been noted when a change waited for that.
    private final class Observer: TreeObserver {
        let replaced = Mutex<[InodeNumber]>([])
        let waits = Mutex<[Int]>([])
        let notifiesOfLinks: Bool

        init(notifiesOfLinks: Bool = true) { self.notifiesOfLinks = notifiesOfLinks }

        func attributesChanged(_ inode: InodeNumber) {}
        func waitUntilNotified() {}
        func pendingEnded() {}
        func linkReplaced(_ inode: InodeNumber) { replaced.withLock { $0.append(inode) } }
        func waitUntilLinksNotified() {
            let count = replaced.withLock { $0.count }
            waits.withLock { $0.append(count) }
        }
    }

    private func target(_ tree: VirtualTree, _ inode: InodeNumber) throws -> String {
        String(decoding: try tree.readLink(inode), as: UTF8.self)
    }

    @Test func `each target is another link with the same number for users, and an earlier one has none`() throws {
        let test = try TestTree()
        let first = try test.tree.find("snapshots/latest")
        #expect(try target(test.tree, first.inode) == "second" && first.size == 6)
        #expect(try test.tree.find("snapshots/latest").inode == first.inode)
        let other = try Repository.open(at: test.path + "/repository")
        try other.renameSnapshot(try #require(other.snapshot(named: "second")).id, to: "renamed")
        #expect(errorCode { _ = try test.tree.readLink(first.inode) } == .stale)
        #expect(errorCode { _ = try test.tree.attributes(of: first.inode, handle: nil) } == .stale)
        let renamed = try test.tree.find("snapshots/latest")
        #expect(renamed.inode != first.inode && renamed.shownInode == first.shownInode && renamed.size == 7)
        #expect(try target(test.tree, renamed.inode) == "renamed")
        // The same name again is another link again.
        try other.refresh()
        try other.renameSnapshot(try #require(other.snapshot(named: "renamed")).id, to: "second")
        let again = try test.tree.find("snapshots/latest")
        #expect(Set([first.inode, renamed.inode, again.inode]).count == 3)
        #expect(errorCode { _ = try test.tree.readLink(first.inode) } == .stale)
        try other.refresh()
        try other.removeSnapshots(other.snapshots().map(\.id))
        #expect(errorCode { _ = try test.tree.readLink(again.inode) } == .notFound)
        #expect(errorCode { _ = try test.tree.attributes(of: again.inode, handle: nil) } == .notFound)
        #expect(errorCode { _ = try test.tree.find("snapshots/latest") } == .notFound)
    }

    /// The kernel asks for it when the link has changed between the look-ups of its two names.
    @Test func `it can be renamed to itself, and to nothing else`() throws {
        let test = try TestTree()
        let snapshots = try test.tree.find("snapshots").inode
        try test.tree.rename("latest", in: snapshots, to: "latest", in: snapshots, mayReplace: true)
        #expect(
            errorCode { try test.tree.rename("latest", in: snapshots, to: "x", in: snapshots, mayReplace: true) }
                == .notADirectory)
        #expect(
            errorCode { try test.tree.rename("latest", in: snapshots, to: "latest", in: snapshots, mayReplace: false) }
                == .notADirectory)
        #expect(try target(test.tree, test.tree.find("snapshots/latest").inode) == "second")
    }

    @Test func `a listing has the number that a lookup gives, also when the link has changed since`() throws {
        let test = try TestTree()
        let shown = try test.tree.find("snapshots/latest").shownInode
        func numbers(_ handle: HandleNumber, from offset: UInt64) throws -> [InodeNumber] {
            var numbers: [InodeNumber] = []
            try test.tree.readDirectory(handle, from: offset, countsLookUps: true) { name, attributes, _ in
                if name == "latest" { numbers.append(attributes.shownInode) }
                return true
            }
            return numbers
        }
        let handle = try test.tree.openDirectory(test.tree.find("snapshots").inode).handle
        #expect(try numbers(handle, from: 0) == [shown])
        let other = try Repository.open(at: test.path + "/repository")
        try other.renameSnapshot(try #require(other.snapshot(named: "second")).id, to: "renamed")
        #expect(try numbers(handle, from: 1) == [shown])
        test.tree.releaseDirectory(handle)
    }

    @Test func `the kernel may keep it only where changes are noticed and told`() throws {
        let test = try TestTree()
        func timeout() throws -> Double { try test.tree.find("snapshots/latest").entryTimeoutSeconds }
        #expect(try timeout() == 0)
        test.tree.setNotifiedOfChanges(true)
        #expect(try timeout() == 0)
        test.tree.setObserver(Observer(notifiesOfLinks: false))
        #expect(try timeout() == 0)
        test.tree.setObserver(Observer())
        #expect(try timeout() == 1)
        #expect(try test.tree.find("snapshots/latest").attributeTimeoutSeconds == 0)
        test.tree.setNotifiedOfChanges(false)
        #expect(try timeout() == 0)
    }

    @Test func `the previous link is dropped before a change is answered`() throws {
        let test = try TestTree()
        let observer = Observer()
        test.tree.setObserver(observer)
        let snapshots = try test.tree.find("snapshots").inode
        let first = try test.tree.find("snapshots/latest").inode
        func isDropped(_ change: () throws -> Void) throws -> Bool {
            let before = try test.tree.find("snapshots/latest").inode
            let count = observer.replaced.withLock { $0.count }
            observer.waits.withLock { $0 = [] }
            try change()
            // A wait after the notification, within the call.
            return observer.replaced.withLock { $0.last } == before && observer.waits.withLock { $0.last } == count + 1
        }
        #expect(try isDropped { _ = try test.tree.makeDirectory("new", in: snapshots) })
        #expect(try isDropped { try test.tree.rename("new", in: snapshots, to: "newer", in: snapshots, mayReplace: true) })
        #expect(try isDropped { try test.tree.removeDirectory("newer", in: snapshots) })
        // An older one changes nothing.
        #expect(try !isDropped { try test.tree.removeDirectory("first", in: snapshots) })
        let other = try Repository.open(at: test.path + "/repository")
        #expect(
            try isDropped {
                try other.renameSnapshot(try #require(other.snapshot(named: "second")).id, to: "third")
                _ = try test.tree.extendedAttribute("user.backupfs.generation", of: snapshots)
                observer.waitUntilLinksNotified()
            })
        #expect(observer.replaced.withLock { $0.first } == first && observer.replaced.withLock { Set($0).count } == 4)
    }

    @Test func `a backup that fails is no longer the newest when it is no longer pending`() throws {
        let test = try TestTree()
        let observer = Observer()
        test.tree.setObserver(observer)
        let gate = BackupGate()
        test.services.state.withLock { state in
            state.backupGate = gate
            state.makeDirectoryWaitSeconds = 0
        }
        let snapshots = try test.tree.find("snapshots").inode
        _ = try test.tree.makeDirectory("new", in: snapshots)
        let pending = try test.tree.find("snapshots/latest").inode
        #expect(try target(test.tree, pending) == "new")
        gate.open(BackupError(.inputOutput, "no disk"))
        test.tree.waitForBackups()
        #expect(observer.replaced.withLock { $0.last } == pending)
        #expect(try target(test.tree, test.tree.find("snapshots/latest").inode) == "second")
    }
}
