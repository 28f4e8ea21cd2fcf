import ArgumentParser
import BackupCore
import Formats
import Glibc
import Operations
import Synchronization
import SystemIO

/// Output of the commands. Without a terminal, nothing is coloured or animated.
enum Terminal {
    private static let currentLanguage = Mutex<Language>(.ofEnvironment())

    /// The language for users: that of the environment, until a store requests another one.
    static var language: Language {
        get { currentLanguage.withLock { $0 } }
        set { currentLanguage.withLock { $0 = newValue } }
    }

    private static let currentVerbosity = Mutex<Verbosity>(.normal)

    /// Set by `--quiet` and `--verbose`.
    static var verbosity: Verbosity {
        get { currentVerbosity.withLock { $0 } }
        set { currentVerbosity.withLock { $0 = newValue } }
    }

    /// A local time in the format of the user's language.
    static func time(_ time: Timestamp) -> String { language.text(SystemClock.localTime(time)) }

    /// Prints one or more lines to standard output.
    static func write(_ text: Message) { write(verbatim: language.text(text)) }

    /// The same for text that is not a message: a table, a path.
    static func write(verbatim text: String) {
        let text = isOutputTerminal ? TerminalText.harmless(text, keepsLines: true) : text
        put(Array((text.hasSuffix("\n") ? text : text + "\n").utf8), STDOUT_FILENO)
    }

    /// Reports what was done; omitted with `--quiet`.
    static func writeUnlessQuiet(_ text: Message) { if verbosity != .quiet { write(text) } }
    static func writeUnlessQuiet(verbatim text: String) { if verbosity != .quiet { write(verbatim: text) } }

    /// A name, or other single-line text, for standard output: unchanged for a program, quoted for a terminal.
    static func shown(_ name: String) -> String { isOutputTerminal ? TerminalText.harmless(name, keepsLines: false) : name }

    /// Prints JSON or YAML. A terminal shows an equivalent document.
    static func write(_ bytes: [UInt8]) { put(isOutputTerminal ? TerminalText.harmless(document: bytes) : bytes, STDOUT_FILENO) }

    /// Prints to standard error.
    static func writeError(_ text: Message) { writeError(verbatim: language.text(text)) }

    static func writeError(verbatim text: String) {
        // Programs do not read names there; logs of it are shown on terminals.
        let text = TerminalText.harmless(text, keepsLines: true)
        put(Array((text.hasSuffix("\n") ? text : text + "\n").utf8), STDERR_FILENO)
    }

    /// Prints an error, its findings and the remedy.
    static func writeError(_ error: BackupError) {
        let findings = error.details.map { Message.joined([.verbatim("  "), $0], separator: "") }
        writeError(.joined(["\(failureMark)backupfs: \(error.summary)"] + findings, separator: "\n"))
    }

    /// The same for programs, as one line, also to standard error.
    static func writeError(json error: BackupError, status: ExitStatus) {
        let document: OrderedJSON = [
            "message_type": "exit_error", "code": status.rawValue, "error": error.code.rawValue, "message": error.message,
            "path": error.path, "remedy": error.remedy, "findings": error.findings,
        ]
        let bytes = versioned(document).compactText + [10]
        put(isErrorTerminal ? TerminalText.harmless(document: bytes) : bytes, STDERR_FILENO)
    }

    /// Prints an error in the form that the command line requests.
    static func writeErrorAsRequested(_ error: BackupError) {
        // For an export, --json is the form of the data, not of messages.
        if CommandLine.arguments.contains("--json"), CommandLine.arguments.dropFirst().first != "export" {
            writeError(json: error, status: ExitStatus(error.code))
        } else {
            writeError(error)
        }
    }

