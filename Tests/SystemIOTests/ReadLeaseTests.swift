import BackupCore
import SystemIO
import TestSupport
import Testing

struct ReadLeaseTests {
    @Test func `a lease is refused while a program can write, and lost when one wants to`() throws {
        let folder = try TemporaryFolder()
        let path = folder("file")
        try writeFile(path, [1, 2, 3])
        let file = try SharedFile(path: path)
        do {
            let writer = try OwnedDescriptor.open(path, 2)
            #expect(ReadLease(file) == nil)
            try writer.synchronize()
        }
        let lease = try #require(ReadLease(file))
        #expect(lease.isHeld)
        // With O_NONBLOCK, the program does not wait.
        #expect(throws: BackupError.self) { _ = try OwnedDescriptor.open(path, 2 | 0o4000) }
        #expect(!lease.isHeld)
    }

    @Test func `a past time is over at once, and one that is hours ahead is not waited for`() {
        #expect(ReadLease.waitForTick(after: Timestamp(seconds: 0)))
        #expect(ReadLease.waitForTick(after: SystemClock.systemTime()))
        #expect(!ReadLease.waitForTick(after: SystemClock.systemTime().adding(seconds: 7_200)))
    }
}
