import BackupCore

/// What most of the repository's structures start with: a magic, a 16-bit version and 16 bits of zero.
enum StructureHeader {
    /// - Throws: `repositoryDamaged` for another magic, `unsupportedVersion` for another version.
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

    static func unsupported(_ version: some BinaryInteger, name: Message) -> BackupError {
        BackupError(
            .unsupportedVersion, "a \(name) has format version \(version), which this program cannot read",
            remedy: "Use a newer version of backupfs.")
    }
}
