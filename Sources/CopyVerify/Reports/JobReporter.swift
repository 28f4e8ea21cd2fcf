import BackupCore
import Formats
import Glibc
import PhotoData
import SystemIO

/// Makes the reports of a job.
public struct JobReporter {
    /// Where reports go.
    public enum Place: Sendable {
        /// `reports/` in the job's folder: `report.json` and so on. Earlier ones are replaced.
        case job
        /// A folder, which is made if it is missing. Nothing that is there is replaced.
        case folder(String)
    }

    /// What has been made, and what not.
    public struct Outcome: Sendable {
        /// Of the files.
        public var paths: [String] = []
        /// Reports that could not be made, each with the reason.
        public var errors: [BackupError] = []
        /// What a report lacks.
        public var warnings: [BackupError] = []
    }

    private let story: JobStory
    private let preferences: ReportPreferences
    private let language: Language
    private let time: Timestamp
    private var logo: PagePicture?
    private var pictures: [PagePicture] = []
    private var warnings: [BackupError] = []

    /// Reads the job once, and the pictures.
    /// - Parameter requiresLogo: whether a logo that cannot be read is an error, and not a warning.
    public init(
        _ folder: JobFolder, _ preferences: ReportPreferences, language: Language, requiresLogo: Bool = false
    ) throws(BackupError) {
        story = try JobStory(folder)
        self.preferences = preferences
        self.language = language
        time = SystemClock.now()
        guard preferences.formats.contains(where: { $0 == .html || $0 == .pdf }) else { return }
        if let path = preferences.logo {
            do throws(BackupError) {
                logo = try ReportPictures.logo(path)
            } catch {
                if requiresLogo || error.code == .interrupted { throw error }
                warnings.append(error)
            }
        }
        guard preferences.hasThumbnails else { return }
        let found = try ReportPictures.thumbnails(of: story)
        pictures = found.pictures
        if let problem = found.problem { warnings.append(problem) }
    }

    public var verdict: ReportVerdict { story.verdict }

    /// Whether a destination may get more files than those of the source: a bag or a history would lack them.
    public var takesReports: Bool { story.record.options.manifests.isDisjoint(with: [.bagit, .ascmhl]) }

    /// Where a copy of the reports goes: the first destination that has all files, else the first that works.
    public var destination: String? {
        let working = story.destinations.filter { $0.failure == nil }
        return (working.first { $0.issueCount == 0 } ?? working.first)?.place.path
    }

    /// Makes all reports that are wanted. One that cannot be made does not prevent the others.
    /// - Throws: when no report can have a place, and `interrupted`.
    public func make(in place: Place) throws(BackupError) -> Outcome {
        var outcome = Outcome(warnings: warnings)
        let target =
            switch place {
            case .job: try ReportTarget(folder: "\(story.folder.path)/reports", name: "report")
            case .folder(let path): try ReportTarget(folder: path, prefix: "backupfs_report", time: time)
            }
        for format in preferences.formats {
            do throws(BackupError) {
                outcome.paths.append(try target.write(format) { (file) throws(BackupError) in try write(format, to: file) })
            } catch {
                if error.code == .interrupted { throw error }
                outcome.errors.append(error)
            }
        }
        return outcome
    }

    /// Makes them in the folder `Reports` of a destination, with a record of the transfer for later master reports.
    /// - Throws: when the destination is not at its place any more: nothing is made in an empty mountpoint.
    public func make(inDestination path: String) throws(BackupError) -> Outcome {
        let before = story.destinations.first { $0.place.path == path }?.place
        let now = try DestinationPlace.at(path, mounts: .current())
        guard let before, !now.isMade, now.isSameFileSystem(as: before) else {
            throw BackupError(
                .notFound, "the destination has gone: another file system is in its place", path: path,
                remedy: "Make the report when it is back, with: backupfs report \(story.record.id)")
        }
        let folder = "\(path)/\(TransferRecord.reportsName)"
        var outcome = try make(in: .folder(folder))
        do throws(BackupError) {
            try TransferRecord(story).write(inReports: folder)
        } catch {
            outcome.errors.append(error)
        }
        return outcome
    }

    private func write(_ format: ReportFormat, to file: DraftFile) throws(BackupError) {
        let document = JobDocument(
            story: story, preferences: preferences, texts: ReportTexts(language: language), time: time, logo: logo,
            pictures: pictures)
        switch format {
        case .json: try ReportJSON(story: story, preferences: preferences, time: time).write(to: file)
        case .csv: try ReportCSV(story: story).write(to: file)
        case .html:
            let canvas = HTMLCanvas(to: file, language: language)
            try document.draw(on: canvas)
            try canvas.finish()
        case .pdf:
            try PDFCanvas.draw(to: file, time: time) { (canvas) throws(BackupError) in try document.draw(on: canvas) }
        }
    }
}
