import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO
import VirtualTree

/// Does what is asked for in `control/`: short things at once, and others on a thread, one at a time.
final class ControlHost: Sendable {
    private struct Run {
        let verb: ControlVerb
        let startedAt: Timestamp
        let stop: Cancellation
        var progress: OperationProgress?
        /// How it ended.
        var result: Result<Message, BackupError>?

        var isRunning: Bool { result == nil }
    }

    private struct State {
        var run: Run?
        var results: [ControlVerb: (text: Message, time: Timestamp, hasFailed: Bool)] = [:]
        var isEnding = false
    }

    /// Reasons not to begin come within less; then they are the result of close(2).
    private static let beginningNanoseconds: UInt64 = 1_000_000_000

    private let store: Store
    private let mountedAt = SystemClock.now()
    private let state = Monitor(State())
    private let backups: MountBackup

    init(store: Store, backups: MountBackup) {
        self.store = store
        self.backups = backups
    }

    /// - Parameter argument: what was written: the name of a backup, or nothing.
    /// - Throws: `busy` while something else that was asked for here runs; `invalidArgument` without a name where there must be
    ///   one; why it failed, if it did so right at the start.
    func ask(_ verb: ControlVerb, _ argument: String) throws(BackupError) {
        do throws(BackupError) {
            switch verb {
            case .cancel: note(verb, try cancel())
            case .pin, .unpin: note(verb, try pin(argument, verb == .pin))
            case .pause: note(verb, try pause(argument))
            case .resume:
                guard argument.isEmpty else { throw Self.noArgument(verb) }
                note(verb, try resume())
            case .undelete: note(verb, try undelete(argument))
            case .check, .prune:
                guard argument.isEmpty else { throw Self.noArgument(verb) }
                try begin(verb, argument)
            case .undo:
                // It replaces all data, so that a touch of the file is not enough.
                guard argument == Self.consent else {
                    throw BackupError(
                        .invalidArgument, "write the word \(Self.consent) into this file", path: "control/\(verb.rawValue)")
                }
                try begin(verb, argument)
            case .backup, .verify: try begin(verb, argument)
            }
        } catch {
            note(verb, error.fullText, hasFailed: true)
            throw error
        }
    }

    private static func noArgument(_ verb: ControlVerb) -> BackupError {
        BackupError(.invalidArgument, "nothing but an empty line is written into this file", path: "control/\(verb.rawValue)")
    }

    private func note(_ verb: ControlVerb, _ text: Message, hasFailed: Bool = false) {
        state.withLock { $0.results[verb] = (text, SystemClock.now(), hasFailed) }
    }

    private func cancel() throws(BackupError) -> Message {
        // A check has no lock by which it could be found.
        if let run = state.withLock({ $0.run }), run.isRunning {
            run.stop.request()
            return "It was asked to stop: \(run.verb.rawValue)"
        }
        guard let operation = try RunningOperation.of(storeAt: store.paths.root) else { return "Nothing is running." }
        guard operation.cancel() else {
            throw BackupError(
                .accessDenied, "the operation cannot be cancelled: \(operation.text)", path: store.paths.root,
                remedy: "Cancel it as the user who runs it.")
        }
        return "It was asked to stop: \(operation.text)"
    }

    private func pin(_ name: String, _ isPinned: Bool) throws(BackupError) -> Message {
        guard !name.isEmpty else {
            throw BackupError(
                .invalidArgument, "write the name of a backup into this file", path: isPinned ? "control/pin" : "control/unpin")
        }
        let snapshot = try store.anySnapshot(named: name)
        try store.setPinned(snapshot, isPinned)
        return isPinned ? "\(snapshot.name): pinned" : "\(snapshot.name): not pinned"
    }

    private static let consent = "yes"
    private static let pauseHours = 24
    private static let pauseHoursRange = 1...StoreSettings.longestPauseHours

