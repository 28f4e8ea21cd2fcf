import BackupCore
import CopyVerify
import Formats
import SystemIO

/// Makes the reports of a job at its end. Nothing here changes the result of the job.
struct ReportRunner {
    let preferences: ReportPreferences
    /// Of the reports.
    var language = Terminal.language

    /// - Returns: the paths of the reports.
    func make(_ folder: JobFolder) -> [String] {
        guard preferences.isEnabled else { return [] }
        do throws(BackupError) {
            return try CancellingSignals.run { () throws(BackupError) in try makeAll(folder) }
        } catch {
            Self.warn(error)
            return []
        }
    }

    /// The same in the process of a mount, which handles signals itself.
    func makeInMount(_ folder: JobFolder) {
        guard preferences.isEnabled else { return }
        do throws(BackupError) { _ = try makeAll(folder) } catch { Self.warn(error) }
    }

    private func makeAll(_ folder: JobFolder) throws(BackupError) -> [String] {
        folder.note(.reports)
        let reporter = try JobReporter(folder, preferences, language: language)
        var outcome = try reporter.make(in: .job)
        if preferences.isInDestination, !reporter.takesReports {
            Terminal.writeError(
                "warning: the reports are in the folder of the job alone: a bag or a history of the destination would lack them")
        } else if preferences.isInDestination, let destination = reporter.destination {
            let copies = try reporter.make(inDestination: destination)
            outcome.paths += copies.paths
            outcome.errors += copies.errors
        }
        for warning in outcome.warnings { Terminal.writeError("warning: \(warning)") }
        for error in outcome.errors { Self.warn(error) }
        return outcome.paths
    }

    static func warn(_ error: BackupError) {
        Terminal.writeError("warning: the copy has ended as it says; a report could not be made: \(error)")
    }
}
