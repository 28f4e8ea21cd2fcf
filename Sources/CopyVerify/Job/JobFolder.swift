import BackupCore
import Formats
import SystemIO

/// What a job is doing: the text of its file `state`.
public enum JobState: String, Sendable, CaseIterable {
    /// Made, and not yet begun.
    case idle
    case inProgress
    /// Stopped by a person; goes on where it was.
    case paused
    /// Every file is at every destination.
    case completed
    /// It has ended, and some files are not at some destination.
    case failed
    /// Ended by a person.
    case cancelled

    /// For people.
    /// - Parameter isRunning: whether a process works at the job.
    public func label(isRunning: Bool) -> Message {
        switch self {
        case .idle: "not begun"
        case .inProgress: isRunning ? "running" : "interrupted"
        case .paused: "paused"
        case .completed: "complete"
        case .failed: "incomplete"
        case .cancelled: "cancelled"
        }
    }
}

/// The folder of a job: `jobs/ID/`.
public struct JobFolder: Sendable {
    private static let recordLimitBytes = 4 << 20

    /// Absolute.
    public let path: String
    /// What is copied, from where and to where.
    public let record: JobRecord

    var results: String { "\(path)/results.jsonl" }
    var resultList: String { "\(path)/results.json" }
    /// All errors, for people, once the job has ended.
    public var errors: String { "\(path)/errors.txt" }
    var control: String { "\(path)/control" }
    /// What the lists of checksums say that came with the source.
    var sourceLists: String { "\(path)/source_lists.jsonl" }
    private var lockFile: String { "\(path)/lock" }
    private var cameraFile: String { "\(path)/camera.json" }
    private var stateFile: String { "\(path)/state" }
    private var pauseFile: String { "\(path)/pause.json" }
    private var progressFile: String { "\(path)/progress.json" }

    // MARK: Finding

    /// Makes the folder of a new job.
    /// - Parameter place: the folder of all jobs; made if it is missing.
    public static func make(in place: String, _ record: JobRecord, _ info: SourceInfo) throws(BackupError) -> JobFolder {
        try FileSystem.makeDirectories(place)
        let folder = JobFolder(path: "\(place)/\(record.id)", record: record)
        try FileSystem.makeDirectory(folder.path)
        try folder.write(info)
        try FileSystem.writeFileAtomically(folder.control, [])
        try folder.setState(.idle)
        // Last: a folder without it is no job.
        try FileSystem.writeFileAtomically(Self.recordFile(folder.path), record.json.prettyText)
        try FileSystem.synchronizeDirectory(place)
        return folder
    }

    private static func recordFile(_ path: String) -> String { "\(path)/job.json" }

    /// An existing job.
    /// - Parameters:
    ///   - name: its ID, or the path of its folder.
    ///   - place: the folder of all jobs.
    /// - Throws: `notFound`; errors of its record.
    public static func open(_ name: String, in place: String) throws(BackupError) -> JobFolder {
        let path = name.contains("/") ? FileSystem.absolutePath(name) : "\(place)/\(name)"
        guard let bytes = try FileSystem.readFileIfPresent(recordFile(path), limitBytes: recordLimitBytes) else {
            throw BackupError(.notFound, "there is no such job", path: path, remedy: "See the jobs with: backupfs jobs")
        }
        return JobFolder(path: path, record: try JobRecord(parsing: bytes, path: recordFile(path)))
    }

    /// All jobs, oldest first. What is no job, or cannot be read, is left out.
    public static func all(in place: String) throws(BackupError) -> [JobFolder] {
        try FileSystem.names(in: place).map(\.description).compactMap { try? open($0, in: place) }
            .sorted { ($0.record.createdAt, $0.record.id) < ($1.record.createdAt, $1.record.id) }
    }

    // MARK: State

    /// Reserves the job for this process.
    /// - Throws: `busy` while another process works at it.
    func lock() throws(BackupError) -> AdvisoryLock {
        do throws(BackupError) {
            return try AdvisoryLock(path: lockFile)
        } catch {
            guard error.code == .busy else { throw error }
            throw BackupError(
                .busy, "another process works at this job", path: path,
                remedy: "Wait until it has finished, or cancel it with: backupfs jobs cancel \(record.id)")
        }
    }

