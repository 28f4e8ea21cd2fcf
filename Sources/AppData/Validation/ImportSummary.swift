import BackupCore

/// The content of a validated file: everything that a preview shows.
public struct ImportSummary: Sendable {
    public struct CollectionCount: Sendable, Equatable {
        /// `plannedMaintenance`.
        public let name: String
        public let singular: String
        /// `maintenance records`.
        public let plural: String
        public let count: Int
        /// Whether they are the app's records, and not just the file's description of its own files.
        public let isTold: Bool
    }

    /// Earliest and latest date of a collection.
    public struct DateRange: Sendable, Equatable {
        public let plural: String
        public let earliest: Timestamp
        public let latest: Timestamp
    }

    /// When the file was created; `nil` for a database, which does not record it.
    public var createdAt: Timestamp?
    public let schemaVersion: Int
    /// The text members of the metadata object (`appVersion`, `deviceName`, `createdAt`).
    public let metadata: [String: String]
    /// The counts to show to people.
    public var toldCounts: [CollectionCount] { counts.filter(\.isTold) }
    /// One per collection, in the definition's order.
    public let counts: [CollectionCount]
    public let dateRange: DateRange?
    public let warnings: [Message]
    /// Values that the definition does not allow but that were accepted; `nil` when there are none.
    public let disallowedValues: DisallowedValues?
    /// The warning about them.
    public var acceptedValues: Message? { disallowedValues?.acceptance }
    /// The frequency of each member that is not in the definition: `cars.color`. At most 100 names.
    public let unknownFields: [String: Int]

    public var appVersion: String? { metadata["appVersion"] }
    public var deviceName: String? { metadata["deviceName"] }

    /// Number of records per collection of the definition: what `AppDatabase.replaceAll` must insert.
    public var recordCounts: [Int] { counts.map(\.count) }

    /// `Imported 1 cars, 1 expenses, 1 maintenance records, 1 notifications.`
    public var successMessage: Message {
        "Imported \(toldCounts.map { "\($0.count) \($0.plural)" }.joined(separator: ", "))."
    }
}
