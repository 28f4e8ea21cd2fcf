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

    private let state: StoreState
    private let readme: ReadmeText
    private let language: Language

    /// - Parameter state: of this store, from a moment ago.
    public init(_ state: StoreState, of store: Store) {
        self.state = state
        readme = store.readmeText
        language = store.language
    }

    /// The bytes of the file.
    public var html: [UInt8] {
        let parts = [
            HTMLText.head(title: title, language: language.rawValue, style: Self.style),
            "<body>\n<header>\n<h1><bdi>\(HTMLText.escaped(state.definition.title))</bdi></h1>\n",
            "<p>\(text(readme.title))</p>\n<p>\(text("As of \(SystemClock.localTime(state.now.wholeSeconds))"))</p>\n</header>\n",
            "<main>\n", overview, folders, plots, backups, operations, "</main>\n</body>\n</html>\n",
        ]
        return Array(parts.joined().utf8)
    }

    private var title: String { "\(state.definition.title) - backupfs" }

    private func text(_ message: Message) -> String { HTMLText.escaped(language.text(message)) }
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
        return words.last.map { paragraph($0, tone) }.joined() + alerts.map { paragraph($0, "bad") }.joined()
            + section("State", list(words.running + words.summary + words.copies + words.devices))
            + section("Records", records(words))
    }

    private func paragraph(_ message: Message, _ tone: String) -> String {
        "<p class=\"notice \(tone)\"><bdi>\(text(message))</bdi></p>\n"
    }

    private func list(_ lines: [Message]) -> String {
        guard !lines.isEmpty else { return "" }
        return "<ul>\n\(lines.map { "<li><bdi>\(text($0))</bdi></li>\n" }.joined())</ul>\n"
    }

    private func records(_ words: StatusText) -> String {
        let rows = words.records.map { headline, details in "<li><bdi>\(text(headline))</bdi>\n\(list(details))</li>\n" }
        return rows.isEmpty ? "" : "<ul>\n\(rows.joined())</ul>\n"
    }

    private func section(_ heading: Message, _ content: String) -> String {
        content.isEmpty ? "" : "<section>\n<h2>\(text(heading))</h2>\n\(content)</section>\n"
    }

    private var folders: String {
        let rows = readme.folders.filter { $0.path != ReadmeText.dashboard }.map { path, meaning in
            let isFolder = path.hasSuffix("/")
            let name = isFolder ? path.dropLast() : path[...]
            let address = PageLink.address([Array(name.utf8)], isFolder: isFolder)
            return "<li><a href=\"\(address)\">\(HTMLText.escaped(path))</a> \(text(meaning))</li>\n"
        }
        return section("Folders", "<ul>\n\(rows.joined())</ul>\n")
    }

    private var plots: String {
        let shown = state.snapshots.suffix(Self.plottedBackupCount)
        guard shown.count > 1 else { return "" }
        func plot(_ heading: Message, _ value: (Snapshot) -> UInt64?) -> String {
            let bars = shown.compactMap { snapshot in
                value(snapshot).map { BarPlot.Bar(label: language.text(SystemClock.localDay(snapshot.creationTime)), value: $0) }
            }
            guard bars.count > 1 else { return "" }
            let picture = BarPlot(bars, text: ByteCount.text).svg(name: language.text(heading))
            return section(heading, picture)
        }
        return plot("Size of each backup") { $0.dataSizeBytes } + plot("New data in each backup") { $0.newBytes }
    }

    private var backups: String {
        let newest = state.snapshots.suffix(Self.shownBackupCount).reversed()
        guard !newest.isEmpty else { return "" }
        let rows = newest.map { snapshot in
            let address = PageLink.address([Array("snapshots".utf8), snapshot.name.bytes], isFolder: true)
            let name = HTMLText.escaped(MessageText.name(snapshot.name.bytes))
            return [
                "<a href=\"\(address)\"><bdi>\(name)</bdi></a>", time(snapshot.creationTime),
                HTMLText.escaped(snapshot.record.attributes["records"] ?? ""), String(snapshot.record.root.totals.fileCount),
                ByteCount.text(snapshot.dataSizeBytes), snapshot.newBytes.map { ByteCount.text($0) } ?? "",
            ]
        }
        return table(
            "The newest backups",
            [("Name", false), ("Created", false), ("Records", true), ("Files", true), ("Size", true), ("New", true)], rows)
    }

    private var operations: String {
        guard !state.history.isEmpty else { return "" }
        let rows = state.history.reversed().map { record in
            [
                time(record.startedAt), HTMLText.escaped(record.operation.rawValue),
                HTMLText.escaped(record.result.rawValue + (record.facts.error.map { " (\($0.rawValue))" } ?? "")),
                DurationText.of(Double(record.durationMilliseconds) / 1_000),
                record.facts.snapshot.map { "<bdi>\(HTMLText.escaped(MessageText.shortened($0)))</bdi>" } ?? "",
            ]
        }
        return table(
            "The last operations",
            [("Started", false), ("Operation", false), ("Result", false), ("Duration", true), ("Backup", false)], rows)
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
        // Wider than a telephone: the table scrolls, not the page.
        let content = """
            <div class="wide" role="region" aria-label="\(text(heading))" tabindex="0"><table>
            <thead>
            <tr>\(head)</tr>
            </thead>
            <tbody>
            \(body.joined())</tbody>
            </table></div>

            """
        return section(heading, content)
    }

    private static let style = """

        :root { color-scheme: light dark; --page: #fff; --text: #1a1a1a; --quiet: #595959; --box: #ececec; --link: #0b57d0;
          --good: #146c2e; --bad: #b3261e }
        @media (prefers-color-scheme: dark) {
          :root { --page: #161616; --text: #ececec; --quiet: #a8a8a8; --box: #2a2a2a; --link: #8ab4f8; --good: #7fd894;
            --bad: #f2a09a }
        }
        body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; font: 1rem/1.5 system-ui, sans-serif;
          background: var(--page); color: var(--text); overflow-wrap: anywhere }
        h1 { margin: 0 }
        h2 { margin: 2rem 0 .5rem; font-size: 1.25rem }
        header p { margin: .25rem 0 0; color: var(--quiet) }
        a { color: var(--link) }
        ul { margin: 0; padding-left: 1.25rem }
        .notice { margin: 1rem 0 0; padding: .75rem 1rem; border-radius: .5rem; background: var(--box) }
        .good { border-left: .375rem solid var(--good) }
        .bad { border-left: .375rem solid var(--bad) }
        .wide { overflow-x: auto }
        table { border-collapse: collapse; width: 100% }
        th, td { padding: .375rem .75rem .375rem 0; text-align: left; vertical-align: top; white-space: nowrap;
          border-bottom: 1px solid var(--box) }
        .number { text-align: right; font-variant-numeric: tabular-nums }
        .plot { display: block; width: 100%; height: auto }
        .plot .bar { fill: var(--link) }
        .plot line { stroke: var(--quiet) }
        .plot text { fill: var(--quiet); font-size: 12px }

        """
}

extension Snapshot {
    /// What its backup added to the repository; `nil` for one that does not say so.
    fileprivate var newBytes: UInt64? { record.attributes["stored-size"].flatMap { UInt64($0) } }
}
