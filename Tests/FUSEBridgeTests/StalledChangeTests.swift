import Glibc
import TestSupport
import Testing

@testable import FUSEBridge
@testable import SystemIO

@Suite(.serialized, .disabled(if: Machine.skipsMountedTests, "BACKUPFS_SKIP_MOUNTED_TESTS=1: NO MOUNT IS TESTED"))
struct StalledChangeTests {
    @Test func `a change that stalls blocks listings of its folder only for a moment, and its error is no promise`() throws {
        let tree = MemoryTree()
        tree.add("folder", .directory([:]))
        let mount = try MountedTree(tree)
        tree.stalls.withLock { $0.doStall = true }
        let removal = Monitor<(exitCode: Int32, output: String)?>(nil)
        let thread = try SystemThread { [path = mount.path] in
            let result = try? TestMachine.sh("rmdir $M/folder", mountpoint: path)
            removal.changeWakingAll { $0 = result }
        }
        defer {
            tree.stalls.changeWakingAll { $0.doStall = false }
            thread.join()
        }
        #expect(tree.stalls.wait(until: { $0.count == 1 }, forNanoseconds: 10_000_000_000))
        let began = SystemClock.monotonicNanoseconds()
        #expect(try mount.output("ls $M") == "folder\n")
        // It was ten to fifteen.
        #expect(SystemClock.monotonicNanoseconds() - began < 6_000_000_000)
        #expect(removal.wait(until: { $0 != nil }, forNanoseconds: 1_000_000_000))
        #expect(removal.withLock { $0?.output.contains("Input/output error") } == true)
        // The storage answers again, and the change is made.
        tree.stalls.changeWakingAll { $0.doStall = false }
        for _ in 0..<1_000 where try mount.sh("test -e $M/folder").exitCode == 0 { usleep(10_000) }
        #expect(try mount.output("ls $M") == "")
    }
}
