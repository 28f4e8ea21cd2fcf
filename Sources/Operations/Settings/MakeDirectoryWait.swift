import BackupCore
import SystemIO

/// How long `mkdir` in a mount waits for its backup before it returns with a pending folder.
public enum MakeDirectoryWait: Sendable, Equatable {
    case always
    case never
    /// 1 to 3,600 seconds.
    case seconds(Int)

    static let standard = MakeDirectoryWait.seconds(2)
    /// The value from the environment, which overrides the settings; an invalid one is ignored.
    static var ofEnvironment: MakeDirectoryWait? { Environment.makeDirectoryWait.flatMap { try? MakeDirectoryWait(parsing: $0) } }
    private static let range = 1...3_600

    /// `2s`, `always` or `never`.
    /// - Throws: `usage`.
    init(parsing text: String) throws(BackupError) {
        switch text.lowercased() {
        case "always": self = .always
        case "never": self = .never
        case let word:
            guard word.last == "s", let number = Int(word.dropLast()), Self.range.contains(number) else {
                throw BackupError(
                    .usage, "it cannot be “\(MessageText.shortened(text))”",
                    remedy: "Write always, never, or seconds such as 2s, from 1s to 3600s.")
            }
            self = .seconds(number)
        }
    }

    /// In seconds; `nil` for no limit.
    public var seconds: Double? {
        switch self {
        case .always: nil
        case .never: 0
        case .seconds(let number): Double(number)
        }
    }
}
