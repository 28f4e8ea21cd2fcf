import BackupCore

/// The members of an untrusted tar archive, found by walking from header to header.
///
/// Reads POSIX.1-1988 and POSIX.1-2001, and the long names of GNU tar. Refuses archives that programs read in different ways
/// (sparse files, a second extended header, a prefix in GNU's format, folders marked only by a slash).
struct TARDirectory {
    /// Archives are padded to whole records, which have 512 KiB and more with some programs.
    private static let tailLimitBytes: UInt64 = 16 << 20
    /// The size limit of extended headers and long names in bytes: a path, a target and some attributes.
    private static let extensionLimitBytes: UInt64 = 1 << 20

    private(set) var entries = ArchiveDirectory()
    private var window: ArchiveWindow
    private let limits: ArchiveLimits

    /// - Throws: like `ArchiveReader.init(tar:size:limits:)`.
    init(
        _ source: any ByteSource, size: UInt64, limits: ArchiveLimits, readsAhead: Bool
    ) throws(BackupError) {
        // If the files are small, headers are close together.
        window = ArchiveWindow(source, size: size, lengthBytes: readsAhead ? 64 << 10 : 0)
        self.limits = limits
        var position: UInt64 = 0
        while let header = try self.header(at: position) { position = try append(header, at: position) }
        try requireEnd(at: position)
        try entries.finish(archiveSizeBytes: size, limits)
    }

    /// - Returns: `nil` for a block of zeros.
    private mutating func header(at position: UInt64) throws(BackupError) -> TARHeaderFields? {
        // The padding of a content that ends with the file may be missing: then its end is beyond the file's.
        guard position <= window.size, window.size - position >= TARFormat.blockSizeBytes else {
            throw ArchiveFailure.damaged("The archive has no end: it is cut off at byte \(position).")
        }
        let block = try window.bytes(at: position, count: Int(TARFormat.blockSizeBytes))
        if block.allSatisfy({ $0 == 0 }) { return nil }
        return try TARHeaderFields(block, at: position)
    }

    /// Reads one member with the headers that extend it.
    /// - Returns: where the next one starts
    private mutating func append(_ first: TARHeaderFields, at start: UInt64) throws(BackupError) -> UInt64 {
        var header = first
        var position = start
        var extras = TARExtensions()
        while let kind = TARExtensions.Kind(type: header.type) {
            guard header.size <= Self.extensionLimitBytes else {
                throw ArchiveFailure.tooLarge("The extended header at byte \(position) has \(header.size) bytes.")
            }
            let dataOffset = position + TARFormat.blockSizeBytes
            let data = try window.bytes(at: dataOffset, count: Int(header.size))
            try extras.read(kind, data, at: dataOffset)
            position = dataOffset + header.size + TARFormat.paddingSize(after: header.size)
            // A global header may stand alone, and does not belong to one member.
            if kind == .global, extras.isEmpty { return position }
            guard let next = try self.header(at: position) else {
                throw ArchiveFailure.damaged("The archive ends after the extended header at byte \(dataOffset).")
            }
            header = next
        }
        return try append(header, extras, at: position)
    }

