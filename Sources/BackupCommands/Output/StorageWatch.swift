import BackupCore
import Glibc
import Operations
import SystemIO

/// Prints a notice when a command waits for storage that does not respond, and ends the command if that takes long: a user sees
/// why nothing happens, and a command started by a timer does not stay forever.
///
/// Storage counts as not responding while the process does no work at all. With storage that is only slow, it works now and then.
final class StorageWatch: Sendable {
    private struct State {
        var isOver = false
        var pauseCount = 0
    }

    private static let noticeSeconds = 3.0
    private static let limitSeconds = 60.0
    private static let stepNanoseconds: UInt64 = 250_000_000
    /// Processor time per step that counts as idle: clocks that are read one after the other differ by this.
    private static let idleNanosecondsPerStep: Int64 = 50_000
    private static let placeNanoseconds: UInt64 = 500_000_000

    private let storePath: String
    private let givesUp: Bool
    private let state = Monitor(State())

    /// - Parameter givesUp: whether to end the process if the storage does not respond for a minute.
    private init(_ storePath: String, givesUp: Bool) {
        self.storePath = storePath
        self.givesUp = givesUp
    }

    /// Runs `body`, which opens or examines a store, on the calling thread.
    /// - Parameter body: receives the watch, to pause it.
    static func watching<Result>(
        _ storePath: String, givesUp: Bool = true, _ body: (StorageWatch) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let watch = StorageWatch(storePath, givesUp: givesUp)
        let caller = ThreadActivity()
        // If no thread can be started, the command waits without a notice.
        try? SystemThread { watch.serve(caller) }.detach()
        defer { watch.state.changeWakingAll { $0.isOver = true } }
        return try body(watch)
    }

    /// Runs `body`, which waits for user input.
    func paused<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        state.withLock { $0.pauseCount += 1 }
        defer { state.withLock { $0.pauseCount -= 1 } }
        return try body()
    }

    private func serve(_ caller: ThreadActivity) {
        let own = ThreadActivity()
        func others() -> Int64 { Int64(StallWatch.processorNanoseconds) - Int64(own.usedNanoseconds) }
        let limitSeconds = Environment.stallSeconds ?? Self.limitSeconds
        let noticeSeconds = min(Self.noticeSeconds, limitSeconds)
        var idleSeconds = 0.0
        var isTold = false
        var before = others()
        while !state.wait(until: { $0.isOver }, forNanoseconds: Self.stepNanoseconds) {
            let now = others()
            let isPaused = state.withLock { $0.pauseCount > 0 } || StallWatch.isWaitingForCommand
            let isIdle = now - before < Self.idleNanosecondsPerStep && !isPaused && !caller.waitsForProcessor
            idleSeconds = isIdle ? idleSeconds + Double(Self.stepNanoseconds) / 1e9 : 0
            before = now
            if idleSeconds >= limitSeconds, givesUp { return end() }
            if idleSeconds >= noticeSeconds, !isTold {
                isTold = true
                let path = stalledPath()
                say {
                    Terminal.writeError("backupfs: the storage at \(path) does not answer, and is waited for; Ctrl-C ends this")
                }
                before = others()
            }
        }
    }

    private func end() {
        let error = BackupError(
            .inputOutput, "the storage does not answer", path: stalledPath(),
            remedy: "Check whether its disk or its server can be reached, and try again.")
        guard state.withLock({ !$0.isOver }) else { return }
        let status = ExitStatus(error.code)
        say { Terminal.writeErrorAsRequested(error) }
        StallWatch.endProcess(status.rawValue)
    }

    /// Standard error may be on storage that does not respond, too.
    private func say(_ body: @escaping @Sendable () -> Void) { StallWatch.runBeside(body) }

    /// The part of the store that does not respond; the store itself if that is unknown.
    private func stalledPath() -> String {
        let storePath = storePath
        guard let places = Self.answer({ Store.places(of: storePath) }) else { return storePath }
        return places.first { place in Self.answer({ FileSystem.statusIfPresent(place) }) == nil } ?? storePath
    }

    private static func answer<Answer: Sendable>(_ ask: @escaping @Sendable () -> Answer) -> Answer? {
        StorageQuery(ask: ask).answer(forNanoseconds: placeNanoseconds)
    }
}