    private func pause(_ text: String) throws(BackupError) -> Message {
        guard let hours = text.isEmpty ? Self.pauseHours : Int(text), Self.pauseHoursRange.contains(hours) else {
            throw BackupError(
                .invalidArgument,
                "write a number of hours from \(Self.pauseHoursRange.lowerBound) to \(Self.pauseHoursRange.upperBound) into this file",
                path: "control/pause")
        }
        let end = Timestamp(seconds: SystemClock.now().seconds + Int64(hours) * 3_600)
        try set(pausedUntil: ISO8601.format(end))
        return "Automatic backups are paused until: \(SystemClock.localTime(end))"
    }

    private func resume() throws(BackupError) -> Message {
        try set(pausedUntil: nil)
        return "Automatic backups are not paused."
    }

    private func set(pausedUntil text: String?) throws(BackupError) {
        try SettingsFile(storeAt: store.paths.root).set(.schedulePausedUntil, text)
        store.reloadSettings()
    }

    private func undelete(_ name: String) throws(BackupError) -> Message {
        guard !name.isEmpty else {
            let names = try store.ownRemovedSnapshots().map { MessageText.name($0.snapshot.name.bytes) }
            throw BackupError(
                .invalidArgument,
                names.isEmpty
                    ? "there is no removed backup that could be brought back"
                    : "write the name of a removed backup into this file: \(MessageText.list(names, limit: Self.lineLimit))",
                path: "control/undelete")
        }
        let results = try UndeleteOperation(store: store).run([name], as: nil)
        let lines = results.flatMap { result -> [Message] in
            let back: Message = "\(result.snapshot.name): brought back"
            return [back] + (result.wasPinned ? ["It is pinned, so that no rule removes it again."] : [])
                + result.problems.map(\.fullText)
        }
        return .joined(lines, separator: "\n")
    }

    private func undo(_ progress: @escaping ProgressHandler) throws(BackupError) -> Message {
        let runner = RestoreRunner(store: store)
        let undo = try runner.undo()
        SuccessorWarning.show(store)
        let report = try store.notifying(.restore, named: undo.source.name) { () throws(BackupError) in
            (try runner.run(undo.source, progress: progress), undo.source.name)
        }
        return report.text
    }

    private func begin(_ verb: ControlVerb, _ argument: String) throws(BackupError) {
        let startedAt = SystemClock.now()
        let stop = Cancellation()
        let isFirst = state.withLock { state in
            guard !state.isEnding, state.run?.isRunning != true else { return false }
            state.run = Run(verb: verb, startedAt: startedAt, stop: stop)
            return true
        }
        guard isFirst else {
            throw BackupError(
                .busy, "something else that was asked for in control/ is running", path: "control/\(verb.rawValue)",
                remedy: "Wait for its end, or write into control/cancel.")
        }
        do throws(BackupError) {
            try SystemThread { [self] in end(verb, perform(verb, argument, stop)) }.detach()
        } catch {
            state.withLock { $0.run = nil }
            throw error
        }
        _ = state.wait(until: { $0.run?.isRunning != true }, forNanoseconds: Self.beginningNanoseconds)
        // Another one may have begun since this one ended; then the text of the file has the result.
        let run = state.withLock { $0.run }
        if let run, run.stop === stop, let result = run.result { _ = try result.get() }
    }

    private func end(_ verb: ControlVerb, _ result: Result<Message, BackupError>) {
        switch result {
        case .success(let text): note(verb, text)
        case .failure(let error): note(verb, error.fullText, hasFailed: true)
        }
        state.changeWakingAll { $0.run?.result = result }
    }

    private func perform(_ verb: ControlVerb, _ argument: String, _ stop: Cancellation) -> Result<Message, BackupError> {
        let progress: ProgressHandler = { [state] progress in state.withLock { $0.run?.progress = progress } }
        return Result { () throws(BackupError) in
            try stop.run { () throws(BackupError) in
                switch verb {
                case .backup: try backUp(argument.isEmpty ? nil : argument, progress)
                case .check: try check(progress)
                case .verify: try verify(argument.isEmpty ? "latest" : argument, progress)
                case .prune: try prune(progress)
                case .undo: try undo(progress)
                case .cancel, .pause, .pin, .resume, .undelete, .unpin: ""
                }
            }
        }
    }

