import AppData

/// Finds a member's field by the bytes of its name. Members mostly come in the definition's order, so the next one is tried first.
struct FieldNameTable {
    private let names: [UInt8]
    private let offsets: [Int]

    init(_ fields: [FieldDefinition]) {
        var names: [UInt8] = []
        var offsets = [0]
        for field in fields {
            names += field.name.utf8
            offsets.append(names.count)
        }
        self.names = names
        self.offsets = offsets
    }

    @inline(__always)
    func index(of name: UnsafeRawBufferPointer, expecting expected: Int) -> Int? {
        if expected < offsets.count - 1, matches(name, expected) { return expected }
        for index in 0..<offsets.count - 1 where matches(name, index) { return index }
        return nil
    }

    @inline(__always)
    private func matches(_ name: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        let start = offsets[index]
        let count = offsets[index + 1] - start
        guard name.count == count else { return false }
        return names.withUnsafeBufferPointer { bytes in
            for position in 0..<count where bytes[start + position] != name[position] { return false }
            return true
        }
    }
}
