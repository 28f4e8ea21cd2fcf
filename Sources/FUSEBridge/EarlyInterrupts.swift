import SystemIO

/// The latest requests that the kernel has interrupted: a request that another thread has just read may not be registered as waiting yet.
final class EarlyInterrupts: Sendable {
    private static let limit = 64
    private let numbers = Monitor<[UInt64]>([])

    func note(_ number: UInt64) {
        numbers.withLock { numbers in
            if numbers.count >= Self.limit { numbers.removeFirst() }
            numbers.append(number)
        }
    }

    func contains(_ number: UInt64) -> Bool { numbers.withLock { $0.contains(number) } }

    func remove(_ number: UInt64) { numbers.withLock { $0.removeAll { $0 == number } } }
}
