import BackupCore
import Glibc
import PhotoData
import Synchronization
import SystemIO

/// Where a file of an app's media folder is in a mounted tree.
struct MountedPlace: Sendable {
    private static let mediaName: FileName = "media"

    /// `live`, `snapshots/NAME` or `remotes/REMOTE/backups/NAME`.
    let holder: [FileName]
    /// Below the media folder; empty for that itself.
    let path: [FileName]

    /// - Parameter names: below the mountpoint.
    /// - Returns: `nil` for what is in no media folder.
    init?(_ names: [FileName]) {
        guard let count = Self.holderCount(names), names.count > count, names[count] == Self.mediaName else { return nil }
        (holder, path) = (Array(names[..<count]), Array(names[(count + 1)...]))
    }

    var isLive: Bool { holder.count == 1 }

    /// How many names lead to the live data or the backup that a path is in.
    private static func holderCount(_ names: [FileName]) -> Int? {
        switch names.first {
        case "live": 1
        case "snapshots": names.count > 1 ? 2 : nil
        case "remotes": names.count > 3 && names[2] == "backups" ? 4 : nil
        default: nil
        }
    }

    /// The folder to look for photos in, for a path that a user gives: that path, or `media` of a backup or of the live data.
    /// - Returns: `nil` for a path with photos of no backup, or of many.
    static func start(of names: [FileName]) -> [FileName]? {
        if MountedPlace(names) != nil { return names }
        let count = holderCount(names) ?? 0
        // Links to the photos.
        if names.count > count, names[count] == PhotoPlaces.viewFolderName { return names }
        return count > 0 && names.count == count ? names + [mediaName] : nil
    }
}

/// A mounted tree, as the source of thumbnails: they are read as ordinary files. No photo is opened.
final class MountedPhotos: Sendable {
    private static let snapshotsName: FileName = "snapshots"

    let root: DirectoryHandle
    private let sources = Mutex<[[FileName]: Result<BackupThumbnails?, BackupError>]>([:])

    init(mountpoint: String) throws(BackupError) { root = try DirectoryHandle(path: mountpoint) }

    /// The thumbnails that are for the photos of a place; `nil` when there are none.
    /// - Throws: errors of reading the list of photos, which is not read again.
    func source(for place: MountedPlace) throws(BackupError) -> BackupThumbnails? {
        let result = sources.withLock { sources in
            if let known = sources[place.holder] { return known }
            let result = Result { () throws(BackupError) -> BackupThumbnails? in
                if place.isLive { return try newestSource() }
                return try BackupThumbnails(try root.openFolder(at: place.holder[...]))
            }
            sources[place.holder] = result
            return result
        }
        return try result.get()
    }

    /// Those of the newest backup that has any and can be read: the last one of this store, which may still be in the making, or
    /// else the one that was made last.
    private func newestSource() throws(BackupError) -> BackupThumbnails? {
        guard let snapshots = try root.openFolder(Self.snapshotsName) else { return nil }
        var names: [FileName] = []
        if let latest = try snapshots.readLinkIfPresent("latest") { names.append(FileName(bytes: latest)) }
        var others: [(name: FileName, time: Timestamp)] = []
        for name in try snapshots.folderNames() where name != names.first {
            if let status = try snapshots.statusIfPresent(name) { others.append((name, status.modificationTime)) }
        }
        names += others.sorted { $0.time > $1.time }.map(\.name)
        var failure: BackupError?
        for name in names where name.isSafeComponent {
            try Cancellation.check()
            do throws(BackupError) {
                if let source = try BackupThumbnails(try snapshots.openFolder(name)) { return source }
            } catch {
                guard failure == nil, error.code != .interrupted, error.code != .noResources else { throw failure ?? error }
                failure = error
            }
        }
        if let failure { throw failure }
        return nil
    }
}

/// The list of photos of a backup, and their thumbnails.
final class BackupThumbnails: Sendable {
    private let index: PhotoIndex
    private let thumbnails: DirectoryHandle?

    /// - Returns: `nil` for a backup without a list.
    init?(_ backup: DirectoryHandle?) throws(BackupError) {
        guard let backup, let list = try backup.openFileIfPresent(PhotoPlaces.listName) else { return nil }
        index = try PhotoIndex(reading: try SharedFile(list))
        thumbnails = try backup.openFolder(PhotoPlaces.thumbnailFolderName)
    }

    /// What the backup knows of a file.
    /// - Parameter status: of the file now.
    /// - Returns: `nil` when it is no photo of the backup, or may have other bytes.
    func record(at place: MountedPlace, _ status: FileStatus) throws(BackupError) -> PhotoRecord? {
        guard let record = try index.record(path: BytePath.joined(place.path)), record.sizeBytes == status.size else {
            return nil
        }
        return !place.isLive || record.modificationTime == status.modificationTime ? record : nil
    }

    /// The thumbnail, a JPEG.
    /// - Returns: `nil` when the backup has none.
    /// - Throws: `damagedContent` for a file that is too long; the errors of reading it.
    func thumbnail(of record: PhotoRecord) throws(BackupError) -> [UInt8]? {
        let names = BytePath.components(of: record.path)
        guard record.hasThumbnail, let md5 = record.md5, let name = names.last,
            let folder = try thumbnails?.openFolder(at: names.dropLast())
        else { return nil }
        let usual = FileName(bytes: name.bytes + Array(".jpg".utf8))
        if usual.bytes.count <= FileName.byteCountLimit, let bytes = try Self.bytes(usual, in: folder) { return bytes }
        // Another photo may have this very digest as its name, and so the thumbnail.
        let namesake = BytePath.join(BytePath.folder(of: record.path), Array(md5.hexadecimal.utf8))
        guard try index.record(path: namesake)?.hasThumbnail != true else { return nil }
        return try Self.bytes(PhotoPlaces.thumbnailName(of: name, md5: md5) { _ in true }, in: folder)
    }

    private static func bytes(_ name: FileName, in folder: DirectoryHandle) throws(BackupError) -> [UInt8]? {
        guard let file = try folder.openFileIfPresent(name) else { return nil }
        let size = try file.status().size
        guard size < UInt64(PhotoLimits.thumbnailBytes) else {
            throw BackupError(.damagedContent, "the thumbnail in the backup is too large", path: file.path)
        }
        return try file.readExactly(at: 0, count: Int(size))
    }
}
