import Testing

@testable import ObjectStorage

@Suite struct BandwidthLimitTests {
    private let second: UInt64 = 1_000_000_000

    @Test func `a debt is paid at the limit`() {
        var bucket = TokenBucket(bytesPerSecond: 1_000, now: 0)
        bucket.take(500, now: 0)
        #expect(bucket.delayNanoseconds(now: 0) == second / 2)
        #expect(bucket.delayNanoseconds(now: second / 4) == second / 4)
        bucket.take(1_000, now: second / 2)
        #expect(bucket.delayNanoseconds(now: second / 2) == second)
        #expect(bucket.delayNanoseconds(now: 3 * second / 2) == 0)
    }

    @Test func `at most a fifth of a second is saved`() {
        var bucket = TokenBucket(bytesPerSecond: 1_000, now: 0)
        bucket.take(200, now: 1_000 * second)
        #expect(bucket.delayNanoseconds(now: 1_000 * second) == 0)
        bucket.take(100, now: 1_000 * second)
        #expect(bucket.delayNanoseconds(now: 1_000 * second) == second / 10)
    }

    @Test func `a new limit counts for the debt that is there`() {
        var bucket = TokenBucket(bytesPerSecond: 1_000, now: 0)
        bucket.take(1_000, now: 0)
        bucket.change(bytesPerSecond: 2_000, now: second / 2)
        #expect(bucket.delayNanoseconds(now: second / 2) == second / 4)
        bucket.change(bytesPerSecond: nil, now: second / 2)
        #expect(bucket.delayNanoseconds(now: second / 2) == 0)
        bucket.take(1 << 40, now: second)
        #expect(bucket.delayNanoseconds(now: second) == 0)
    }

    @Test func `pieces are a tenth of a second`() {
        #expect(TokenBucket(bytesPerSecond: 1_000, now: 0).pieceSize(atMost: 65_536) == 100)
        #expect(TokenBucket(bytesPerSecond: 1, now: 0).pieceSize(atMost: 65_536) == 1)
        #expect(TokenBucket(bytesPerSecond: .max, now: 0).pieceSize(atMost: 65_536) == 65_536)
        #expect(TokenBucket(bytesPerSecond: nil, now: 0).pieceSize(atMost: 65_536) == 65_536)
    }

    @Test func `a transfer has stalled when it moves next to nothing for the limit`() {
        var timer = StallTimer(limitSeconds: 10, now: 0)
        var found = [(0, 9), (640, 10), (640, 19)].map { timer.hasStalled(movedBytes: $0, now: $1 * second) }
        timer.exclude(nanoseconds: 5 * second)
        found += [(640, 24), (1_279, 25)].map { timer.hasStalled(movedBytes: $0, now: $1 * second) }
        #expect(found == [false, false, false, false, true])
    }
}
