import BackupCore

/// Operations that a user or the schedule can start.
public enum OperationKind: String, CaseIterable, Sendable {
    case backup
    case restore
    /// Writes a backup into a folder; the app's data is not touched.
    case extract
    case export
    case forget
    case delete
    /// Brings a removed backup back.
    case undelete
    case rename
    case prune
    case check
    case repair
    case verify
    /// Finishes a restore that a crash interrupted.
    case recovery
    case mount
    case unmount

    /// The name under which an automatic backup runs. A user's operation interrupts it, and it is retried soon.
    static let automaticBackupName = "automatic backup"

    /// Whether it is recorded in the history, as operations on data are.
    var isRemembered: Bool { self != .mount && self != .unmount }
}

/// How an operation ended.
public enum OperationResult: String, CaseIterable, Sendable {
    case ok
    /// It failed after it began.
    case failed
    /// The request cannot be carried out; nothing was begun.
    case refused
    case cancelled
    /// There was nothing to do.
    case skipped

    /// - Parameter code: the code of the operation's error.
    init(_ code: BackupError.Code) {
        switch code {
        case .interrupted: self = .cancelled
        case .busy, .locked, .usage, .invalidArgument, .alreadyExists, .notPermitted, .notSupported, .notEmpty, .readOnly:
            self = .refused
        default: self = .failed
        }
    }
}

/// The members of a small JSON object written by this program, each on its own line (`OrderedJSON.prettyText`).
struct RecordedMembers {
    private var values: [String: Substring] = [:]

    init(_ text: [UInt8]) {
        let whole = String(decoding: text, as: UTF8.self)
        for line in whole.split(separator: "\n") {
            // `  "operation": "restore",`
            let parts = line.split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[2].hasPrefix(": ") else { continue }
            let value = parts[2].dropFirst(2)
            values[String(parts[1])] = value.hasSuffix(",") ? value.dropLast() : value
        }
    }

    /// - Returns: `nil` if the value is not a text.
    func text(_ name: String) -> String? {
        guard let value = values[name], value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") else { return nil }
        return Self.unescaped(value.dropFirst().dropLast())
    }

    func number(_ name: String) -> UInt64? { values[name].flatMap { UInt64($0) } }

    func decimal(_ name: String) -> Double? { values[name].flatMap { Double($0) } }

    private static func unescaped(_ text: Substring) -> String {
        var output = ""
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let escape = rest.popFirst() else {
                output.unicodeScalars.append(scalar)
                continue
            }
            switch escape {
            case "n": output += "\n"
            case "r": output += "\r"
            case "t": output += "\t"
            case "u":
                let digits = String(String.UnicodeScalarView(rest.prefix(4)))
                rest = rest.dropFirst(4)
                if let number = UInt32(digits, radix: 16), let meant = Unicode.Scalar(number) {
                    output.unicodeScalars.append(meant)
                }
            default: output.unicodeScalars.append(escape)
            }
        }
        return output
    }
}
