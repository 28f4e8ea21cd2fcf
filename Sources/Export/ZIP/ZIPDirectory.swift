import BackupCore

/// An archive's central directory in memory: fixed-size records, and all names one after the other.
struct ZIPDirectory: Sendable {
    struct Record: Sendable {
        var nameStart: UInt32
        var nameLength: UInt16
        var flags: UInt16
        var method: UInt16
        /// `st_mode` where `hasMode`.
        var mode: UInt16
        var hasMode: Bool
        var crc32: UInt32
        var size: UInt64
        var compressedSize: UInt64
        var localOffset: UInt64
        /// Known once the local header has been read.
        var dataOffset: UInt64 = 0
        var modificationSeconds: Int64
    }

    private(set) var records: [Record] = []
    private var names: [UInt8] = []
    /// Record numbers in the order of their names, with `/` before every other byte: what is in a folder follows it at once.
    private var sortedByName: [Int32] = []

    func name(of record: Record) -> ArraySlice<UInt8> {
        names[Int(record.nameStart)..<Int(record.nameStart) + Int(record.nameLength)]
    }

    /// Reads the whole central directory.
    /// - Throws: `damagedContent`, `invalidContent` or `tooLarge`, as `ZIPReader.init`.
    init(_ window: inout ZIPWindow, _ end: ZIPEndRecord, limits: ZIPLimits) throws(BackupError) {
        guard end.entryCount <= UInt64(min(limits.entryCount, Int(Int32.max))) else {
            throw ZIPFailure.tooLarge("The archive has \(end.entryCount) entries, more than \(limits.entryCount).")
        }
        // A record has 46 bytes at least: a count that lies cannot make this program reserve more than the file justifies.
        guard end.entryCount <= end.centralSize / UInt64(ZIPFormat.centralHeaderSize) else {
            throw ZIPFailure.damaged("The central directory is too short for its \(end.entryCount) entries.")
        }
        records.reserveCapacity(Int(end.entryCount))
        let centralEnd = end.centralOffset + end.centralSize
        var position = end.centralOffset
        var totalSize: UInt64 = 0
        for _ in 0..<end.entryCount {
            position = try appendRecord(&window, at: position, end: end, limits: limits)
            let size = records.last?.size ?? 0
            let (sum, isOverflowing) = totalSize.addingReportingOverflow(size)
            guard !isOverflowing, sum <= limits.totalSizeBytes else {
                throw ZIPFailure.tooLarge("The archive unpacks to more than \(limits.totalSizeBytes) bytes.")
            }
            totalSize = sum
        }
        guard position == centralEnd else {
            throw ZIPFailure.damaged("The central directory has \(centralEnd - position) bytes more than its entries.")
        }
        guard totalSize <= limits.ratioFreeSizeBytes || totalSize / limits.ratio <= window.size else {
            throw ZIPFailure.tooLarge(
                "The archive unpacks to \(totalSize) bytes, more than \(limits.ratio) times its own size.")
        }
        try sortNames()
    }

