import BackupCore

/// The records of a source that go into tables: omits records about media files, and numbers the collections as in `AppDefinition.tablesOnly`.
struct TableRecords<Source: RecordSource>: RecordSource {
    let definition: AppDefinition
    private let source: Source
    /// By the index in the source; `nil` for omitted ones.
    private let numbers: [Int?]

    init(_ source: Source) {
        self.source = source
        definition = source.definition.tablesOnly
        numbers = source.definition.tableNumbers
    }

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try source.visit(with: TableVisitor(visitor, numbers))
    }

    /// Converts record counts from the source's collections.
    func counts(_ counts: [Int]) -> [Int] { zip(counts, numbers).compactMap { count, number in number == nil ? nil : count } }
}

private final class TableVisitor: RecordVisitor {
    private let next: any RecordVisitor
    private let numbers: [Int?]

    init(_ next: any RecordVisitor, _ numbers: [Int?]) {
        self.next = next
        self.numbers = numbers
    }

    func visit(metadata: RecordBuffer) throws(BackupError) { try next.visit(metadata: metadata) }
    func visit(settings: RecordBuffer) throws(BackupError) { try next.visit(settings: settings) }

    func beginCollection(_ collection: Int) throws(BackupError) {
        if let number = numbers[collection] { try next.beginCollection(number) }
    }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        if let number = numbers[collection] { try next.visit(record: record, of: number) }
    }

    func visit(unknownField path: String) throws(BackupError) { try next.visit(unknownField: path) }
    func visit(misplaced message: Message) throws(BackupError) { try next.visit(misplaced: message) }
}
