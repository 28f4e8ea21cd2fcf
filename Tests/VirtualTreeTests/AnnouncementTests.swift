import BackupCore
import BackupRepository
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// What the observer is told when others change the repository.
struct AnnouncementTests {
    private final class Observer: TreeObserver {
        let news = Mutex<[String]>([])
        let waits = Mutex(0)

        func attributesChanged(_ inode: InodeNumber) { news.withLock { $0.append("attributes") } }
        func pendingEnded() {}
        func waitUntilNotified() { waits.withLock { $0 += 1 } }
        func take() -> [String] {
            news.withLock { news in
                defer { news = [] }
                return news.sorted()
            }
        }
    }

    @Test func `changes of the list are announced once`() throws {
        let test = try TestTree()
        let observer = Observer()
        test.tree.setObserver(observer)
        test.tree.lookForChanges()
        #expect(observer.take() == [])
        let other = try Repository.open(at: test.path + "/repository")
        try other.renameSnapshot(try #require(other.snapshot(named: "first")).id, to: "third")
        test.tree.lookForChanges()
        let attributes = ["attributes", "attributes", "attributes"]
        #expect(observer.take() == attributes)
        try other.refresh()
        try other.renameSnapshot(try #require(other.snapshot(named: "second")).id, to: "first")
        try other.removeSnapshot(try #require(other.snapshot(named: "third")).id)
        // A look finds it, as a change event of the system does.
        _ = try test.tree.names("exports")
        #expect(observer.take() == attributes)
        test.tree.lookForChanges()
        #expect(observer.take() == [])
        test.tree.setObserver(nil)
        try other.removeSnapshot(try #require(other.snapshot(named: "first")).id)
        test.tree.lookForChanges()
        #expect(observer.take() == [])
    }

    @Test func `reading the generation looks, tells and waits`() throws {
        let test = try TestTree()
        let observer = Observer()
        test.tree.setObserver(observer)
        let snapshots = try test.tree.find("snapshots").inode
        let before = try test.tree.extendedAttribute("user.backupfs.generation", of: snapshots)
        let other = try Repository.open(at: test.path + "/repository")
        try other.removeSnapshot(try #require(other.snapshot(named: "first")).id)
        #expect(observer.take() == [])
        let after = try test.tree.extendedAttribute("user.backupfs.generation", of: snapshots)
        #expect(observer.take().contains("attributes") && observer.waits.withLock { $0 } == 2)
        #expect(before == Array("1".utf8) && after == Array("2".utf8))
    }

    @Test func `names that are gone have expired when the generation is known`() throws {
        let test = try TestTree()
        let observer = Observer()
        test.tree.setObserver(observer)
        let snapshots = try test.tree.find("snapshots").inode
        _ = try test.tree.extendedAttribute("user.backupfs.generation", of: snapshots)
        let other = try Repository.open(at: test.path + "/repository")
        try other.removeSnapshot(try #require(other.snapshot(named: "first")).id)
        let begin = SystemClock.monotonicNanoseconds()
        #expect(try test.tree.extendedAttribute("user.backupfs.generation", of: snapshots) == Array("2".utf8))
        #expect(SystemClock.monotonicNanoseconds() - begin > 1_000_000_000)
        #expect(observer.take() == ["attributes", "attributes", "attributes"])
    }

    @Test func `what can never be there, what may come, and which listings stay`() throws {
        let tree = try TestTree().tree
        func timeout(_ name: FileName, _ folder: String) throws -> Double {
            tree.absenceTimeoutSeconds(of: name, in: try tree.find(folder).inode)
        }
        for name in [".Trash-0", ".hidden", "autorun.inf", ".xdg-volume-info", "none"] as [FileName] {
            #expect(try timeout(name, "") > 1e6 && timeout(name, "snapshots/first") > 1e6)
            #expect(try timeout(name, "snapshots/first/media/sub") > 1e6)
            let isHidden = name.bytes.first == UInt8(ascii: ".")
            for folder in ["snapshots", "exports", "safety", "live"] {
                #expect(try timeout(name, folder) == (isHidden ? 31_536_000 : 0))
            }
            #expect(try timeout(name, "live/media") == 0 && timeout(name, "restore") == 0)
        }
        for (folder, stays) in [
            ("", true), ("snapshots", false), ("snapshots/first", true), ("snapshots/first/media", true), ("exports", false),
            ("safety", false), ("live", false), ("live/media", false), ("restore", false), ("restore/preview", false),
        ] {
            let opened = try tree.openDirectory(tree.find(folder).inode)
            #expect(opened.keepsCache == stays, "\(folder)")
            tree.releaseDirectory(opened.handle)
        }
    }
}
