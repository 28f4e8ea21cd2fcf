import BackupCore
import BackupRepository
import Formats
import SystemIO

/// The photos that the newest backups have and the ones before had not, as a part of a page.
struct NewPictures {
    private static let limit = 24
    /// What browsers show, by the extension in lower case.
    private static let shown: Set<String> = ["avif", "bmp", "gif", "jpeg", "jpg", "png", "webp"]
    /// What backups have thumbnails of, besides.
    private static let withThumbnail: Set<String> = [
        "arw", "cr2", "dng", "heic", "heif", "m4v", "mov", "mp4", "nef", "tif", "tiff",
    ]

    private let backups: [NewestChanges.Backup]

    /// - Parameter backups: newest first.
    init(_ backups: [NewestChanges.Backup]) { self.backups = backups }

    /// HTML; empty without any.
    var html: String {
        var items: [String] = []
        for backup in backups {
            for change in backup.changes.files.first where change.kind != .removed && items.count < Self.limit {
                if let item = Self.item(change.key, backup.snapshot) { items.append(item) }
            }
        }
        return items.isEmpty ? "" : "<ul class=\"pictures\">\n\(items.joined())</ul>\n"
    }

    private static func item(_ key: JSONKey, _ snapshot: Snapshot) -> String? {
        guard case .text(let bytes) = key else { return nil }
        let path = BytePath.components(of: bytes).map(\.bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        guard let name = path.last, let dot = text.lastIndex(of: ".") else { return nil }
        let fileExtension = text[text.index(after: dot)...].lowercased()
        let hasThumbnail = snapshot.record.attributes[Snapshot.photosAttribute] != nil
        guard shown.contains(fileExtension) || hasThumbnail && withThumbnail.contains(fileExtension) else { return nil }
        func address(_ folder: String, _ path: [[UInt8]]) -> String {
            PageLink.address([Array("snapshots".utf8), snapshot.name.bytes, Array(folder.utf8)] + path)
        }
        let picture =
            hasThumbnail
            ? address("thumbnails", path.dropLast() + [name + Array(".jpg".utf8)]) : address("media", path)
        return """
            <li><a href="\(address("media", path))"><img src="\(picture)" alt="" loading="lazy" decoding="async">\
            <span>\(HTMLText.escaped(PageText.name(name)))</span></a></li>

            """
    }
}
