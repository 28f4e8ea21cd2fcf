import BackupCore
import Synchronization
import SystemIO

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
        flags.asksToWrite ? OpenJobControl(job, place.context) : try place.openFile()
    }
}

/// The file while a program writes into it.
private final class OpenJobControl: OpenFile {
    /// No request is longer.
    private static let textLimitBytes = 64

    let keepsCache = false
    let usesDirectIO = true
    private let job: FileName
    private let context: TreeContext
    private let text = Mutex<[UInt8]>([])

    init(_ job: FileName, _ context: TreeContext) {
        self.job = job
        self.context = context
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int { 0 }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try text.withLock { (text) throws(BackupError) in
            // A program that appends continues at the end that the file had.
            guard text.count + bytes.count <= Self.textLimitBytes else {
                throw BackupError(
                    .invalidArgument, "a request to a job is one of the words pause, resume and cancel", path: job.description)
            }
            text += bytes
        }
    }

    /// copy_file_range(2): programs write instead.
    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        throw BackupError(.notSupported, "a request is written, and not copied", path: job.description)
    }

    /// Each request is made once, however many descriptors are closed.
    func flush(process: Int32) throws(BackupError) {
        let request = text.withLock { text in
            defer { text = [] }
            return text
        }
        guard !request.isEmpty else { return }
        try context.services.askJob(job, request)
    }
}
