import BackupCore

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

    /// Octal digits between spaces and NULs. After a first byte of 0x80, a binary number, which GNU tar writes when digits do not suffice.
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