    /// Prints a prompt to standard error, without a line feed.
    /// - Parameter isRed: on a terminal with colours.
    static func writeError(prompt: Message, isRed: Bool = false) {
        var text = TerminalText.harmless(language.text(prompt), keepsLines: true)
        if isRed, isErrorTerminal, !isPlain {
            // The typed text is not red, nor the space before it.
            let end = text.lastIndex { $0 != " " && $0 != ":" }.map(text.index(after:)) ?? text.endIndex
            text = "\u{1B}[31m\(text[..<end])\u{1B}[0m\(text[end...])"
        }
        put(Array(text.utf8), STDERR_FILENO)
    }

    /// The mark before a success on standard output, or a failure on standard error; empty without a terminal.
    static var successMark: String { mark("✓", colour: 32, STDOUT_FILENO) }
    private static var failureMark: String { mark("✗", colour: 31, STDERR_FILENO) }

    /// Whether only plain text may be written, even to a terminal. https://no-color.org: any non-empty value counts.
    static var isPlain: Bool { Environment.text("NO_COLOR") != nil || Environment.text("TERM") == "dumb" }

    private static func mark(_ mark: String, colour: Int, _ descriptor: Int32) -> String {
        guard isatty(descriptor) == 1 else { return "" }
        return isPlain ? "\(mark) " : "\u{1B}[\(colour)m\(mark)\u{1B}[0m "
    }

    static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    static var isInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Replaces the content of the terminal with these lines.
    static func redraw(_ lines: [String]) {
        // Moves to the top and erases the end of each line and the rest below: clearing everything first would flicker.
        put(
            Array(
                ("\u{1B}[H" + lines.map { TerminalText.harmless($0, keepsLines: false) + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
                    .utf8), STDOUT_FILENO)
    }

    private static func put(_ bytes: [UInt8], _ descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                return
            }
            rest = rest.dropFirst(count)
        }
    }
}

/// Text for a terminal. File names, and texts from a database or another person's repository, may contain terminal control
/// sequences: these are shown as octal escapes, as in `ls -b`.
enum TerminalText {
    /// The marks that this program itself puts at the start of a line. No other escape sequence reaches a terminal through this.
    static let marks = ["\u{1B}[32m✓\u{1B}[0m ", "\u{1B}[31m✗\u{1B}[0m "]

    /// - Parameter keepsLines: for text with several lines and columns; a name has none.
    static func harmless(_ text: String, keepsLines: Bool) -> String {
        let mark = marks.first { text.hasPrefix($0) } ?? ""
        var result = mark
        for scalar in text.unicodeScalars.dropFirst(mark.unicodeScalars.count) {
            let isLine = keepsLines && (scalar == "\n" || scalar == "\t")
            if isLine || MessageText.isHarmless(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                for byte in Array(String(scalar).utf8) {
                    let digits = String(byte, radix: 8)
                    result += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
                }
            }
        }
        return result
    }

    /// The same for a document of JSON or YAML, which has its own escapes: its meaning to programs is unchanged.
    static func harmless(document bytes: [UInt8]) -> [UInt8] {
        var result = String.UnicodeScalarView()
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar == "\n" || scalar == "\t" || MessageText.isHarmless(scalar) {
                result.append(scalar)
            } else {
                // No such character has more than four hexadecimal digits.
                let digits = String(scalar.value, radix: 16)
                result.append(contentsOf: "\\u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)".unicodeScalars)
            }
        }
        return Array(String(result).utf8)
    }
}

/// How much a command prints besides its result.
enum Verbosity: Sendable { case quiet, normal, verbose }

struct VerbosityOptions: ParsableArguments {
    @Flag(name: [.short, .long], help: "Print only errors and warnings.")
    var quiet = false
    @Flag(name: [.short, .long], help: "Report each step immediately, also without a terminal.")
    var verbose = false

    init() {}

    func validate() throws {
        if quiet, verbose { throw ValidationError("Choose one of --quiet and --verbose.") }
        if quiet { Terminal.verbosity = .quiet }
        if verbose { Terminal.verbosity = .verbose }
    }
}
