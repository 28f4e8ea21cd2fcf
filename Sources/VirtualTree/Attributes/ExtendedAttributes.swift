import BackupCore

/// The extended attributes of a node: checksums, MIME type and what the node adds itself. Values are lower-case hexadecimal or plain text,
/// without a NUL.
enum ExtendedAttributes {
    private static let checksumPrefix = "user.checksum."
    private static let checksumNames = ["crc32", "md5", "sha1", "sha256"].map { checksumPrefix + $0 }
    private static let mimeTypeName = "user.mime_type"

    static func names(of node: any Node) throws(BackupError) -> [String] {
        var names = try node.ownExtendedAttributes().map(\.name)
        if node.hasChecksums { names += checksumNames }
        if node.mimeType != nil { names.append(mimeTypeName) }
        return names
    }

    /// - Throws: `noAttribute`.
    static func value(of name: String, node: any Node) throws(BackupError) -> [UInt8] {
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
