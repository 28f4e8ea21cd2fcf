import BackupCore

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
