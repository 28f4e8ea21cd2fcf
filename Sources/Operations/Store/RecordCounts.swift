import AppData
import BackupCore

/// How many records a collection has.
public struct RecordCount: Sendable, Equatable {
    /// The collection's name on the wire.
    public let name: String
    /// For people: "cars".
    public let plural: String
    public let count: Int
}

extension AppDatabase {
    /// The number of records of each collection, in the definition's order, as of one instant.
    public func counts() throws(BackupError) -> [RecordCount] {
        try readSnapshot { (snapshot) throws(BackupError) in try snapshot.counts() }
    }
}

extension DatabaseSnapshot {
    func counts() throws(BackupError) -> [RecordCount] {
        var counts: [RecordCount] = []
        for (index, collection) in definition.collections.enumerated() {
            counts.append(
                RecordCount(name: collection.name, plural: collection.plural, count: try count(of: index)))
        }
        return counts
    }
}
