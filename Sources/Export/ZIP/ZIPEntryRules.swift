import BackupCore

/// The rules for a single entry of a foreign archive.
enum ZIPEntryRules {
    private static let allowedFlags =
        ZIPFormat.compressionLevelFlags | ZIPFormat.dataDescriptorFlag | ZIPFormat.utf8Flag
    /// DEFLATE cannot compress this many bytes to less than one.
    private static let deflateRatioLimit: UInt64 = 1_032

    /// - Throws: `invalidContent` for a name that would leave the target folder, or cannot be created.
    static func checkName(
        _ name: ArraySlice<UInt8>, isUTF8: Bool, acceptsBackslash: Bool, componentSizeBytes: Int
    ) throws(BackupError) {
        // Computed only for a message: there can be a million names.
        var shown: String { ArchiveFailure.quoted(name) }
        guard let first = name.first else { throw ArchiveFailure.refused("An entry of the archive has no name.") }
        guard first != UInt8(ascii: "/") else { throw ArchiveFailure.refused("The entry \(shown) has an absolute path.") }
        guard !name.contains(0) else { throw ArchiveFailure.refused("The name \(shown) contains a NUL byte.") }
        guard acceptsBackslash || !name.contains(UInt8(ascii: "\\")) else {
            throw ArchiveFailure.refused("The name \(shown) contains a backslash.")
        }
        guard !isUTF8 || String(validating: name, as: UTF8.self) != nil else {
            throw ArchiveFailure.damaged("The name \(shown) is marked as UTF-8 and is not.")
        }
        let path = name.last == UInt8(ascii: "/") ? name.dropLast() : name
        for component in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard FileName(bytes: Array(component)).isSafeComponent(upTo: componentSizeBytes) else {
                throw ArchiveFailure.refused("The entry \(shown) has an unsafe path.")
            }
        }
    }

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
        switch attributes >> 16 & ZIPFormat.fileTypeMask {
        case 0: break
        case ZIPFormat.regularFileType where !isDirectory: break
        case ZIPFormat.directoryType where isDirectory: break
        case ZIPFormat.symbolicLinkType where acceptsLink && !isDirectory: break
        case ZIPFormat.regularFileType, ZIPFormat.directoryType:
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
