import AppData
import BackupCore
import BackupRepository
import SnapshotFormats
import SystemIO

/// The app's own data on its way into a backup: records, database and media.
///
/// The database comes first, so every file that a record names is there when the media folder is walked. What the app adds
/// meanwhile is a file without a record, never a record without its file.
struct BackupParts {
    struct Stored {
        let records: StoredRecords
        /// The complete list, as in the snapshot's folder.
        let entries: [TreeEntry]
        let unreadable: [Message]
        /// Media files that the backup lacks because they were moved meanwhile.
        let moved: [Message]
        /// Whether any of the media is on a file system without change times.
        let hasUntracedMedia: Bool
        /// The metadata kept with media files; `nil` when the app has no media.
        let metadata: MediaMetadata?
        /// What is stored of the photos; `nil` for an app without photos.
        var photos: PhotoBackup.Stored?
    }

    private struct StoredMedia {
        let entry: TreeEntry
        let stored: StoredDirectory
        let unreadable: [Message]
        let moved: [Message]
        let isUntraced: Bool
        let metadata: MediaMetadata
    }

    let store: Store
    let writer: BackupWriter
    let earlier: PreviousBackup
    let createdAt: Timestamp
    let progress: BackupProgress
    /// Selects media files to read although they look unchanged.
    let reading: MediaReading
    let readsPhotos: PhotoBackup.Reading
    let rows: EarlierRows
    /// Whether the app's export is stored.
    let storesExport: Bool

    func run() throws(BackupError) -> Stored {
        progress.update(always: true) { $0[.media].isKnown = store.mediaPath == nil }
        let amongMedia = try store.databaseAmongMedia()
        let listing = store.mediaPath.map { path in
            MediaListing(path, amongMedia: amongMedia, earlier: earlier.folder("media")?.totals) { [progress] files, bytes in
                progress.update { state in
                    state[.media].isKnown = true
                    state[.media].totalItems = files
                    state[.media].totalBytes = bytes
                }
            }
        }
        defer { listing?.end() }
        progress.enter(.data)
        guard store.definition.describesMedia, store.mediaPath != nil else {
            return try stored(records(of: store.database).run(), storeMedia())
        }
        return try storeMediaFirst()
    }

    private func records(of database: AppDatabase, copiedState: DatabaseChangeState? = nil) -> RecordsBackup {
        RecordsBackup(
            store: store, database: database, copiedState: copiedState, writer: writer, earlier: earlier, createdAt: createdAt,
            progress: progress, earlierRows: rows, storesExport: storesExport)
    }

