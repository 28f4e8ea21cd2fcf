import BackupCore
import Glibc
import SystemIO

/// Folders that get the same files: an entry of the setting `copy-sets`.
public struct CopySetPlace: Sendable, Equatable {
    /// As in the settings, and below `copy/` in the mount.
    public let name: String
    /// Absolute.
    public let destinations: [String]
    /// How files are copied.
    public let options: CopyOptions

    public init(name: String, destinations: [String], options: CopyOptions) {
        self.name = name
        self.destinations = destinations
        self.options = options
    }

    /// What the records of its jobs name as the source.
    var source: String { "copy/\(name)" }
}

/// A set of destinations that programs copy files into, one by one. The first file begins a job, which ends when nothing was
/// written for some time.
public final class CopySet: Sendable {
    public let place: CopySetPlace
    private let spool: String
    private let jobs: String
    private let store: String
    private let idleNanoseconds: UInt64
    private let onBegin: @Sendable () -> Void
    private let onFailure: @Sendable (_ path: [UInt8], BackupError) -> Void
    private let onEnd: @Sendable (JobFolder, Result<JobState, BackupError>) -> Void

    private struct State {
        var job: DropJob?
        var isStarting = false
        /// Files that are open, and changes in progress.
        var useCount = 0
        var lastUse: UInt64 = 0
        var isClosed = false
        /// The set that this one has replaced, until its job has ended.
        var predecessor: CopySet?
        /// Why the last job could not begin.
        var refusal: String?
        /// Jobs that have ended, while `onEnd` runs.
        var concludingCount = 0

        var hasEnded: Bool { job == nil && !isStarting && concludingCount == 0 }
    }

    private let state: Monitor<State>

    /// The folder itself.
    public let root: CopySetRoot

    /// - Parameters:
    ///   - spool: the folder for files while they are written; nothing else is in it.
    ///   - jobs: the folder of all jobs.
    ///   - store: has no destination in it.
    ///   - idleSeconds: how long after the last use its job ends.
    ///   - predecessor: the set that this one replaces: its job ends before the first one begins here.
    ///   - onBegin: called when a job begins.
    ///   - onFailure: called for a file that has not come to every destination.
    ///   - onEnd: called on another thread when a job has ended. Files are taken meanwhile; the end of the set waits for it.
    public init(
        _ place: CopySetPlace, spool: String, jobs: String, store: String, idleSeconds: Double, after predecessor: CopySet? = nil,
        onBegin: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (_ path: [UInt8], BackupError) -> Void,
        onEnd: @escaping @Sendable (JobFolder, Result<JobState, BackupError>) -> Void
    ) {
        self.place = place
        self.spool = spool
        self.jobs = jobs
        self.store = store
        idleNanoseconds = UInt64(max(0.01, idleSeconds) * 1e9)
        let state = Monitor(State(predecessor: predecessor))
        self.state = state
        root = CopySetRoot { () throws(BackupError) in try CopySet.view(place, state) }
        self.onFailure = onFailure
        self.onBegin = onBegin
        self.onEnd = onEnd
    }

    // MARK: The job

    /// Keeps the job running until `finish`.
    private func begin() throws(BackupError) -> DropJob {
        let (known, isClosed) = state.wait(until: { !$0.isStarting }) { state -> (DropJob?, Bool) in
            if state.isClosed { return (nil, true) }
            if let job = state.job {
                state.useCount += 1
                return (job, false)
            }
            state.isStarting = true
            return (nil, false)
        }
        if isClosed {
            throw BackupError(
                .busy, "the set is not served any more", path: place.source,
                remedy: "Copy the files again when its settings are as they are to be.")
        }
        if let known { return known }
        do throws(BackupError) {
            let job = try start()
            state.changeWakingAll { state in
                (state.job, state.isStarting, state.useCount) = (job, false, 1)
                state.refusal = nil
            }
            return job
        } catch {
            state.changeWakingAll { $0.isStarting = false }
            // For the program, a destination that is missing is not a file that is missing.
            throw error.code == .notFound ? error.with(.inputOutput) : error
        }
    }

    private func start() throws(BackupError) -> DropJob {
        // Both have one place in the spool.
        state.withLock { $0.predecessor }?.waitForEnd()
        state.withLock { $0.predecessor = nil }
        let job = try DropJob(place, spool: spool, jobs: jobs, awayFrom: [("the store", store)])
        do throws(BackupError) {
            try SystemThread { [self] in endWhenIdle(job) }.detach()
        } catch {
            _ = try? job.end(idleSince: SystemClock.monotonicNanoseconds())
            throw error
        }
        onBegin()
        return job
    }

    private func finish() {
        state.changeWakingAll { state in
            state.useCount -= 1
            state.lastUse = SystemClock.monotonicNanoseconds()
        }
    }

