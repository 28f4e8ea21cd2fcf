/// The photos of a list by the time when they were taken, the newest first; those without a date come last. It holds 8 bytes for
/// each photo.
public struct PhotoOrder: Sendable {
    /// A photo, and where it belongs.
    public struct Place: Sendable {
        /// In the list.
        public let index: Int32
        /// 202406; 0 for a photo without a date.
        public let month: UInt32
    }

    /// Photos of the same second are in the order of the list.
    public let places: [Place]

    /// Reads no line of the list.
    public init(of list: PhotoIndex) {
        let items = list.items
        let order = items.indices.map { Int32($0) }.sorted { left, right in
            let (one, other) = (items[Int(left)], items[Int(right)])
            if (one.second < 0) != (other.second < 0) { return other.second < 0 }
            if one.second < 0 { return left < right }
            if one.day != other.day { return one.day > other.day }
            return one.second == other.second ? left < right : one.second > other.second
        }
        places = order.map { index in
            let item = items[Int(index)]
            return Place(index: index, month: item.second < 0 ? 0 : item.day / 100)
        }
    }
}
