import BackupCore

/// The relevant extra fields of a header.
struct ZIPExtraFields {
    private var zip64: ArraySlice<UInt8>?
    private(set) var modificationTime: Timestamp?

    /// - Parameter name: the name in the same header.
    /// - Throws: `damagedContent` for a malformed list, for a duplicate field, and for fields that give the entry a second name or a second kind.
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
    /// Programs differ in how they read a field with more values than required, so its length must be exact; if no value is required, it may only repeat
    /// known ones.
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
