import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// `index.html` of the mounted tree: the state of a store as one page that needs nothing else, with links into the tree.
public struct DashboardPage {
    private static let shownBackupCount = 50
    /// More bars could not be told apart on a telephone.
    private static let plottedBackupCount = 200
    private static let plottedCollectionCount = 12

    private let state: StoreState
    private let readme: ReadmeText
    private let parts: PageParts

    /// - Parameter state: of this store, from a moment ago. The page reads nothing else: the store may be on storage that stalls.
    public init(_ state: StoreState, of store: Store) {
        self.state = state
        readme = store.readmeText
        parts = PageParts(language: store.language)
    }

    /// Call it before the state is read: it then has what the page shows, and the status does not.
    public static func prepare(_ store: Store) { store.newestChanges.want() }

    /// The bytes of the file.
    public var html: [UInt8] {
        let header =
            "<h1><bdi>\(HTMLText.escaped(state.definition.title))</bdi></h1>\n<p>\(text(readme.title))</p>\n"
            + "<p>\(text("As of \(SystemClock.localTime(state.now.wholeSeconds))"))</p>\n"
        let pictures = NewPictures(state.newestChanges).html
        return parts.page(
            title: title, header: header,
            main: [
                overview, folders, changes, parts.section("New photos", pictures), plots, backups, operations,
            ].joined(), showsPictures: !pictures.isEmpty)
    }

    private var title: String { "\(state.definition.title) - backupfs" }

    private func text(_ message: Message) -> String { parts.text(message) }
    private func time(_ time: Timestamp) -> String { text(SystemClock.localTime(time)) }

    // MARK: Parts

    private var overview: String {
        let words = StatusText(state)
        var alerts = words.warnings + words.failures
        let check = HealthCheck(state, maximumAge: nil)
        switch check.finding {
        // The other lines say so already.
        case .healthy, .takenOver, .noBackup: break
        case .waiting, .tooOld, .clock, .automaticFailed: alerts += StatusText.lines(check).prefix(1)
        }
        if let error = state.repositoryError { alerts.append(error.summary) }
        let tone = check.finding == .noBackup ? "bad" : alerts.isEmpty ? "good" : ""
        return words.last.map { parts.paragraph($0, tone) }.joined() + alerts.map { parts.paragraph($0, "bad") }.joined()
            + parts.section("State", parts.list(words.running + words.summary + words.copies + words.devices))
            + parts.section("Records", records(words))
    }

    private func records(_ words: StatusText) -> String {
        let rows = words.records.map { headline, details in "<li><bdi>\(text(headline))</bdi>\n\(parts.list(details))</li>\n" }
        return rows.isEmpty ? "" : "<ul>\n\(rows.joined())</ul>\n"
    }

    private var folders: String {
        let rows = readme.folders.filter { $0.path != ReadmeText.dashboard }.map { path, meaning in
            let isFolder = path.hasSuffix("/")
            let name = isFolder ? path.dropLast() : path[...]
            let address = PageLink.address([Array(name.utf8)], isFolder: isFolder)
            return "<li><a href=\"\(address)\">\(HTMLText.escaped(path))</a> \(text(meaning))</li>\n"
        }
        return parts.section("Folders", "<ul>\n\(rows.joined())</ul>\n")
    }

    private var changes: String {
        let ids = Set(state.snapshots.map { "\($0.id)" })
        let lists = state.newestChanges.map { backup in
            let hasEarlier = backup.changes.earlierID.map(ids.contains) ?? false
            return ChangesList(backup, hasEarlier: hasEarlier, parts).html
        }
        return parts.section("What changed", lists.joined())
    }

    private var plots: String {
        let shown = state.snapshots.suffix(Self.plottedBackupCount)
        guard shown.count > 1 else { return "" }
        func bars(_ value: (Snapshot) -> UInt64?) -> [BarPlot.Bar] {
            shown.compactMap { snapshot in value(snapshot).map { bar(snapshot.creationTime, $0) } }
        }
        let records = plot("Records in each backup", bars(\.recordCount), { String($0) })
        return records + collectionPlots(shown) + plot("Size of each backup", bars(\.dataSizeBytes), ByteCount.text)
            + plot("New data in each backup", bars(\.newBytes), ByteCount.text)
            + plot(
                "Duration of each backup",
                state.madeBackups.map { bar($0.startedAt, UInt64(clamping: $0.durationMilliseconds)) },
                { DurationText.precise(milliseconds: Int64(clamping: $0)) })
    }

