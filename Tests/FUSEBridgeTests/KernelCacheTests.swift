import BackupCore
import Glibc
import TestSupport
import Testing
import VirtualTree

@testable import FUSEBridge

/// What the kernel caches, and how the mount invalidates it.
@Suite(.serialized, .disabled(if: Machine.skipsMountedTests, "BACKUPFS_SKIP_MOUNTED_TESTS=1: NO MOUNT IS TESTED"))
struct KernelCacheTests {
    private static let hour = 3600.0

    @Test func `a name that stays absent is asked once`() throws {
        let mount = try MountedTree()
        _ = try mount.sh("cd $M; for i in 1 2 3 4 5; do stat never-here; stat perhaps; done")
        let asked = mount.tree.state.withLock { $0.lookedUp }
        // Once more if another suite has the kernel let go of what it keeps just then.
        #expect((1...2).contains(asked.filter { $0 == "never-here" }.count))
        #expect(asked.filter { $0 == "perhaps" }.count == 5)
    }

    @Test func `a listing that stays is read once, with all there is to know of its files`() throws {
        let tree = MemoryTree(timeoutSeconds: Self.hour, keepsListings: true)
        for number in 0..<3000 { tree.add(FileName("file-\(number)"), .file([1, 2, 3])) }
        let mount = try MountedTree(tree)
        #expect(try mount.output("find $M -type f -size 3c | wc -l") == "3000\n")
        let (listings, lookUps) = tree.state.withLock { ($0.listingCount, $0.lookedUp.count) }
        // Each answer of some hundred names is one reading; the attributes come with the names.
        #expect((2...60).contains(listings) && lookUps == 0)
        // Another suite drops the kernel's caches once; what is never cached is read each time.
        var isKept = false
        for _ in 0..<4 where !isKept {
            let before = tree.state.withLock { $0.listingCount }
            #expect(try mount.output("find $M -type f -size 3c | wc -l; ls $M | wc -l") == "3000\n3000\n")
            isKept = tree.state.withLock { $0.listingCount } == before
        }
        #expect(isKept)
        #expect(tree.state.withLock { $0.lookedUp.count } == 0)
    }

    @Test func `the kernel reads again what it is asked to invalidate`() throws {
        let tree = MemoryTree(timeoutSeconds: Self.hour)
        let changed = tree.add("changed", .file([1]))
        let mount = try MountedTree(tree)
        #expect(try mount.output("stat -c %s $M/changed") == "1\n")
        tree.state.withLock { $0.nodes[changed]?.content = .file([1, 2, 3]) }
        // An hour has not passed.
        #expect(try mount.output("stat -c %s $M/changed") == "1\n")
        let observer = try #require(tree.state.withLock { $0.observer })
        observer.attributesChanged(changed)
        // What the kernel does not know is no error.
        observer.attributesChanged(InodeNumber(99))
        observer.waitUntilNotified()
        #expect(try mount.output("stat -c %s $M/changed") == "3\n")
        #expect(try mount.end() == .requested)
        // There is no observer any more, which is not an error.
        #expect(tree.state.withLock { $0.observer == nil })
        observer.attributesChanged(changed)
        observer.waitUntilNotified()
    }

    @Test func `the kernel caches the target of a link until it is invalidated`() throws {
        let tree = MemoryTree(timeoutSeconds: Self.hour)
        let link = tree.add("link", .symbolicLink(Array("one".utf8)))
        let mount = try MountedTree(tree)
        func target() throws -> String { try mount.output("readlink $M/link") }
        #expect(try target() == "one\n")
        tree.state.withLock { $0.nodes[link]?.content = .symbolicLink(Array("two".utf8)) }
        let observer = try #require(tree.state.withLock { $0.observer })
        #expect(observer.notifiesOfLinks)
        // Another suite may have the kernel let go of what it keeps just then.
        #expect(try ["one\n", "two\n"].contains(target()))
        for number in 0..<50 {
            let next = "n\(number % 10)x"
            tree.state.withLock { $0.nodes[link]?.content = .symbolicLink(Array(next.utf8)) }
            observer.linkReplaced(link)
            observer.waitUntilLinksNotified()
            #expect(try target() == next + "\n")
        }
        // What the kernel does not know is no error.
        observer.linkReplaced(InodeNumber(99))
        observer.waitUntilNotified()
        #expect(try mount.end() == .requested)
    }

    @Test func `a mount that has much to tell ends at once`() throws {
        let mount = try MountedTree()
        let observer = try #require(mount.tree.state.withLock { $0.observer })
        for number in 0..<20_000 { observer.attributesChanged(InodeNumber(UInt64(number))) }
        #expect(try mount.end() == .requested)
    }
}
