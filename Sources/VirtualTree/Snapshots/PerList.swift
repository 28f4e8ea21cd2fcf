import BackupRepository
import Synchronization

/// A value derived from the list of snapshots, computed once for each list: with 10,000 backups, a listing uses the same one 10,000 times.
final class PerList<Value: Sendable>: Sendable {
    private let known = Mutex<(list: [Snapshot], value: Value)?>(nil)

    func value(for list: [Snapshot], _ make: ([Snapshot]) -> Value) -> Value {
        if let known = known.withLock({ $0 }), known.list.sharesStorage(with: list) { return known.value }
        let value = make(list)
        known.withLock { $0 = (list, value) }
        return value
    }
}

extension [Snapshot] {
    /// Whether it is a copy of the same array, without comparing elements. Neither can have changed while both exist.
    func sharesStorage(with other: [Snapshot]) -> Bool {
        count == other.count
            && withUnsafeBufferPointer { own in other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress } }
    }
}
