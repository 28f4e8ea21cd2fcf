import BackupCore
import Formats
import Operations
import SystemIO

/// The place of a remote on the command line.
enum RemotePlace {
    /// Whether a word is a place, not the name of a remote: no name has a slash or a colon.
    static func isURL(_ word: String) -> Bool { word.contains("/") || word.contains(":") || word == "." || word == ".." }

    /// Folders are relative to the current folder here, and would be relative to the store in `store.yaml`.
    static func url(_ word: String) -> String {
        let scheme = word.prefix { $0 != ":" && $0 != "/" }
        let isFolder = scheme.count == word.count || word[scheme.endIndex] == "/"
        guard isFolder, !word.isEmpty else { return word }
        return "/" + FileSystem.absolutePath(word).split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}

/// The result of a trial, for people and for programs.
enum RemoteReport {
    static func write(_ report: RemoteTrial.Report, _ remote: RemoteSettings) {
        let lines = report.findings.map { finding -> Message in
            finding.isKept ? "yes: \(finding.question)" : "NO:  \(finding.question); \(finding.consequence)"
        }
        for line in lines { Terminal.writeUnlessQuiet(line) }
        if report.leftoverCount > 0 {
            Terminal.writeUnlessQuiet(
                .plural(
                    report.leftoverCount,
                    one: "\(report.leftoverCount) small object of this trial stays there: the credentials cannot remove it.",
                    other: "\(report.leftoverCount) small objects of this trial stay there: the credentials cannot remove them."))
        }
        if report.isOnSameDisk {
            Terminal.writeError("This folder is on the disk of the repository. A copy there is lost together with it.")
        }
        if remote.kind == .photos { return Terminal.writeUnlessQuiet("\(remote.shownLabel) can be used for photos.") }
        Terminal.writeUnlessQuiet(
            report.hasCopy
                ? "\(remote.shownLabel) can be used. It has a copy of this repository already."
                : "\(remote.shownLabel) can be used. There is no copy of this repository yet.")
    }

    static func json(_ type: String, _ remote: RemoteSettings, _ report: RemoteTrial.Report?) -> OrderedJSON {
        guard case .object(let members) = json(remote, capabilities: report?.capabilities) else { return .null }
        let findings = report?.findings.map { finding -> OrderedJSON in
            ["question": finding.question, "kept": finding.isKept, "consequence": finding.isKept ? nil : finding.consequence]
        }
        return .object(
            [.init("message_type", type)] + members + [
                .init("findings", findings), .init("leftovers", report?.leftoverCount), .init("has_copy", report?.hasCopy),
                .init("same_disk", report?.isOnSameDisk),
            ])
    }

    static func json(_ remote: RemoteSettings, capabilities: [String]?) -> OrderedJSON {
        [
            "name": remote.name, "kind": remote.kind.rawValue, "url": remote.url, "label": remote.shownLabel,
            "after_backup": remote.kind != .photos && remote.isAutomatic,
            "capabilities": capabilities, "rules": remote.retention.isEmpty ? nil : remote.retention.rule,
        ]
    }
}
