import BackupCore

/// The finding for a snapshot that the register names and that is missing.
struct MissingFinding {
    let kind: CheckFinding.Kind
    let error: BackupError

    static let recordRemedy: Message =
        "Copy the repository's folders snapshots and removed back from another copy of it. If there is none, give the backup up: backupfs prune --forget-missing"

    static func register(_ layout: RepositoryLayout) -> BackupError {
        BackupError(
            .repositoryDamaged, "the register of backups is missing: the repository may be only half copied",
            path: layout.register,
            remedy:
                "Copy the rest of the repository. If there is no more of it, make a register of the backups that are there with: backupfs check --repair"
        )
    }

    static func all(_ missing: SnapshotStore.MissingSnapshots, _ layout: RepositoryLayout) -> [MissingFinding] {
        missing.records.map { snapshot in
            MissingFinding(
                kind: .record,
                error: BackupError(
                    .repositoryDamaged, "the backup’s record is missing: it is in neither snapshots nor removed",
                    path: layout.snapshotPath(of: snapshot), remedy: recordRemedy))
        }
            + missing.labels.map { snapshot in
                MissingFinding(
                    kind: .label,
                    error: BackupError(
                        .repositoryDamaged,
                        "the backup’s label is missing: it has the name and tags that it was made with, and counts as pinned",
                        path: layout.labelPath(of: snapshot),
                        remedy:
                            "Copy this file back from another copy of the repository, or rename, pin and tag the backup again."))
            }
    }
}