    private mutating func append(
        _ header: TARHeaderFields, _ extras: TARExtensions, at position: UInt64
    ) throws(BackupError) -> UInt64 {
        let dataOffset = position + TARFormat.blockSizeBytes
        var name = extras.path.map { Array($0) } ?? header.path
        let shown = ArchiveFailure.quoted(name)
        let type = try kind(of: header, shown, name)
        let size = extras.size ?? header.size
        guard type == FileTypeBits.regularFile || size == 0 else {
            throw ArchiveFailure.refused("The entry \(shown) is a folder or a link and has \(size) bytes.")
        }
        guard size <= window.size, dataOffset <= window.size - size else {
            throw ArchiveFailure.damaged("The content of \(shown) is cut off.")
        }
        let next = dataOffset + size + TARFormat.paddingSize(after: size)
        name = Self.withoutDots(name)
        if type == FileTypeBits.directory {
            while name.last == UInt8(ascii: "/") { name.removeLast() }
            // The folder that contains everything.
            if name.isEmpty || name == [UInt8(ascii: ".")] { return next }
            name.append(UInt8(ascii: "/"))
        }
        try ArchiveEntryName.check(
            name[...], isUTF8: false, acceptsBackslash: limits.acceptsUnixBackslashes,
            componentSizeBytes: limits.componentSizeBytes)
        var record = ArchiveDirectory.Record(
            mode: UInt16(type | header.permissions & 0o7777), hasMode: true, size: size, compressedSize: size,
            dataOffset: dataOffset, modificationTime: extras.modificationTime ?? Timestamp(seconds: header.seconds))
        if type == FileTypeBits.symbolicLink {
            let target = extras.linkTarget ?? (position + UInt64(TARFormat.linkField.lowerBound), header.linkTargetCount)
            record.dataOffset = target.offset
            record.size = UInt64(target.count)
            record.compressedSize = record.size
        }
        try entries.append(record, name: name[...], limits)
        return next
    }

    /// - Returns: the file type bits of `st_mode`
    private func kind(of header: TARHeaderFields, _ shown: String, _ name: [UInt8]) throws(BackupError) -> UInt32 {
        switch header.type {
        case TARFormat.regularType, 0:
            guard name.last != UInt8(ascii: "/") else {
                throw ArchiveFailure.refused("The entry \(shown) is a file by one sign and a folder by another.")
            }
            return FileTypeBits.regularFile
        case TARFormat.directoryType: return FileTypeBits.directory
        case TARFormat.linkType where limits.acceptsSymbolicLinks: return FileTypeBits.symbolicLink
        case TARFormat.hardLinkType:
            throw ArchiveFailure.refused("The entry \(shown) is a second name of another file (a hard link).")
        case TARFormat.sparseType: throw ArchiveFailure.refused("The entry \(shown) is stored as a sparse file.")
        case TARFormat.linkType, UInt8(ascii: "3"), UInt8(ascii: "4"), UInt8(ascii: "6"):
            throw ArchiveFailure.refused("The entry \(shown) is a link or a device.")
        default: throw ArchiveFailure.refused("The entry \(shown) is of the unknown kind \(header.type).")
        }
    }

    /// `tar -c .` writes `./photo.jpg`.
    private static func withoutDots(_ name: [UInt8]) -> [UInt8] {
        var rest = name[...]
        while rest.starts(with: [UInt8(ascii: "."), UInt8(ascii: "/")]), rest.count > 2 { rest = rest.dropFirst(2) }
        return Array(rest)
    }

    /// Two blocks of zeros, followed only by zeros.
    private mutating func requireEnd(at position: UInt64) throws(BackupError) {
        guard window.size - position >= TARFormat.endSizeBytes else {
            throw ArchiveFailure.damaged("The archive has no end: it is cut off at byte \(window.size).")
        }
        guard window.size - position <= Self.tailLimitBytes else {
            throw ArchiveFailure.damaged("The archive's end is followed by \(window.size - position) bytes.")
        }
        var offset = position
        while offset < window.size {
            let count = Int(min(window.size - offset, 64 << 10))
            guard try window.bytes(at: offset, count: count).allSatisfy({ $0 == 0 }) else {
                throw ArchiveFailure.damaged("The archive's end is followed by bytes that belong to no entry.")
            }
            offset += UInt64(count)
        }
    }
}

/// One header block of an untrusted tar archive.
struct TARHeaderFields {
    /// GNU tar's own format: `ustar`, two spaces, and no prefix.
    private static let gnuMagic: [UInt8] = Array("ustar  \u{0}".utf8)

    let type: UInt8
    /// Including the prefix, if there is one.
    let path: [UInt8]
    let linkTargetCount: Int
    let permissions: UInt32
    let size: UInt64
    let seconds: Int64

