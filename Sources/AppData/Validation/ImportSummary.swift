import BackupCore

/// What a validated file holds: everything a preview tells.
public struct ImportSummary: Sendable {
    public struct CollectionCount: Sendable, Equatable {
        /// `plannedMaintenance`.
        public let name: String
        public let singular: String
        /// `maintenance records`.
        public let plural: String
        public let count: Int
        /// Whether they are records that somebody has, and not only what the file says of its own files.
        public let isTold: Bool
    }

    /// Earliest and latest date of a collection.
    public struct DateRange: Sendable, Equatable {
        public let plural: String
        public let earliest: Timestamp
        public let latest: Timestamp
    }

    /// When the file was made; `nil` for a database, which does not say it.
    public var createdAt: Timestamp?
    public let schemaVersion: Int
    /// The text members of the metadata object (`appVersion`, `deviceName`, `createdAt`).
    public let metadata: [String: String]
    /// Those for people.
    public var toldCounts: [CollectionCount] { counts.filter(\.isTold) }
    /// One for each collection, in the definition's order.
    public let counts: [CollectionCount]
    public let dateRange: DateRange?
    public let warnings: [Message]
    /// Values that the definition does not allow and that were accepted; `nil` when there are none.
    public let disallowedValues: DisallowedValues?
    /// The warning of them.
    public var acceptedValues: Message? { disallowedValues?.acceptance }
    /// How often each member that the definition does not know occurs: `cars.color`. At most 100 names.
    public let unknownFields: [String: Int]

    public var appVersion: String? { metadata["appVersion"] }
    public var deviceName: String? { metadata["deviceName"] }

    /// Number of records for each collection of the definition: what `AppDatabase.replaceAll` is to insert.
    public var recordCounts: [Int] { counts.map(\.count) }

    /// `Imported 1 cars, 1 expenses, 1 maintenance records, 1 notifications.`
    public var successMessage: Message {
        "Imported \(toldCounts.map { "\($0.count) \($0.plural)" }.joined(separator: ", "))."
    }
}
