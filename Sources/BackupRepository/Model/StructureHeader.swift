import BackupCore
import SystemIO

/// The start of most of the repository's structures: a magic number, a 16-bit version and 16 zero bits.
enum StructureHeader {
    /// - Throws: `repositoryDamaged` for another magic number, `unsupportedVersion` for another version.
    static func read(
        _ reader: inout ByteReader, magic: [UInt8], version: UInt16, name: Message
    ) throws(BackupError) {
        _ = try read(&reader, magic: magic, versions: version...version, name: name)
    }

    /// - Returns: the structure's version, one of `versions`.
    static func read(
        _ reader: inout ByteReader, magic: [UInt8], versions: ClosedRange<UInt16>, name: Message
    ) throws(BackupError) -> UInt16 {
        guard try reader.readRaw(count: magic.count).elementsEqual(magic) else {
            throw BackupError(.repositoryDamaged, "a \(name) does not start as one")
        }
        let found = try reader.read(UInt16.self)
        guard versions.contains(found) else { throw unsupported(found, name: name) }
        guard try reader.read(UInt16.self) == 0 else {
            throw BackupError(.repositoryDamaged, "a \(name) has a damaged header")
        }
        return found
    }

    /// The error for a kind or flag that this version does not know. A name or checksum proves the bytes around it, so a later
    /// version wrote it. It must not be treated as damage, which a repair would set aside.
    static func unknown(_ what: Message) -> BackupError {
        BackupError(.unsupportedVersion, what, remedy: "Use a newer version of backupfs.")
    }

    /// Whether the last four bytes are the CRC-32 of everything before them, as in labels, source documents and the register.
    static func endsWithChecksum(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 4 else { return false }
        var reader = ByteReader(bytes[(bytes.count - 4)...])
        return (try? reader.read(UInt32.self)) == CRC32.of(Array(bytes.dropLast(4)))
    }

    static func unsupported(_ version: some BinaryInteger, name: Message) -> BackupError {
        BackupError(
            .unsupportedVersion, "a \(name) has format version \(version), which this program cannot read",
            remedy: "Use a newer version of backupfs.")
    }
}
