import TestSupport

/// A call that changes a file, as the fault layer logs it.
struct RecordedCall: Equatable {
    enum Kind: Character {
        case change = "c"
        /// It can find no space.
        case spaceNeeded = "r"
        case write = "w"
    }

    let kind: Kind
    let name: String
    let path: String

    init?(_ line: some StringProtocol) {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let kind = parts[0].first.flatMap({ Kind(rawValue: $0) }) else { return nil }
        self.kind = kind
        name = String(parts[1])
        path = String(parts[2])
    }

    /// - Returns: nothing for a log that is not there.
    static func read(_ logPath: String) -> [RecordedCall] {
        Job.read(logPath).split(separator: "\n").compactMap { RecordedCall($0) }
    }
}