    /// Whether a process works at it.
    public var isRunning: Bool { (try? AdvisoryLock.isHeld(path: lockFile)) == true }

    /// The state; `idle` when it cannot be read.
    public var state: JobState {
        let text = (try? FileSystem.readFile(stateFile, limitBytes: 64)) ?? []
        return JobState(rawValue: String(decoding: text.prefix { $0 != 10 }, as: UTF8.self)) ?? .idle
    }

    func setState(_ state: JobState) throws(BackupError) {
        try FileSystem.writeFileAtomically(stateFile, Array("\(state.rawValue)\n".utf8))
    }

    /// Records that the job has stopped, by what, and where.
    func notePause(_ reason: String, _ progress: OrderedJSON) throws(BackupError) {
        let document: OrderedJSON = ["pausedAt": SystemClock.now(), "reason": reason]
        try FileSystem.writeFileAtomically(pauseFile, document.adding(progress).prettyText)
        try setState(.paused)
    }

    func removePause() throws(BackupError) { try FileSystem.removeFile(pauseFile) }

    func write(progress: OrderedJSON) {
        // Worthless after a crash, and the copy itself goes on without it.
        try? FileSystem.writeForReaders(progressFile, progress.prettyText)
    }

    /// What the job's last run has reported of its progress, as JSON; `nil` before the first report.
    public var progress: OrderedJSON? {
        (try? FileSystem.readFile(progressFile, limitBytes: 65_536)).flatMap { OrderedJSON.verbatim($0) }
    }

    // MARK: Control

    /// What a person asks of a running job, through its file `control`.
    public enum Request: String, Sendable, CaseIterable { case pause, resume, cancel }

    /// Asks it of the process that works at the job.
    /// - Throws: `notFound` when none does.
    public func ask(_ request: Request) throws(BackupError) {
        guard isRunning else {
            throw BackupError(
                .notFound, "no process works at this job", path: path,
                remedy: "Continue it with: backupfs copy --resume \(record.id)")
        }
        try FileSystem.overwrite(control, Array("\(request.rawValue)\n".utf8))
    }

    /// The request in the file, which stays; `nil` when there is none.
    var request: Request? {
        guard let status = FileSystem.statusIfPresent(control), status.size > 0,
            let text = try? FileSystem.readFile(control, limitBytes: 64)
        else { return nil }
        return Request(rawValue: String(decoding: text.prefix { $0 > 32 }, as: UTF8.self))
    }

    /// The same; the file is emptied.
    func takeRequest() -> Request? {
        guard let request else { return nil }
        clearRequest()
        return request
    }

    /// Requests are for the run that they were made in.
    func clearRequest() { if FileSystem.statusIfPresent(control)?.size != 0 { try? FileSystem.overwrite(control, []) } }

    // MARK: What the job began with

    /// Of a job whose files come one by one also at its end.
    func write(_ info: SourceInfo) throws(BackupError) {
        try FileSystem.writeFileAtomically("\(path)/source_info.json", info.json.prettyText)
        try FileSystem.writeFileAtomically(cameraFile, info.camera.json.prettyText)
    }

    /// The folders that the job has made in a destination.
    func madeFolders(_ index: Int) -> String { "\(path)/folders-\(index)" }

    /// What recorded the source; `nil` for a job of an older version, and when it cannot be read.
    public var camera: CameraCard? {
        (try? FileSystem.readFile(cameraFile, limitBytes: Self.recordLimitBytes)).flatMap(CameraCard.init(parsing:))
    }

    /// The number of files when the job was made; 0 when it cannot be read.
    var recordedFileCount: UInt64 {
        let bytes = try? FileSystem.readFile("\(path)/source_info.json", limitBytes: Self.recordLimitBytes)
        return JSONMembers(bytes ?? []).number("fileCount") ?? 0
    }
}
