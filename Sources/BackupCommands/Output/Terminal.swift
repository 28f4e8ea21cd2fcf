import BackupCore
import Export
import Glibc
import Operations
import Synchronization
import SystemIO

/// What the commands print. Nothing is coloured or animated unless a person sits at a terminal.
enum Terminal {
    private static let currentLanguage = Mutex<Language>(.ofEnvironment())

    /// What people are spoken to in: that of the environment, until a store asks for another one.
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

    /// A local time in the form of the reader's language.
    static func time(_ time: Timestamp) -> String { language.text(SystemClock.localTime(time)) }

    /// One line, or several, to standard output.
    static func say(_ text: Message) { say(verbatim: language.text(text)) }

    /// The same of what is no message: a table, a path.
    static func say(verbatim text: String) {
        let text = isOutputTerminal ? TerminalText.harmless(text, keepsLines: true) : text
        put(Array((text.hasSuffix("\n") ? text : text + "\n").utf8), STDOUT_FILENO)
    }

    /// What was done, which `--quiet` leaves out.
    static func tell(_ text: Message) { if verbosity != .quiet { say(text) } }
    static func tell(verbatim text: String) { if verbosity != .quiet { say(verbatim: text) } }

    /// A name, or another text that has no lines, in what goes to standard output: as it is for a program, quoted for a person.
    static func shown(_ name: String) -> String { isOutputTerminal ? TerminalText.harmless(name, keepsLines: false) : name }

    /// JSON or YAML. A person who looks at it sees what a program reads.
    static func say(_ bytes: [UInt8]) { put(isOutputTerminal ? TerminalText.harmless(document: bytes) : bytes, STDOUT_FILENO) }

    /// To standard error.
    static func complain(_ text: Message) { complain(verbatim: language.text(text)) }

    static func complain(verbatim text: String) {
        // Programs do not read names there; logs that it goes to are shown on terminals.
        let text = TerminalText.harmless(text, keepsLines: true)
        put(Array((text.hasSuffix("\n") ? text : text + "\n").utf8), STDERR_FILENO)
    }

    /// An error, its findings and what to do, in plain words.
    static func complain(_ error: BackupError) {
        let findings = error.details.map { Message.joined([.verbatim("  "), $0], separator: "") }
        complain(.joined(["\(failureMark)backupfs: \(error.summary)"] + findings, separator: "\n"))
    }

    /// The same for programs, as one line, also to standard error.
    static func complain(json error: BackupError, status: ExitStatus) {
        let document = OrderedJSON.members([
            "message_type": .text("exit_error"), "code": .integer(status.rawValue), "error": .text(error.code.rawValue),
            "message": .text(error.message.english), "path": .optional(error.path), "remedy": .optional(error.remedy?.english),
            "findings": .array(error.findings.map { .text($0.english) }),
        ])
        let bytes = document.compactText + [10]
        put(isErrorTerminal ? TerminalText.harmless(document: bytes) : bytes, STDERR_FILENO)
    }

    /// To standard error, as it is.
    /// - Parameter isRed: on a terminal that shows colours.
    static func complain(prompt: Message, isRed: Bool = false) {
        var text = TerminalText.harmless(language.text(prompt), keepsLines: true)
        if isRed, isErrorTerminal, !isPlain {
            // What is typed is not red, nor the space before it.
            let end = text.lastIndex { $0 != " " && $0 != ":" }.map(text.index(after:)) ?? text.endIndex
            text = "\u{1B}[31m\(text[..<end])\u{1B}[0m\(text[end...])"
        }
        put(Array(text.utf8), STDERR_FILENO)
    }

    /// In front of what has succeeded, on standard output, and of what has failed, on standard error; nothing off a terminal.
    static var successMark: String { mark("✓", colour: 32, STDOUT_FILENO) }
    private static var failureMark: String { mark("✗", colour: 31, STDERR_FILENO) }

    /// Whether nothing but text may be written, be it to a terminal. https://no-color.org: whatever it says, as long as it says something.
    static var isPlain: Bool { Environment.text("NO_COLOR") != nil || Environment.text("TERM") == "dumb" }

    private static func mark(_ mark: String, colour: Int, _ descriptor: Int32) -> String {
        guard isatty(descriptor) == 1 else { return "" }
        return isPlain ? "\(mark) " : "\u{1B}[\(colour)m\(mark)\u{1B}[0m "
    }

    static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    static var isInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Shows these lines in place of all that the terminal shows.
    static func redraw(_ lines: [String]) {
        // To the first place, each line to its end, and what is below: without clearing all of it first, which flickers.
        put(
            Array(
                ("\u{1B}[H" + lines.map { TerminalText.harmless($0, keepsLines: false) + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
                    .utf8), STDOUT_FILENO)
    }

    private static func put(_ bytes: [UInt8], _ descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                return
            }
            rest = rest.dropFirst(count)
        }
    }
}
