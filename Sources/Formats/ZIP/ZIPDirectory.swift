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
        try ArchiveEntryName.check(
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

/// The rules for a single entry of a foreign ZIP archive, apart from those for its name (`ArchiveEntryName`).
enum ZIPEntryRules {
    private static let allowedFlags =
        ZIPFormat.compressionLevelFlags | ZIPFormat.dataDescriptorFlag | ZIPFormat.utf8Flag
    /// DEFLATE cannot compress this many bytes to less than one.
    private static let deflateRatioLimit: UInt64 = 1_032

    /// - Throws: `invalidContent` for encryption and for methods other than "stored" and "deflated".
    static func checkFlags(_ flags: UInt16, method: UInt16, name: ArraySlice<UInt8>) throws(BackupError) {
        guard flags & ZIPFormat.encryptedFlag == 0 else {
            throw ArchiveFailure.refused("The entry \(ArchiveFailure.quoted(name)) is encrypted.")
        }
        guard flags & ~allowedFlags == 0 else {
            throw ArchiveFailure.refused("The entry \(ArchiveFailure.quoted(name)) uses features this program does not know.")
        }
        guard method == ZIPFormat.storedMethod || method == ZIPFormat.deflateMethod else {
            throw ArchiveFailure.refused(
                "The entry \(ArchiveFailure.quoted(name)) is compressed with the unknown method \(method).")
        }
    }

    /// Allows only files and folders (and links if accepted), and all signs of the kind must agree.
    static func checkKind(attributes: UInt32, name: ArraySlice<UInt8>, acceptsLink: Bool) throws(BackupError) {
        let isDirectory = name.last == UInt8(ascii: "/")
        // Checked for every claimed system: some programs always use the mode.
        switch attributes >> 16 & FileTypeBits.mask {
        case 0: break
        case FileTypeBits.regularFile where !isDirectory: break
        case FileTypeBits.directory where isDirectory: break
        case FileTypeBits.symbolicLink where acceptsLink && !isDirectory: break
        case FileTypeBits.regularFile, FileTypeBits.directory:
            throw ArchiveFailure.refused(
                "The entry \(ArchiveFailure.quoted(name)) is a file by one sign and a folder by another.")
        default: throw ArchiveFailure.refused("The entry \(ArchiveFailure.quoted(name)) is a link or a device.")
        }
        guard attributes & ZIPFormat.msdosDirectoryAttribute == 0 || isDirectory else {
            throw ArchiveFailure.refused(
                "The entry \(ArchiveFailure.quoted(name)) is a file by one sign and a folder by another.")
        }
    }

    /// - Throws: `damagedContent` for impossible sizes.
    static func checkSizes(_ record: ArchiveDirectory.Record, name: ArraySlice<UInt8>) throws(BackupError) {
        let isDirectory = name.last == UInt8(ascii: "/")
        let isPossible =
            if record.isDeflated {
                record.size / deflateRatioLimit <= record.compressedSize
            } else {
                record.size == record.compressedSize
            }
        guard isPossible, !isDirectory || record.size == 0 else {
            throw ArchiveFailure.damaged(
                "The sizes of \(ArchiveFailure.quoted(name)) cannot be true: \(record.compressedSize) bytes for \(record.size).")
        }
    }
}

/// The location of the central directory, from the record at the archive's end and its ZIP64 form.
struct ZIPEndRecord {
    let entryCount: UInt64
    let centralOffset: UInt64
    let centralSize: UInt64

    /// - Throws: `invalidContent` for a file that is not a ZIP; `damagedContent` for one that is truncated, has data before or
    ///   after it, or has an ambiguous end.
    init(_ window: inout ArchiveWindow) throws(BackupError) {
        let size = window.size
        guard size >= 4 else { throw ArchiveFailure.notAnArchive("The file has \(size) bytes; the smallest ZIP archive has 22.") }
        let first: UInt32 = try window.bytes(at: 0, count: 4).littleEndian(0)
        guard first == ZIPFormat.localHeaderSignature || first == ZIPFormat.endRecordSignature else {
            throw ArchiveFailure.notAnArchive("The file does not start with a ZIP entry.")
        }
        let (position, record) = try Self.find(&window)
        let disks = (record.littleEndian(4, UInt16.self), record.littleEndian(6, UInt16.self))
        let counts = (record.littleEndian(8, UInt16.self), record.littleEndian(10, UInt16.self))
        let shortSize = record.littleEndian(12, UInt32.self)
        let shortOffset = record.littleEndian(16, UInt32.self)
        guard disks.0 == disks.1, counts.0 == counts.1, disks.0 == 0 || disks.0 == ZIPFormat.limit16 else {
            throw ArchiveFailure.refused("The archive is a part of one that is split over several files.")
        }
        var centralEnd = position
        if let large = try Self.zip64(&window, endRecord: position) {
            guard counts.0 == ZIPFormat.limit16 || UInt64(counts.0) == large.entryCount,
                shortSize == ZIPFormat.limit32 || UInt64(shortSize) == large.centralSize,
                shortOffset == ZIPFormat.limit32 || UInt64(shortOffset) == large.centralOffset
            else { throw ArchiveFailure.damaged("The two end records of the archive contradict each other.") }
            entryCount = large.entryCount
            centralSize = large.centralSize
            centralOffset = large.centralOffset
            centralEnd = large.position
        } else {
            guard disks.0 == 0 else { throw ArchiveFailure.damaged("The end record names a ZIP64 record that is missing.") }
            entryCount = UInt64(counts.0)
            centralSize = UInt64(shortSize)
            centralOffset = UInt64(shortOffset)
        }
        guard centralOffset <= centralEnd, centralSize == centralEnd - centralOffset else {
            throw ArchiveFailure.damaged(
                "The central directory, \(centralSize) bytes at \(centralOffset), does not end at byte \(centralEnd), as it must."
            )
        }
        guard (first == ZIPFormat.endRecordSignature) == (entryCount == 0 && centralEnd == 0) else {
            throw ArchiveFailure.damaged("There is data before the archive's first entry.")
        }
    }

    /// The last end record in the file. Programs search for it backwards, so it counts only when nothing after it looks like
    /// another one and its comment ends exactly with the file.
    private static func find(_ window: inout ArchiveWindow) throws(BackupError) -> (UInt64, ArraySlice<UInt8>) {
        guard window.size >= UInt64(ZIPFormat.endRecordSize) else {
            throw ArchiveFailure.damaged("The archive is cut off: it has no end record.")
        }
        // Usually there is no comment. Then no other part of the archive's end is read, since it may be damaged.
        let last = window.size - UInt64(ZIPFormat.endRecordSize)
        let plain = try window.bytes(at: last, count: ZIPFormat.endRecordSize)
        if plain.littleEndian(0, UInt32.self) == ZIPFormat.endRecordSignature, plain.littleEndian(20, UInt16.self) == 0 {
            return (last, plain)
        }
        let tailCount = Int(min(window.size, UInt64(ZIPFormat.endRecordSize) + UInt64(ZIPFormat.limit16)))
        let tailStart = window.size - UInt64(tailCount)
        let tail = try window.bytes(at: tailStart, count: tailCount)
        var index = tailCount - ZIPFormat.endRecordSize
        while index >= 0, tail.littleEndian(index, UInt32.self) != ZIPFormat.endRecordSignature { index -= 1 }
        guard index >= 0 else { throw ArchiveFailure.damaged("The archive is cut off: it has no end record.") }
        let record = tail.dropFirst(index)
        let following = record.count - ZIPFormat.endRecordSize
        guard Int(record.littleEndian(20, UInt16.self)) == following else {
            throw ArchiveFailure.damaged("The archive's end record and its comment do not end with the file.")
        }
        return (tailStart + UInt64(index), record)
    }

    private struct Large {
        let position: UInt64
        let entryCount: UInt64
        let centralSize: UInt64
        let centralOffset: UInt64
    }

    /// The ZIP64 end record, if its locator precedes the end record.
    private static func zip64(_ window: inout ArchiveWindow, endRecord: UInt64) throws(BackupError) -> Large? {
        guard endRecord >= UInt64(ZIPFormat.zip64LocatorSize) else { return nil }
        let locatorPosition = endRecord - UInt64(ZIPFormat.zip64LocatorSize)
        let locator = try window.bytes(at: locatorPosition, count: ZIPFormat.zip64LocatorSize)
        guard locator.littleEndian(0, UInt32.self) == ZIPFormat.zip64LocatorSignature else { return nil }
        let position = locator.littleEndian(8, UInt64.self)
        guard locator.littleEndian(4, UInt32.self) == 0, locator.littleEndian(16, UInt32.self) <= 1 else {
            throw ArchiveFailure.refused("The archive is a part of one that is split over several files.")
        }
        guard locatorPosition >= UInt64(ZIPFormat.zip64EndRecordSize),
            position == locatorPosition - UInt64(ZIPFormat.zip64EndRecordSize)
        else { throw ArchiveFailure.damaged("The ZIP64 end record is not where its locator says.") }
        let record = try window.bytes(at: position, count: ZIPFormat.zip64EndRecordSize)
        guard record.littleEndian(0, UInt32.self) == ZIPFormat.zip64EndRecordSignature,
            record.littleEndian(4, UInt64.self) == UInt64(ZIPFormat.zip64EndRecordSize - 12)
        else { throw ArchiveFailure.damaged("The ZIP64 end record is not where its locator says.") }
        guard record.littleEndian(16, UInt32.self) == 0, record.littleEndian(20, UInt32.self) == 0,
            record.littleEndian(24, UInt64.self) == record.littleEndian(32, UInt64.self)
        else { throw ArchiveFailure.refused("The archive is a part of one that is split over several files.") }
        return Large(
            position: position, entryCount: record.littleEndian(32), centralSize: record.littleEndian(40),
            centralOffset: record.littleEndian(48))
    }
}
