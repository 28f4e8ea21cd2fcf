extension Array {
    /// Gives back the room for more elements. An array that grew has up to as much again; copying it is the one way to be rid of that.
    public mutating func trim() {
        guard capacity > count + count / 8 else { return }
        self = [Element](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            _ = buffer.initialize(from: self)
            initializedCount = count
        }
    }
}
