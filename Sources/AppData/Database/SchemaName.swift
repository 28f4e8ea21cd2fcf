/// The name of a table or column as SQLite compares it: by its bytes, without regard to the case of ASCII letters. To Swift two texts that differ only in the
/// normal form of Unicode are the same.
struct SchemaName: Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ name: String) { bytes = name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 + 0x20 : $0 } }
}