    private func endWhenIdle(_ job: DropJob) {
        while true {
            let left = state.withLock { state -> UInt64? in
                // The first use begins after this thread.
                guard state.job != nil else { return idleNanoseconds }
                if state.isClosed { return nil }
                guard state.useCount == 0 else { return idleNanoseconds }
                let idle = SystemClock.monotonicNanoseconds() - state.lastUse
                guard idle < idleNanoseconds, !job.context.mustStop else {
                    // From here on, the next file waits for the next job.
                    state.isStarting = true
                    return nil
                }
                return idleNanoseconds - idle
            }
            guard let left else { break }
            _ = state.wait(until: { $0.isClosed }, forNanoseconds: min(left, 1_000_000_000))
        }
        let (isBusy, lastUse) = state.withLock { ($0.useCount > 0, $0.lastUse) }
        if isBusy { job.stop() }
        let idleSince = isBusy ? SystemClock.monotonicNanoseconds() : lastUse
        let result = Result { () throws(BackupError) in try job.end(idleSince: idleSince) }
        // The next job begins after it.
        if case .success = result { try? FileSystem.removeTree(spool) }
        state.changeWakingAll { state in
            (state.job, state.isStarting) = (nil, false)
            state.concludingCount += 1
        }
        onEnd(job.folder, result)
        state.changeWakingAll { $0.concludingCount -= 1 }
    }

    /// Lets the job end, and takes no more files.
    public func close() { state.changeWakingAll { $0.isClosed = true } }

    /// After `close`: returns when the record of the job says how it has ended, and `onEnd` has returned. As long as a disk does
    /// not respond, it has not.
    public func waitForEnd() {
        let predecessor = state.wait(until: { $0.hasEnded }) { $0.predecessor }
        predecessor?.waitForEnd()
    }

    /// Whether it takes no more files.
    public var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Whether no job is left, of those that it has replaced neither.
    public var hasEnded: Bool {
        let (hasEnded, predecessor) = state.withLock { ($0.hasEnded, $0.predecessor) }
        return hasEnded && predecessor?.hasEnded ?? true
    }

    /// The same as `close`, unless a file is open, a job begins, or one ends. Never waits.
    /// - Returns: whether it takes no more files.
    public func closeIfUnused() -> Bool {
        state.changeWakingAll { state in
            guard state.useCount == 0, !state.isStarting else { return false }
            state.isClosed = true
            return true
        }
    }

    private func withJob<Value>(_ body: (DropJob) throws(BackupError) -> Value) throws(BackupError) -> Value {
        let job = try begin()
        defer { finish() }
        return try body(job)
    }

    // MARK: What is there

    /// The folder of the first destination that can be read.
    public func view() throws(BackupError) -> DirectoryHandle { try Self.view(place, state) }

    private static func view(_ place: CopySetPlace, _ state: Monitor<State>) throws(BackupError) -> DirectoryHandle {
        let failed = Set((state.withLock { $0.job }?.destinations ?? []).filter { $0.error != nil }.map(\.place.path))
        var failure: BackupError?
        for destination in place.destinations where !failed.contains(destination) {
            do throws(BackupError) {
                return try DirectoryHandle(path: destination)
            } catch {
                failure = failure ?? error
            }
        }
        throw BackupError(
            .inputOutput, "no destination of the set can be read", path: place.source,
            remedy: "Mount their disks, and look with: backupfs config check",
            findings: failure.map { [$0.summary] } ?? [])
    }

    /// Whether a name in a destination is that of an unfinished copy.
    public static func isUnfinished(_ name: FileName) -> Bool {
        name.bytes.first == UInt8(ascii: ".") && name.bytes.suffix(CopyNames.mark.utf8.count).elementsEqual(CopyNames.mark.utf8)
    }

    static func removesNothing(_ path: [FileName]) -> BackupError {
        BackupError(
            .notPermitted, "nothing is removed here", path: MessageText.name(BytePath.joined(path)),
            remedy: "Remove it in the destinations.")
    }

    // MARK: Files

    /// Makes a file in the spool for one that is copied. The job goes on until the draft is released.
    /// - Parameter path: in the set.
    public func makeDraft(_ path: [FileName], permissions: mode_t) throws(BackupError) -> Draft {
        guard let name = path.last else { throw BackupError(.invalidArgument, "the file has no name") }
        try requireNames(path)
        do throws(BackupError) {
            _ = try begin()
        } catch {
            // Not for each file of a folder.
            let text = error.description
            let isNew = state.withLock { state in
                defer { state.refusal = text }
                return state.refusal != text
            }
            if isNew { noteFailure(path, error) }
            throw error
        }
        do throws(BackupError) {
            let folder = try spoolFolder(path.dropLast())
            // One that was given up before.
            try folder.removeFile(name)
            let file = try folder.createFile(name, permissions: 0o600)
            try file.setPermissions(permissions | 0o600)
            return Draft(try SharedFile(folder.open(name, O_RDWR)), at: path, permissions: permissions)
        } catch {
            finish()
            throw error
        }
    }

    private func spoolFolder(_ path: ArraySlice<FileName>) throws(BackupError) -> DirectoryHandle {
        var folder = try DirectoryHandle(path: spool, followsLink: false)
        for name in path { folder = try folder.openOrMakeFolder(name) }
        return folder
    }

