import AppData
import BackupCore
import SystemIO

/// The bytes of a batch: `Docs/reference/device-changes-format.md`.
extension ChangeBatch {
    static let magic: [UInt8] = Array("bfschang".utf8)
    static let formatVersion: UInt16 = 1
    /// A batch ends when it reaches this size. A single record may be larger.
    static let intendedSizeBytes = 1 << 20
    /// The size of the largest object that is read and written.
    static let limitBytes = 64 << 20

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.formatVersion)
        writer.append(raw: device.bytes)
        writer.append(sequence)
        writer.append(app)
        writer.append(schemaVersion)
        writer.append(UInt32(seen.count))
        for (device, sequence) in seen.sorted(by: { $0.key < $1.key }) {
            writer.append(raw: device.bytes)
            writer.append(sequence)
        }
        writer.append(UInt32(collections.count))
        for collection in collections {
            writer.append(collection.name)
            writer.append(UInt32(collection.fields.count))
            for field in collection.fields { writer.append(field) }
        }
        writer.append(UInt32(changes.count))
        for change in changes { writer.append(change) }
        let digest = SHA256Hasher.hash(writer.bytes)
        writer.append(digest)
        return writer.bytes
    }

    /// - Throws: `unsupportedVersion` for a later format; `damagedContent` for anything else than whole batches.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        var reader = ByteReader(bytes)
        do throws(BackupError) {
            guard try reader.readRaw(count: Self.magic.count).elementsEqual(Self.magic) else {
                throw BackupError(.damagedContent, "these are not the changes of a device")
            }
            let version: UInt16 = try reader.read()
            guard version <= Self.formatVersion else {
                throw BackupError(
                    .unsupportedVersion, "these changes have format version \(version); this program reads \(Self.formatVersion)",
                    remedy: "Use a newer backupfs.")
            }
            guard version == Self.formatVersion else { throw BackupError(.damagedContent, "the format version is \(version)") }
            guard bytes.count >= SHA256Digest.byteCount,
                SHA256Hasher.hash(Array(bytes.dropLast(SHA256Digest.byteCount))).bytes.elementsEqual(
                    bytes.suffix(SHA256Digest.byteCount))
            else { throw BackupError(.damagedContent, "the bytes differ from their SHA-256") }
            try self.init(reading: &reader)
        } catch {
            // Of the reader, which is mostly used for repositories.
            throw error.code == .repositoryDamaged ? error.with(.damagedContent) : error
        }
    }

    private init(reading reader: inout ByteReader) throws(BackupError) {
        device = try reader.readDevice()
        sequence = try reader.readSequence()
        app = try reader.readText()
        schemaVersion = try reader.read()
        var seen: SeenBatches = [:]
        for _ in 0..<(try reader.read(UInt32.self)) { seen[try reader.readDevice()] = try reader.readSequence() }
        self.seen = seen
        var collections: [Collection] = []
        for _ in 0..<(try reader.read(UInt32.self)) {
            let name = try reader.readText()
            var fields: [String] = []
            for _ in 0..<(try reader.read(UInt32.self)) { fields.append(try reader.readText()) }
            collections.append(Collection(name: name, fields: fields))
        }
        self.collections = collections
        var changes: [Change] = []
        for _ in 0..<(try reader.read(UInt32.self)) {
            let change = try reader.readChange(collections, by: device)
            if let last = changes.last, change.stamp <= last.stamp {
                throw BackupError(.damagedContent, "the stamps are not in order")
            }
            changes.append(change)
        }
        self.changes = changes
        guard reader.remainingCount == SHA256Digest.byteCount else {
            throw BackupError(.damagedContent, "there are more bytes than changes")
        }
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ change: Change) {
        append(UInt32(change.collection))
        append(UInt8(change.values == nil ? 2 : 1))
        append(change.stamp.milliseconds)
        append(change.stamp.counter)
        append(change.key)
        for value in change.values ?? [] { append(value) }
    }
}

extension ByteReader {
    fileprivate mutating func readDevice() throws(BackupError) -> DeviceID {
        guard let id = DeviceID(bytes: try readRaw(count: DeviceID.byteCount)) else {
            preconditionFailure("a device ID has \(DeviceID.byteCount) bytes")
        }
        return id
    }

    fileprivate mutating func readSequence() throws(BackupError) -> UInt64 {
        let sequence: UInt64 = try read()
        guard ChangeBatch.sequences.contains(sequence) else {
            throw BackupError(.damagedContent, "a sequence number is out of range")
        }
        return sequence
    }

    fileprivate mutating func readChange(
        _ collections: [ChangeBatch.Collection], by device: DeviceID
    ) throws(BackupError) -> Change {
        let collection = Int(try read(UInt32.self))
        guard collection < collections.count else { throw BackupError(.damagedContent, "a change is of no kind of records") }
        let kind: UInt8 = try read()
        let milliseconds: UInt64 = try read()
        let counter: UInt64 = try read()
        guard milliseconds <= ChangeStamp.latestMilliseconds, counter <= ChangeStamp.counterLimit else {
            throw BackupError(.damagedContent, "a stamp is out of range")
        }
        let key = try readValue()
        var values: [FieldValue]?
        switch kind {
        case 1:
            var list: [FieldValue] = []
            for _ in collections[collection].fields { list.append(try readValue()) }
            values = list
        case 2: values = nil
        default: throw BackupError(.damagedContent, "a change is of an unknown kind")
        }
        return Change(
            collection: collection, key: key, values: values,
            stamp: ChangeStamp(milliseconds: milliseconds, counter: counter, device: device))
    }
}
