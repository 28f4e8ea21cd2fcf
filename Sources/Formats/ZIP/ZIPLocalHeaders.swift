import BackupCore

/// Checks that the local headers match the central directory, and that the entries cover the archive without gap or overlap. Then
/// a program that reads the archive from its start finds the same files as one that starts at its end.
struct ZIPLocalHeaders {
    private let end: ZIPEndRecord
    private var window: ArchiveWindow

    init(_ window: ArchiveWindow, _ end: ZIPEndRecord) {
        self.window = window
        self.end = end
    }

    /// Also sets where each entry's data starts.
    /// - Throws: `damagedContent`.
    mutating func check(_ directory: inout ZIPDirectory) throws(BackupError) {
        var order = Array(directory.headers.indices)
        order.sort { directory.headers[$0].localOffset < directory.headers[$1].localOffset }
        var position: UInt64 = 0
        for (number, index) in order.enumerated() {
            let record = directory.entries.records[index]
            let expected = directory.headers[index]
            let name = directory.entries.name(of: record)
            guard expected.localOffset == position else {
                throw ArchiveFailure.damaged(
                    "The entry \(ArchiveFailure.quoted(name)) starts at byte \(expected.localOffset) instead of \(position).")
            }
            let nextOffset = number + 1 < order.count ? directory.headers[order[number + 1]].localOffset : end.centralOffset
            let dataOffset = try checkHeader(record, expected, name)
            guard dataOffset <= end.centralOffset, record.compressedSize <= end.centralOffset - dataOffset else {
                throw ArchiveFailure.damaged("The data of \(ArchiveFailure.quoted(name)) reaches into the central directory.")
            }
            position = dataOffset + record.compressedSize
            guard nextOffset >= position, nextOffset <= end.centralOffset else {
                throw ArchiveFailure.damaged("The entry \(ArchiveFailure.quoted(name)) overlaps with another one.")
            }
            if expected.flags & ZIPFormat.dataDescriptorFlag != 0 {
                try checkDescriptor(record, name, position..<nextOffset)
                position = nextOffset
            }
            directory.setDataOffset(dataOffset, of: index)
        }
        guard position == end.centralOffset else {
            throw ArchiveFailure.damaged("Bytes \(position) to \(end.centralOffset) of the archive belong to no entry.")
        }
    }

    /// - Returns: where the entry's data starts
    private mutating func checkHeader(
        _ record: ArchiveDirectory.Record, _ expected: ZIPDirectory.Header, _ name: ArraySlice<UInt8>
    ) throws(BackupError) -> UInt64 {
        let fixed = try window.bytes(at: expected.localOffset, count: ZIPFormat.localHeaderSize)
        guard fixed.littleEndian(0, UInt32.self) == ZIPFormat.localHeaderSignature else {
            throw ArchiveFailure.damaged("There is no entry at byte \(expected.localOffset) for \(ArchiveFailure.quoted(name)).")
        }
        let nameLength = Int(fixed.littleEndian(26, UInt16.self))
        let extraLength = Int(fixed.littleEndian(28, UInt16.self))
        let length = ZIPFormat.localHeaderSize + nameLength + extraLength
        let header = try window.bytes(at: expected.localOffset, count: length)
        let localName = header.dropFirst(ZIPFormat.localHeaderSize).prefix(nameLength)
        guard localName == name else {
            throw contradiction(name, "the name is \(ArchiveFailure.quoted(localName)) in the other")
        }
        let levels = ZIPFormat.compressionLevelFlags
        guard header.littleEndian(6, UInt16.self) & ~levels == expected.flags & ~levels else {
            throw contradiction(name, "the flags differ")
        }
        guard header.littleEndian(8, UInt16.self) == expected.method else { throw contradiction(name, "the method differs") }
        let isStreamed = expected.flags & ZIPFormat.dataDescriptorFlag != 0
        let extra = try ZIPExtraFields(header.dropFirst(ZIPFormat.localHeaderSize + nameLength), name: name)
        let shortValues: [UInt32] = [header.littleEndian(22), header.littleEndian(18)]
        guard let values = extra.resolve(shortValues, mayBeZero: isStreamed) else {
            throw contradiction(name, "its ZIP64 field does not fit")
        }
        // Before a data descriptor, the local header may leave the values zero.
        func agrees(_ local: UInt64, _ central: UInt64) -> Bool { local == central || isStreamed && local == 0 }
        guard agrees(values[0], record.size), agrees(values[1], record.compressedSize) else {
            throw contradiction(name, "the sizes differ")
        }
        guard record.isDeflated || values[1] == record.compressedSize else {
            throw ArchiveFailure.refused(
                "The entry \(ArchiveFailure.quoted(name)) has its length after its data: a reader from the front cannot find its end."
            )
        }
        guard agrees(UInt64(header.littleEndian(14, UInt32.self)), UInt64(record.crc32 ?? 0)) else {
            throw contradiction(name, "the CRC differs")
        }
        return expected.localOffset + UInt64(length)
    }

