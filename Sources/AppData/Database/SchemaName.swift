/// The name of a table or column as SQLite compares it: by its bytes, ignoring the case of ASCII letters. Swift considers texts equal that differ only in
/// Unicode normalisation.
struct SchemaName: Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ name: String) { bytes = name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 + 0x20 : $0 } }
}
