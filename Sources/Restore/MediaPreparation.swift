import AppData
import BackupCore

/// What a restore is going to do with an archive's media.
struct MediaPreparation {
    /// Where each file goes beside those that are there; `nil` when all take the place of all.
    let plan: MediaPlan?
    /// Told which of the files with new names are wanted.
    let names: MediaNames
    private let fileCount: Int?
    /// What is to be said of files without all that the backup has of them.
    var incomplete: Message?

    /// There are none.
    init() {
        plan = nil
        names = MediaNames(newPaths: [:])
        fileCount = nil
    }

    init(allOf fileCount: Int) {
        plan = nil
        names = MediaNames(newPaths: [:])
        self.fileCount = fileCount
    }

    init(_ plan: MediaPlan) {
        self.plan = plan
        names = MediaNames(newPaths: plan.newPaths)
        fileCount = nil
    }

    /// After the records have gone by.
    func outcome() -> MediaOutcome? {
        if let plan { return plan.outcome(names) }
        guard let fileCount else { return nil }
        var outcome = MediaOutcome()
        outcome.added = fileCount
        outcome.incomplete = incomplete
        return outcome
    }

    /// Takes files away again that were staged and turn out to be wanted by nobody.
    func removeUnneeded(in staging: String) throws(BackupError) {
        for path in plan?.unneeded(names) ?? [] { try StagedPath.remove(path, in: staging) }
    }
}
