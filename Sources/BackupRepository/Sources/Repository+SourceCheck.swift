import BackupCore
import SystemIO

extension Repository {
    /// What is wrong with the documents of sources. One that a later version wrote says nothing to this one, and is no damage.
    func damagedSources() -> [BackupError] {
        let ids: [SourceID]
        do throws(BackupError) {
            ids = try sourceIDs()
        } catch {
            return [error.at(layout.sources)]
        }
        return ids.compactMap { id in
            do throws(BackupError) {
                _ = try source(id)
                return nil
            } catch {
                guard error.code != .unsupportedVersion else { return nil }
                return BackupError(
                    error.code, error.message, path: layout.sourcePath(of: id),
                    remedy:
                        "No backup is affected. The next backup of its store writes it again. If that store is gone, copy the file back from another copy of the repository: a new store takes the app and the settings from it."
                )
            }
        }
    }
}
