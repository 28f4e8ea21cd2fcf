import BackupCore

/// Sample records by field name, in the definition's order.
struct SampleRecords {
    let definition: AppDefinition
    let visitor: any RecordVisitor

    func metadata(_ values: [String: FieldValue]) throws(BackupError) {
        try visitor.visit(metadata: buffer(values, definition.metadata.fields))
    }

    func settings(_ values: [String: FieldValue]) throws(BackupError) {
        guard let settings = definition.settings else { return }
        try visitor.visit(settings: buffer(values, settings.fields))
    }

    func collection(_ name: String, _ records: [[String: FieldValue]]) throws(BackupError) {
        guard let index = definition.collectionIndex(named: name) else { return }
        try visitor.beginCollection(index)
        for record in records {
            try visitor.visit(record: buffer(record, definition.collections[index].fields), of: index)
        }
    }

    private func buffer(_ values: [String: FieldValue], _ fields: [FieldDefinition]) -> RecordBuffer {
        let buffer = RecordBuffer(fieldCount: fields.count)
        buffer.set(Record(values: fields.map { values[$0.name] ?? .null }))
        return buffer
    }
}