    /// - Returns: where the next record starts.
    private mutating func appendRecord(
        _ window: inout ZIPWindow, at position: UInt64, end: ZIPEndRecord, limits: ZIPLimits
    ) throws(BackupError) -> UInt64 {
        let centralEnd = end.centralOffset + end.centralSize
        guard centralEnd - position >= UInt64(ZIPFormat.centralHeaderSize) else {
            throw ZIPFailure.damaged("The central directory ends inside an entry.")
        }
        let fixed = try window.bytes(at: position, count: ZIPFormat.centralHeaderSize)
        guard fixed.littleEndian(0, UInt32.self) == ZIPFormat.centralHeaderSignature else {
            throw ZIPFailure.damaged("The central directory has no entry at byte \(position).")
        }
        let nameLength = Int(fixed.littleEndian(28, UInt16.self))
        let extraLength = Int(fixed.littleEndian(30, UInt16.self))
        let commentLength = Int(fixed.littleEndian(32, UInt16.self))
        let length = ZIPFormat.centralHeaderSize + nameLength + extraLength + commentLength
        guard UInt64(length) <= centralEnd - position else {
            throw ZIPFailure.damaged("The central directory ends inside an entry.")
        }
        let header = try window.bytes(at: position, count: length)
        let name = header.dropFirst(ZIPFormat.centralHeaderSize).prefix(nameLength)
        guard nameLength <= limits.nameSizeBytes, names.count + nameLength <= min(limits.namesTotalSizeBytes, Int(Int32.max))
        else {
            throw ZIPFailure.tooLarge("The name \(ZIPFailure.quoted(name)), or all names together, are too long.")
        }
        let flags: UInt16 = header.littleEndian(8)
        try ZIPEntryRules.checkFlags(flags, method: header.littleEndian(10), name: name)
        let host = header.littleEndian(4, UInt16.self) >> 8
        try ZIPEntryRules.checkName(
            name, isUTF8: flags & ZIPFormat.utf8Flag != 0,
            acceptsBackslash: limits.acceptsUnixBackslashes && host == ZIPFormat.unixHost)
        let attributes: UInt32 = header.littleEndian(38)
        try ZIPEntryRules.checkKind(
            attributes: attributes, name: name, acceptsLink: limits.acceptsSymbolicLinks && host == ZIPFormat.unixHost)
        let extra = try ZIPExtraFields(header.dropFirst(ZIPFormat.centralHeaderSize + nameLength).prefix(extraLength), name: name)
        let disk: UInt16 = header.littleEndian(34)
        guard disk == 0 || disk == ZIPFormat.limit16 else {
            throw ZIPFailure.refused("The archive is a part of one that is split over several files.")
        }
        let shortValues: [UInt32] = [header.littleEndian(24), header.littleEndian(20), header.littleEndian(42)]
        guard let values = extra.resolve(shortValues, hasDisk: disk == ZIPFormat.limit16) else {
            throw ZIPFailure.damaged("The ZIP64 field of \(ZIPFailure.quoted(name)) does not fit its header.")
        }
        let clock = ZIPTime.timestamp(msdosTime: header.littleEndian(12), date: header.littleEndian(14))
        let record = Record(
            nameStart: UInt32(names.count), nameLength: UInt16(nameLength), flags: flags, method: header.littleEndian(10),
            mode: UInt16(attributes >> 16), hasMode: host == ZIPFormat.unixHost || host == ZIPFormat.darwinHost,
            crc32: header.littleEndian(16), size: values[0], compressedSize: values[1], localOffset: values[2],
            modificationSeconds: (extra.modificationTime ?? clock).seconds)
        try ZIPEntryRules.checkSizes(record, name: name)
        names.append(contentsOf: name)
        records.append(record)
        return position + UInt64(length)
    }

    mutating func setDataOffset(_ offset: UInt64, of index: Int) { records[index].dataOffset = offset }

    /// The number of the entry with exactly this name.
    func index(of path: some Collection<UInt8>) -> Int? {
        var low = 0
        var high = sortedByName.count
        while low < high {
            let middle = (low + high) / 2
            if Self.precedes(name(of: records[Int(sortedByName[middle])]), path) { low = middle + 1 } else { high = middle }
        }
        guard low < sortedByName.count else { return nil }
        let index = Int(sortedByName[low])
        return name(of: records[index]).elementsEqual(path) ? index : nil
    }

    private static func precedes(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        left.lexicographicallyPrecedes(right) { sortKey($0) < sortKey($1) }
    }

    /// NUL does not occur in names.
    private static func sortKey(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "/") ? 0 : byte }

    /// Two entries of one name, and an entry below a file, would each leave it to the program which of them it takes.
    private mutating func sortNames() throws(BackupError) {
        let order = names.withUnsafeBufferPointer { names in
            records.withUnsafeBufferPointer { records in
                func name(_ index: Int32) -> UnsafeBufferPointer<UInt8> {
                    let record = records[Int(index)]
                    let start = Int(record.nameStart)
                    return UnsafeBufferPointer(rebasing: names[start..<start + Int(record.nameLength)])
                }
                return (0..<Int32(records.count)).sorted { Self.precedes(name($0), name($1)) }
            }
        }
        sortedByName = order
        for (first, second) in zip(order, order.dropFirst()) {
            let left = name(of: records[Int(first)])
            let right = name(of: records[Int(second)])
            guard left != right else {
                throw ZIPFailure.refused("The archive has two entries named \(ZIPFailure.quoted(left)).")
            }
            guard
                left.last == UInt8(ascii: "/") || !right.starts(with: left)
                    || right.dropFirst(left.count).first != UInt8(ascii: "/")
            else {
                throw ZIPFailure.refused(
                    "The entry \(ZIPFailure.quoted(left)) is a file, and \(ZIPFailure.quoted(right)) would be inside it.")
            }
        }
    }
}
