import BackupCore
import BackupRepository

extension CheckEvent {
    /// One line for people.
    public var text: Message {
        switch self {
        case .finding(let finding):
            finding.isRepaired ? "repaired: \(finding.error.summary)" : "\(finding.kind.rawValue): \(finding.error.summary)"
        case .damaged(let file):
            file.isFolder
                ? "damaged: \(file.snapshot.name)/\(file.path)/ and all in it" : "damaged: \(file.snapshot.name)/\(file.path)"
        case .unreadable(let file): "not readable by this version: \(file.snapshot.name)/\(file.path)"
        case .repaired(let text): text
        }
    }
}

extension CheckSummary {
    /// What was looked at, and whether it is sound.
    public var text: Message {
        let looked: Message = "Checked backups: \(snapshotCount), packs: \(packCount), chunks: \(chunkCount)."
        let read: Message = "Read \(ByteCount.text(readByteCount)) in \(readPackCount) packs."
        let verdict: [Message] = isSound ? ["No damage was found."] : []
        return .joined([readPackCount > 0 ? .joined([looked, read], separator: " ") : looked] + verdict, separator: "\n")
    }
}
