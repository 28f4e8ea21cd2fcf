import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// `snapshots/NAME/index.html`: the records of a backup as tables that can be searched and sorted, and the photos that they name
/// as pictures. It needs nothing but these files beside it, and so works from a copy of the folder, too.
public struct RecordsPage {
    /// Browsers do not show longer exports in a reasonable time.
    public static let exportLimitBytes: UInt64 = 64 << 20

    private let snapshot: Snapshot
    private let title: String
    private let pictures: OrderedJSON
    private let parts: PageParts

    /// - Parameter store: the store that shows the backup, in whose language the page is.
    public init(of snapshot: Snapshot, in store: Store) {
        self.snapshot = snapshot
        title = store.definition.title
        pictures = Self.pictures(store.definition, of: snapshot)
        parts = PageParts(language: store.language)
    }

    /// What precedes the export in the file, or all of it for an export beyond the limit.
    /// - Parameter exportSizeBytes: of the export.
    public func head(exportSizeBytes: UInt64) -> [UInt8] {
        let name = MessageText.name(snapshot.name.bytes)
        let header =
            "<h1><bdi>\(HTMLText.escaped(name))</bdi></h1>\n<p><bdi>\(HTMLText.escaped(title))</bdi></p>\n"
            + "<p>\(parts.text(SystemClock.localTime(snapshot.creationTime)))</p>\n"
        guard exportSizeBytes <= Self.exportLimitBytes else {
            let notice: Message = "The export is too large for a browser. Look at database.sqlite, or at the files in data/."
            let main = parts.paragraph(notice, "") + parts.section("Records", collections)
            return parts.page(title: "\(name) - \(title)", header: header, main: main)
        }
        let head = HTMLText.head(
            title: "\(name) - \(title)", language: parts.language.rawValue, style: PageStyle.css + RecordsPageScript.style,
            script: RecordsPageScript.script, showsPictures: pictures != [:])
        let places = HTMLText.escaped(String(decoding: pictures.compactText, as: UTF8.self))
        let body = "<body \(words) data-pictures=\"\(places)\">\n<header>\n\(header)</header>\n<main>\n\(main)</main>\n"
        return Array("\(head)\(body)<plaintext>".utf8)
    }

    /// How many records there are, with links to their files.
    private var collections: String {
        let rows = (CollectionCounts(of: snapshot)?.counts ?? []).map { collection in
            let address = PageLink.address([Array("data".utf8), Array("\(collection.name).json".utf8)])
            return "<li><a href=\"\(address)\"><bdi>\(HTMLText.escaped(collection.name))</bdi></a>: \(collection.count)</li>\n"
        }
        return rows.isEmpty ? "" : "<ul>\n\(rows.joined())</ul>\n"
    }

    /// The texts of the script, with numbers in braces.
    private var words: String {
        let texts: [(String, Message)] = [
            ("count", "Records \("{0}") to \("{1}") of \("{2}")"), ("none", "No records."),
            ("damaged", "The records in this page cannot be read."),
        ]
        return texts.map { "data-\($0)=\"\(parts.text($1))\"" }.joined(separator: " ")
    }

    /// Of each collection whose records have files, how the script finds them.
    private static func pictures(_ definition: AppDefinition, of snapshot: Snapshot) -> OrderedJSON {
        guard let media = definition.media else { return [:] }
        let hasThumbnails = snapshot.record.attributes[Snapshot.photosAttribute] != nil
        let pointer = MediaPointer(definition)
        let members = definition.collections.enumerated().compactMap { index, collection -> OrderedJSON.Member? in
            var field: FieldDefinition?
            switch collection.source {
            case .files: field = collection.fields.first { $0.mediaValue == .path }
            case .table: if let pointer, pointer.collection == index { field = collection.fields[pointer.field] }
            case .manifest: break
            }
            guard let field else { return nil }
            return .init(
                collection.name,
                [
                    "field": field.name, "folder": media.folder, "isExact": collection.source == .files,
                    "hasThumbnails": hasThumbnails,
                    "unless": collection.mediaExclusionIndex.map { collection.fields[$0].name },
                ])
        }
        return .object(members)
    }

    private var main: String {
        """
        <div class="tools">
        <label>\(parts.text("Collection")) <select id="collection"></select></label>
        <label>\(parts.text("Search")) <input id="search" type="search" autocomplete="off"></label>
        <button id="view" type="button" hidden>\(parts.text("Pictures"))</button>
        </div>
        <noscript>\(parts.paragraph("This page needs a browser that runs its script. The records are in the files in data/.", "bad"))</noscript>
        <p id="count" role="status"></p>
        <ul id="pictures" class="pictures" hidden></ul>
        <div id="table" class="wide" role="region" aria-label="\(parts.text("Records"))" tabindex="0"><table>
        <thead id="head"></thead>
        <tbody id="rows"></tbody>
        </table></div>
        <div class="tools">
        <button id="previous" type="button" disabled>\(parts.text("Previous"))</button>
        <button id="next" type="button" disabled>\(parts.text("Next"))</button>
        </div>

        """
    }
}