    /// A plot for each of the collections that have the most records now.
    private func collectionPlots(_ snapshots: some Collection<Snapshot>) -> String {
        let counts = snapshots.compactMap { snapshot in CollectionCounts(of: snapshot).map { (snapshot, $0.counts) } }
        guard let newest = counts.last?.1.filter({ $0.count > 0 }), newest.count > 1 else { return "" }
        let least = newest.map(\.count).sorted(by: >).prefix(Self.plottedCollectionCount).last ?? 0
        let shown = newest.filter { $0.count >= least }.prefix(Self.plottedCollectionCount)
        let plots = shown.map { collection in
            let bars = counts.compactMap { snapshot, counts in
                counts.first { $0.name == collection.name }.map { bar(snapshot.creationTime, $0.count) }
            }
            let plural = state.definition.collections.first { $0.name == collection.name }?.plural ?? collection.name
            let name = parts.language.text(CollectionHeading.of(plural))
            guard bars.count > 1 else { return "" }
            return "<h3><bdi>\(HTMLText.escaped(name))</bdi></h3>\n\(BarPlot(bars) { String($0) }.svg(name: name))"
        }
        return parts.section("Records of each collection", plots.joined())
    }

    private func bar(_ time: Timestamp, _ value: UInt64) -> BarPlot.Bar {
        BarPlot.Bar(label: parts.language.text(SystemClock.localDay(time)), value: value)
    }

    private func plot(_ heading: Message, _ bars: [BarPlot.Bar], _ text: @escaping (UInt64) -> String) -> String {
        guard bars.count > 1 else { return "" }
        return parts.section(heading, BarPlot(bars, text: text).svg(name: parts.language.text(heading)))
    }

    private var backups: String {
        let newest = state.snapshots.suffix(Self.shownBackupCount).reversed()
        guard !newest.isEmpty else { return "" }
        let rows = newest.map { snapshot in
            let address = PageLink.address([Array("snapshots".utf8), snapshot.name.bytes], isFolder: true)
            let name = HTMLText.escaped(MessageText.name(snapshot.name.bytes))
            return [
                "<a href=\"\(address)\"><bdi>\(name)</bdi></a>", time(snapshot.creationTime),
                records(snapshot), String(snapshot.record.root.totals.fileCount),
                ByteCount.text(snapshot.dataSizeBytes), snapshot.newBytes.map { ByteCount.text($0) } ?? "",
            ]
        }
        return table(
            "The newest backups",
            [("Name", false), ("Created", false), ("Records", true), ("Files", true), ("Size", true), ("New", true)], rows)
    }

    /// Their number, with a link to the page that shows them.
    private func records(_ snapshot: Snapshot) -> String {
        let count = HTMLText.escaped(snapshot.record.attributes["records"] ?? "")
        guard snapshot.storesExport, !count.isEmpty else { return count }
        let address = PageLink.address([Array("snapshots".utf8), snapshot.name.bytes, Array("index.html".utf8)])
        return "<a href=\"\(address)\">\(count)</a>"
    }

    private var operations: String {
        guard !state.history.isEmpty else { return "" }
        let rows = state.history.reversed().map { record in
            [
                started(record), HTMLText.escaped(record.operation.rawValue),
                HTMLText.escaped(record.resultText),
                DurationText.of(Double(record.durationMilliseconds) / 1_000),
                record.facts.snapshot.map { "<bdi>\(HTMLText.escaped(MessageText.shortened($0)))</bdi>" } ?? "",
            ]
        }
        return table(
            "The last operations",
            [("Started", false), ("Operation", false), ("Result", false), ("Duration", true), ("Backup", false)], rows)
    }

    /// With a link to the report, if it has one of its own.
    private func started(_ record: OperationRecord) -> String {
        let name = ReportFolder.name(of: record)
        // Those of one second have a number in their names, which the history does not know.
        guard state.reportNames.contains(name), state.history.count(where: { ReportFolder.name(of: $0) == name }) == 1 else {
            return time(record.startedAt)
        }
        let address = PageLink.address([Array("reports".utf8), Array("\(name).\(ReportFolder.Form.html.rawValue)".utf8)])
        return "<a href=\"\(address)\">\(time(record.startedAt))</a>"
    }

    /// - Parameter rows: of HTML.
    private func table(
        _ heading: Message, _ columns: [(heading: Message, isNumber: Bool)], _ rows: [[String]]
    ) -> String {
        func style(_ index: Int) -> String { columns[index].isNumber ? " class=\"number\"" : "" }
        let head = columns.indices.map { "<th scope=\"col\"\(style($0))>\(text(columns[$0].heading))</th>" }.joined()
        let body = rows.map { row in
            "<tr>" + row.enumerated().map { "<td\(style($0))>\($1)</td>" }.joined() + "</tr>\n"
        }
        let rows = "<thead>\n<tr>\(head)</tr>\n</thead>\n<tbody>\n\(body.joined())</tbody>\n"
        return parts.section(heading, parts.table(heading, rows))
    }
}

extension Snapshot {
    /// Of all collections; `nil` for one that does not say so.
    fileprivate var recordCount: UInt64? { record.attributes["records"].flatMap { UInt64($0) } }
    /// What its backup added to the repository; `nil` for one that does not say so.
    fileprivate var newBytes: UInt64? { record.attributes["stored-size"].flatMap { UInt64($0) } }
}
