import BackupCore
import Formats
import Glibc
import PhotoData
import SystemIO

/// The pictures of a report. Files of any origin are decoded by the helper alone.
enum ReportPictures {
    /// How many pictures a report has at most.
    private static let pictureLimit = 48
    /// How many files are looked at for them.
    private static let triedLimit = 5_000

    /// The picture beside the title.
    /// - Parameter path: a JPEG or PNG.
    /// - Throws: `usage` for what is neither, or cannot be decoded; `notSupported` without the helper.
    static func logo(_ path: String) throws(BackupError) -> PagePicture {
        let file = try OwnedDescriptor.openFile(path)
        let prefix = try prefix(of: file)
        guard ContentKind(prefix: prefix) == .image, ["image/jpeg", "image/png"].contains(ContentKind.imageType(prefix)) else {
            throw BackupError(
                .usage, "the logo is neither a JPEG nor a PNG", path: path, remedy: "Name a picture of such a format.")
        }
        switch try MediaHelper().thumbnail(of: file) {
        case .found(let jpeg):
            let picture = PagePicture(jpeg: jpeg, placeholder: "", lines: [])
            if picture.header != nil { return picture }
        case .helperMissing(let error): throw error.with(path: path)
        case .unreadable(let reason): throw BackupError(.usage, reason.message, path: path)
        case .nothing: break
        }
        throw BackupError(.usage, UnreadableMedia.damaged.message, path: path)
    }

    private static func prefix(of file: borrowing OwnedDescriptor) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: ContentKind.prefixByteCount)
        var failure: BackupError?
        let count = bytes.withUnsafeMutableBytes { buffer in
            do throws(BackupError) {
                return try file.readFully(at: 0, into: buffer)
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        return Array(bytes[..<count])
    }

    /// Small pictures of the first photos and clips of a job: of the first destination that has all files, else of the source.
    /// - Returns: also why there are none.
    static func thumbnails(of story: JobStory) throws(BackupError) -> (pictures: [PagePicture], problem: BackupError?) {
        let whole = story.destinations.first { $0.issueCount == 0 && $0.failure == nil }
        let path = whole?.place.path ?? story.record.source
        // A destination that is not here now costs the pictures only.
        guard let root = try? DirectoryHandle(path: path), let first = whole ?? story.destinations.first else {
            return ([], BackupError(.notFound, "the report has no pictures: the folder is not here", path: path))
        }
        let helper = MediaHelper()
        var pictures: [PagePicture] = []
        var triedCount = 0
        var problem: BackupError?
        try story.folder.forEachRow { (row) throws(BackupError) in
            guard problem == nil, pictures.count < pictureLimit, triedCount < triedLimit, row.destination == first.place.path,
                row.status.isSuccess
            else { return }
            triedCount += 1
            switch try thumbnail(at: whole == nil ? row.path : row.target, in: root, helper) {
            case .found(let jpeg):
                let lines = [PageText.name(BytePath.lastComponent(of: row.path)), ByteCount.text(row.size)]
                pictures.append(PagePicture(jpeg: jpeg, placeholder: "?", lines: lines))
            case .helperMissing(let error): problem = error
            case .nothing, .unreadable: break
            }
        }
        return (pictures, problem)
    }

    /// The picture of a photo, or the first one of a clip. Of a clip that cannot be decoded, it is the one that the camera put
    /// beside it.
    private static func thumbnail(
        at path: [UInt8], in root: DirectoryHandle, _ helper: MediaHelper
    ) throws(BackupError) -> MediaOutcome<[UInt8]> {
        let names = BytePath.components(of: path)
        // The clip that it is of has the picture.
        if CardPicture.isBeside(names) { return .nothing }
        let own = try decoded(names, in: root, helper) { _ in true }
        switch own {
        case .found, .helperMissing: return own
        case .nothing, .unreadable: break
        }
        for beside in CardPicture.paths(of: names) {
            let found = try decoded(beside, in: root, helper) { $0 == .image }
            switch found {
            case .found, .helperMissing: return found
            case .nothing, .unreadable: continue
            }
        }
        return own
    }

    /// - Parameter isWanted: whether the helper gets a file of this kind.
    private static func decoded(
        _ names: [FileName], in root: DirectoryHandle, _ helper: MediaHelper, _ isWanted: (ContentKind) -> Bool
    ) throws(BackupError) -> MediaOutcome<[UInt8]> {
        guard let name = names.last, let folder = try? root.openFolder(at: names.dropLast()),
            let status = try? folder.statusIfPresent(name), status.kind == .regular, let file = try? folder.openFile(name),
            let prefix = try? prefix(of: file), let kind = ContentKind(prefix: prefix), isWanted(kind)
        else { return .nothing }
        return try helper.thumbnail(of: file)
    }
}
