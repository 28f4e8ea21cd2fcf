import BackupCore
import Formats
import SystemIO

/// What one backup changed, as a part of a page: counts, and the first records and files, with links to the records.
struct ChangesList {
    private typealias Kind = StoredChanges.Kind

    private let backup: NewestChanges.Backup
    private let hasEarlier: Bool
    private let parts: PageParts

    /// - Parameter hasEarlier: whether the backup before is still there, and with it what was removed since.
    init(_ backup: NewestChanges.Backup, hasEarlier: Bool, _ parts: PageParts) {
        self.backup = backup
        self.hasEarlier = hasEarlier
        self.parts = parts
    }

    var html: String {
        let name = HTMLText.escaped(MessageText.name(backup.snapshot.name.bytes))
        let address = PageLink.address([Array("snapshots".utf8), backup.snapshot.name.bytes], isFolder: true)
        var items = backup.changes.collections.compactMap { collection in
            item("<bdi>\(HTMLText.escaped(MessageText.shortened(collection.name)))</bdi>", collection.changes) { kind, key in
                record(key, of: collection.name, kind)
            }
        }
        if let files = item(parts.text("Files"), backup.changes.files, { _, key in shown(key) }) { items.append(files) }
        if items.isEmpty { items = ["<li>\(parts.text("No differences."))</li>\n"] }
        return "<h3><a href=\"\(address)\"><bdi>\(name)</bdi></a></h3>\n<ul>\n\(items.joined())</ul>\n"
    }

    /// - Parameters:
    ///   - name: HTML of what changed.
    ///   - show: HTML of one of them.
    /// - Returns: `nil` when nothing changed.
    private func item(
        _ name: String, _ changes: StoredChanges.Changes, _ show: (Kind, JSONKey) -> String
    ) -> String? {
        let rows = Kind.allCases.compactMap { kind -> String? in
            guard let count = changes.counts[kind], count > 0 else { return nil }
            let shown = changes.first.filter { $0.kind == kind }.prefix(StoredChanges.firstCount).map { show(kind, $0.key) }
            let rest = count - shown.count
            let more = rest > 0 ? [parts.text("… and \(rest) more")] : []
            return "<li>\(parts.text(Self.text(kind, count))): \((shown + more).joined(separator: ", "))</li>\n"
        }
        return rows.isEmpty ? nil : "<li>\(name)\n<ul>\n\(rows.joined())</ul>\n</li>\n"
    }

    private static func text(_ kind: Kind, _ count: Int) -> Message {
        switch kind {
        case .added: "\(count) added"
        case .changed: "\(count) changed"
        case .removed: "\(count) removed"
        }
    }

    private func shown(_ key: JSONKey) -> String { "<bdi>\(HTMLText.escaped(MessageText.shortened("\(key)")))</bdi>" }

    /// With a link, if `history/` has it.
    private func record(_ key: JSONKey, of collection: String, _ kind: Kind) -> String {
        guard let name = RecordName.of(key), kind != .removed || hasEarlier else { return shown(key) }
        let address = PageLink.address([Array("history".utf8), Array(collection.utf8), name.bytes], isFolder: true)
        return "<a href=\"\(address)\">\(shown(key))</a>"
    }
}
