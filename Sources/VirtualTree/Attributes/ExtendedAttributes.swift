import BackupCore

/// The extended attributes of a node: checksums, MIME type and the node's own. Values are lower-case hexadecimal or plain text, without a NUL.
enum ExtendedAttributes {
    private static let checksumPrefix = "user.checksum."
    private static let checksumNames = ["crc32", "md5", "sha1", "sha256"].map { checksumPrefix + $0 }
    private static let mimeTypeName = "user.mime_type"
    /// A file that was copied out of a mount with its attributes has some of these, perhaps from another backup.
    private static let reservedPrefixes = [checksumPrefix, "user.backupfs."]

    static func names(of node: any Node) throws(BackupError) -> [String] {
        var names = try node.ownExtendedAttributes().map(\.name)
        if node.listsChecksums { names += checksumNames }
        if node.mimeType != nil { names.append(mimeTypeName) }
        let stored = try storedNames(of: node)
        return names + stored.filter { !names.contains($0) }
    }

    /// The attributes of the app's file that can be shown: user attributes whose names are text and not reserved for this program.
    private static func storedNames(of node: any Node) throws(BackupError) -> [String] {
        try node.storedExtendedAttributes().compactMap { attribute in
            guard let name = String(validating: attribute.name, as: UTF8.self), name.hasPrefix("user."), !isReserved(name) else {
                return nil
            }
            return name
        }
    }

    private static func isReserved(_ name: String) -> Bool { reservedPrefixes.contains { name.hasPrefix($0) } }

    /// - Throws: `noAttribute`.
    static func value(of name: String, node: any Node) throws(BackupError) -> [UInt8] {
        // An attribute of the app's file takes precedence over the type derived from its name.
        if !isReserved(name),
            let stored = try node.storedExtendedAttributes().first(where: { $0.name.elementsEqual(name.utf8) })
        {
            return stored.value
        }
        if name == mimeTypeName, let type = node.mimeType { return Array(type.utf8) }
        if name.hasPrefix(checksumPrefix), node.hasChecksums, checksumNames.contains(name) {
            guard let checksums = try node.checksums() else { throw .noAttribute(name) }
            switch name.dropFirst(checksumPrefix.count) {
            case "crc32": return Array(checksums.crc32Hexadecimal.utf8)
            case "md5": return Array(checksums.md5.hexadecimal.utf8)
            case "sha1": return Array(checksums.sha1.hexadecimal.utf8)
            default: return Array(checksums.sha256.hexadecimal.utf8)
            }
        }
        guard let own = try node.ownExtendedAttributes().first(where: { $0.name == name }) else { throw .noAttribute(name) }
        return Array(own.value.utf8)
    }
}

extension BackupError {
    static func noAttribute(_ name: String) -> BackupError {
        BackupError(.noAttribute, "there is no such attribute", path: name)
    }
}
