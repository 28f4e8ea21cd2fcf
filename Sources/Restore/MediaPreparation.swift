import AppData
import BackupCore

/// What a restore will do with an archive's media.
struct MediaPreparation {
    /// Where each file goes beside the existing ones; `nil` when the new media replace all existing ones.
    let plan: MediaPlan?
    /// Records which of the renamed files are needed.
    let names: MediaNames
    private let fileCount: Int?
    /// A warning about files restored without all their metadata.
    var incomplete: Message?

    /// No media.
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

    /// To be called after all records were read.
    func outcome() -> MediaOutcome? {
        if let plan { return plan.outcome(names) }
        guard let fileCount else { return nil }
        var outcome = MediaOutcome()
        outcome.added = fileCount
        outcome.incomplete = incomplete
        return outcome
    }

    /// Removes staged files that turned out not to be needed.
    func removeUnneeded(in staging: String) throws(BackupError) {
        for path in plan?.unneeded(names) ?? [] { try StagedPath.remove(path, in: staging) }
    }
}
