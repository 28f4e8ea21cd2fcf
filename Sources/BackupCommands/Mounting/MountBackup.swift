import BackupCore
import Operations
import Synchronization
import SystemIO

/// Makes the backups that users ask a mount for, by `mkdir` or in `control/`, and tells of them.
final class MountBackup: Sendable {
    private let store: Store
    private let onBackup = Mutex<@Sendable () -> Void>({})

    init(store: Store) { self.store = store }

    /// Calls `body` after each of these backups, on the thread that made it.
    func afterBackups(_ body: @escaping @Sendable () -> Void) { onBackup.withLock { $0 = body } }

    /// - Parameter label: the backup's name; the local time if `nil`.
    /// - Throws: as `BackupOperation.run`.
    func make(
        label: String?, milestones: BackupMilestones = BackupMilestones(), progress: ProgressHandler? = nil
    ) throws(BackupError) -> BackupResult {
        let result = try store.notifying(.backup, named: label) { () throws(BackupError) in
            let result = try BackupOperation(store: store, milestones: milestones).run(label: label, tag: nil, progress: progress)
            return (result, result.snapshot.name.description)
        }
        MountComplaint.show(result.warnings.map(\.message), of: result.snapshot)
        onBackup.withLock { $0 }()
        return result
    }
}

extension Store {
    /// Runs what a user asked a mount for, and runs the command for notices about its end. The requester waits for the result,
    /// not for the notice.
    /// - Parameters:
    ///   - name: of the subject, if it is known before.
    ///   - body: returns the name as well.
    func notifying<Result>(
        _ subject: OperationNotification.Subject, named name: String?, _ body: () throws(BackupError) -> (Result, name: String)
    ) throws(BackupError) -> Result {
        do {
            let (result, resultName) = try body()
            OperationNotification(subject, named: name ?? resultName, of: self).sendInBackground()
            return result
        } catch {
            OperationNotification(subject, named: name ?? "", of: self, error: error).sendInBackground()
            throw error
        }
    }
}
