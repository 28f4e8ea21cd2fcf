import BackupCore
import SystemIO

/// Encodes the identity of a record as bytes: two records are the same if their bytes and the targets of their references are equal.
struct IdentityEncoder {
    /// Longer ones are replaced by their SHA-256.
    private static let plainLimitBytes = 48

    /// The fields that are compared directly.
    private let plainFields: [(index: Int, field: FieldDefinition)]
    /// The fields that refer to other records, whose keys in the file may differ from those in the database.
    let references: [(index: Int, collection: Int)]
    /// Whether more than the key identifies records.
    let isMoreThanKey: Bool

    init(_ collection: CollectionDefinition) {
        let fields = collection.rules.identity.map { (index: $0, field: collection.fields[$0]) }
        isMoreThanKey = collection.rules.identity != [collection.keyIndex]
        guard isMoreThanKey else {
            plainFields = []
            references = []
            return
        }
        plainFields = fields.filter { $0.field.reference == nil }
        references = fields.compactMap { entry in entry.field.reference.map { (entry.index, $0.collection) } }
    }

    /// The fields that must be read from the database.
    var fieldIndices: [Int] { plainFields.map(\.index) + references.map(\.index) }

    func encode(_ record: RecordBuffer) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, field) in plainFields { Self.append(record, index, field, to: &bytes) }
        guard bytes.count > Self.plainLimitBytes else { return bytes }
        let digest = SHA256Hasher.hash(bytes)
        return digest.bytes
    }

    /// A missing value counts as null. The kind and the length precede each value.
    private static func append(_ record: RecordBuffer, _ index: Int, _ field: FieldDefinition, to bytes: inout [UInt8]) {
        func append(_ kind: UInt8, _ numbers: Int64...) {
            bytes.append(kind)
            for number in numbers { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }
        }
        switch record.kind(index) {
        case .missing, .null: append(0)
        case .integer: append(1, record.integer(index))
        case .boolean: append(1, record.boolean(index) ? 1 : 0)
        case .real:
            // 0 and -0 are the same number.
            append(2, Int64(bitPattern: (record.real(index) + 0).bitPattern))
        case .text:
            let text = record.bytes(index)
            if field.type == .date, let time = DateText.time(text) {
                return append(3, time.seconds, Int64(time.nanoseconds))
            }
            let part = field.isMedia ? MediaNames.identifyingPart(text) : text
            append(4, Int64(part.count))
            bytes.append(contentsOf: part)
        case .blob, .number, .array, .object:
            append(5, Int64(record.bytes(index).count))
            bytes.append(contentsOf: record.bytes(index))
        }
    }
}
