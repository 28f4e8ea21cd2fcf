import BackupCore
import SystemIO

extension Repository {
    /// What is wrong with the source documents. This version cannot read those of a later version, which is not damage.
    func sourceProblems() -> [BackupError] {
        do throws(BackupError) {
            let damaged = try readSources().failures.filter { $0.error.code != .unsupportedVersion }
            let missing = try sourcesWithoutDocument().map { id in
                (id: id, error: BackupError(.repositoryDamaged, "what the repository knows of a source of backups is missing"))
            }
            return (damaged + missing).map { id, error in
                BackupError(
                    error.code, error.message, path: layout.sourcePath(of: id),
                    remedy:
                        "No backup is affected. The next backup of its store writes it again. If that store is gone, copy the file back from another copy of the repository: a new store takes the app and the settings from it."
                )
            }
        } catch {
            return [error.at(layout.sources)]
        }
    }
}
