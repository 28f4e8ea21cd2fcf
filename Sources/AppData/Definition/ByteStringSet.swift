/// A fixed set of texts that is asked with bytes: no String is made, and two texts are the same only if their bytes are.
public final class ByteStringSet: Sendable {
    /// In the order given.
    public let members: [String]
    private let bytes: [UInt8]
    /// Where each member's bytes begin; one more at the end.
    private let starts: [Int]
    /// Hash table with open addressing: a member's index, or -1. At most half full.
    private let table: [Int]

    public init(_ members: [String]) {
        self.members = members
        var bytes: [UInt8] = []
        var starts = [0]
        var table = [Int](repeating: -1, count: max(2, members.count * 2))
        for (index, member) in members.enumerated() {
            let text = Array(member.utf8)
            bytes += text
            starts.append(bytes.count)
            var slot = text.withUnsafeBytes { Self.hash($0) } % table.count
            while table[slot] >= 0 { slot = (slot + 1) % table.count }
            table[slot] = index
        }
        self.bytes = bytes
        self.starts = starts
        self.table = table
    }

    public func contains(_ text: UnsafeRawBufferPointer) -> Bool {
        var slot = Self.hash(text) % table.count
        while true {
            let index = table[slot]
            if index < 0 { return false }
            if isEqual(index, text) { return true }
            slot += 1
            if slot == table.count { slot = 0 }
        }
    }

    public func contains(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { contains($0) } }

    private func isEqual(_ index: Int, _ text: UnsafeRawBufferPointer) -> Bool {
        let start = starts[index]
        guard starts[index + 1] - start == text.count else { return false }
        for offset in 0..<text.count where bytes[start + offset] != text[offset] { return false }
        return true
    }

    private static func hash(_ text: UnsafeRawBufferPointer) -> Int {
        // FNV-1a over the first bytes: the members are the definition's own words, so nobody can choose collisions.
        var hash: UInt32 = 2_166_136_261
        for index in 0..<min(24, text.count) { hash = (hash ^ UInt32(text[index])) &* 16_777_619 }
        return Int(hash)
    }
}
