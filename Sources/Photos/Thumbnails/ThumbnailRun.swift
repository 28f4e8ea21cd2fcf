import BackupCore
import PhotoData
import SystemIO

/// What became of the thumbnail of one photo.
public struct ThumbnailResult: Sendable {
    /// How it went.
    public enum Outcome: Sendable {
        case made
        /// The cache had it already.
        case current
        /// No backup has a thumbnail of this photo as it is now.
        case missing
        case failed(reason: String, message: Message)
        /// No other photo will fare better: the disk is full, the helper is missing, or the list of photos cannot be read.
        case stopped(BackupError)
    }

    /// As the file manager shows it.
    public let path: [UInt8]
    public let outcome: Outcome
}

/// Puts thumbnails of the photos in a mounted tree into the cache of the user's file managers. They are made of the small
/// pictures in the backups: no photo is read.
public struct ThumbnailRun: Sendable {
    /// With fewer files for each helper, starting it takes longer than it saves.
    private static let filesPerHelper = 8

    private let photos: MountedPhotos
    /// As the file manager shows it.
    private let browsed: [UInt8]
    /// Below the mountpoint.
    private let start: [FileName]
    /// As the user gave it.
    private let path: String

    /// - Parameters:
    ///   - path: a photo, or a folder with photos at any depth, as the user gives it.
    ///   - mountpoint: of the mount that it is in, without symbolic links.
    /// - Throws: `invalidArgument` for a path that has photos of no backup, or of many; errors of the mount.
    public init(_ path: String, mountpoint: String) throws(BackupError) {
        let given = BrowsedPath.absolute(path)
        let real = try FileSystem.realPath(String(decoding: given, as: UTF8.self))
        let names = BytePath.components(of: Array(real.utf8.dropFirst(mountpoint.utf8.count)))
        guard let start = MountedPlace.start(of: names) else {
            throw BackupError(
                .invalidArgument, "these are not the photos of one backup", path: path,
                remedy: "Name a folder such as \(mountpoint)/live/media or \(mountpoint)/snapshots/latest/media.")
        }
        self.path = path
        self.start = start
        browsed = start.dropFirst(names.count).reduce(given) { BytePath.join($0, $1.bytes) }
        photos = try MountedPhotos(mountpoint: mountpoint)
    }

    /// - Parameter report: called for each photo, in the order of the folders and names.
    /// - Throws: `notFound` for a backup without photos; errors of the mount; `interrupted`.
    public func run(
        into cache: ThumbnailCache, progress: ProgressHandler, _ report: (ThumbnailResult) throws(BackupError) -> Void
    ) throws(BackupError) {
        let items = try find { (path, error) throws(BackupError) in
            try report(ThumbnailResult(path: path, outcome: .failed(reason: error.code.rawValue, message: error.message)))
        }
        let helperCount = max(1, min(WorkerPool.processorCount, items.count / Self.filesPerHelper))
        var doneCount = 0
        try MediaCrew.forEach(count: items.count, helperCount: helperCount) { number, helper in
            result(items[number], cache, helper)
        } _: { (result) throws(BackupError) in
            doneCount += 1
            progress(.step("Making thumbnails", doneCount, of: items.count))
            if let result { try report(result) }
        }
    }

    // MARK: Finding

    /// A file, or a link to one.
    private struct Item: Sendable {
        /// As the file manager shows it.
        let browsed: [UInt8]
        /// Below the mountpoint, without links on the way.
        let path: [UInt8]
        let status: FileStatus
    }

    private func find(unreadable: ([UInt8], BackupError) throws(BackupError) -> Void) throws(BackupError) -> [Item] {
        let folder = try photos.root.openDirectory(at: start.dropLast())
        guard let name = start.last, let status = try folder.statusIfPresent(name) else {
            throw BackupError(.notFound, "there are no photos here", path: path)
        }
        let path = BytePath.joined(start)
        let item = Item(browsed: browsed, path: path, status: status)
        guard status.kind == .directory else { return [item] }
        var items: [Item] = []
        try walk(item, try folder.openDirectory(name), &items, unreadable)
        return items
    }

