import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Work whose result is needed later.
@Suite struct BackgroundStepTests {
    @Test func `its result arrives, also an error`() throws {
        #expect(try BackgroundStep { () throws(BackupError) in 7 }.value() == 7)
        let failing = BackgroundStep { () throws(BackupError) -> Int in throw BackupError(.offline, "no answer") }
        #expect(errorCode { _ = try failing.value() } == .offline)
        // As often as it is asked for.
        #expect(errorCode { _ = try failing.value() } == .offline)
    }

    @Test func `it works at the same time as the thread that began it`() throws {
        let begun = Monitor(false)
        let mayEnd = Monitor(false)
        let step = BackgroundStep { () throws(BackupError) in
            begun.changeWakingAll { $0 = true }
            return mayEnd.wait(until: { $0 }, forNanoseconds: 60_000_000_000)
        }
        #expect(begun.wait(until: { $0 }, forNanoseconds: 60_000_000_000))
        mayEnd.changeWakingAll { $0 = true }
        #expect(try step.value())
    }

    @Test func `it ends with the operation that began it, and a wait with its own`() throws {
        let operation = Cancellation()
        let step = BackgroundStep(of: operation) { () throws(BackupError) in
            while true { try Cancellation.check() }
        }
        let waiting = Cancellation()
        waiting.request()
        #expect(errorCode { try waiting.run { () throws(BackupError) in _ = try step.resultUnlessCancelled() } } == .interrupted)
        operation.request()
        #expect(errorCode { try step.value() } == .interrupted)
    }
}
