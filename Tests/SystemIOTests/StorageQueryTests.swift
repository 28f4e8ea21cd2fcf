import Synchronization
import SystemIO
import Testing

/// Questions to storage that may stall.
struct StorageQueryTests {
    /// Storage that can be stopped.
    private final class Storage: Sendable {
        let isStopped = Monitor(false)
        let askedCount = Atomic(0)

        func ask() -> Int {
            let number = askedCount.add(1, ordering: .sequentiallyConsistent).newValue
            isStopped.wait(until: { !$0 }) { _ in }
            return number
        }

        func stop(_ isStopped: Bool) { self.isStopped.changeWakingAll { $0 = isStopped } }
    }

    @Test func `each question is answered with what is so after it was asked`() {
        let storage = Storage()
        let question = StorageQuery(.ofMount) { storage.ask() }
        #expect(question.answer() == 1)
        #expect(question.answer() == 2)
    }

    @Test func `while storage stalls, one thread waits for it and no other does`() {
        let storage = Storage()
        let question = StorageQuery(StorageTimeout(nanoseconds: 50_000_000)) { storage.ask() }
        #expect(question.answer() == 1)
        storage.stop(true)
        #expect(question.answer() == nil)
        let start = SystemClock.monotonicNanoseconds()
        for _ in 0..<1_000 { #expect(question.answer() == nil) }
        #expect(SystemClock.monotonicNanoseconds() - start < 5_000_000_000)
        #expect(storage.askedCount.load(ordering: .sequentiallyConsistent) == 2)
        storage.stop(false)
        // The one that was stuck is not what a later question gets.
        #expect(question.answer(forNanoseconds: 60_000_000_000, evenIfOverdueFor: 60_000_000_000).map { $0 > 2 } == true)
        #expect(question.answer().map { $0 > 3 } == true)
    }

    @Test func `questions to the same storage share their patience`() {
        let storage = Storage()
        let patience = StorageTimeout(nanoseconds: 2_000_000_000)
        let first = StorageQuery(patience) { storage.ask() }
        let second = StorageQuery(patience) { storage.ask() }
        storage.stop(true)
        #expect(first.answer() == nil)
        let start = SystemClock.monotonicNanoseconds()
        #expect(second.answer() == nil)
        #expect(SystemClock.monotonicNanoseconds() - start < 1_500_000_000)
        storage.stop(false)
    }

    @Test func `a thread that goes on is waited for`() {
        let end = SystemClock.monotonicNanoseconds() + 500_000_000
        let question = StorageQuery(StorageTimeout(nanoseconds: 50_000_000)) {
            var turns = 0
            while SystemClock.monotonicNanoseconds() < end { turns += 1 }
            return turns
        }
        #expect(question.answer() != nil)
    }
}
