import BackupCore

/// A ZIP archive's central directory, and the values to compare with the entries' local headers.
struct ZIPDirectory {
    /// Values that an entry's local header must repeat.
    struct Header {
        let flags: UInt16
        let method: UInt16
        let localOffset: UInt64
    }

    private(set) var entries = ArchiveDirectory()
    /// In entry order
    private(set) var headers: [Header] = []

    /// Reads the whole central directory.
    /// - Throws: `damagedContent`, `invalidContent` or `tooLarge`, like `ArchiveReader.init`.
    init(_ window: inout ArchiveWindow, _ end: ZIPEndRecord, limits: ArchiveLimits) throws(BackupError) {
        guard end.entryCount <= UInt64(min(limits.entryCount, Int(Int32.max))) else {
            throw ArchiveFailure.tooLarge("The archive has \(end.entryCount) entries, more than \(limits.entryCount).")
        }
        // A record has at least 46 bytes: a false count cannot make this program reserve more than the file justifies.
        guard end.entryCount <= end.centralSize / UInt64(ZIPFormat.centralHeaderSize) else {
            throw ArchiveFailure.damaged("The central directory is too short for its \(end.entryCount) entries.")
        }
        entries.reserve(Int(end.entryCount))
        headers.reserveCapacity(Int(end.entryCount))
        let centralEnd = end.centralOffset + end.centralSize
        var position = end.centralOffset
        for _ in 0..<end.entryCount { position = try appendRecord(&window, at: position, end: end, limits: limits) }
        guard position == centralEnd else {
            throw ArchiveFailure.damaged("The central directory has \(centralEnd - position) bytes more than its entries.")
        }
        try entries.finish(archiveSizeBytes: window.size, limits)
    }

    /// - Returns: where the next record starts
    private mutating func appendRecord(
        _ window: inout ArchiveWindow, at position: UInt64, end: ZIPEndRecord, limits: ArchiveLimits
    ) throws(BackupError) -> UInt64 {
        let centralEnd = end.centralOffset + end.centralSize
        guard centralEnd - position >= UInt64(ZIPFormat.centralHeaderSize) else {
            throw ArchiveFailure.damaged("The central directory ends inside an entry.")
        }
        let fixed = try window.bytes(at: position, count: ZIPFormat.centralHeaderSize)
        guard fixed.littleEndian(0, UInt32.self) == ZIPFormat.centralHeaderSignature else {
            throw ArchiveFailure.damaged("The central directory has no entry at byte \(position).")
        }
        let nameLength = Int(fixed.littleEndian(28, UInt16.self))
        let extraLength = Int(fixed.littleEndian(30, UInt16.self))
        let commentLength = Int(fixed.littleEndian(32, UInt16.self))
        let length = ZIPFormat.centralHeaderSize + nameLength + extraLength + commentLength
        guard UInt64(length) <= centralEnd - position else {
            throw ArchiveFailure.damaged("The central directory ends inside an entry.")
        }
        let header = try window.bytes(at: position, count: length)
        let name = header.dropFirst(ZIPFormat.centralHeaderSize).prefix(nameLength)
        let flags: UInt16 = header.littleEndian(8)
        try ZIPEntryRules.checkFlags(flags, method: header.littleEndian(10), name: name)
        let host = header.littleEndian(4, UInt16.self) >> 8
        try ZIPEntryRules.checkName(
            name, isUTF8: flags & ZIPFormat.utf8Flag != 0,
            acceptsBackslash: limits.acceptsUnixBackslashes && host == ZIPFormat.unixHost,
            componentSizeBytes: limits.componentSizeBytes)
        let attributes: UInt32 = header.littleEndian(38)
        try ZIPEntryRules.checkKind(
            attributes: attributes, name: name, acceptsLink: limits.acceptsSymbolicLinks && host == ZIPFormat.unixHost)
        let extra = try ZIPExtraFields(header.dropFirst(ZIPFormat.centralHeaderSize + nameLength).prefix(extraLength), name: name)
        let disk: UInt16 = header.littleEndian(34)
        guard disk == 0 || disk == ZIPFormat.limit16 else {
            throw ArchiveFailure.refused("The archive is a part of one that is split over several files.")
        }
        let shortValues: [UInt32] = [header.littleEndian(24), header.littleEndian(20), header.littleEndian(42)]
        guard let values = extra.resolve(shortValues, hasDisk: disk == ZIPFormat.limit16) else {
            throw ArchiveFailure.damaged("The ZIP64 field of \(ArchiveFailure.quoted(name)) does not fit its header.")
        }
        let clock = ZIPTime.timestamp(msdosTime: header.littleEndian(12), date: header.littleEndian(14))
        let method: UInt16 = header.littleEndian(10)
        let record = ArchiveDirectory.Record(
            mode: UInt16(attributes >> 16), hasMode: host == ZIPFormat.unixHost || host == ZIPFormat.darwinHost,
            isDeflated: method == ZIPFormat.deflateMethod, crc32: header.littleEndian(16), size: values[0],
            compressedSize: values[1], modificationTime: (extra.modificationTime ?? clock).wholeSeconds)
        try ZIPEntryRules.checkSizes(record, name: name)
        try entries.append(record, name: name, limits)
        headers.append(Header(flags: flags, method: method, localOffset: values[2]))
        return position + UInt64(length)
    }

    mutating func setDataOffset(_ offset: UInt64, of index: Int) { entries.setDataOffset(offset, of: index) }
}