    /// For exports that describe the media files: renders a copy of the database, once the media are stored.
    private func storeMediaFirst() throws(BackupError) -> Stored {
        try store.withWorkFolder { (folder) throws(BackupError) in
            let copy = "\(folder)/copy.sqlite"
            let state = store.database.changeState()
            try store.database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.copyDatabase(to: copy) }
            let media = try storeMedia()
            let catalog = media.map { StoredMediaCatalog($0.stored, in: store.repository) }
            let database = AppDatabase(at: copy, definition: store.definition, media: catalog)
            progress.enter(.metadata)
            // A commit during the copy makes this state stale, so the next backup reads the database again.
            return try stored(records(of: database, copiedState: state).run(), media)
        }
    }

    private func stored(_ records: StoredRecords, _ media: StoredMedia?) throws(BackupError) -> Stored {
        var entries = records.entries
        if let media {
            entries.append(media.entry)
            if store.definition.media?.hasStorageView == true {
                let catalog = StoredMediaCatalog(media.stored, in: store.repository)
                let view = try store.withWorkFolder { (folder) throws(BackupError) in
                    try StorageView.store(catalog, with: writer, time: createdAt, workPath: folder)
                }
                entries.append(view)
                // These are compared with the folders of earlier backups, as all folders are.
                try writer.publishChunks()
            }
        }
        var photos = try media.flatMap { (media) throws(BackupError) in try storePhotos(media.stored) }
        // They are for archives in the app's own layout.
        if storesExport, let own = photos?.entries, let pictures = try storeArchiveThumbnails(entries + own, records) {
            photos?.add([pictures])
        }
        return Stored(
            records: records, entries: entries + (photos?.entries ?? []), unreadable: media?.unreadable ?? [],
            moved: media?.moved ?? [], hasUntracedMedia: media?.isUntraced ?? false, metadata: media?.metadata, photos: photos)
    }

    /// - Returns: `nil` when the app's media are no photos.
    private func storePhotos(_ media: StoredDirectory) throws(BackupError) -> PhotoBackup.Stored? {
        guard store.definition.media?.hasPhotos == true, let mediaPath = store.mediaPath else { return nil }
        let stars = StarredPhotos.pathsForBackup(of: store)
        var stored = try store.withWorkFolder { (folder) throws(BackupError) in
            let photos = try PhotoBackup(
                writer: writer, repository: store.repository, earlier: earlier,
                media: LiveMedia(path: mediaPath, amongMedia: store.databaseAmongMedia()), createdAt: createdAt,
                progress: progress, workPath: folder, reads: readsPhotos, stars: stars.paths,
                showsProgress: store.definition.backupPhases.isEmpty)
            return try photos.run(media)
        }
        // More important than thumbnails.
        if let error = stars.error {
            stored.warning = BackupWarning(.photos, "the backup lacks stars of photos: \(error.message)")
        }
        return stored
    }

    /// - Returns: `nil` when the app's archives have none.
    private func storeArchiveThumbnails(
        _ entries: [TreeEntry], _ records: StoredRecords
    ) throws(BackupError) -> TreeEntry? {
        guard let form = store.definition.media?.archiveThumbnails, store.definition.media?.hasPhotos == true else { return nil }
        try writer.publishChunks()
        return try store.withWorkFolder { (folder) throws(BackupError) in
            let pictures = ArchiveThumbnailFolder(
                form: form, writer: writer, repository: store.repository, earlier: earlier,
                naming: ManifestNaming(records.facts.definition), layout: store.definition.archiveLayout, workPath: folder,
                makesNew: readsPhotos != .nothing)
            return try pictures.run(entries, time: createdAt)
        }
    }

    /// - Returns: `nil` when the app has no media.
    private func storeMedia() throws(BackupError) -> StoredMedia? {
        guard let mediaPath = store.mediaPath else { return nil }
        _ = try FileSystem.lookBehindLinks(mediaPath)
        progress.enter(.listing)
        let storedByteCount = writer.storedByteCount
        let metadata = try MediaMetadata(earlier: earlier.snapshot, DirectoryHandle(path: mediaPath).descriptor.status())
        let (media, stored) = try store.withWorkFolder { (folder) throws(BackupError) in
            let media = MediaBackup(
                writer: writer, repository: store.repository, progress: progress, workPath: folder, reading: reading,
                metadata: metadata)
            let stored = try media.store(
                mediaPath, amongMedia: store.databaseAmongMedia(), earlier: earlier.folder("media"))
            return (media, stored)
        }
        guard let status = try FileSystem.lookBehindLinks(mediaPath) else {
            throw BackupError(
                .stale, "the media folder was removed while it was backed up", path: mediaPath, remedy: "Try again.")
        }
        // Changes are found by comparing stored folders, which must be readable for that. Where nothing was stored, all of them
        // are in the repository. Equality with the earlier folder does not show that: its data may have been lost.
        if writer.storedByteCount != storedByteCount { try writer.publishChunks() }
        let folder = try DirectoryHandle(path: mediaPath)
        let entry = TreeEntry.directory(
            name: "media", mode: status.mode, modificationTime: status.modificationTime, stored: stored,
            metadata: metadata.of(folder.descriptor, status, path: "media"))
        return StoredMedia(
            entry: entry, stored: stored, unreadable: media.unreadable, moved: media.moved, isUntraced: media.hasUntracedFolder,
            metadata: metadata)
    }
}

extension PreviousBackup {
    init(of store: Store) {
        self.init(store.ownership.newest(of: store.repository.snapshots()), in: store.repository)
    }
}
