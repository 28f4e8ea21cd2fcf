import BackupCore
import SystemIO

/// For how long `mkdir` in a mount waits for its backup before it answers with a folder that is pending.
public enum MakeDirectoryWait: Sendable, Equatable {
    case always
    case never
    /// 1 to 3,600 seconds.
    case seconds(Int)

    static let standard = MakeDirectoryWait.seconds(2)
    /// What the environment says, which goes before the settings; what cannot be understood there says nothing.
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

    /// In seconds; `nil` for as long as it takes.
    public var seconds: Double? {
        switch self {
        case .always: nil
        case .never: 0
        case .seconds(let number): Double(number)
        }
    }
}
