import BackupCore
import SystemIO

/// The records of collections that are generated from the media folder and are not in a table.
struct MediaRecords {
    let definition: AppDefinition
    let reader: DatabaseRecordReader
    let catalog: any MediaCatalog

    /// The record that has a file, and the file's name in the archive.
    private struct Owner {
        let record: RecordBuffer
        let pointer: MediaPointer
        let archiveName: [UInt8]
    }

    /// In ascending key order
    func forEachRecord(
        of collection: CollectionDefinition, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let buffer = RecordBuffer(fieldCount: collection.fields.count)
        switch collection.source {
        case .table: return
        case .files:
            try catalog.forEachFile { (file) throws(BackupError) in
                buffer.clear()
                fill(buffer, collection, file, of: nil)
                try body(buffer)
            }
        case .manifest:
            guard let pointer = MediaPointer(definition) else { return }
            let keyIndex = definition.collections[pointer.collection].keyIndex
            var names = ArchiveFileNames(definition.media?.archiveNaming ?? .plain)
            try reader.forEachRecord(of: pointer.collection) { (record) throws(BackupError) in
                guard let file = try pointer.file(of: record, in: catalog) else { return }
                let name = names.name(of: file.path, key: record.keyText(keyIndex))
                buffer.clear()
                fill(buffer, collection, file, of: Owner(record: record, pointer: pointer, archiveName: name))
                try body(buffer)
            }
        }
    }

    /// Records that name a missing file.
    func missingFiles() throws(BackupError) -> MissingFiles {
        var missing = MissingFiles()
        guard let pointer = MediaPointer(definition) else { return missing }
        let collection = definition.collections[pointer.collection]
        try reader.forEachRecord(of: pointer.collection) { (record) throws(BackupError) in
            guard pointer.hasFile(record), try pointer.file(of: record, in: catalog) == nil else { return }
            let name = MessageText.shortened(record.bytes(pointer.field))
            missing.add("\(collection.singular) \(record.value(collection.keyIndex).messageText): \(name)")
        }
        return missing
    }

    private func fill(
        _ buffer: RecordBuffer, _ collection: CollectionDefinition, _ file: MediaFileFacts,
        of owner: Owner?
    ) {
        for (index, field) in collection.fields.enumerated() {
            switch field.mediaValue {
            case nil: continue
            case .recordKey:
                guard let owner else { continue }
                buffer.set(index, owner.record.value(definition.collections[owner.pointer.collection].keyIndex))
            case .recordPath: if let owner { buffer.set(index, owner.record.value(owner.pointer.field)) }
            case .archiveName: if let owner { set(buffer, index, owner.archiveName) }
            case .archivePath:
                guard let name = owner?.archiveName else { continue }
                set(buffer, index, definition.archiveLayout.archivePath(of: Array("media/".utf8) + name) ?? name)
            case .path: set(buffer, index, PathText.text(of: file.path))
            case .name: set(buffer, index, PathText.text(of: file.name))
            case .size: buffer.set(index, integer: Int64(clamping: file.size))
            case .md5: if let checksums = file.checksums { buffer.set(index, text: checksums.md5.hexadecimal) }
            case .sha256: if let checksums = file.checksums { buffer.set(index, text: checksums.sha256.hexadecimal) }
            case .modificationTime: buffer.set(index, time: file.modificationTime, as: field.type)
            case .storageKey: if let key = StorageKey(file) { buffer.set(index, text: key.text) }
            }
        }
    }

    private func set(_ buffer: RecordBuffer, _ index: Int, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer.set(index, .text, bytes: $0) }
    }
}

extension RecordBuffer {
    /// A key as part of a name.
    func keyText(_ index: Int) -> String {
        switch value(index) {
        case .integer(let number): String(number)
        case let key: key.string ?? ""
        }
    }
}

extension AppDefinition {
    /// As if there were only the collections that are in tables: the part that is written to the database.
    var tablesOnly: AppDefinition {
        guard describesMedia else { return self }
        let numbers = tableNumbers
        let tables = collections.filter { $0.source == .table }.map { $0.renumbered(numbers) }
        let envelope = envelope.compactMap { member -> EnvelopeMember? in
            guard case .collection(let index) = member else { return member }
            return numbers[index].map { .collection($0) }
        }
        return replacing(collections: tables, envelope: envelope, otherFormats: otherFormats.map(\.tablesOnly))
    }

    /// The index of each collection among those that are in tables; `nil` for the others.
    var tableNumbers: [Int?] {
        var next = 0
        return collections.map { collection in
            guard collection.source == .table else { return nil }
            defer { next += 1 }
            return next
        }
    }
}

extension CollectionDefinition {
    fileprivate func renumbered(_ numbers: [Int?]) -> CollectionDefinition {
        replacing(
            fields: fields.map {
                $0.replacing(
                    reference: $0.reference.flatMap { reference in
                        numbers[reference.collection].map {
                            FieldReference(collection: $0, field: reference.field, mayDangle: reference.mayDangle)
                        }
                    })
            })
    }
}
