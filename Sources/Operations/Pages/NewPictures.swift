import BackupCore
import BackupRepository
import Formats
import Photos
import SystemIO

/// The photos that the newest backups have and the ones before had not, as a part of a page.
struct NewPictures {
    private static let limit = 24
    /// What browsers show, by the extension in lower case.
    private static let shown: Set<String> = ["avif", "bmp", "gif", "jpeg", "jpg", "png", "webp"]

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
        let path = BytePath.components(of: bytes)
        guard let name = path.last else { return nil }
        func address(_ folder: FileName, _ name: FileName) -> String {
            let names = ["snapshots", snapshot.name, folder] + path.dropLast() + [name]
            return PageLink.address(names.map(\.bytes))
        }
        let file = address("media", name)
        let picture: String
        if snapshot.record.attributes[Snapshot.photosAttribute] != nil, PhotoPlaces.isNamedLikePhoto(name) {
            picture = address(PhotoPlaces.thumbnailFolderName, FileName(bytes: name.bytes + Array(".jpg".utf8)))
        } else if let ending = name.description.split(separator: ".").last, shown.contains(ending.lowercased()) {
            picture = file
        } else {
            return nil
        }
        return """
            <li><a href="\(file)"><img src="\(picture)" alt="" loading="lazy" decoding="async">\
            <span>\(HTMLText.escaped(PageText.name(name.bytes)))</span></a></li>

            """
    }
}
