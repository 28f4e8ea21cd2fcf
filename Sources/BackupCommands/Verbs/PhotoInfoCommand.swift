import ArgumentParser
import BackupCore
import Formats
import Glibc
import PhotoData
import Photos
import SystemIO

struct PhotoInfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "photo-info",
        abstract: "Show what photos and videos say of themselves.",
        discussion: """
            When a photo was taken, its size, camera, exposure and place, and what people wrote about it. The files are read by a helper \
            without any rights, backupfs-media: a hostile photo costs its own line and nothing else.

            Example:
              backupfs photo-info IMG_0001.jpg
              backupfs photo-info --json ~/Pictures/*.jpg | jq -r .metadata.date_taken
              backupfs photo-info IMG_0001.heic --thumbnail small.jpg
            """)

    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Photos and videos.", valueName: "file"), completion: .file())
    var files: [String]
    @Flag(name: .long, help: "Show all tags too.")
    var all = false
    @Option(
        name: .long,
        help: ArgumentHelp("Write a thumbnail of the photo to this file: a JPEG of at most 256 × 256 pixels.", valueName: "path"),
        completion: .file())
    var thumbnail: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write a thumbnail of each photo into this folder, under the photo's name and “.jpg”.", valueName: "folder"),
        completion: .directory)
    var thumbnails: String?

    func validate() throws {
        if thumbnail != nil, files.count > 1 { throw ValidationError("--thumbnail is for one photo at a time.") }
        if thumbnail != nil, thumbnails != nil { throw ValidationError("Choose --thumbnail or --thumbnails.") }
    }

    /// With fewer files for each helper, starting it takes longer than it saves.
    private var helperCount: Int {
        max(1, min(WorkerPool.processorCount, files.count / (thumbnails == nil ? 200 : 4)))
    }

    func run() throws {
        // It may be the photo itself.
        if let thumbnail, try FileSystem.linkTarget(thumbnail) != nil || FileSystem.exists(thumbnail) {
            throw BackupError(.alreadyExists, "there is a file here already", path: thumbnail)
        }
        var folder: ThumbnailFolder?
        if let thumbnails { folder = try ThumbnailFolder(thumbnails) }
        let (paths, target) = (files, folder)
        var failureCount = 0
        try MediaCrew.forEach(count: paths.count, helperCount: helperCount) { number, helper in
            PhotoInfoReport(paths[number], helper, thumbnails: target)
        } _: { reading throws(BackupError) in
            // A helper that is missing is missing for all files.
            if case .failed(let error) = reading.content { throw error }
            if reading.isFailure { failureCount += 1 }
            report(reading)
        }
        try folder?.synchronize()
        guard failureCount == 0 else { throw BackupError(.sourceUnreadable, "some files could not be read") }
        if let thumbnail, let file = files.first { try write(thumbnail, of: file, MediaHelper()) }
    }

    /// Writes the thumbnail of a file, which only those can read who can read the file. Its error is that of the command: the
    /// line of the file has been printed.
    private func write(_ thumbnail: String, of path: String, _ helper: MediaHelper) throws(BackupError) {
        let file = try OwnedDescriptor.openFile(path)
        let permissions = mode_t(try file.status().mode & 0o666)
        switch try helper.thumbnail(of: file) {
        case .found(let bytes): try FileSystem.writeFileAtomically(thumbnail, bytes, permissions: permissions)
        case .helperMissing(let error): throw error
        case .nothing: throw BackupError(.invalidContent, "there is no picture in it to make a thumbnail of", path: path)
        case .unreadable(let reason): throw BackupError(.damagedContent, reason.message, path: path)
        }
    }

    // MARK: Output

    private func report(_ reading: PhotoInfoReport) {
        var (status, reason, text): (String, String?, Message?) = ("found", nil, nil)
        var document: PhotoDocument?
        switch reading.content {
        case .failed: return
        case .found(let photo):
            document = PhotoDocument(photo: photo, hasTags: all)
            if let problem = reading.thumbnailProblem { (reason, text) = problem }
        case .nothing: (status, text) = ("nothing", "this is no photo or video of a known format")
        case .unreadable(let why, let message): (status, reason, text) = ("unreadable", why, message)
        }
        if output.json {
            let line: OrderedJSON = [
                "message_type": "photo", "file": reading.path, "status": status, "reason": reason, "message": text,
                "metadata": document?.json ?? .null,
            ]
            Terminal.write(jsonLine: thumbnails == nil ? line : line.adding(["thumbnail": reading.thumbnail]))
        } else {
            if let document { Terminal.write(verbatim: "\(Terminal.shown(reading.path))\n\(document.text)") }
            if let text { Terminal.write("\(Terminal.shown(reading.path)): \(text)") }
        }
    }
}
