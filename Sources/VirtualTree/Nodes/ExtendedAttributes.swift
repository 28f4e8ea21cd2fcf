import BackupCore

/// The extended attributes of a node: checksums, MIME type and the node's own. Values are lower-case hexadecimal or plain text,
/// without a NUL.
enum ExtendedAttributes {
    private static let checksumPrefix = "user.checksum."
    private static let checksumNames = ["crc32", "md5", "sha1", "sha256"].map { checksumPrefix + $0 }
    private static let mimeTypeName = "user.mime_type"
    /// A file that was copied out of a mount with its attributes has some of these, perhaps from another backup.
    private static let reservedPrefixes = [checksumPrefix, "user.backupfs.", "user.photo."]

    static func names(of node: any Node) throws(BackupError) -> [String] {
        var names = try node.ownExtendedAttributes().map(\.name)
        if node.listsChecksums { names += checksumNames }
        if node.mimeType != nil { names.append(mimeTypeName) }
        let stored = try storedNames(of: node)
        return names + stored.filter { !names.contains($0) }
    }

    /// The attributes of the app's file that can be shown: user attributes whose names are text and not reserved for this
    /// program.
    private static func storedNames(of node: any Node) throws(BackupError) -> [String] {
        try node.listedExtendedAttributes().compactMap { attribute in
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

/// A file's MIME type by its name's extension, as a file manager would derive it without reading the file.
enum MIMEType {
    private static let types: [String: String] = [
        "json": "application/json", "zip": "application/zip", "sqlite": "application/vnd.sqlite3",
        "db": "application/vnd.sqlite3",
        "sqlite3": "application/vnd.sqlite3", "txt": "text/plain", "csv": "text/csv", "html": "text/html",
        "pdf": "application/pdf",
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "heic": "image/heic",
        "heif": "image/heif", "tif": "image/tiff", "tiff": "image/tiff", "bmp": "image/bmp", "svg": "image/svg+xml",
        "dng": "image/x-adobe-dng", "cr2": "image/x-canon-cr2", "cr3": "image/x-canon-cr3", "nef": "image/x-nikon-nef",
        "arw": "image/x-sony-arw", "orf": "image/x-olympus-orf", "raf": "image/x-fuji-raf", "rw2": "image/x-panasonic-rw2",
        "mp4": "video/mp4", "m4v": "video/x-m4v", "mov": "video/quicktime", "avi": "video/x-msvideo", "mkv": "video/x-matroska",
        "mxf": "application/mxf", "mts": "video/mp2t", "mp3": "audio/mpeg", "m4a": "audio/mp4", "wav": "audio/x-wav",
        "flac": "audio/flac", "ogg": "audio/ogg", "xml": "application/xml", "tar": "application/x-tar", "gz": "application/gzip",
        "md": "text/markdown", "epub": "application/epub+zip",
    ]

    static func of(_ name: FileName) -> String {
        if name == "SHA256SUMS" || name == "MD5SUMS" { return "text/plain" }
        guard let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return "application/octet-stream" }
        let suffix = String(decoding: name.bytes[(dot + 1)...], as: UTF8.self).lowercased()
        return types[suffix] ?? "application/octet-stream"
    }
}
