extension Array {
    /// Frees unused capacity. An array that grew may have twice the capacity it needs; only a copy can release it.
    public mutating func trim() {
        guard capacity > count + count / 8 else { return }
        self = [Element](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            _ = buffer.initialize(from: self)
            initializedCount = count
        }
    }
}
