import BackupCore
import Glibc
import ObjectStorage
import SystemIO

/// Photos that are not on this disk. A file `NAME.remote` beside the place of `NAME` is its stub: one line with an https URL, or
/// with `s3:` and the name of an object in the bucket. Of `.NAME.icloud`, only Apple's programs can get the photo.
struct PhotoDownloads: Sendable {
    private static let stubSuffix = ".remote"
    private static let stubLimitBytes = 4096
    /// Left free on the disk of the store.
    private static let reserveBytes: UInt64 = 64 << 20
    private static let spaceCheckBytes: UInt64 = 16 << 20

    private let folder: PhotoFolder
    private let copies: KeptCopies
    private let bucket: PhotoBucket
    /// Where downloads lie until they are uploaded.
    private let place: String
    /// How long one download may take.
    private let seconds: Double

    init(_ folder: PhotoFolder, _ bucket: PhotoBucket, _ queue: QueueFolder, seconds: Double) {
        self.folder = folder
        self.bucket = bucket
        copies = queue.copies
        place = queue.downloads
        self.seconds = seconds
    }

    /// A photo that can be read.
    struct OpenPhoto {
        let file: SharedFile
        /// Of the file; of the stub for a photo that was downloaded.
        let state: QueueItem.FileState
        /// Whether it is no download.
        let isHere: Bool
        /// Whether it is a kept copy, whose bytes must be those of its name.
        var isCopy = false
    }

    /// Whether a photo is in this state: its kept copy, or the file in the media folder.
    func isPhoto(_ item: QueueItem, in state: QueueItem.FileState) throws(BackupError) -> Bool {
        if let copy = item.copy, let status = try copies.status(of: copy) { return QueueItem.FileState(status) == state }
        return try folder.state(of: item.path) == state
    }

    /// The photo, downloaded if it is not here. A kept copy has precedence: it has the bytes that were starred.
    /// - Parameters:
    ///   - skipsCopy: for a damaged copy.
    ///   - willDownload: called before a download.
    func open(
        _ item: QueueItem, skipsCopy: Bool = false, _ willDownload: () throws(BackupError) -> Void
    ) throws(BackupError) -> OpenPhoto {
        if !skipsCopy, let copy = item.copy, let file = try copies.open(copy) {
            return OpenPhoto(file: file, state: QueueItem.FileState(try file.status()), isHere: true, isCopy: true)
        }
        guard let stub = try folder.stub(of: item.path) else {
            let file = try SharedFile(folder.open(item.path))
            return OpenPhoto(file: file, state: QueueItem.FileState(try file.status()), isHere: true)
        }
        let state = QueueItem.FileState(try folder.open(stub).status())
        // A stub that was corrected names another photo.
        let path = "\(place)/\(item.id).\(SHA256Hasher.hash(state.json.compactText).hexadecimal.prefix(32))"
        if try !FileSystem.exists(path) {
            try willDownload()
            try download(stub, state, to: path)
        }
        return OpenPhoto(file: try SharedFile(path: path), state: state, isHere: false)
    }

