import BackupCore
import Formats
import SystemIO

/// A job in few words: what is left in the folder `Reports` of a destination (`transfers/ID.json`), and what a master report has
/// of each job.
public struct TransferRecord: Sendable {
    static let reportsName = "Reports"
    static let folderName = "transfers"
    private static let version = 1
    private static let limitBytes = 4 << 20

    public let id: String
    let createdAt: Timestamp
    /// When the last run has ended.
    let endedAt: Timestamp?
    let state: JobState
    let verdict: ReportVerdict
    let verification: VerificationMode
    let source: String
    /// `nil` when no camera was recognised.
    let camera: CameraFacts?
    let destinations: [String]
    let fileCount: UInt64
    let totalBytes: UInt64
    /// Copies that are at their destination.
    let successCount: UInt64
    /// Copies that are not.
    let issueCount: UInt64
    let elapsedSeconds: Double
    let runCount: Int

    init(_ story: JobStory) {
        id = story.record.id
        createdAt = story.record.createdAt
        endedAt = story.lastEnd?.endedAt
        state = story.state
        verdict = story.verdict
        verification = story.record.options.verification
        source = story.record.source
        camera = story.source.camera
        destinations = story.destinations.map(\.place.path)
        fileCount = story.source.fileCount
        totalBytes = story.source.totalBytes
        successCount = story.successCount
        issueCount = story.issueCount
        elapsedSeconds = story.elapsedSeconds
        runCount = story.runs.count
    }

    var json: OrderedJSON {
        [
            "transfer_version": Self.version, "id": id, "created_at": createdAt, "ended_at": endedAt, "state": state.rawValue,
            "verdict": verdict.rawValue, "verify": verification.rawValue, "source": source, "camera": camera?.name,
            "camera_type": camera?.type,
            "camera_model": camera?.model, "camera_serial": camera?.serial, "files": fileCount, "bytes": totalBytes,
            "matches": successCount, "issues": issueCount, "elapsed_seconds": ReportJSON.decimal(elapsedSeconds),
            "runs": runCount, "destinations": destinations,
        ]
    }

    /// Writes the record durably; an earlier one of the job is replaced.
    /// - Parameter folder: `Reports` of a destination.
    func write(inReports folder: String) throws(BackupError) {
        let place = "\(folder)/\(Self.folderName)"
        try FileSystem.makeDirectories(place)
        try FileSystem.writeFileAtomically("\(place)/\(id).json", json.prettyText)
    }

    /// - Throws: `damagedContent` for a file that this program did not write; `unsupportedVersion`.
    init(readingFrom path: String) throws(BackupError) {
        let bytes = try FileSystem.readFile(path, limitBytes: Self.limitBytes)
        let members = JSONMembers(bytes)
        guard let version: Int = members.number("transfer_version") else { throw Self.damaged(path) }
        guard version <= Self.version else {
            throw BackupError(
                .unsupportedVersion, "the record of the transfer was made by a newer version of this program", path: path,
                remedy: "Use a newer backupfs.")
        }
        guard let id = members.text("id"), let createdAt = members.time("created_at"),
            let state: JobState = members.word("state"), let verdict: ReportVerdict = members.word("verdict"),
            let verification: VerificationMode = members.word("verify"), let source = members.text("source"),
            let fileCount: UInt64 = members.number("files"), let totalBytes: UInt64 = members.number("bytes"),
            let successCount: UInt64 = members.number("matches"), let issueCount: UInt64 = members.number("issues"),
            let seconds: Double = members.number("elapsed_seconds"), let runCount: Int = members.number("runs"),
            let destinations = try? Self.destinations(bytes)
        else { throw Self.damaged(path) }
        (self.id, self.createdAt, self.state, self.verdict) = (id, createdAt, state, verdict)
        (self.verification, self.source, self.destinations) = (verification, source, destinations)
        (self.fileCount, self.totalBytes, self.successCount, self.issueCount) = (fileCount, totalBytes, successCount, issueCount)
        (elapsedSeconds, self.runCount) = (seconds.isFinite ? max(0, seconds) : 0, runCount)
        endedAt = members.time("ended_at")
        camera = CameraFacts(
            type: members.text("camera_type"), model: members.text("camera_model"), serial: members.text("camera_serial"),
            name: members.text("camera"))
    }

    private static func damaged(_ path: String) -> BackupError {
        BackupError(.damagedContent, "the record of the transfer is damaged", path: path, remedy: "Remove this file.")
    }

    private static func destinations(_ bytes: [UInt8]) throws(BackupError) -> [String] {
        var found: [String] = []
        let tokenizer = JSONTokenizer(BytesSource(bytes), bufferSizeBytes: 4_096)
        guard try tokenizer.next() == .beginObject else { return [] }
        try tokenizer.forEachMember { (name, value) throws(BackupError) in
            guard name == "destinations", value == .beginArray else { return }
            while try tokenizer.next() == .string { found.append(tokenizer.text()) }
        }
        return found
    }
}