    /// The descriptor has 32-bit or 64-bit sizes, with or without a signature; its length determines which.
    private mutating func checkDescriptor(
        _ record: ArchiveDirectory.Record, _ name: ArraySlice<UInt8>, _ range: Range<UInt64>
    ) throws(BackupError) {
        let count = range.upperBound - range.lowerBound
        guard [12, 16, 20, 24].contains(count) else {
            throw ArchiveFailure.damaged(
                "The data of \(ArchiveFailure.quoted(name)) is followed by \(count) bytes that belong to no entry.")
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
        ArchiveFailure.damaged("The two headers of the entry \(ArchiveFailure.quoted(name)) contradict each other: \(what).")
    }
}

/// The relevant extra fields of a header.
struct ZIPExtraFields {
    private var zip64: ArraySlice<UInt8>?
    private(set) var modificationTime: Timestamp?

    /// - Parameter name: the name in the same header.
    /// - Throws: `damagedContent` for a malformed list, for a duplicate field, and for fields that give the entry a second name
    ///   or a second kind.
    init(_ extra: ArraySlice<UInt8>, name: ArraySlice<UInt8>) throws(BackupError) {
        var rest = extra
        var hasUnicodePath = false
        while rest.count >= 4 {
            let identifier: UInt16 = rest.littleEndian(0)
            let count = Int(rest.littleEndian(2, UInt16.self))
            rest = rest.dropFirst(4)
            guard count <= rest.count else {
                throw ArchiveFailure.damaged("An extra field of \(ArchiveFailure.quoted(name)) is longer than its header.")
            }
            let field = rest.prefix(count)
            rest = rest.dropFirst(count)
            switch identifier {
            case ZIPFormat.zip64Extra:
                guard zip64 == nil else {
                    throw ArchiveFailure.damaged("The entry \(ArchiveFailure.quoted(name)) has two ZIP64 fields.")
                }
                zip64 = field
            case ZIPFormat.extendedTimestampExtra:
                // A flag byte, then the modification time if its bit is set; signed, as the programs that write it do.
                if count >= 5, let flags = field.first, flags & 1 == 1 {
                    let seconds = Int32(bitPattern: field.littleEndian(1, UInt32.self))
                    modificationTime = Timestamp(seconds: Int64(seconds))
                }
            case ZIPFormat.unicodePathExtra:
                // A version byte, a CRC and the name again. Only some programs use it.
                guard !hasUnicodePath, field.dropFirst(5) == name else {
                    throw ArchiveFailure.damaged("The entry \(ArchiveFailure.quoted(name)) has two names.")
                }
                hasUnicodePath = true
            case ZIPFormat.asiUnixExtra:
                throw ArchiveFailure.damaged("The entry \(ArchiveFailure.quoted(name)) has a second mode of its own.")
            default: break
            }
        }
        // Up to three zero bytes are padding with which some programs align the data.
        guard rest.allSatisfy({ $0 == 0 }) else {
            throw ArchiveFailure.damaged("The extra fields of \(ArchiveFailure.quoted(name)) are malformed.")
        }
    }

    /// The values in the ZIP64 field for those 32-bit fields that refer to it.
    ///
    /// Programs differ in how they read a field with more values than required, so its length must be exact; if no value is
    /// required, it may only repeat known ones.
    /// - Parameter shortValues: the 32-bit fields in the order of the ZIP64 field: size, compressed size, and offset.
    /// - Parameter hasDisk: whether the disk number is also required.
    /// - Parameter mayBeZero: whether a repeated value may also be zero, as before a data descriptor.
    /// - Returns: the full values, or `nil` when the field does not match.
    func resolve(_ shortValues: [UInt32], hasDisk: Bool = false, mayBeZero: Bool = false) -> [UInt64]? {
        let askedCount = shortValues.count { $0 == ZIPFormat.limit32 }
        var values = shortValues.map { UInt64($0) }
        guard let zip64 else { return askedCount == 0 && !hasDisk ? values : nil }
        if askedCount == 0, !hasDisk {
            guard zip64.count.isMultiple(of: 8), zip64.count <= values.count * 8 else { return nil }
            for index in 0..<zip64.count / 8 {
                let repeated: UInt64 = zip64.littleEndian(index * 8)
                guard repeated == values[index] || mayBeZero && repeated == 0 else { return nil }
            }
            return values
        }
        guard zip64.count == askedCount * 8 + (hasDisk ? 4 : 0) else { return nil }
        var position = 0
        for (index, value) in shortValues.enumerated() where value == ZIPFormat.limit32 {
            values[index] = zip64.littleEndian(position)
            position += 8
        }
        if hasDisk, zip64.littleEndian(position, UInt32.self) != 0 { return nil }
        return values
    }
}
