import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository
@testable import Operations

/// What a store remembers of a remote, with clocks that jump and files that are damaged.
struct RemoteStateTests {
    private static let now = Timestamp(seconds: 1_768_141_800)
    private static let offline = BackupError(.offline, "no connection to the server", remedy: "Check the network connection.")

    private func source(_ digit: Character) throws -> SourceID {
        try #require(SourceID(hexadecimal: String(repeating: digit, count: 32)))
    }

    private func synced(_ sequence: UInt64 = 7) throws -> RemoteState {
        let source = String(repeating: "a", count: 32)
        let text = """
            {"version": 1, "url": "/cloud", "syncedAt": "2026-01-11T14:30:00Z", "source": "\(source)", "sequence": \(sequence)}
            """
        return try #require(RemoteState(decoding: Array(text.utf8)))
    }

    @Test func `the waits double from a minute to an hour, and a success ends them`() throws {
        var state = RemoteState(url: "/cloud")
        var waits: [Int64] = []
        for _ in 0..<9 {
            state.noteBeginning()
            state.note(Self.offline, at: Self.now)
            waits.append(try #require(state.retryAt).secondsSince(Self.now))
        }
        #expect(waits == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600])
        #expect(state.isPendingRetry && state.failureCount == 9)
        #expect(state.failure?.message == "no connection to the server Check the network connection.")
        state.noteSuccess(
            RepositoryMirror.Summary(snapshotCount: 4, uploadedBytes: 12),
            position: SyncedPosition(endOf: [], source: try source("a")), at: Self.now)
        #expect(!state.isPendingRetry && state.failureCount == 0 && state.failure == nil && state.retryAt == nil)
        #expect(state.snapshotCount == 4 && state.uploadedBytes == 12 && state.syncedAt == Self.now)
    }

    @Test func `a failed sync is due when its time has come, at a start, and when the clock has jumped back`() {
        var state = RemoteState(url: "/cloud")
        #expect(!state.isDue(at: Self.now, hasNewBackups: false, isStart: true))
        #expect(state.isDue(at: Self.now, hasNewBackups: true, isStart: false))
        for _ in 0..<3 { state.note(Self.offline, at: Self.now) }
        func isDue(_ seconds: Int64, isStart: Bool = false) -> Bool {
            state.isDue(at: Self.now.adding(seconds: seconds), hasNewBackups: true, isStart: isStart)
        }
        #expect(!isDue(0) && !isDue(239) && isDue(240) && isDue(0, isStart: true))
        // Years ahead, and years behind: no wait is longer than an hour.
        #expect(isDue(300_000_000) && isDue(-300_000_000) && isDue(.min))
        // An hour back is a wait that may be right.
        #expect(!isDue(240 - 3_600) && isDue(239 - 3_600))
    }

    @Test func `failures beyond all counts neither overflow nor are believed`() throws {
        var state = try #require(
            RemoteState(decoding: Array(#"{"version": 1, "url": "/cloud", "failureCount": 9223372036854775807}"#.utf8)))
        state.note(Self.offline, at: Timestamp(seconds: .max))
        #expect(state.failureCount == Int(Int32.max) && state.retryAt == Timestamp(seconds: .max))
        let negative = try #require(
            RemoteState(decoding: Array(#"{"version": 1, "url": "/cloud", "failureCount": -3, "snapshotCount": -1}"#.utf8)))
        #expect(negative.failureCount == 0 && negative.snapshotCount == 0)
    }

    @Test func `what was interrupted is due at once, and is no failure`() {
        var state = RemoteState(url: "/cloud")
        state.noteBeginning()
        state.note(BackupError(.interrupted, "cancelled"), at: Self.now)
        #expect(state.failureCount == 0 && state.failure == nil && state.retryAt == nil)
        #expect(state.isDue(at: Self.now, hasNewBackups: false, isStart: false))
    }

    @Test func `a state survives its file`() throws {
        let folder = try TemporaryFolder()
        var state = try synced()
        state.noteBeginning()
        state.note(Self.offline, at: Self.now)
        try state.write(to: folder("state.json"))
        #expect(RemoteState.read(folder("state.json"), url: "/cloud") == state)
        #expect(
            try shell(
                "jq -c '[.version, .syncedAt, .sequence, .pendingRetry, .failureCount, .retryAt, .errorCode]' $1",
                folder("state.json")
            )
            .output == #"[1,"2026-01-11T14:30:00Z",7,true,1,"2026-01-11T14:31:00Z","offline"]"# + "\n")
    }

    @Test(arguments: [
        "", "{", "[]", "null", #"{"version": 2, "url": "/cloud", "pendingRetry": true}"#,
        #"{"url": "/cloud", "pendingRetry": true}"#,
        #"{"version": "1", "url": "/cloud", "pendingRetry": true}"#, #"{"version": 1, "pendingRetry": true}"#,
        #"{"version": 1, "url": "/cloud", "syncedAt": {"pendingRetry": true}}"#, "\u{0}\u{1}\u{2}",
        #"{"version": 1, "url": "/cloud", "pendingRetry": true"#, #"{"version": 1, "url": "/other", "pendingRetry": true}"#,
    ])
    func `a damaged state, one of a later version and one of another place are none`(text: String) throws {
        let folder = try TemporaryFolder()
        try folder.write(Array(text.utf8), to: "state.json")
        #expect(RemoteState.read(folder("state.json"), url: "/cloud") == RemoteState(url: "/cloud"))
        #expect(RemoteState.read(folder("missing.json"), url: "/cloud") == RemoteState(url: "/cloud"))
    }

    @Test func `values that are none are unknown`() throws {
        let state = try #require(
            RemoteState(
                decoding: Array(
                    #"{"version":1,"url":"/cloud","syncedAt":"yesterday","source":"x","sequence":-1,"retryAt":5,"errorCode":"odd","errorAt":"2026-01-11T14:30:00Z"}"#
                        .utf8)))
        #expect(state == RemoteState(url: "/cloud"))
    }

    @Test func `backups after the last sync are pending, whatever the clock said`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --store $S >/dev/null
            BACKUPFS_NOW=2031-01-01T00:00:00Z backupfs backup --label one --store $S
            BACKUPFS_NOW=2026-01-01T00:00:00Z backupfs backup --label two --store $S
            """)
        let store = try Store.open(sandbox.storePath)
        let own = store.ownSnapshots()
        func pending(_ state: RemoteState, _ source: SourceID) -> [FileName] { state.pending(own, source: source).map(\.name) }
        #expect(pending(RemoteState(url: "/cloud"), store.source) == ["one", "two"])
        #expect(try pending(synced(1), store.source) == ["one", "two"], "another line of backups")
        var state = RemoteState(url: "/cloud")
        let first = SyncedPosition(endOf: Array(own.prefix(1)), source: store.source)
        state.noteSuccess(RepositoryMirror.Summary(), position: first, at: Timestamp(seconds: 4_000_000_000))
        #expect(pending(state, store.source) == ["two"])
        state.noteSuccess(
            RepositoryMirror.Summary(), position: SyncedPosition(endOf: own, source: store.source), at: Timestamp(seconds: 0))
        #expect(pending(state, store.source) == [])
    }
}
