import BackupCore

/// Collects statistics about records.
public final class RecordStatistics: RecordVisitor {
    private let definition: AppDefinition
    /// One for each collection except those whose records only describe files.
    public var collections: [CollectionStatistics] {
        zip(definition.collections, all).filter { $0.0.source != .manifest }.map(\.1)
    }
    private var all: [CollectionStatistics]

    public init(_ definition: AppDefinition) {
        self.definition = definition
        all = definition.collections.map(CollectionStatistics.init)
    }

    public func visit(record: RecordBuffer, of collection: Int) { all[collection].add(record) }
}
