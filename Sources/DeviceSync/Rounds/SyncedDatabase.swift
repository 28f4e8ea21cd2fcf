import AppData
import BackupCore

/// The app's data, as an exchange between devices sees it.
public protocol SyncedDatabase {
    /// Reads in one transaction: all of it is of one moment.
    func read<Result>(
        _ body: (any RecordReading) throws(BackupError) -> Result
    ) throws(BackupError) -> Result

    /// Reads and writes in one transaction, during which no other program writes. It is committed when `body` returns, and rolled
    /// back after any error.
    func write<Result>(
        _ body: (any RecordWriting) throws(BackupError) -> Result
    ) throws(BackupError) -> Result
}

/// The records of one moment. A record is one value for each field of its collection.
public protocol RecordReading {
    var form: RecordForm { get }

    /// All records of a collection, those with equal keys one after the other.
    func forEachRecord(
        of collection: Int, _ body: ([FieldValue]) throws(BackupError) -> Void
    ) throws(BackupError)

    /// - Returns: `nil` when there is no record with exactly this key.
    func record(of collection: Int, key: FieldValue) throws(BackupError) -> [FieldValue]?

    /// Why a record is not one that the app's definition allows; `nil` when it is.
    func problem(with values: [FieldValue], in collection: Int) -> Message?
}

/// The records inside a transaction that changes them.
public protocol RecordWriting: RecordReading {
    /// Adds a record, or gives the one with its key these values.
    func put(_ values: [FieldValue], in collection: Int) throws(BackupError)

    /// Removes a record that is there.
    func remove(key: FieldValue, from collection: Int) throws(BackupError)
}

/// Values of a record that lost against a later change of another device, which had not seen them.
public struct RecordConflict: Equatable, Sendable {
    /// The collection's name.
    public let collection: String
    /// Of the record.
    public let key: FieldValue
    /// The names of its members.
    public let fields: [String]
    /// One for each of them.
    public let values: [FieldValue]
    /// Of these values; its device made them.
    public let stamp: ChangeStamp
    /// Of the change that won.
    public let winner: ChangeStamp
}

/// Where values that lost are kept.
public protocol ConflictKeeper {
    /// Keeps them; they are durable when it returns. Those that are kept already are not kept twice.
    /// - Returns: whether they are new.
    func keep(_ conflict: RecordConflict) throws(BackupError) -> Bool
}
