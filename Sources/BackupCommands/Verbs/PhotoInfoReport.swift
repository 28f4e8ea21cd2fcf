import BackupCore
import Glibc
import PhotoData
import SystemIO

/// What `photo-info` has found out about one file, before it is printed.
struct PhotoInfoReport: Sendable {
    /// What the file says of itself, or why it says nothing.
    enum Content: Sendable {
        case found(PhotoMetadata)
        case nothing
        /// `reason` is for programs.
        case unreadable(reason: String, message: Message)
        /// No file can be read.
        case failed(BackupError)
    }

    let path: String
    let content: Content
    /// Where the thumbnail is now.
    private(set) var thumbnail: String?
    /// Why there is no thumbnail of a photo that could be read otherwise; `nil` for a video of which none can be made.
    private(set) var thumbnailProblem: (reason: String, message: Message)?

    /// Whether the command has failed for this file.
    var isFailure: Bool {
        if case .unreadable = content { return true }
        return thumbnailProblem != nil
    }

    /// - Parameter thumbnails: the folder for a thumbnail; `nil` for none.
    init(_ path: String, _ helper: MediaHelper, thumbnails: ThumbnailFolder?) {
        self.path = path
        do throws(BackupError) {
            let file = try OwnedDescriptor.openFile(path)
            switch try helper.metadata(of: file) {
            case .helperMissing(let error): content = .failed(error)
            case .nothing: content = .nothing
            case .unreadable(let reason): content = .unreadable(reason: reason.rawValue, message: reason.message)
            case .found(let photo): content = .found(photo)
            }
            if let thumbnails, case .found = content { addThumbnail(of: file, helper, thumbnails) }
        } catch {
            // The others anyway.
            content =
                error.code == .interrupted ? .failed(error) : .unreadable(reason: error.code.rawValue, message: error.message)
        }
    }

    private mutating func addThumbnail(of file: borrowing OwnedDescriptor, _ helper: MediaHelper, _ folder: ThumbnailFolder) {
        do throws(BackupError) {
            switch try helper.thumbnail(of: file) {
            case .found(let bytes):
                thumbnail = try folder.add(bytes, of: path, permissions: mode_t(try file.status().mode & 0o666))
            case .helperMissing(let error): thumbnailProblem = (error.code.rawValue, error.message)
            case .nothing: break
            case .unreadable(let reason): thumbnailProblem = (reason.rawValue, reason.message)
            }
        } catch {
            thumbnailProblem = (error.code.rawValue, error.message)
        }
    }
}

/// A folder with the thumbnails of many photos: that of `IMG_1.heic` is `IMG_1.heic.jpg`.
final class ThumbnailFolder: Sendable {
    private let folder: DirectoryHandle

    /// - Parameter path: made when it is missing.
    init(_ path: String) throws(BackupError) {
        try FileSystem.makeDirectories(path)
        folder = try DirectoryHandle(path: path)
    }

    /// Writes a thumbnail, as a whole or not at all. It replaces nothing.
    /// - Parameter permissions: those of the photo: who can read the one can read the other.
    /// - Returns: its path.
    func add(_ bytes: [UInt8], of photo: String, permissions: mode_t) throws(BackupError) -> String {
        let name = FileName("\(FileSystem.lastComponent(photo)).jpg")
        let path = "\(folder.path)/\(name)"
        let draft = FileName(".backupfs-\(RandomToken.make())")
        do throws(BackupError) {
            let file = try folder.createFile(draft, permissions: permissions)
            try file.writeAll(bytes)
            try folder.move(draft, to: folder, as: name)
        } catch {
            try? folder.removeFile(draft)
            guard error.code == .alreadyExists else { throw error }
            throw BackupError(.alreadyExists, "there is a file here already", path: path)
        }
        return path
    }

    /// Waits until the disk has all of them: once, since a wait for each would take longer than making them.
    func synchronize() throws(BackupError) { try FileSystem.synchronizeTree(folder.path) }
}