    private func backUp(_ name: String?, _ progress: @escaping ProgressHandler) throws(BackupError) -> Message {
        let result = try backups.make(label: name, progress: progress)
        return .joined(["The backup \(result.snapshot.name) was made."] + result.notices, separator: "\n")
    }

    private func check(_ progress: @escaping ProgressHandler) throws(BackupError) -> Message {
        var lines: [Message] = []
        let summary = try CheckOperation(store: store).run(readData: .all, progress: progress) { event in
            if lines.count < Self.lineLimit { lines.append(event.text) }
        }
        return .joined(lines + [summary.text], separator: "\n")
    }

    private func prune(_ progress: @escaping ProgressHandler) throws(BackupError) -> Message {
        let summary = try PruneOperation(store: store).run(maxUnused: .standard, isDryRun: false, progress: progress)
        return "Freed: \(ByteCount.text(summary.freedByteCount))"
    }

    private static let lineLimit = 200

    private func verify(_ name: String, _ progress: @escaping ProgressHandler) throws(BackupError) -> Message {
        let outcome = try SnapshotVerifier(store: store).run(try store.anySnapshot(named: name), progress: progress)
        return .joined([outcome.verdict] + (outcome.findings + outcome.notes).prefix(Self.lineLimit), separator: "\n")
    }

    /// What the file of a verb says.
    func text(_ verb: ControlVerb, in language: Language) -> (text: String, time: Timestamp) {
        let (run, result) = state.withLock { state in
            (state.run.flatMap { $0.verb == verb && $0.isRunning ? $0 : nil }, state.results[verb])
        }
        if let run {
            let percent = run.progress?.percent.map { "\($0)%" } ?? ""
            let lines: [Message] = [
                "Running since: \(SystemClock.localTime(run.startedAt))",
                .joined([run.progress?.phase, percent.isEmpty ? nil : .verbatim(percent)].compactMap { $0 }, separator: " "),
            ]
            return (lines.map { language.text($0) }.joined(separator: "\n"), run.startedAt)
        }
        guard let result else { return (language.text(Self.usage(verb)), mountedAt) }
        let lines: [Message] = ["Ended: \(SystemClock.localTime(result.time))", result.text]
        return (lines.map { language.text($0) }.joined(separator: "\n"), result.time)
    }

    /// How the last request of a verb goes or went; `nil` if there was none.
    func state(of verb: ControlVerb) -> ControlState? {
        state.withLock { state in
            if let run = state.run, run.verb == verb, run.isRunning { return .running }
            return state.results[verb].map { $0.hasFailed ? .failed : .ended }
        }
    }

    private static func usage(_ verb: ControlVerb) -> Message {
        switch verb {
        case .backup: "Write the name of the new backup or an empty line into this file to back up now."
        case .cancel: "Write an empty line into this file to cancel what runs."
        case .check: "Write an empty line into this file to check every byte of all backups."
        case .pause: "Write a number of hours, or an empty line for 24, into this file to pause automatic backups."
        case .pin: "Write the name of a backup into this file to protect it from being removed."
        case .prune: "Write an empty line into this file to free the space of removed backups whose time is over."
        case .resume: "Write an empty line into this file to end a pause of automatic backups."
        case .undelete:
            "Write the name of a removed backup into this file to bring it back. For an empty line, this text has the names."
        case .undo: "Write yes into this file to undo the last restore."
        case .unpin: "Write the name of a backup into this file to let it be removed again."
        case .verify:
            "Write the name of a backup, or an empty line for the newest, into this file to prove that it can be restored."
        }
    }

    /// Call when the mount ends: cancels a check, and lets a backup or a prune go on. Nothing more begins.
    func beginEnding() {
        let run = state.withLock { state in
            state.isEnding = true
            return state.run
        }
        if let run, run.isRunning, run.verb == .check || run.verb == .verify { run.stop.request() }
    }

    var isRunning: Bool { state.withLock { $0.run?.isRunning == true } }

    /// Waits for the end of what runs.
    func wait() {
        while !state.wait(until: { $0.run?.isRunning != true }, forNanoseconds: Self.beginningNanoseconds) {}
    }
}