    private func download(_ stub: String, _ state: QueueItem.FileState, to path: String) throws(BackupError) {
        let stubPath = "\(folder.root)/\(stub)"
        guard stub.hasSuffix(Self.stubSuffix) else {
            throw BackupError(
                .notSupported, "the photo is in iCloud, from which only Apple's programs can get it", path: stubPath,
                remedy: "Have it downloaded there, then upload again with: backupfs star --upload")
        }
        let opened = try folder.open(stub)
        let bytes = try opened.readToEnd(limitBytes: Self.stubLimitBytes)
        guard try QueueItem.FileState(opened.status()) == state else { throw Self.changed(stubPath) }
        let line = String(decoding: bytes, as: UTF8.self).split { $0.isNewline || $0 == " " }.first.map(String.init) ?? ""
        try FileSystem.makeDirectories(place)
        let draft = "\(path).\(RandomToken.make())"
        do throws(BackupError) {
            let file = try OwnedDescriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL)
            var count: UInt64 = 0
            var checkedCount: UInt64 = 0
            try get(line, stubPath) { (bytes) throws(BackupError) in
                // What a server sends must not fill the disk of the store.
                count += UInt64(bytes.count)
                if checkedCount == 0 || count - checkedCount >= Self.spaceCheckBytes {
                    checkedCount = count
                    if try FileSystem.space(at: place).availableBytes < Self.reserveBytes {
                        throw SystemCall.error(ENOSPC, action: "write", path: draft)
                    }
                }
                try file.writeAll(bytes)
            }
            // A part of a photo would be uploaded as a photo.
            try file.synchronize()
            try FileSystem.rename(draft, to: path)
        } catch {
            try? FileSystem.removeFile(draft)
            throw error
        }
    }

    /// An error names the stub: its URL may have a secret, and errors get into the queue, the status and the log.
    private func get(
        _ line: String, _ stubPath: String, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        guard line.hasPrefix("s3:") else {
            do throws(BackupError) {
                guard !Self.hasCredentials(line) else {
                    throw BackupError(
                        .invalidArgument, "this is no URL with https:",
                        remedy: "Write https:// and escape spaces and other letters.")
                }
                try HTTPDownload.get(line, seconds: seconds, consume)
            } catch {
                guard ![.interrupted, .noSpace].contains(error.code) else { throw error }
                throw BackupError(error.code, error.message, path: stubPath, remedy: error.remedy)
            }
            return
        }
        let end = SystemClock.monotonicSeconds() + seconds
        let deadline = Cancellation(within: .current) { SystemClock.monotonicSeconds() > end }
        do throws(BackupError) {
            try deadline.run { () throws(BackupError) in
                _ = try bucket.storage.read(.checked(String(line.dropFirst(3))), range: nil) { (bytes) throws(BackupError) in
                    try Cancellation.check()
                    try consume(bytes)
                }
            }
        } catch {
            guard error.code == .interrupted, SystemClock.monotonicSeconds() > end else { throw error }
            throw BackupError(
                .offline, "the server did not send the file within \(Int(seconds)) seconds", path: stubPath,
                remedy: "Try again later.")
        }
    }

    /// Whether a URL has a user's name before its host.
    private static func hasCredentials(_ url: String) -> Bool {
        let bytes = Array(url.utf8)
        let end = Array("://".utf8)
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return false }
        return bytes[(start + end.count)...].prefix { !"/?#\\".utf8.contains($0) }.contains(UInt8(ascii: "@"))
    }

    /// What was read must be of one state of the file.
    static func changed(_ path: String) -> BackupError {
        BackupError(.damagedContent, "the photo was changed while it was read", path: path, remedy: "Try again.")
    }
}

extension PhotoFolder {
    /// The stub of a photo that is not here.
    /// - Returns: its path in the media folder; `nil` for a photo that is here, and for one without a stub.
    func stub(of path: String) throws(BackupError) -> String? {
        guard try FileSystem.look("\(root)/\(path)") == nil else { return nil }
        let (place, name) = Self.place(of: path)
        for stub in ["\(place)\(name).remote", "\(place).\(name).icloud"]
        where try FileSystem.look("\(root)/\(stub)")?.kind == .regular {
            return stub
        }
        return nil
    }

    /// The photo that a stub stands for; the path itself if it is no stub.
    func withoutStub(_ path: String) -> String {
        let (place, name) = Self.place(of: path)
        let bytes = Array(name.utf8)
        func text(_ part: ArraySlice<UInt8>) -> String { place + String(decoding: part, as: UTF8.self) }
        let (remote, cloud) = (Array(".remote".utf8), Array(".icloud".utf8))
        if bytes.count > remote.count, bytes.suffix(remote.count).elementsEqual(remote) {
            return text(bytes.dropLast(remote.count))
        }
        if bytes.count > cloud.count + 1, bytes[0] == UInt8(ascii: "."), bytes.suffix(cloud.count).elementsEqual(cloud) {
            return text(bytes.dropFirst().dropLast(cloud.count))
        }
        return path
    }

    /// The folder with a slash, or nothing, and the name.
    private static func place(of path: String) -> (folder: String, name: String) {
        let bytes = Array(path.utf8)
        let name = BytePath.lastComponent(of: bytes)
        return (String(decoding: bytes.dropLast(name.count), as: UTF8.self), String(decoding: name, as: UTF8.self))
    }
}
