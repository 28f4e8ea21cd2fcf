import BackupCore
import CopyVerify
import Operations
import SystemIO

/// What the process of a mount does when a copy job has ended in it.
struct MountedJobEnd {
    let store: Store

    /// - Parameters:
    ///   - result: the state of the job, or why it has none.
    ///   - startedAt: when this run began; it may have failed before it could record that.
    func conclude(_ folder: JobFolder, _ result: Result<JobState, BackupError>, startedAt: Timestamp) {
        switch result {
        case .success(let state):
            if state == .failed || state == .cancelled && folder.record.kind == .drop {
                Terminal.writeError(
                    "backupfs: not everything was copied by the job \(folder.record.id). All errors are in \(folder.errors)")
            }
            if state == .completed || state == .failed { report(folder) }
            FolderCopyLog(store).noteEnd(of: folder)
        case .failure(let error):
            Terminal.writeError("backupfs: the job \(folder.record.id) has ended. \(error.fullText)")
            FolderCopyLog(store).note(error, of: folder, startedAt: startedAt)
        }
    }

    /// As the job's own record says, and else the settings.
    private func report(_ folder: JobFolder) {
        do throws(BackupError) {
            let preferences = try folder.reportPreferences() ?? store.reportPreferences
            try folder.setReportPreferences(preferences)
            ReportRunner(preferences: preferences, language: store.language).makeInMount(folder)
        } catch {
            ReportRunner.warn(error)
        }
    }
}
