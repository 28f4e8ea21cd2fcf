import BackupCore

/// A fixed set of texts that is asked with bytes: no String is made, and two texts are the same only if their bytes are.
public struct ByteStringSet: Sendable {
    /// In the order given.
    public let members: [String]
    private let buckets: [[[UInt8]]]

    public init(_ members: [String]) {
        self.members = members
        var buckets = [[[UInt8]]](repeating: [], count: max(1, members.count * 2))
        for member in members {
            let bytes = Array(member.utf8)
            let bucket = bytes.withUnsafeBytes { Self.bucket(of: $0, count: buckets.count) }
            if !buckets[bucket].contains(bytes) { buckets[bucket].append(bytes) }
        }
        self.buckets = buckets
    }

    public func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
        buckets[Self.bucket(of: bytes, count: buckets.count)].contains { $0.elementsEqual(bytes) }
    }

    public func contains(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { contains($0) } }

    private static func bucket(of bytes: UnsafeRawBufferPointer, count: Int) -> Int {
        // FNV-1a over the first bytes: the members are the definition's own words, so nobody can choose collisions.
        var hash: UInt32 = 2_166_136_261
        for byte in bytes.prefix(24) { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int(hash % UInt32(count))
    }
}
