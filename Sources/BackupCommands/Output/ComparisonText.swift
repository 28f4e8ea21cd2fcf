import BackupCore
import CopyVerify
import Formats
import SystemIO

/// The findings of a comparison in words.
enum ComparisonText {
    static func line(_ finding: ComparisonFinding) -> String {
        switch finding {
        case .only(_, let path), .common(let path): name(path)
        case .onlyFolder(_, let path): name(path) + "/"
        case .different(let path, let difference): Terminal.language.text("\(name(path)): \(text(difference))")
        case .otherTime(let path, let one, let other):
            Terminal.language.text("\(name(path)): \(SystemClock.localTime(one)), \(SystemClock.localTime(other))")
        case .moved(let source, let destination, _): "\(name(source)) → \(name(destination))"
        case .unreadable(let side, let path, let error):
            Terminal.language.text("\(path.isEmpty ? "." : name(path)) (\(text(side))): \(error.message)")
        }
    }

    private static func name(_ path: [UInt8]) -> String { Terminal.shown(String(decoding: path, as: UTF8.self)) }

    private static func text(_ side: ComparisonSide) -> Message {
        switch side {
        case .source: "first side"
        case .destination: "second side"
        }
    }

    private static func text(_ kind: ComparedItem.Kind) -> Message {
        switch kind {
        case .file: "a file"
        case .folder: "a folder"
        case .link: "a link"
        case .pipe: "a pipe"
        case .socket: "a socket"
        case .device: "a device"
        }
    }

    private static func text(_ difference: ComparisonFinding.Difference) -> Message {
        switch difference {
        case .kind(let one, let other): "\(text(one)), \(text(other))"
        case .size(let one, let other): "\(one) bytes, \(other) bytes"
        case .content(nil): "the same size, another content"
        case .content(let offset?): "another content from byte \(offset) on"
        case .time(let one, let other):
            "the same size, another time: \(SystemClock.localTime(one)), \(SystemClock.localTime(other))"
        case .target(let one, let other): "a link to \(name(one)), a link to \(name(other))"
        }
    }

    /// What was compared, and how.
    static func summary(_ totals: ComparisonTotals, _ options: ComparisonOptions) -> [Message] {
        let hiddenCount = totals.hiddenSourceCount + totals.hiddenDestinationCount
        var lines: [Message] = []
        let method: Message =
            switch options.method {
            case .size: "by size and time"
            case .checksum: "by checksum"
            case .bytes: "byte by byte"
            }
        let same: Message = .plural(
            totals.sameCount, one: "\(totals.sameCount) file is the same (\(ByteCount.text(totals.sameBytes)), \(method)).",
            other: "\(totals.sameCount) files are the same (\(ByteCount.text(totals.sameBytes)), \(method)).")
        lines.append(same)
        if totals.nameOnlyCount > 0 {
            lines.append(
                .plural(
                    totals.nameOnlyCount,
                    one: "Of \(totals.nameOnlyCount) file only the name was compared; --checksum compares its content.",
                    other: "Of \(totals.nameOnlyCount) files only the names were compared; --checksum compares their contents."))
        }
        if hiddenCount > 0 {
            lines.append(
                .plural(
                    hiddenCount, one: "\(hiddenCount) name that begins with a dot was left out; --hidden compares it.",
                    other: "\(hiddenCount) names that begin with a dot were left out; --hidden compares them."))
        }
        lines.append(verdict(totals))
        return lines
    }

    private static func verdict(_ totals: ComparisonTotals) -> Message {
        guard totals.isEqual else { return "The two sides differ." }
        return totals.unreadableCount > 0
            ? "No difference was found, but not everything could be compared."
            : "\(Terminal.successMark)The two sides are equal."
    }
}

/// The findings of a comparison for programs.
enum ComparisonJSON {
    static func element(_ finding: ComparisonFinding) -> OrderedJSON {
        switch finding {
        case .only(_, let path), .common(let path), .onlyFolder(_, let path): return text(path)
        case .different(let path, let difference): return difference.adding(to: path)
        case .otherTime(let path, let one, let other):
            return ["path": text(path), "source": one, "destination": other]
        case .moved(let source, let destination, let size):
            return ["source": text(source), "destination": text(destination), "size": size]
        case .unreadable(let side, let path, let error):
            return [
                "path": text(path), "side": side.rawValue, "error": error.code.rawValue, "message": error.message,
                "remedy": error.remedy,
            ]
        }
    }

    /// A path; one that is not UTF-8 as an object with its bytes.
    static func text(_ path: [UInt8]) -> OrderedJSON {
        if let text = String(validating: path, as: UTF8.self) { return .text(text) }
        return ["base64": path.withUnsafeBytes { Base64.encode($0) }]
    }
}

extension ComparisonFinding.Difference {
    fileprivate func adding(to path: [UInt8]) -> OrderedJSON {
        let path: OrderedJSON = ["path": ComparisonJSON.text(path)]
        switch self {
        case .kind(let one, let other):
            return path.adding(["difference": "kind", "source": one.rawValue, "destination": other.rawValue])
        case .size(let one, let other): return path.adding(["difference": "size", "source": one, "destination": other])
        case .content(let offset): return path.adding(["difference": "content", "offset": offset])
        case .time(let one, let other): return path.adding(["difference": "time", "source": one, "destination": other])
        case .target(let one, let other):
            return path.adding([
                "difference": "target", "source": ComparisonJSON.text(one), "destination": ComparisonJSON.text(other),
            ])
        }
    }
}
