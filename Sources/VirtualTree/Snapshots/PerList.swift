import BackupRepository
import Synchronization

/// Something that is made of the list of snapshots, once for each list: with 10,000 backups a listing looks 10,000 times at the same one.
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
    /// Whether it is a copy of the same array, which costs no look at its elements. It cannot have changed while both are there.
    func sharesStorage(with other: [Snapshot]) -> Bool {
        count == other.count
            && withUnsafeBufferPointer { own in other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress } }
    }
}
