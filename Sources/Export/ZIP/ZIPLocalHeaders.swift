import BackupCore

/// Checks that the entries' own headers say what the central directory says, and that the entries cover the archive without
/// gap or overlap. A program that reads the archive from its start then finds the same files as one that starts at its end.
struct ZIPLocalHeaders {
    private let end: ZIPEndRecord
    private var window: ZIPWindow

    init(_ window: ZIPWindow, _ end: ZIPEndRecord) {
        self.window = window
        self.end = end
    }

    /// Also fills in where each entry's data starts.
    /// - Throws: `damagedContent`.
    mutating func check(_ directory: inout ZIPDirectory) throws(BackupError) {
        var order = Array(directory.records.indices)
        order.sort { directory.records[$0].localOffset < directory.records[$1].localOffset }
        var position: UInt64 = 0
        for (number, index) in order.enumerated() {
            let record = directory.records[index]
            let name = directory.name(of: record)
            guard record.localOffset == position else {
                throw ZIPFailure.damaged(
                    "The entry \(ZIPFailure.quoted(name)) starts at byte \(record.localOffset) instead of \(position).")
            }
            let nextOffset = number + 1 < order.count ? directory.records[order[number + 1]].localOffset : end.centralOffset
            let dataOffset = try checkHeader(record, name)
            guard dataOffset <= end.centralOffset, record.compressedSize <= end.centralOffset - dataOffset else {
                throw ZIPFailure.damaged("The data of \(ZIPFailure.quoted(name)) reaches into the central directory.")
            }
            position = dataOffset + record.compressedSize
            guard nextOffset >= position, nextOffset <= end.centralOffset else {
                throw ZIPFailure.damaged("The entry \(ZIPFailure.quoted(name)) overlaps with another one.")
            }
            if record.flags & ZIPFormat.dataDescriptorFlag != 0 {
                try checkDescriptor(record, name, position..<nextOffset)
                position = nextOffset
            }
            directory.setDataOffset(dataOffset, of: index)
        }
        guard position == end.centralOffset else {
            throw ZIPFailure.damaged("Bytes \(position) to \(end.centralOffset) of the archive belong to no entry.")
        }
    }

    /// - Returns: where the entry's data starts.
    private mutating func checkHeader(
        _ record: ZIPDirectory.Record, _ name: ArraySlice<UInt8>
    ) throws(BackupError) -> UInt64 {
        let fixed = try window.bytes(at: record.localOffset, count: ZIPFormat.localHeaderSize)
        guard fixed.littleEndian(0, UInt32.self) == ZIPFormat.localHeaderSignature else {
            throw ZIPFailure.damaged("There is no entry at byte \(record.localOffset) for \(ZIPFailure.quoted(name)).")
        }
        let nameLength = Int(fixed.littleEndian(26, UInt16.self))
        let extraLength = Int(fixed.littleEndian(28, UInt16.self))
        let length = ZIPFormat.localHeaderSize + nameLength + extraLength
        let header = try window.bytes(at: record.localOffset, count: length)
        let localName = header.dropFirst(ZIPFormat.localHeaderSize).prefix(nameLength)
        guard localName == name else {
            throw contradiction(name, "the name is \(ZIPFailure.quoted(localName)) in the other")
        }
        let levels = ZIPFormat.compressionLevelFlags
        guard header.littleEndian(6, UInt16.self) & ~levels == record.flags & ~levels else {
            throw contradiction(name, "the flags differ")
        }
        guard header.littleEndian(8, UInt16.self) == record.method else { throw contradiction(name, "the method differs") }
        let isStreamed = record.flags & ZIPFormat.dataDescriptorFlag != 0
        let extra = try ZIPExtraFields(header.dropFirst(ZIPFormat.localHeaderSize + nameLength), name: name)
        let shortValues: [UInt32] = [header.littleEndian(22), header.littleEndian(18)]
        guard let values = extra.resolve(shortValues, mayBeZero: isStreamed) else {
            throw contradiction(name, "its ZIP64 field does not fit")
        }
        // Before a data descriptor the local header may leave the values open.
        func agrees(_ local: UInt64, _ central: UInt64) -> Bool { local == central || isStreamed && local == 0 }
        guard agrees(values[0], record.size), agrees(values[1], record.compressedSize) else {
            throw contradiction(name, "the sizes differ")
        }
        guard agrees(UInt64(header.littleEndian(14, UInt32.self)), UInt64(record.crc32)) else {
            throw contradiction(name, "the CRC differs")
        }
        return record.localOffset + UInt64(length)
    }

    /// The descriptor has 32-bit or 64-bit sizes, and a signature or none; which of the four must follow from its length.
    private mutating func checkDescriptor(
        _ record: ZIPDirectory.Record, _ name: ArraySlice<UInt8>, _ range: Range<UInt64>
    ) throws(BackupError) {
        let count = range.upperBound - range.lowerBound
        guard [12, 16, 20, 24].contains(count) else {
            throw ZIPFailure.damaged("After the data of \(ZIPFailure.quoted(name)) stand \(count) bytes that belong to no entry.")
        }
        var fields = try window.bytes(at: range.lowerBound, count: Int(count))
        if count == 16 || count == 24 {
            guard fields.littleEndian(0, UInt32.self) == ZIPFormat.dataDescriptorSignature else {
                throw contradiction(name, "its data descriptor is malformed")
            }
            fields = fields.dropFirst(4)
        }
        let crc: UInt32 = fields.littleEndian(0)
        let isLong = count >= 20
        let compressedSize = isLong ? fields.littleEndian(4, UInt64.self) : UInt64(fields.littleEndian(4, UInt32.self))
        let size = isLong ? fields.littleEndian(12, UInt64.self) : UInt64(fields.littleEndian(8, UInt32.self))
        guard crc == record.crc32, compressedSize == record.compressedSize, size == record.size else {
            throw contradiction(name, "its data descriptor says something else")
        }
    }

    private func contradiction(_ name: ArraySlice<UInt8>, _ what: String) -> BackupError {
        ZIPFailure.damaged("The two headers of the entry \(ZIPFailure.quoted(name)) contradict each other: \(what).")
    }
}
