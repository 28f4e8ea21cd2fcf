import BackupCore
import SystemIO

/// What a browser may do with a file. The tree's own pages run their own script. Everything else can come from anybody: a browser
/// shows it, and runs nothing of it.
enum ContentType {
    private static let types: [String: String] = [
        "avif": "image/avif", "csv": "text/csv; charset=utf-8", "gif": "image/gif", "heic": "image/heic", "heif": "image/heif",
        "jpeg": "image/jpeg", "jpg": "image/jpeg", "json": "application/json", "m4a": "audio/mp4", "m4v": "video/mp4",
        "md": "text/plain; charset=utf-8", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
        "ogg": "audio/ogg", "pdf": "application/pdf", "png": "image/png", "sqlite": "application/vnd.sqlite3",
        "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
        "txt": "text/plain; charset=utf-8", "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp",
        "yaml": "text/plain; charset=utf-8", "zip": "application/zip",
    ]

    /// - Parameter path: in the tree, without links.
    static func of(_ path: [FileName]) -> String {
        if isOwnPage(path) { return "text/html; charset=utf-8" }
        let name = path.last.map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        let ending = name[name.index(after: dot)...].lowercased()
        // A page among the app's files is shown as what it is written in.
        if ["html", "htm", "xhtml", "xht", "shtml"].contains(ending) { return "text/plain; charset=utf-8" }
        return types[ending] ?? "application/octet-stream"
    }

    /// The pages that the program makes: that of the store, those of backups and those of reports.
    static func isOwnPage(_ path: [FileName]) -> Bool {
        let names = path.map { String(decoding: $0.bytes, as: UTF8.self) }
        switch names.count {
        case 1: return names[0] == "index.html"
        case 2: return names[0] == "reports" && names[1].hasSuffix(".html")
        case 3: return ["snapshots", "safety"].contains(names[0]) && names[2] == "index.html"
        default: return false
        }
    }

    /// The header `Content-Security-Policy`. The own pages have a stricter one, in themselves, for what they load.
    static func policy(_ path: [FileName]) -> String {
        isOwnPage(path)
            ? "frame-ancestors 'none'"
            : "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
    }
}
