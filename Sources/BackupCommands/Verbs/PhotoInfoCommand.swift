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

    func validate() throws {
        if thumbnail != nil, files.count > 1 { throw ValidationError("--thumbnail is for one photo at a time.") }
    }

    func run() throws {
        // It may be the photo itself.
        if let thumbnail, try FileSystem.linkTarget(thumbnail) != nil || FileSystem.exists(thumbnail) {
            throw BackupError(.alreadyExists, "there is a file here already", path: thumbnail)
        }
        let helper = MediaHelper()
        var failureCount = 0
        for file in files {
            do throws(BackupError) {
                if try !show(file, helper) { failureCount += 1 }
            } catch {
                // A helper that is missing is missing for all files.
                guard error.code != .interrupted, error.code != .notSupported || error.path != nil else { throw error }
                // The others anyway.
                failureCount += 1
                report(file, status: "unreadable", reason: error.code.rawValue, message: error.message)
            }
        }
        guard failureCount == 0 else { throw BackupError(.sourceUnreadable, "some files could not be read") }
        if let thumbnail, let file = files.first { try write(thumbnail, of: file, helper) }
    }

    /// - Returns: false for a file that could not be read.
    private func show(_ path: String, _ helper: MediaHelper) throws(BackupError) -> Bool {
        let file = try OwnedDescriptor.openFile(path)
        switch try helper.metadata(of: file) {
        case .helperMissing(let error): throw error
        case .nothing:
            report(path, status: "nothing", reason: nil, message: "this is no photo or video of a known format")
            return true
        case .unreadable(let reason):
            report(path, status: "unreadable", reason: reason.rawValue, message: reason.message)
            return false
        case .found(let photo):
            report(path, photo)
            return true
        }
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

    private func report(_ path: String, _ photo: PhotoMetadata) {
        let report = PhotoDocument(photo: photo, hasTags: all)
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "photo", "file": path, "status": "found", "reason": OrderedJSON.null, "message": OrderedJSON.null,
                "metadata": report.json,
            ])
        } else {
            Terminal.write(verbatim: "\(Terminal.shown(path))\n\(report.text)")
        }
    }

    private func report(_ path: String, status: String, reason: String?, message: Message) {
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "photo", "file": path, "status": status, "reason": reason, "message": message,
                "metadata": OrderedJSON.null,
            ])
        } else {
            Terminal.write("\(Terminal.shown(path)): \(message)")
        }
    }
}
