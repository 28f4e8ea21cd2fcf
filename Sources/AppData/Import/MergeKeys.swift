import BackupCore
import SQLite
import SystemIO

/// Keys of new records.
extension MergeIndex {
    /// Gives each new record its key: its own if it is free, otherwise one that neither the database nor the file has.
    func chooseKeys(_ connection: DatabaseConnection) throws(BackupError) {
        if collection.keyField.type != .integer {
            try chooseTexts(connection)
        } else {
            try scratch.execute(
                """
                UPDATE \(file) AS f SET target = wanted
                WHERE NOT isFound AND NOT EXISTS (SELECT 1 FROM \(existing) AS e WHERE e.key = f.wanted)
                """)
            try chooseNumbers(path: connection.path)
        }
        try finish()
    }

    private func chooseNumbers(path: String) throws(BackupError) {
        guard try scratch.number("SELECT EXISTS (SELECT 1 FROM \(file) WHERE target IS NULL)") == 1 else { return }
        try requireOwnKey(path)
        var largest: Int64 = 0
        for table in [file, existing] {
            // Numbers precede everything else in the key order.
            let statement = try scratch.statement("SELECT key FROM \(table) WHERE key < '' ORDER BY key DESC LIMIT 1")
            if try statement.step() { largest = max(largest, statement.integer(0)) }
        }
        let choice = try scratch.statement("UPDATE \(file) SET target = ?2 WHERE key = ?1")
        try forEachNew("NULL", while: "target IS NULL") { (row) throws(BackupError) in
            guard largest < Int64.max else {
                throw BackupError(
                    .notSupported, "Import failed: there are no numbers left for new \(collection.plural)", path: path,
                    remedy: "The largest key there is, \(Int64.max), is taken. Give that record another one in the app.")
            }
            largest += 1
            try RecordInserter.bind(row, 0, to: 1, of: choice)
            choice.bind(2, integer: largest)
            try choice.run()
        }
    }

    /// The table decides whether a text is free: it may treat texts as equal that differ in their bytes.
    private func chooseTexts(_ connection: DatabaseConnection) throws(BackupError) {
        let column = quotedIdentifier(collection.keyField.column)
        let table = quotedIdentifier(collection.table)
        let present = try connection.statement("SELECT 1 FROM \(table) WHERE \(column) = ?1")
        let planned = try scratch.statement("SELECT 1 FROM \(file) WHERE key = ?1 OR target = ?1")
        let choice = try scratch.statement("UPDATE \(file) SET target = ?2 WHERE key = ?1")
        func isThere(_ text: [UInt8], _ statement: DatabaseStatement) throws(BackupError) -> Bool {
            try statement.bind(1, copyingText: text)
            defer { statement.reset() }
            return try statement.step()
        }
        func choose(_ text: [UInt8], for row: RecordBuffer) throws(BackupError) {
            try RecordInserter.bind(row, 0, to: 1, of: choice)
            try choice.bind(2, copyingText: text)
            try choice.run()
        }
        try forEachNew("wanted", while: "NOT isFound") { (row) throws(BackupError) in
            let own = Array(row.bytes(1))
            let isTaken = try isThere(own, present)
            if !isTaken { try choose(own, for: row) }
        }
        guard try scratch.number("SELECT EXISTS (SELECT 1 FROM \(file) WHERE target IS NULL)") == 1 else { return }
        try requireOwnKey(connection.path)
        try scratch.execute("CREATE INDEX IF NOT EXISTS target_\(number) ON \(file) (target)")
        try forEachNew("NULL", while: "target IS NULL") { (row) throws(BackupError) in
            let own = Array(row.bytes(0))
            for attempt in 2...UnusedKey.attemptLimit {
                let text = UnusedKey.text(instead: own, attempt: attempt)
                let isTaken = try isThere(text, present)
                let isPlanned = try isThere(text, planned)
                if !isTaken, !isPlanned { return try choose(text, for: row) }
            }
            throw BackupError(
                .notSupported, "Import failed: no new key was found for the \(collection.singular) \(row.value(0).messageText)",
                path: connection.path)
        }
    }

    /// A key that refers to another record cannot be changed.
    private func requireOwnKey(_ path: String) throws(BackupError) {
        guard keyReference != nil else { return }
        throw BackupError(
            .invalidContent,
            "Import failed: a \(collection.singular) has a key that another one has, and which refers to another record",
            path: path,
            remedy: "Name that key alone as the collection's identity in the app's definition.")
    }
}

/// New keys for records whose own key belongs to another record.
enum UnusedKey {
    /// After this many attempts, something is wrong with the keys.
    static let attemptLimit = 10_000

    /// The `attempt`th text to try instead of `key`, from 2 on. A UUID becomes another UUID, derived by SHA-256 (version 8 of RFC
    /// 9562), in the same letter case; anything else gets a number: `note-2`. The same key always gives the same texts, so that a
    /// dry run shows the actual result.
    static func text(instead key: [UInt8], attempt: Int) -> [UInt8] {
        guard isUUID(key) else { return key + Array("-\(attempt)".utf8) }
        var bytes = Array(SHA256Hasher.hash(key + [0] + Array("\(attempt)".utf8)).bytes.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(Hexadecimal.encode(bytes).utf8)
        let isUpperCase = key.contains { (65...70).contains($0) }
        var text: [UInt8] = []
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(isUpperCase && digit >= 97 ? digit - 32 : digit)
        }
        return text
    }

    private static func isUUID(_ key: [UInt8]) -> Bool { key.withUnsafeBytes { UUIDText.isValid($0) } }
}

/// Encodes the identity of a record as bytes: two records are the same if their bytes and the targets of their references are
/// equal.
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
