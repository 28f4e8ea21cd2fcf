import BackupCore
import Glibc

/// Runs a user's command with /bin/sh: without this program's environment and descriptors, with a time limit, and with its output
/// captured.
public struct ShellCommand: Sendable {
    /// How the command ended, and what it wrote.
    public struct Result: Sendable {
        /// 128 plus the signal number when a signal ended it.
        public let exitCode: Int32
        /// Whether it was ended because it took too long.
        public let hasTimedOut: Bool
        /// The end of its output to standard output and standard error, in the original order.
        public let output: String
        /// From its start to its end.
        public let durationSeconds: Double
    }

    private static let outputLimitBytes = 16 << 10
    /// How long a command may take to end after SIGTERM.
    private static let graceSeconds = 2.0

    /// The command, in the language of the shell.
    public let text: String
    /// The command is ended when it takes longer.
    public let timeoutSeconds: Double
    /// The folder in which it runs.
    public let folder: String

    /// - Parameters:
    ///   - timeoutSeconds: after which it and its descendants get SIGTERM, and two seconds later SIGKILL.
    ///   - folder: its working directory.
    public init(_ text: String, timeoutSeconds: Double, folder: String) {
        self.text = text
        self.timeoutSeconds = timeoutSeconds
        self.folder = folder
    }

    /// A cancelled operation ends the command and its descendants (SIGTERM), and waits for that until its time is over.
    /// - Parameters:
    ///   - environment: its whole environment.
    ///   - onStart: called before the command does anything. If this process ends meanwhile, the command does not begin.
    /// - Throws: when it cannot be started; `interrupted` when the operation is cancelled: no part of it runs by then.
    public func run(
        environment: [String: String], onStart: ((ProcessGroup) -> Void)? = nil
    ) throws(BackupError) -> Result {
        try StallWatch.waitingForCommand { () throws(BackupError) in try runCounted(environment, onStart) }
    }

    private func runCounted(
        _ environment: [String: String], _ onStart: ((ProcessGroup) -> Void)?
    ) throws(BackupError) -> Result {
        try Cancellation.check()
        let startedAt = SystemClock.monotonicSeconds()
        let pipe = try Pipe()
        let writer = try OwnedDescriptor.duplicate(pipe.writer, from: 10)
        let process: Subprocess
        if let onStart {
            let gate = try Pipe()
            let gateReader = try OwnedDescriptor.duplicate(gate.reader, from: 10)
            process = try start(
                [Self.waitingScript, text], environment, [writer.rawValue, writer.rawValue, gateReader.rawValue])
            onStart(ProcessGroup(leader: process.processID))
            // Without this line the command ends immediately, as a failure.
            try? gate.writer.writeAll([UInt8(ascii: "\n")])
        } else {
            process = try start([text], environment, [writer.rawValue, writer.rawValue])
        }
        let group = ProcessGroup(leader: process.processID)
        _ = consume writer
        let reader = pipe.takeReader()
        var output: [UInt8] = []
        var killAt = startedAt + timeoutSeconds
        var signal = SIGTERM
        var hasTimedOut = false
        var cancelled: BackupError?
        var exitCode: Int32?
        var isOpen = true
        while true {
            exitCode = process.exitCodeIfEnded()
            // Its background processes may keep the pipe open: do not wait for them.
            if isOpen { isOpen = Self.drain(reader, into: &output, waitMilliseconds: exitCode == nil ? 50 : 0) }
            if exitCode != nil { break }
            if !isOpen { usleep(10_000) }
            if cancelled == nil {
                do throws(BackupError) {
                    try Cancellation.check()
                } catch {
                    cancelled = error
                    group.send(SIGTERM)
                    signal = SIGKILL
                }
            }
            guard SystemClock.monotonicSeconds() > killAt else { continue }
            hasTimedOut = true
            group.send(signal)
            signal = SIGKILL
            killAt = SystemClock.monotonicSeconds() + Self.graceSeconds
        }
        if hasTimedOut || cancelled != nil { group.waitForEnd(until: killAt) }
        if let cancelled { throw cancelled }
        return Result(
            exitCode: exitCode ?? 0, hasTimedOut: hasTimedOut, output: String(decoding: output, as: UTF8.self),
            durationSeconds: SystemClock.monotonicSeconds() - startedAt)
    }

    /// Runs the command in its argument when it reads a line, and ends at end of file.
    private static let waitingScript = #"read -r line <&3 && exec 3<&- && exec /bin/sh -c "$0""#

    /// - Parameters:
    ///   - words: a script and its arguments.
    ///   - descriptors: its output, its errors, and the gate.
    private func start(
        _ words: [String], _ environment: [String: String], _ descriptors: [Int32]
    ) throws(BackupError) -> Subprocess {
        try Subprocess(
            "/bin/sh", ["/bin/sh", "-c"] + words,
            environment: environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }, folder: folder,
            descriptors: descriptors, leads: .group, label: ("start a command", text))
    }

    /// - Returns: false at the end.
    private static func drain(
        _ reader: borrowing OwnedDescriptor, into output: inout [UInt8], waitMilliseconds: Int32
    ) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var wait = waitMilliseconds
        while true {
            var state = pollfd(fd: reader.rawValue, events: Int16(POLLIN), revents: 0)
            guard poll(&state, 1, wait) > 0 else { return true }
            let count = read(reader.rawValue, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            output += buffer[..<count]
            if output.count > outputLimitBytes { output.removeFirst(output.count - outputLimitBytes) }
            wait = 0
        }
    }
}

/// Converts between the words of a command line and the text that a person would type into a shell. Words with special characters
/// are put into single quotes.
public enum ShellWords {
    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_".unicodeScalars)

    /// The words as a person would type them.
    public static func text(of words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    private static func quoted(_ word: String) -> String {
        if !word.isEmpty, word.unicodeScalars.allSatisfy(plain.contains) { return word }
        // There is no way to write a single quote within single quotes.
        var quoted = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }

    /// - Parameter text: in the form that `text` writes; the rest of the shell's language is not supported.
    /// - Returns: `nil` for an unterminated quote.
    public static func words(in text: String) -> [String]? {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var isQuoted = false
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "'":
                isQuoted.toggle()
                word = word ?? String.UnicodeScalarView()
            case " " where !isQuoted:
                if let word { words.append(String(word)) }
                word = nil
            case "\\" where !isQuoted:
                guard let escaped = rest.popFirst() else { return nil }
                word = (word ?? String.UnicodeScalarView()) + [escaped]
            default: word = (word ?? String.UnicodeScalarView()) + [scalar]
            }
        }
        guard !isQuoted else { return nil }
        if let word { words.append(String(word)) }
        return words
    }
}
