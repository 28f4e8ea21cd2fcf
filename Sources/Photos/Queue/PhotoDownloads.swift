import BackupCore
import Glibc
import ObjectStorage
import SystemIO

/// Photos that are not on this disk. A file `NAME.remote` beside the place of `NAME` is its stub: one line with an https URL, or
/// with `s3:` and the name of an object in the bucket. Of `.NAME.icloud`, only Apple's programs can get the photo.
struct PhotoDownloads: Sendable {
    private static let stubSuffix = ".remote"
    private static let stubLimitBytes = 4096

    private let folder: PhotoFolder
    private let bucket: PhotoBucket
    /// Where downloads lie until they are uploaded.
    private let place: String
    /// How long one download may take.
    private let seconds: Double

    init(_ folder: PhotoFolder, _ bucket: PhotoBucket, place: String, seconds: Double) {
        self.folder = folder
        self.bucket = bucket
        self.place = place
        self.seconds = seconds
    }

    /// The photo, downloaded if it is not here.
    /// - Parameter willDownload: called before a download.
    func open(_ item: QueueItem, _ willDownload: () throws(BackupError) -> Void) throws(BackupError) -> OwnedDescriptor {
        guard let stub = try folder.stub(of: item.path) else { return try folder.open(item.path) }
        let path = "\(place)/\(item.id)"
        if try !FileSystem.exists(path) {
            try willDownload()
            try download(stub, to: path)
        }
        return try OwnedDescriptor.openFile(path)
    }

    /// Removes what was downloaded for a photo.
    func discard(_ item: QueueItem) { try? FileSystem.removeFile("\(place)/\(item.id)") }

    private func download(_ stub: String, to path: String) throws(BackupError) {
        let bytes = try folder.open(stub).readToEnd(limitBytes: Self.stubLimitBytes)
        let line = String(decoding: bytes, as: UTF8.self).split { $0.isNewline || $0 == " " }.first.map(String.init) ?? ""
        guard stub.hasSuffix(Self.stubSuffix) else {
            throw BackupError(
                .notSupported, "the photo is in iCloud, from which only Apple's programs can get it",
                path: "\(folder.root)/\(stub)",
                remedy: "Have it downloaded there, then upload again with: backupfs star --upload")
        }
        try FileSystem.makeDirectories(place)
        let draft = "\(path).\(RandomToken.make())"
        do throws(BackupError) {
            let file = try OwnedDescriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL)
            if line.hasPrefix("s3:") {
                _ = try bucket.storage.read(.checked(String(line.dropFirst(3))), range: nil) { (bytes) throws(BackupError) in
                    try file.writeAll(bytes)
                }
            } else {
                try HTTPDownload.get(line, seconds: seconds) { (bytes) throws(BackupError) in try file.writeAll(bytes) }
            }
            // A part of a photo would be uploaded as a photo.
            try file.synchronize()
            try FileSystem.rename(draft, to: path)
        } catch {
            try? FileSystem.removeFile(draft)
            throw error
        }
    }
}

extension PhotoFolder {
    /// The stub of a photo that is not here.
    /// - Returns: its path in the media folder; `nil` for a photo that is here, and for one without a stub.
    func stub(of path: String) throws(BackupError) -> String? {
        guard try FileSystem.look("\(root)/\(path)") == nil else { return nil }
        let name = FileSystem.lastComponent(path)
        let place = path.dropLast(name.utf8.count)
        for stub in ["\(place)\(name).remote", "\(place).\(name).icloud"]
        where try FileSystem.look("\(root)/\(stub)")?.kind == .regular {
            return stub
        }
        return nil
    }

    /// The photo that a stub stands for; the path itself if it is no stub.
    func withoutStub(_ path: String) -> String {
        let name = FileSystem.lastComponent(path)
        let place = path.dropLast(name.utf8.count)
        if name.hasSuffix(".remote"), name.utf8.count > 7 { return "\(place)\(name.dropLast(7))" }
        if name.hasPrefix("."), name.hasSuffix(".icloud"), name.utf8.count > 8 {
            return "\(place)\(name.dropFirst().dropLast(7))"
        }
        return path
    }
}
