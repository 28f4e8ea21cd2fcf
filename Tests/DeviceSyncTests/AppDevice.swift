import AppData
import BackupCore
import ObjectStorage
import SystemIO
import TestSupport

@testable import DeviceSync

/// A device with the database of KeepTrack, which sqlite3 writes as the app would.
final class AppDevice: InterruptibleDevice {
    let folder: TemporaryFolder
    let database: AppDatabase
    let state: DeviceState
    let storage: any ObjectStorage
    var now = Timestamp(seconds: 1_800_000_000)
    var interruption: BatchMerge.Point?
    /// Called before the first merge.
    var backUp: () throws -> Void = {}

    init(_ storage: any ObjectStorage, app: String = "keeptrack") throws {
        folder = try TemporaryFolder(inMemory: true)
        database = try AppDatabase.create(at: folder("app.sqlite"), definition: AppDefinition.builtIn(named: app))
        state = try DeviceState(path: folder("state.sqlite"))
        self.storage = storage
    }

    @discardableResult
    func sql(_ statement: String) throws -> String { try run(["sqlite3", database.path, statement]).output }

    @discardableResult
    func exchange(finds: Bool = true, acceptsDeletions: Bool = false) throws(BackupError) -> RoundReport {
        let round = DeviceRound(
            database: AppRecords(database), state: state, storage: storage, protection: .none,
            conflicts: ConflictFiles(folder: folder("conflicts")), now: { [unowned self] in now },
            backUp: { [unowned self] () throws(BackupError) in
                do { try backUp() } catch { throw BackupError(.inputOutput, "the backup has failed") }
            },
            reached: { [unowned self] (point) throws(BackupError) in try reach(point) })
        var report = RoundReport()
        if finds { try round.findChanges(&report, acceptsDeletions: acceptsDeletions) }
        try round.exchange(&report)
        return report
    }

    /// All entries, one a line.
    func entries() throws -> String {
        try sql("SELECT id, date, name, amount * 1.0, units, goal_met FROM entries ORDER BY id")
    }

    static func entry(_ number: Int, _ name: String = "Water") -> String {
        """
        INSERT INTO entries VALUES ('00000000-0000-4000-8000-0000000000\(number)', '2026-01-11T08:00:00Z', '\(name)', 1.5, 'cups', 0);
        """
    }

    var conflictNames: [String] {
        get throws { try FileSystem.names(in: folder("conflicts")).map(\.description).sorted() }
    }
}
