import AppData
import BackupCore

/// A file with some records of one collection: what `history/` shows of a record, and what a restore merges into the data.
///
/// `{"app": …, "collection": …, "schemaVersion": …, "inexactValues": …, "records": […]}`, in any order: the records are as in an
/// export of that version. Only `collection` and `records` must be there, and nothing else may.
public struct RecordFile: Sendable {
    /// The app that the records are of; `nil` when the file does not say it.
    public let app: String?
    /// The name of the collection in exports.
    public let collection: String
    /// Of the export that the records are from; `nil` when the file does not say it.
    public let schemaVersion: Int?
    /// How many values the export that the records are from could not hold as they were; perhaps none of them is in these
    /// records.
    public let inexactValueCount: Int
    /// The array of the records, in bytes of the file.
    private let records: Range<UInt64>

    /// The member with the records.
    public static let recordsName = "records"

    /// What is known of the members of a file that were read so far.
    private struct Members {
        var app: String?
        var collection: String?
        var schemaVersion: Int?
        var inexactValueCount = 0
        var records: Range<UInt64>?
        /// Why it is none that can be restored.
        var problem: Message?
    }

    /// Members that are not known are passed as long as they are short, to say what is wrong with the file.
    private static let unknownLimitBytes: UInt64 = 64 << 10

    /// A file of the form above. It is read to its end.
    /// - Returns: `nil` for any other file, also one that is not JSON.
    /// - Throws: `invalidContent` for a file with a collection and records that is not of this form; errors of the source.
    public init?(_ source: any ByteSource) throws(BackupError) {
        var members = Members()
        do throws(BackupError) {
            guard try Self.read(JSONTokenizer(source), &members) else { return nil }
        } catch {
            // What the file is can be said by its beginning. Another reader reports what is wrong with its JSON.
            guard error.code == .invalidContent else { throw error }
            guard members.collection != nil, members.records != nil else { return nil }
            throw error
        }
        guard let collection = members.collection, let records = members.records else { return nil }
        if let problem = members.problem {
            throw BackupError(.invalidContent, ImportMessages.failure(problem), findings: [problem])
        }
        app = members.app
        self.collection = collection
        schemaVersion = members.schemaVersion
        inexactValueCount = members.inexactValueCount
        self.records = records
    }

    /// A file that is the array of a collection (`data/COLLECTION.json`).
    /// - Parameters:
    ///   - records: where the array is (`arrayRange(of:)`).
    ///   - schemaVersion: `nil` when it is not known.
    ///   - inexactValueCount: of the export that it is from.
    public init(
        arrayOf collection: String, at records: Range<UInt64>, schemaVersion: Int? = nil, inexactValueCount: Int = 0
    ) {
        app = nil
        self.collection = collection
        self.schemaVersion = schemaVersion
        self.inexactValueCount = inexactValueCount
        self.records = records
    }

    /// - Returns: where the array is in a source that has nothing else; `nil` for any other source.
    public static func arrayRange(of source: any ByteSource) throws(BackupError) -> Range<UInt64>? {
        let tokenizer = JSONTokenizer(source)
        do throws(BackupError) {
            guard try tokenizer.next() == .beginArray else { return nil }
            let start = tokenizer.place - 1
            try tokenizer.skip(.beginArray)
            let range = start..<tokenizer.place
            return try tokenizer.next() == .end ? range : nil
        } catch {
            guard error.code == .invalidContent else { throw error }
            return nil
        }
    }

    /// - Returns: false for a file of another form.
    private static func read(_ tokenizer: JSONTokenizer, _ members: inout Members) throws(BackupError) -> Bool {
        guard try tokenizer.next() == .beginObject else { return false }
        while try tokenizer.next() == .key {
            let name = tokenizer.text()
            let value = try tokenizer.next()
            switch (name, value) {
            case ("app", .string): members.app = tokenizer.text()
            case ("collection", .string): members.collection = tokenizer.text()
            case ("schemaVersion", .number), ("inexactValues", .number):
                let number = Int(tokenizer.text())
                if number == nil { members.problem = "\(name) is not a whole number" }
                if name == "schemaVersion" { members.schemaVersion = number } else { members.inexactValueCount = number ?? 1 }
            case (recordsName, .beginArray):
                let start = tokenizer.place - 1
                try tokenizer.skip(value)
                members.records = start..<tokenizer.place
            default:
                // Exports have members of their own, which are long.
                let isShort = tokenizer.place < unknownLimitBytes && value != .beginObject && value != .beginArray
                guard isShort || members.collection != nil && members.records != nil else { return false }
                members.problem = "the file has \(MessageText.shortened(name)), which a file with single records does not have"
                try tokenizer.skip(value)
            }
        }
        _ = try tokenizer.next()
        return true
    }

    /// The array of the records.
    /// - Parameter source: the file.
    public func records(of source: any ByteSource) -> any ByteSource {
        EnclosedSource("", source, from: records.lowerBound, to: records.upperBound)
    }

    /// Of the array.
    public var recordsSizeBytes: UInt64 { records.upperBound - records.lowerBound }

    /// The records as an export that has nothing else.
    /// - Parameter source: the file.
    public func export(of source: any ByteSource) -> any ByteSource {
        let name = String(decoding: OrderedJSON.text(collection).compactText, as: UTF8.self)
        return EnclosedSource("{\(name):", source, from: records.lowerBound, to: records.upperBound, "}")
    }

    /// The text around one record, which keeps the indentation that it has in an export.
    /// - Parameter inexactValueCount: of the export that it is from.
    public static func text(
        around collection: String, app: String, schemaVersion: Int?, inexactValueCount: Int
    ) -> (before: [UInt8], after: [UInt8]) {
        var members: [OrderedJSON.Member] = [.init("app", app), .init("collection", collection)]
        if let schemaVersion { members.append(.init("schemaVersion", schemaVersion)) }
        if inexactValueCount > 0 { members.append(.init("inexactValues", inexactValueCount)) }
        // Without the closing brace and the line feeds before and after it.
        let head = OrderedJSON.object(members).prettyText.dropLast(3)
        return (head + Array(",\n  \"\(recordsName)\": [\n    ".utf8), Array("\n  ]\n}\n".utf8))
    }
}
