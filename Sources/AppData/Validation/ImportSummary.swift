import BackupCore
import SystemIO

/// The content of a validated file: everything that a preview shows.
public struct ImportSummary: Sendable {
    /// How many records of a collection the file has.
    public struct CollectionCount: Sendable, Equatable {
        /// `plannedMaintenance`.
        public let name: String
        /// `maintenance record`.
        public let singular: String
        /// `maintenance records`.
        public let plural: String
        /// Number of records in the file.
        public let count: Int
        /// Whether they are the app's records, and not just the file's description of its own files.
        public let isTold: Bool
    }

    /// Earliest and latest date of a collection.
    public struct DateRange: Sendable, Equatable {
        /// The collection's name for people.
        public let plural: String
        /// The first date in any of its records.
        public let earliest: Timestamp
        /// The last date in any of its records.
        public let latest: Timestamp
    }

    /// When the file was created; `nil` for a database, which does not record it.
    public var createdAt: Timestamp?
    /// The version that the file names.
    public let schemaVersion: Int
    /// The text members of the metadata object (`appVersion`, `deviceName`, `createdAt`).
    public let metadata: [String: String]
    /// The counts to show to people.
    public var toldCounts: [CollectionCount] { counts.filter(\.isTold) }
    /// One per collection, in the definition's order.
    public let counts: [CollectionCount]
    public let dateRange: DateRange?
    /// What is allowed but unusual, in the order in which it was found.
    public let warnings: [Message]
    /// Values that the definition does not allow but that were accepted; `nil` when there are none.
    public let disallowedValues: DisallowedValues?
    /// The warning about them.
    public var acceptedValues: Message? { disallowedValues?.acceptance }
    /// The frequency of each member that is not in the definition: `cars.color`. At most 100 names.
    public let unknownFields: [String: Int]

    /// The app's version that wrote the file, if it says so.
    public var appVersion: String? { metadata["appVersion"] }
    /// The device that wrote the file, if it says so.
    public var deviceName: String? { metadata["deviceName"] }

    /// Number of records per collection of the definition: what `AppDatabase.replaceAll` must insert.
    public var recordCounts: [Int] { counts.map(\.count) }

    /// `Imported 1 cars, 1 expenses, 1 maintenance records, 1 notifications.`
    public var successMessage: Message {
        "Imported \(toldCounts.map { "\($0.count) \($0.plural)" }.joined(separator: ", "))."
    }
}

/// The source document's exact words.
public enum ImportMessages {
    /// The file is not an export of this app, or not readable at all.
    public static let invalidFormat: Message = "Invalid file format. Please select a valid backup file."
    /// The file names a schema that is too old to be read.
    public static let incompatibleVersion: Message = "This backup is from an incompatible version of the app."
    /// The file names a later schema than the app's.
    public static let newerVersion: Message =
        "This backup was created with a newer version of the app. Import may fail or cause data loss."
    static let muchOlderVersion: Message =
        "This backup was created with a much older version of the app. Some data may be converted."
    static let deletesEverything: Message = "Importing will DELETE ALL existing data. This cannot be undone."
    static let restoringPreviousData: Message = "Import failed. Restoring previous data..."
    /// The file is not what its own checksums say.
    public static let corruptedFile: Message = "This backup file is corrupted and cannot be restored."

    /// For an archive that was verified but could not be unpacked.
    public static func extractionFailure(_ reason: Message) -> Message { "Failed to extract backup: \(reason)" }
    /// Its English beginning, by which errors are compared.
    public static let extractionFailureStart = "Failed to extract backup: "

    /// `Import failed: expense 1 refers to unknown car 99`.
    public static func failure(_ reason: Message) -> Message { "Import failed: \(reason)" }
}

/// Values of the app's data that its definition does not allow: a text that is not a date, a dangling reference.
public struct DisallowedValues: Sendable {
    /// All of them, also beyond the first few.
    public let count: Int
    /// Messages about the first few; empty for an earlier backup.
    public let examples: [Message]

    public init(count: Int, examples: [Message]) {
        self.count = count
        self.examples = examples
    }

    private var shown: Message { .joined(examples + (count > examples.count ? ["…"] : []), separator: "; ") }

    /// For appending to a word.
    private var list: Message { examples.isEmpty ? "" : .joined([.verbatim(": "), shown], separator: "") }

    /// The warning if they are restored unchanged.
    var acceptance: Message {
        .plural(
            count, one: "The app's definition does not allow \(count) value of the backup. It comes back as it was: \(shown)",
            other: "The app's definition does not allow \(count) values of the backup. They come back as they were: \(shown)")
    }

    /// The warning of a backup that contains them.
    /// - Parameter comesWithRows: whether a restore can copy the rows of the backup's database unchanged.
    public func warning(comesWithRows: Bool) -> Message {
        comesWithRows
            ? .plural(
                count,
                one:
                    "the app's definition does not allow \(count) value\(list). A restore of the backup by its name with --strategy replace brings it back as it is; one that merges is refused. Correct it in the app, or describe the field in another way",
                other:
                    "the app's definition does not allow \(count) values\(list). A restore of the backup by its name with --strategy replace brings them back as they are; one that merges is refused. Correct them in the app, or describe the fields in another way"
            )
            : .plural(
                count,
                one:
                    "a restore of the backup would be refused: the app's definition does not allow \(count) value\(list). Correct it in the app, or describe the field in another way",
                other:
                    "a restore of the backup would be refused: the app's definition does not allow \(count) values\(list). Correct them in the app, or describe the fields in another way"
            )
    }
}

/// The keys of a collection. Integers in ascending order, as in exports, cost next to nothing: runs are stored as ranges, and
/// only keys out of order individually. A class, so that queries neither copy nor count references.
final class KeySet {
    private var ranges: [ClosedRange<Int64>] = []
    private var outliers: Set<Int64> = []
    private var texts: Set<[UInt8]> = []

    /// - Returns: false when it already exists.
    func insert(_ key: Int64) -> Bool {
        guard let last = ranges.last else {
            ranges.append(key...key)
            return true
        }
        if key > last.upperBound {
            if key - 1 == last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound...key
            } else {
                ranges.append(key...key)
            }
            // An outlier was below the end of the ranges when inserted, so it cannot be above it now.
            return true
        }
        return isInRanges(key) ? false : outliers.insert(key).inserted
    }

    func insert(_ key: [UInt8]) -> Bool { texts.insert(key).inserted }

    func contains(_ key: Int64) -> Bool { isInRanges(key) || outliers.contains(key) }

    func contains(_ key: FieldValue) -> Bool {
        switch key {
        case .integer(let number): contains(number)
        case .text(let bytes): texts.contains(bytes)
        default: false
        }
    }

    private func isInRanges(_ key: Int64) -> Bool {
        let place = ranges.partitioningIndex { $0.upperBound >= key }
        return place < ranges.count && ranges[place].contains(key)
    }
}

/// The record that a finding refers to. Smaller than its text: a validation keeps one for each record with an unresolved
/// reference.
enum RecordLabel: Comparable {
    /// "expense 1".
    case keyed(_ singular: String, _ key: String)
    /// "expense number 3", when it has no usable key.
    case counted(_ singular: String, _ number: Int)

    var text: Message {
        switch self {
        case .keyed(let singular, let key): "\(singular) \(key)"
        case .counted(let singular, let number): "\(singular) number \(number)"
        }
    }
}
