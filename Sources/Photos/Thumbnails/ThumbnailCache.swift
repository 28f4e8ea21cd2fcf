import BackupCore
import Glibc
import PhotoData
import SystemIO

/// The user's own cache of thumbnails, which their file managers use, too: the Thumbnail Managing Standard of freedesktop.org.
///
/// It only ever gets whole files: each is written under another name and then renamed. Nothing waits for the disk: what a power
/// cut leaves of a file is seen to have no end, and is made again.
public final class ThumbnailCache: Sendable {
    /// The sizes that file managers ask for. KDE's take a file of the size that they show alone, whatever the others have.
    public enum Size: CaseIterable, Sendable {
        case normal
        case large

        var sidePixels: Int {
            switch self {
            case .normal: 128
            case .large: 256
            }
        }

        var folderName: FileName {
            switch self {
            case .normal: "normal"
            case .large: "large"
            }
        }
    }

    private static let draftPrefix = Array(".backupfs-".utf8)
    /// Another run of this program may still write its draft.
    private static let draftLifetimeSeconds: Int64 = 3_600

    private let normal: DirectoryHandle
    private let large: DirectoryHandle

    /// `$XDG_CACHE_HOME/thumbnails`, or `~/.cache/thumbnails`.
    /// - Throws: `notFound` when neither variable has an absolute path.
    public static func path() throws(BackupError) -> String {
        if let cache = Environment.text("XDG_CACHE_HOME"), cache.hasPrefix("/") { return "\(cache)/thumbnails" }
        guard let home = Environment.text("HOME"), home.hasPrefix("/") else {
            throw BackupError(
                .notFound, "the folder for thumbnails is not known: neither XDG_CACHE_HOME nor HOME is set",
                remedy: "Set HOME to your home folder.")
        }
        return "\(home)/.cache/thumbnails"
    }

    /// Opens the cache; its folders are made when they are missing.
    /// - Throws: `accessDenied` for another user's cache, which root could write to: that user could not replace the files.
    public init(path: String) throws(BackupError) {
        var place = FileSystem.absolutePath(path)
        while try FileSystem.look(place) == nil, place != "/" { place = FileSystem.parentPath(place) }
        if geteuid() == 0, FileSystem.statusIfPresent(place)?.owner != 0 { throw Self.otherUser(place) }
        normal = try Self.folder(.normal, in: path)
        large = try Self.folder(.large, in: path)
    }

    private static func folder(_ size: Size, in path: String) throws(BackupError) -> DirectoryHandle {
        let path = "\(path)/\(size.folderName)"
        try FileSystem.makeDirectories(path, isDurable: false)
        let folder = try DirectoryHandle(path: path)
        guard try folder.descriptor.status().owner == geteuid() else { throw otherUser(path) }
        try? removeOldDrafts(in: folder)
        return folder
    }

    private static func otherUser(_ path: String) -> BackupError {
        BackupError(
            .accessDenied, "the folder for thumbnails belongs to another user", path: path,
            remedy: "Run the command as the user who looks at the photos.")
    }

    /// What a run has left that was killed.
    private static func removeOldDrafts(in folder: DirectoryHandle) throws(BackupError) {
        let limit = SystemClock.systemTime().seconds - draftLifetimeSeconds
        for name in try folder.names() where name.bytes.starts(with: draftPrefix) {
            if let status = try folder.statusIfPresent(name), status.kind == .regular, status.changeTime.seconds < limit {
                try folder.removeFile(name)
            }
        }
    }

    private func folder(_ size: Size) -> DirectoryHandle {
        switch size {
        case .normal: normal
        case .large: large
        }
    }

    // MARK: One thumbnail

    /// Room for the texts of most thumbnails, and of those with the longest paths.
    private static let headBytes = [4096, 64 << 10]

    /// Whether the cache has a whole thumbnail of the file as it is now. One that cannot be read does not count.
    func isCurrent(_ subject: ThumbnailSubject, _ size: Size) -> Bool { (try? hasCurrent(subject, size)) ?? false }

    private func hasCurrent(_ subject: ThumbnailSubject, _ size: Size) throws(BackupError) -> Bool {
        guard let file = try folder(size).openFileIfPresent(subject.name) else { return false }
        let byteCount = try file.status().size
        let end = PNGPicture.endBytes
        guard byteCount > UInt64(end.count),
            try file.readExactly(at: byteCount - UInt64(end.count), count: end.count) == end
        else { return false }
        for count in Self.headBytes {
            let head = try file.readExactly(at: 0, count: Int(min(UInt64(count), byteCount)))
            if let texts = PNGPicture.texts(in: head) { return subject.isShown(by: texts) }
        }
        return false
    }

    /// Puts a thumbnail in the place of the one that is there.
    /// - Throws: the errors of the file system; nothing of the new one is left then.
    func put(_ picture: PNGPicture, of subject: ThumbnailSubject, _ size: Size) throws(BackupError) {
        let folder = folder(size)
        let draft = FileName(bytes: Self.draftPrefix + Array(RandomToken.make().utf8))
        do throws(BackupError) {
            let file = try folder.createFile(draft, permissions: 0o600)
            try file.writeAll(picture.bytes(texts: subject.texts))
            try Cancellation.check()
            try folder.replace(draft, in: folder, as: subject.name)
        } catch {
            try? folder.removeFile(draft)
            throw error
        }
    }
}

/// The file that a thumbnail shows, as the thumbnail says it.
struct ThumbnailSubject: Sendable {
    private static let typeLimitBytes = 100

    /// Its address.
    let address: String
    /// In whole seconds.
    let modificationSeconds: Int64
    let sizeBytes: UInt64
    /// Its MIME type.
    let contentType: String?

    /// Of the thumbnail.
    var name: FileName {
        let digest: MD5Digest = MD5Hasher.hash(Array(address.utf8))
        return FileName("\(digest.hexadecimal).png")
    }

    var texts: [(keyword: String, text: String)] {
        var texts: [(keyword: String, text: String)] = [
            ("Thumb::URI", address), ("Thumb::MTime", String(modificationSeconds)), ("Thumb::Size", String(sizeBytes)),
        ]
        // It comes from the photo, which may say anything.
        if let contentType, contentType.utf8.count <= Self.typeLimitBytes,
            contentType.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        {
            texts.append(("Thumb::Mimetype", contentType))
        }
        return texts + [("Software", "backupfs")]
    }

    /// Whether a thumbnail with these texts is of this file in this state. Other programs may leave out the size.
    func isShown(by texts: [(keyword: String, text: String)]) -> Bool {
        func text(_ keyword: String) -> String? { texts.first { $0.keyword == keyword }?.text }
        return text("Thumb::URI") == address && text("Thumb::MTime") == String(modificationSeconds)
            && text("Thumb::Size").map { $0 == String(sizeBytes) } != false
    }
}
