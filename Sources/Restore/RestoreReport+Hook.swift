import BackupCore
import Export

extension RestoreReport {
    /// A user command that ran before or after the restore.
    public struct Hook: Sendable {
        private static let lineLimit = 20

        public let name: String
        public let exitCode: Int32
        public let hasTimedOut: Bool
        /// The end of its output.
        public let output: String

        public init(name: String, exitCode: Int32, hasTimedOut: Bool, output: String) {
            self.name = name
            self.exitCode = exitCode
            self.hasTimedOut = hasTimedOut
            self.output = output
        }

        public var isSuccess: Bool { exitCode == 0 && !hasTimedOut }

        /// How it ended, as text.
        public var outcomeText: Message {
            if hasTimedOut { return "it took too long and was ended" }
            return exitCode > 128 ? "ended by signal \(exitCode - 128)" : "exit code \(exitCode)"
        }

        /// The last lines of its output.
        public var outputLines: [String] { output.split(separator: "\n").suffix(Self.lineLimit).map(String.init) }

        var json: OrderedJSON {
            .members([
                "name": .text(name), "exitCode": .integer(exitCode), "timedOut": .boolean(hasTimedOut), "output": .text(output),
            ])
        }

        var lines: [Message] {
            isSuccess ? [] : ["Warning: the command \(name) failed: \(outcomeText)"] + outputLines.map { "- \($0)" }
        }
    }
}
