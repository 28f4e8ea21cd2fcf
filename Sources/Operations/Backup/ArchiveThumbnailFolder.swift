import AppData
import BackupCore
import BackupRepository
import Glibc
import PhotoData
import Photos
import SnapshotFormats
import SystemIO

/// Stores the small pictures that the app puts into its archives (`media.archiveThumbnails` of its definition), in a folder of
/// the backup from which the archive's layout takes them. They are made of the backup's own thumbnails; those that the previous
/// backup made of the same ones are taken over.
struct ArchiveThumbnailFolder {
    static let name: FileName = "thumbnails-in-archive"

    let form: ArchiveThumbnails
    let writer: BackupWriter
    let repository: Repository
    let earlier: PreviousBackup
    let naming: ManifestNaming?
    let layout: ArchivePathMap
    let workPath: String
    /// Whether those that are missing are made. A restore does not wait for them.
    let makesNew: Bool

    /// A thumbnail of the backup, and the name of the picture that is made of it.
    private struct Source {
        let name: FileName
        let thumbnail: TreeEntry
    }

    /// - Parameters:
    ///   - entries: those of the backup's folder, whose chunks are all in the catalog.
    ///   - time: of the folder.
    /// - Returns: `nil` when there are none, or the app would not accept an archive with them.
    func run(_ entries: [TreeEntry], time: Timestamp) throws(BackupError) -> TreeEntry? {
        let root = try Directory(entries: entries)
        let sources: [Source]
        do throws(BackupError) {
            sources = try self.sources(in: root)
        } catch {
            // A folder of thumbnails that was taken over may be damaged: no backup fails because of that.
            guard error.code == .repositoryDamaged || error.code == .damagedContent else { throw error }
            return nil
        }
        guard !sources.isEmpty, fits(root, sources) else { return nil }
        let known = knownPictures()
        var pictures: [TreeEntry] = []
        var missing: [Source] = []
        for source in sources {
            let picture = source.thumbnail.checksums.flatMap { known[$0.sha256] }
            if let picture, try writer.takeOver([picture.content]) == [true] {
                pictures.append(entry(source, picture))
            } else {
                missing.append(source)
            }
        }
        if makesNew { try make(missing, into: &pictures) }
        guard !pictures.isEmpty else { return nil }
        return .directory(
            name: Self.name, mode: 0o700, modificationTime: time,
            stored: try writer.store(Directory(entries: pictures).entries))
    }

    private func entry(_ source: Source, _ picture: StoredFile) -> TreeEntry {
        .file(name: source.name, mode: 0o600, modificationTime: source.thumbnail.modificationTime, stored: picture)
    }

    // MARK: What there is

    /// The thumbnails of the photos that are in the archive, one for each name.
    private func sources(in root: Directory) throws(BackupError) -> [Source] {
        guard let folder = root.entry(named: PhotoPlaces.thumbnailFolderName)?.storedDirectory,
            let media = root.entry(named: "media")?.storedDirectory
        else { return [] }
        let names = try ManifestNaming.names(naming, root: root, in: repository)
        let catalog = StoredMediaCatalog(media, in: repository)
        var taken: Set<FileName> = []
        var sources: [Source] = []
        var walk = TreeCursor(folder, in: repository)
        while let step = try walk.next() {
            // A thumbnail that is named after its content has no photo beside it, and none here.
            guard case .entry(let thumbnail) = step, thumbnail.kind == .file,
                let path = PhotoPlaces.photoPath(ofThumbnail: walk.path), try catalog.file(at: path) != nil
            else { continue }
            let place = Array("media/".utf8) + path
            guard let usual = layout.archivePath(of: place), let target = names.paths(of: place, usual: usual).first else {
                continue
            }
            let name = FileName(bytes: Array(form.prefix.utf8) + BytePath.lastComponent(of: target))
            guard name.bytes.count <= FileName.byteCountLimit, taken.insert(name).inserted else { continue }
            sources.append(Source(name: name, thumbnail: thumbnail))
        }
        return sources
    }

    /// Whether the app accepts an archive with them.
    private func fits(_ root: Directory, _ sources: [Source]) -> Bool {
        let media = root.entry(named: "media")?.storedDirectory?.totals ?? DirectoryTotals()
        let records = root.entry(named: "export.json")?.size ?? 0
        let entryCount = media.fileCount + media.directoryCount + UInt64(sources.count) + 1
        let byteCount = media.byteCount + records + UInt64(sources.count * PhotoLimits.thumbnailBytes)
        return entryCount <= UInt64(form.entryLimit) && byteCount <= UInt64(form.sizeLimitBytes)
    }

    /// The pictures of the previous backup, by the SHA-256 of the thumbnails that they were made of. What is unreadable is made
    /// again.
    private func knownPictures() -> [SHA256Digest: StoredFile] {
        guard let snapshot = earlier.snapshot, let folder = earlier.folder(Self.name),
            let root = try? repository.rootDirectory(of: snapshot), let sources = try? sources(in: root)
        else { return [:] }
        let catalog = StoredMediaCatalog(folder, in: repository)
        var known: [SHA256Digest: StoredFile] = [:]
        for source in sources {
            guard let digest = source.thumbnail.checksums?.sha256,
                let picture = (try? catalog.entry(at: source.name.bytes)).flatMap({ $0 }), let checksums = picture.checksums
            else { continue }
            known[digest] = StoredFile(content: picture.content, checksums: checksums)
        }
        return known
    }

    // MARK: Making them

    /// - Throws: the repository's errors. A picture that cannot be made is missing.
    private func make(_ sources: [Source], into pictures: inout [TreeEntry]) throws(BackupError) {
        let (repository, workPath) = (repository, workPath)
        let form = ThumbnailForm(pixels: form.pixels, quality: form.quality, isStretched: true)
        let contents = sources.map(\.thumbnail.content)
        let helperCount = max(1, min(WorkerPool.processorCount, sources.count / 4))
        var number = 0
        try MediaCrew.forEach(count: sources.count, helperCount: helperCount) { index, helper in
            Result { () throws(BackupError) in
                let bytes = try repository.bytes(of: contents[index], limitBytes: PhotoLimits.thumbnailBytes)
                let path = "\(workPath)/thumbnail-\(RandomToken.make())"
                defer { try? FileSystem.removeFile(path) }
                try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600).writeAll(bytes)
                return try helper.thumbnail(of: OwnedDescriptor.open(path, O_RDONLY), form)
            }
        } _: { result throws(BackupError) in
            let source = sources[number]
            number += 1
            let outcome: MediaOutcome<[UInt8]>
            do throws(BackupError) {
                outcome = try result.get()
            } catch {
                // No backup fails because of a picture that only a damaged one could be made of.
                guard [.repositoryDamaged, .damagedContent, .tooLarge].contains(error.code) else { throw error }
                return
            }
            guard case .found(let bytes) = outcome else { return }
            pictures.append(entry(source, try writer.store(bytes, policy: .media)))
        }
    }
}
