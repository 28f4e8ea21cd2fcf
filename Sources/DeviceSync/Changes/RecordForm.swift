import AppData
import BackupCore
import SystemIO

/// What the records of an app look like, for an exchange between its devices.
public struct RecordForm: Sendable {
    /// The records of one kind.
    public struct Collection: Sendable, Equatable {
        /// As in exports.
        public let name: String
        /// The names of the members, as in exports.
        public let fields: [String]
        /// Which of them identifies a record.
        public let keyIndex: Int

        public init(name: String, fields: [String], keyIndex: Int) {
            self.name = name
            self.fields = fields
            self.keyIndex = keyIndex
        }
    }

    /// The app's name.
    public let app: String
    /// Of the app's data.
    public let schemaVersion: UInt32
    /// In the order of the definition.
    public let collections: [Collection]
    /// The fields of each collection in the order of their names.
    private let nameOrders: [[Int]]

    public init(app: String, schemaVersion: UInt32, collections: [Collection]) {
        self.app = app
        self.schemaVersion = schemaVersion
        self.collections = collections
        nameOrders = collections.map { collection in
            collection.fields.indices.sorted {
                collection.fields[$0].utf8.lexicographicallyPrecedes(collection.fields[$1].utf8)
            }
        }
    }

    func collection(named name: String) -> Int? { collections.firstIndex { $0.name.utf8.elementsEqual(name.utf8) } }

    /// What tells two contents of a record apart. A null counts as a missing member: the digest stays the same when a later
    /// version of the app has a new member.
    func digest(of values: [FieldValue], in collection: Int) -> SHA256Digest {
        var writer = ByteWriter()
        let fields = collections[collection].fields
        for index in nameOrders[collection] where values[index] != .null {
            writer.append(fields[index])
            writer.append(values[index])
        }
        return SHA256Hasher.hash(writer.bytes)
    }

    /// The key of a record, as bytes.
    func key(of values: [FieldValue], in collection: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(values[collections[collection].keyIndex])
        return writer.bytes
    }
}

// MARK: - Values as bytes

extension ByteWriter {
    /// The kind in one byte, and the value; a real by its bits.
    mutating func append(_ value: FieldValue) {
        switch value {
        case .null: append(UInt8(0))
        case .integer(let number):
            append(UInt8(1))
            append(number)
        case .real(let number):
            append(UInt8(2))
            append(number.bitPattern)
        case .text(let bytes):
            append(UInt8(3))
            append(lengthPrefixed: bytes)
        case .boolean(let flag):
            append(UInt8(4))
            append(UInt8(flag ? 1 : 0))
        case .blob(let bytes):
            append(UInt8(5))
            append(lengthPrefixed: bytes)
        }
    }
}

extension ByteReader {
    mutating func readValue() throws(BackupError) -> FieldValue {
        switch try read(UInt8.self) {
        case 0: return .null
        case 1: return .integer(try read())
        case 2:
            let number = Double(bitPattern: try read())
            // SQLite has no value for it, and stores null.
            guard !number.isNaN else { throw BackupError(.damagedContent, "a number is not one") }
            return .real(number)
        case 3: return .text(Array(try readLengthPrefixed()))
        case 4:
            switch try read(UInt8.self) {
            case 0: return .boolean(false)
            case 1: return .boolean(true)
            default: throw BackupError(.damagedContent, "a flag is neither 0 nor 1")
            }
        case 5: return .blob(Array(try readLengthPrefixed()))
        default: throw BackupError(.damagedContent, "a value is of an unknown kind")
        }
    }
}
