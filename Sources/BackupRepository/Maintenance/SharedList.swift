import Synchronization

/// A list that several threads append to.
final class SharedList<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])

    func append(_ value: Value) { list.withLock { $0.append(value) } }

    var values: [Value] { list.withLock { $0 } }
}
