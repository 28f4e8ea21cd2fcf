import BackupCore
import TestSupport
import Testing

@testable import SystemIO

/// Work of several threads that fails: what waits for it goes on, and gets the first error (U-A5, U-A6).
struct WorkGroupTests {
    private static let limitSeconds: UInt64 = 20

    /// Blocks, and lanes in which they wait, behind work that waits for a gate and then fails.
    private final class Scene: Sendable {
        let gate = Monitor(false)
        let pool: WorkerPool
        let group: WorkGroup
        let blocks = BlockPool(blockSizeBytes: 4096, limit: 3)
        let lane: SerialLane

        init(threadCount: Int) {
            pool = WorkerPool(threadCount: threadCount, queueLimit: 16)
            group = WorkGroup(pool)
            lane = SerialLane(group)
        }

        func fill() {
            for _ in 0..<3 {
                let block = blocks.take()
                lane.submit { _ = block.count }
            }
        }
    }

    @Test func `a failure gives back what lanes hold that have not begun (U-A5)`() throws {
        let taken = try TimeLimit.run(seconds: Self.limitSeconds) {
            let scene = Scene(threadCount: 1)
            scene.group.submit { () throws(BackupError) in
                scene.gate.wait(until: { $0 }) { _ in }
                throw BackupError(.noSpace, "full")
            }
            scene.fill()
            scene.gate.changeWakingAll { $0 = true }
            let block = scene.blocks.take()
            defer { withExtendedLifetime(block) {} }
            return errorCode { try scene.group.wait() }
        }
        #expect(taken == .noSpace)
    }

    @Test(arguments: [0, 1, 3]) func `bytes are taken when there is room, and what holds them is run meanwhile`(threadCount: Int)
        throws
    {
        let peak = try TimeLimit.run(seconds: Self.limitSeconds) {
            let scene = Scene(threadCount: threadCount)
            let budget = ByteBudget(limitBytes: 10)
            for _ in 0..<100 {
                let share = scene.group.share([1, 2, 3, 4], of: budget)
                scene.group.submit { _ = share.bytes }
            }
            // Alone, whatever its size.
            let share = scene.group.share([UInt8](repeating: 0, count: 20), of: budget)
            try? scene.group.wait()
            return [budget.peakByteCount, share.bytes.count]
        }
        #expect(peak == [20, 20])
    }

    @Test func `a thread that waits for room goes on when another one makes some, and after a failure`() throws {
        let code = try TimeLimit.run(seconds: Self.limitSeconds) {
            let scene = Scene(threadCount: 1)
            let budget = ByteBudget(limitBytes: 10)
            var first: ByteBudget.Share? = scene.group.share([UInt8](repeating: 1, count: 8), of: budget)
            scene.group.submit { [first] in
                scene.gate.wait(until: { $0 }) { _ in }
                _ = first?.bytes
            }
            first = nil
            let opener = try SystemThread { scene.gate.changeWakingAll { $0 = true } }
            let second = scene.group.share([UInt8](repeating: 2, count: 9), of: budget)
            opener.join()
            let failing = try SystemThread { scene.group.fail(BackupError(.noSpace, "full")) }
            let third = scene.group.share([UInt8](repeating: 3, count: 9), of: budget)
            failing.join()
            defer { withExtendedLifetime((second, third)) {} }
            return errorCode { try scene.group.wait() }
        }
        #expect(code == .noSpace)
    }

    @Test func `a lane whose work failed lets go of what comes after it (U-A5)`() throws {
        let codes = try TimeLimit.run(seconds: Self.limitSeconds) {
            let scene = Scene(threadCount: 2)
            scene.lane.submit { () throws(BackupError) in throw BackupError(.inputOutput, "first") }
            // More than there are blocks, whatever the lane does meanwhile.
            for _ in 0..<20 {
                let block = scene.blocks.take()
                scene.lane.submit { () throws(BackupError) in
                    _ = block.count
                    throw BackupError(.invalidArgument, "later")
                }
            }
            return errorCode { try scene.group.wait() }
        }
        #expect(codes == .inputOutput)
    }

    /// As on a machine that refuses to start threads: the thread that waits for a block does the work that holds it.
    @Test func `one thread alone gets its blocks back (U-A5)`() throws {
        let sum = try TimeLimit.run(seconds: Self.limitSeconds) {
            let scene = Scene(threadCount: 0)
            let sum = Monitor(0)
            for number in 1...50 {
                let block = scene.group.take(from: scene.blocks)
                block.count = number
                scene.lane.submit { sum.changeWakingAll { $0 += block.count } }
            }
            try scene.group.wait()
            return sum.withLock { $0 }
        }
        #expect(sum == 1275)
    }
}