    /// - Parameter unreadable: called for folders that cannot be read.
    private func walk(
        _ folder: Item, _ handle: DirectoryHandle, _ items: inout [Item],
        _ unreadable: ([UInt8], BackupError) throws(BackupError) -> Void
    ) throws(BackupError) {
        for name in try handle.names() {
            try Cancellation.check()
            guard let status = try handle.statusIfPresent(name) else { continue }
            let item = Item(
                browsed: BytePath.join(folder.browsed, name.bytes), path: BytePath.join(folder.path, name.bytes), status: status)
            guard status.kind == .directory else {
                items.append(item)
                continue
            }
            do throws(BackupError) {
                guard let inner = try handle.openFolder(name) else { continue }
                try walk(item, inner, &items, unreadable)
            } catch {
                guard error.code != .interrupted, error.code != .noResources else { throw error }
                try unreadable(item.browsed, error)
            }
        }
    }

    // MARK: Making

    /// - Returns: `nil` for what is no photo.
    private func result(_ item: Item, _ cache: ThumbnailCache, _ helper: MediaHelper) -> ThumbnailResult? {
        do throws(BackupError) {
            return try outcome(item, cache, helper).map { ThumbnailResult(path: item.browsed, outcome: $0) }
        } catch {
            switch error.code {
            case .interrupted, .noSpace, .noResources, .readOnly:
                return ThumbnailResult(path: item.browsed, outcome: .stopped(error))
            default:
                return ThumbnailResult(
                    path: item.browsed, outcome: .failed(reason: error.code.rawValue, message: error.message))
            }
        }
    }

    private func outcome(
        _ item: Item, _ cache: ThumbnailCache, _ helper: MediaHelper
    ) throws(BackupError) -> ThumbnailResult.Outcome? {
        guard let (place, status) = try self.place(of: item), let name = place.path.last else { return nil }
        let source: BackupThumbnails?
        do throws(BackupError) {
            source = try photos.source(for: place)
        } catch {
            return .stopped(error)
        }
        guard let source, let record = try source.record(at: place, status) else {
            return PhotoPlaces.isNamedLikePhoto(name) ? .missing : nil
        }
        let subject = ThumbnailSubject(
            address: BrowsedPath.address(of: item.browsed), modificationSeconds: status.modificationTime.seconds,
            sizeBytes: status.size, contentType: record.fields[.contentType])
        let sizes = ThumbnailCache.Size.allCases.filter { !cache.isCurrent(subject, $0) }
        guard !sizes.isEmpty else { return .current }
        guard let thumbnail = try source.thumbnail(of: record) else { return .missing }
        let file = try OwnedDescriptor.inMemory(thumbnail)
        for size in sizes {
            switch try helper.picture(of: file, sidePixels: size.sidePixels) {
            case .found(let picture): try cache.put(picture, of: subject, size)
            case .helperMissing(let error): return .stopped(error)
            case .unreadable(let reason): return .failed(reason: reason.rawValue, message: reason.message)
            case .nothing:
                return .failed(
                    reason: UnreadableMedia.damaged.rawValue, message: "the thumbnail in the backup is damaged")
            }
        }
        return .made
    }

    /// Where the file is whose thumbnail is wanted, and its state: of a link, those of the photo that it leads to.
    private func place(of item: Item) throws(BackupError) -> (MountedPlace, FileStatus)? {
        switch item.status.kind {
        case .regular: return MountedPlace(BytePath.components(of: item.path)).map { ($0, item.status) }
        case .directory, .other: return nil
        case .symbolicLink:
            let names = BytePath.components(of: item.path)
            guard let name = names.last,
                let target = try photos.root.openFolder(at: names.dropLast())?.readLinkIfPresent(name),
                target.first != UInt8(ascii: "/")
            else { return nil }
            var path = Array(names.dropLast())
            for part in BytePath.components(of: target) {
                if part == "." { continue }
                if part != ".." {
                    path.append(part)
                } else if path.popLast() == nil {
                    return nil
                }
            }
            guard let place = MountedPlace(path), let last = path.last,
                let status = try photos.root.openFolder(at: path.dropLast())?.statusIfPresent(last), status.kind == .regular
            else { return nil }
            return (place, status)
        }
    }
}