    /// Whether bytes begin with a header of this format, regardless of its content.
    static func isHeader(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count >= Int(TARFormat.blockSizeBytes) else { return false }
        let block = Array(bytes.prefix(Int(TARFormat.blockSizeBytes)))
        return isMagic(block) && hasItsChecksum(block)
    }

    private static func isMagic(_ block: [UInt8]) -> Bool {
        block[TARFormat.magicField].elementsEqual(gnuMagic) || block[TARFormat.magicField].elementsEqual(TARFormat.magic)
    }

    private static func hasItsChecksum(_ block: [UInt8]) -> Bool {
        var sum: UInt64 = 0
        for (index, byte) in block.enumerated() {
            sum += TARFormat.checksumField.contains(index) ? UInt64(UInt8(ascii: " ")) : UInt64(byte)
        }
        return number(block[TARFormat.checksumField]) == sum
    }

    /// - Parameter position: the block's position, for messages.
    /// - Throws: `damagedContent`, `invalidContent`.
    init(_ block: ArraySlice<UInt8>, at position: UInt64) throws(BackupError) {
        let block = Array(block)
        guard Self.hasItsChecksum(block) else {
            throw ArchiveFailure.damaged("There is no entry at byte \(position): the checksum of its header differs.")
        }
        let isGNU = block[TARFormat.magicField].elementsEqual(Self.gnuMagic)
        guard Self.isMagic(block) else {
            throw ArchiveFailure.refused("The entry at byte \(position) uses an old tar format with too little information.")
        }
        let prefix = Self.text(block[TARFormat.prefixField])
        // GNU's format has other data there, which some programs treat as a prefix.
        guard !isGNU || block[TARFormat.prefixField].allSatisfy({ $0 == 0 }) else {
            throw ArchiveFailure.refused("The entry at byte \(position) is of an incremental archive.")
        }
        let name = Self.text(block[TARFormat.nameField])
        path = prefix.isEmpty ? Array(name) : prefix + [UInt8(ascii: "/")] + name
        linkTargetCount = Self.text(block[TARFormat.linkField]).count
        type = block[TARFormat.typeField]
        let mode = Self.number(block[TARFormat.modeField])
        let size = Self.number(block[TARFormat.sizeField])
        let seconds = Self.time(block[TARFormat.timeField])
        guard let mode, let size, let seconds, size <= UInt64(Int64.max) else {
            throw ArchiveFailure.damaged("The header at byte \(position) has a number that is none.")
        }
        permissions = UInt32(truncatingIfNeeded: mode & 0o7777)
        self.size = size
        self.seconds = seconds
    }

    /// Up to the first NUL.
    private static func text(_ field: ArraySlice<UInt8>) -> ArraySlice<UInt8> { field.prefix { $0 != 0 } }

    /// The same. After a first byte of 0xFF, a negative number in two's complement, which GNU tar writes for times before 1970.
    private static func time(_ field: ArraySlice<UInt8>) -> Int64? {
        guard field.first == 0xFF else { return number(field).flatMap { Int64(exactly: $0) } }
        let value = field.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let seconds = Int64(bitPattern: value)
        return seconds < 0 && field.dropLast(8).allSatisfy { $0 == 0xFF } ? seconds : nil
    }

    /// Octal digits between spaces and NULs. After a first byte of 0x80, a binary number, which GNU tar writes when digits do not
    /// suffice.
    /// - Returns: `nil` for anything else.
    private static func number(_ field: ArraySlice<UInt8>) -> UInt64? {
        if field.first == 0x80 {
            guard field.dropFirst().dropLast(8).allSatisfy({ $0 == 0 }) else { return nil }
            return field.dropFirst().suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        var rest = field.drop { $0 == UInt8(ascii: " ") }
        var value: UInt64 = 0
        // At most twelve digits: no overflow.
        while let digit = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(digit) {
            value = value << 3 | UInt64(digit - UInt8(ascii: "0"))
            rest = rest.dropFirst()
        }
        return rest.allSatisfy { $0 == 0 || $0 == UInt8(ascii: " ") } ? value : nil
    }
}
