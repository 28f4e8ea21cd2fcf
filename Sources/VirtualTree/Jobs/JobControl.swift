import BackupCore

/// `jobs/ID/control`: a word that is written into it is asked of the job. `close` fails when that is not possible.
final class JobControl: FileNode {
    private let place: JobFilePlace
    private let job: FileName

    init(_ place: JobFilePlace, of job: FileName) {
        self.place = place
        self.job = job
    }

    var inode: InodeNumber { place.inode }
    var looksAtTheStore: Bool { true }
    func attributes() throws(BackupError) -> NodeAttributes { try place.attributes() }

    /// Shells truncate it before they write.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        if let size = change.size, size != 0 { throw .readOnlyHere }
        return try attributes()
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard flags.asksToWrite else { return try place.openFile() }
        let tooLong = BackupError(
            .invalidArgument, "a request to a job is one of the words pause, resume and cancel", path: job.description)
        let (services, job) = (place.context.services, self.job)
        return OpenRequest(path: job.description, opener: process, limitBytes: 64, tooLong: tooLong) {
            (request) throws(BackupError) in
            try services.askJob(job, request)
        }
    }
}
