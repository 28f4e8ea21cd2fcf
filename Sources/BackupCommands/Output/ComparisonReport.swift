import BackupCore
import CopyVerify
import Formats
import SystemIO

/// What a comparison found: as lists of text, or as one JSON document whose lists may have any length.
final class ComparisonReport {
    private let options: ComparisonOptions
    private let isJSON: Bool
    private let limit: Int
    private var texts: [ComparisonList: [String]] = [:]
    private var lists: [ComparisonList: PathSpool] = [:]
    private var counts: [ComparisonList: UInt64] = [:]

    init(_ options: ComparisonOptions, isJSON: Bool, limit: Int) {
        self.options = options
        self.isJSON = isJSON
        self.limit = limit
    }

    func add(_ finding: ComparisonFinding) throws(BackupError) {
        let list = ComparisonList(finding)
        counts[list, default: 0] += 1
        if isJSON {
            let spool = lists[list] ?? PathSpool()
            lists[list] = spool
            try spool.append(ComparisonJSON.element(finding).compactText)
        } else if texts[list, default: []].count < limit, list != .common {
            texts[list, default: []].append(ComparisonText.line(finding))
        }
    }

    func write(
        _ totals: ComparisonTotals, from source: String, to destination: String, _ checksums: FileChecksums.Counts
    ) throws(BackupError) {
        if isJSON { return try writeJSON(totals, source, destination, checksums) }
        for list in ComparisonList.allCases where list != .common && list != .unreadable && counts[list] != nil {
            Terminal.write("\(list.title(source, destination)) (\(counts[list] ?? 0)):")
            writeLines(of: list) { Terminal.write(verbatim: $0) }
        }
        if let count = counts[.unreadable] {
            Terminal.writeError("Could not be compared (\(count)):")
            writeLines(of: .unreadable) { Terminal.writeError(verbatim: $0) }
        }
        for line in ComparisonText.summary(totals, options) { Terminal.writeUnlessQuiet(line) }
    }

    private func writeLines(of list: ComparisonList, _ write: (String) -> Void) {
        let lines = texts[list] ?? []
        for line in lines { write("  \(line)") }
        let rest = (counts[list] ?? 0) - UInt64(lines.count)
        if rest > 0 { write(Terminal.language.text("  … and \(rest) more")) }
    }

    // MARK: JSON

    private func writeJSON(
        _ totals: ComparisonTotals, _ source: String, _ destination: String, _ checksums: FileChecksums.Counts
    ) throws(BackupError) {
        let head: OrderedJSON = [
            "source": source, "destination": destination, "method": options.method.rawValue,
            "equal": totals.isEqual && totals.unreadableCount == 0, "complete": totals.unreadableCount == 0,
            "sameCount": totals.sameCount, "sameBytes": totals.sameBytes, "nameOnlyCount": totals.nameOnlyCount,
            "hiddenInSource": totals.hiddenSourceCount, "hiddenInDestination": totals.hiddenDestinationCount,
            "checksumCache": [
                "hits": checksums.hitCount, "misses": checksums.missCount, "bytesRead": checksums.readBytes,
            ] as OrderedJSON,
        ]
        // The document stays open for the lists.
        var text = Array(Terminal.versioned(head).prettyText.dropLast(3))
        for list in ComparisonList.allCases {
            text += Array(",\n  \"\(list.rawValue)\": [".utf8)
            var isFirst = true
            try lists[list]?.forEach { (element) throws(BackupError) in
                text += Array((isFirst ? "\n    " : ",\n    ").utf8) + element
                isFirst = false
                guard text.count > 1 << 16 else { return }
                Terminal.write(text)
                text = []
            }
            text += Array((isFirst ? "]" : "\n  ]").utf8)
        }
        Terminal.write(text + Array("\n}\n".utf8))
    }
}

/// The lists of a comparison, in the order in which they are shown; the names are those in JSON.
enum ComparisonList: String, CaseIterable {
    case onlyInSource, onlyInDestination, foldersOnlyInSource, foldersOnlyInDestination, moved, different, otherTime, unreadable,
        common

    init(_ finding: ComparisonFinding) {
        self =
            switch finding {
            case .only(.source, _): .onlyInSource
            case .only(.destination, _): .onlyInDestination
            case .onlyFolder(.source, _): .foldersOnlyInSource
            case .onlyFolder(.destination, _): .foldersOnlyInDestination
            case .common: .common
            case .different: .different
            case .otherTime: .otherTime
            case .moved: .moved
            case .unreadable: .unreadable
            }
    }

    func title(_ source: String, _ destination: String) -> Message {
        switch self {
        case .onlyInSource: "Only in \(source)"
        case .onlyInDestination: "Only in \(destination)"
        case .foldersOnlyInSource: "Folders only in \(source)"
        case .foldersOnlyInDestination: "Folders only in \(destination)"
        case .common: "In both"
        case .different: "Different"
        case .otherTime: "The same content, and another time"
        case .moved: "Moved or renamed (in the lists above, too)"
        case .unreadable: "Could not be compared"
        }
    }
}