    /// The spool file of a draft is gone, whatever has become of it.
    public func release(_ draft: Draft) {
        removeFromSpool(draft.path)
        finish()
    }

    private func removeFromSpool(_ path: [FileName]) {
        guard let name = path.last else { return }
        try? spoolFolder(path.dropLast()).removeFile(name)
    }

    /// Copies a draft to all destinations, with its attributes. Durable and verified when it returns.
    /// - Throws: `damagedContent` when a copy was read back and differs; `alreadyExists` when another file has the name; errors
    ///   of the destinations. Those that have no error have the file.
    public func copy(_ draft: Draft) throws(BackupError) {
        do throws(BackupError) {
            try withJob { (job) throws(BackupError) in
                let isReadable = try draft.finishMode()
                // tar puts empty files in the place of links that it makes in the end.
                let isEmpty = try draft.status().size == 0
                try job.copy(draft.path, isTemporary: isEmpty || Self.isTemporary(draft.path))
                if !isReadable {
                    try job.setAttributes(draft.path, permissions: draft.permissions, modificationTime: nil)
                }
            }
        } catch {
            noteFailure(draft.path, error)
            throw error
        }
    }

    private func noteFailure(_ path: [FileName], _ error: BackupError) {
        onFailure(BytePath.join(Array(place.source.utf8), BytePath.joined(path)), error)
    }

    /// Gives a draft another name.
    public func rename(_ draft: Draft, to path: [FileName]) throws(BackupError) {
        guard let name = draft.path.last, let newName = path.last else { return }
        try requireNames(path)
        let target = try spoolFolder(path.dropLast())
        try target.removeFile(newName)
        try spoolFolder(draft.path.dropLast()).move(name, to: target, as: newName)
        draft.setPath(path)
    }

    /// Makes a symbolic link at all destinations.
    public func makeLink(_ path: [FileName], to target: [UInt8]) throws(BackupError) {
        guard let name = path.last else { return }
        try requireNames(path)
        try withJob { (job) throws(BackupError) in
            let folder = try spoolFolder(path.dropLast())
            try folder.removeFile(name)
            try folder.createLink(name, to: target, modificationTime: SystemClock.now())
            defer { try? folder.removeFile(name) }
            try job.copy(path, isTemporary: Self.isTemporary(path))
        }
    }

    // MARK: Other changes

    /// Makes a folder at all destinations. It is no error if only some can make it: their files then say so.
    /// - Parameter permissions: of the new folder; its owner may write into it in any case.
    public func makeFolder(_ path: [FileName], permissions: mode_t) throws(BackupError) {
        try requireNames(path)
        try withJob { (job) throws(BackupError) in try job.makeFolder(path, permissions: permissions) }
    }

    /// - Throws: `alreadyExists`: nothing is replaced.
    public func rename(_ path: [FileName], to newPath: [FileName]) throws(BackupError) {
        try requireNames(newPath)
        try withJob { (job) throws(BackupError) in
            try job.rename(path, to: newPath, keepsTemporary: Self.isTemporary(newPath))
        }
    }

    /// Removes a file that a program has copied under a temporary name, and not yet renamed, or that is empty, in this job.
    /// - Throws: `notPermitted` for others.
    public func remove(_ path: [FileName]) throws(BackupError) {
        guard state.withLock({ $0.job }) != nil else { throw Self.removesNothing(path) }
        try withJob { (job) throws(BackupError) in try job.remove(path) }
    }

    /// Sets what a program has set of what is at the destinations; `nil` leaves a value unchanged.
    public func setAttributes(
        _ path: [FileName], permissions: mode_t?, modificationTime: Timestamp?
    ) throws(BackupError) {
        guard permissions != nil || modificationTime != nil else { return }
        try withJob { (job) throws(BackupError) in
            try job.setAttributes(path, permissions: permissions, modificationTime: modificationTime)
        }
    }

    /// Sets an attribute of what is at the destinations.
    public func setExtendedAttribute(_ attribute: ExtendedAttribute, of path: [FileName]) throws(BackupError) {
        try withJob { (job) throws(BackupError) in try job.setExtendedAttribute(attribute, of: path) }
    }

    // MARK: Names

    /// - Throws: `notPermitted` for hidden names, unless the set has them.
    private func requireNames(_ path: [FileName]) throws(BackupError) {
        for name in path {
            guard name.isSafeComponent, !Self.isUnfinished(name) else {
                throw BackupError(.notPermitted, "this name cannot be used here", path: name.description)
            }
        }
        guard !place.options.includesHidden, let name = path.last, name.bytes.first == UInt8(ascii: "."),
            !TemporaryNames.isDotted(name)
        else { return }
        throw BackupError(
            .notPermitted, "the set \(place.name) takes no names that begin with a dot", path: name.description,
            remedy: "Write hidden: \"yes\" into the settings of the set.")
    }

    private static func isTemporary(_ path: [FileName]) -> Bool { path.last.map(TemporaryNames.has) ?? false }
}
