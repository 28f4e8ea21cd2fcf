import AppData
import BackupCore
import Glibc
import SystemIO

/// Media files of a restore: prepared before the records are written.
extension RestoreOperation {
    /// The plan for the file's media.
    func mediaPreparation(_ checked: CheckedImport) throws(BackupError) -> MediaPreparation {
        guard let mediaPath, let archive = checked.archive, archive.hasMedia else { return MediaPreparation() }
        // A lost folder is empty.
        guard checked.strategy != .replace, try FileSystem.lookBehindLinks(mediaPath) != nil else {
            return MediaPreparation(allOf: archive.mediaFileCount)
        }
        let matchesContent = definition.media?.duplicates == .content
        return MediaPreparation(try MediaPlan(archive, in: FileSystem.realPath(mediaPath), matchesContent: matchesContent))
    }

    /// The media folder, without links.
    func realMediaPath() throws(BackupError) -> String? {
        guard let mediaPath else { return nil }
        return try FileSystem.realPathBehindLinks(mediaPath)
    }

    func databaseAmongMedia() throws(BackupError) -> DatabaseAmongMedia {
        guard let mediaPath else { return .none }
        return try DatabaseAmongMedia(database: database.path, media: mediaPath)
    }

    /// - Throws: `notSupported` when the existing media cannot be replaced.
    func requireExchangeable(_ checked: CheckedImport) throws(BackupError) {
        guard let mediaPath = try realMediaPath(), let archive = checked.archive, archive.hasMedia, checked.strategy == .replace,
            try FileSystem.identityIfPresent(mediaPath) != nil
        else { return }
        let amongMedia = try databaseAmongMedia()
        try MediaObstacles(foreignFolders: foreignFolders).check(mediaPath, amongMedia)
        try archive.forEachMediaFile { (path, _) throws(BackupError) in
            guard !amongMedia.needsFolder(at: path) else {
                throw BackupError(
                    .notSupported, "the archive has a file where the folder of the app's database should be",
                    path: MessageText.name(path), remedy: "Restore it into another folder with --target.")
            }
            guard !amongMedia.isBehindLink(path) else {
                throw BackupError(
                    .notSupported,
                    "the archive has a file in a folder that is a symbolic link by now, which leads to the app's database",
                    path: MessageText.name(path),
                    remedy: "Move the folder back to the place of the link, or restore into another folder with --target.")
            }
        }
    }

    /// Unpacks the media, and says so in the error if that fails: the archive was verified before.
    func extractMedia(
        _ checked: CheckedImport, _ media: inout MediaPreparation, _ journal: inout RestoreJournal
    ) throws(BackupError) {
        do throws(BackupError) {
            try FaultInjection.reached("restore.extracting")
            try stageMedia(checked, &media, &journal)
        } catch {
            guard error.code != .interrupted else { throw error }
            throw error.with(nil, ImportMessages.extractionFailure(error.message))
        }
    }

    /// Unpacks the media beside their folder. The journal is written before anything is created, so that recovery knows
    /// everything that a crash leaves. A no-op when the file has no media, or the app has none.
    func stageMedia(
        _ checked: CheckedImport, _ media: inout MediaPreparation, _ journal: inout RestoreJournal
    ) throws(BackupError) {
        guard let mediaPath = try realMediaPath(), let archive = checked.archive, archive.hasMedia else { return }
        let status = try FileSystem.status(mediaPath)
        // When root restores, the app stays the owner of its files.
        var owner: FileOwner?
        if geteuid() == 0 {
            owner = try checked.storedMedia.map { (stored) throws(BackupError) in try stored.ownerOfFiles(in: mediaPath) }
            owner = owner ?? FileOwner(user: status.owner, group: status.group)
        }
        var metadata: StagedMetadata?
        var unchangedInodes: Set<UInt64> = []
        if var plan = media.plan {
            try requireRoom(for: plan, archive, at: mediaPath)
            let places = try MediaFolder.stagingPaths(of: mediaPath, operation: journal.operation)
            let staging = try makeStaging(.addition, at: places[0], for: mediaPath, status, &journal)
            let files = plan
            try archive.stageMedia(
                in: staging, placingFile: { (path) throws(BackupError) in files.stagedPath(path) },
                placingFolder: { (path) throws(BackupError) in try plan.stagedFolder(path) })
        } else {
            let exchange = try beginExchange(of: mediaPath, status, &journal)
            let unchanged = try UnchangedMedia(
                in: mediaPath, stagedIn: exchange.newPath, stored: checked.storedMedia,
                saved: savedMedia.lookup(in: journal.safetySnapshot), owner: owner)
            try unchanged.link(filesOf: archive)
            try FaultInjection.reached("restore.media-linked")
            media.unchanged = unchanged
            try requireRoom(bytes: unchanged.newBytes, count: unchanged.newCount, at: mediaPath)
            unchangedInodes = unchanged.inodes
            let sparseFiles = checked.storedMedia?.sparseFiles() ?? [:]
            try archive.stageMedia(
                in: exchange.newPath, isSparse: { sparseFiles[$0] != nil }, isStaged: { unchanged.isLinked($0) })
            metadata = try checked.storedMedia.map { (stored) throws(BackupError) in
                try StagedMetadata(stored, stagedIn: exchange.newPath, without: unchangedInodes)
            }
            try metadata?.link()
            try exchange.recordStaged(without: unchangedInodes)
        }
        guard let staging = journal.media?.stagingPath else { return }
        if let owner { try FileSystem.setOwner(ofTree: staging, owner, except: unchangedInodes) }
        // After that: changing the owner clears capabilities.
        media.incomplete = try metadata?.restoreAttributes()
        try FileSystem.synchronizeTree(staging)
        journal.media?.stagedInode = try FileSystem.status(staging).inode
    }

    /// Looks at the linked files once more, right before the commit.
    func refresh(_ unchanged: UnchangedMedia?, _ checked: CheckedImport, _ journal: RestoreJournal) throws(BackupError) {
        guard let unchanged, let archive = checked.archive, let media = journal.media, try unchanged.refresh(archive) else {
            return
        }
        // A rollback must know the files that are new after all.
        try MediaContentExchange(mediaPath: media.path, stagingPath: media.stagingPath, amongMedia: databaseAmongMedia())
            .recordStaged(without: unchanged.inodes)
    }

    private func requireRoom(for plan: MediaPlan, _ archive: ArchiveImport, at mediaPath: String) throws(BackupError) {
        var (bytes, count): (UInt64, UInt64) = (0, 0)
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            guard plan.stagedPath(path) != nil else { return }
            (bytes, count) = (bytes.addingSaturating(entry.size), count + 1)
        }
        try requireRoom(bytes: bytes, count: count, at: mediaPath)
    }

    /// Each file may leave a block partly empty.
    private func requireRoom(bytes: UInt64, count: UInt64, at mediaPath: String) throws(BackupError) {
        var room = DiskSpaceRequirement()
        let block = try FileSystem.space(at: mediaPath).blockSizeBytes
        try room.need(bytes, at: mediaPath)
        try room.need(count.multipliedReportingOverflow(by: block).partialValue, at: mediaPath)
        try room.require()
    }

    /// Writes the journal first. Without an inode: in this state recovery always undoes it.
    private func makeStaging(
        _ kind: RestoreJournal.Media.Kind, at path: String, for mediaPath: String, _ status: FileStatus,
        _ journal: inout RestoreJournal
    ) throws(BackupError) -> String {
        journal.media = RestoreJournal.Media(kind: kind, path: mediaPath, stagingPath: path, stagedInode: 0)
        try journal.write(to: journalPath)
        try FileSystem.makeDirectories(path)
        try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY).setPermissions(mode_t(status.mode & 0o7777))
        try FaultInjection.reached("restore.staging-made")
        return path
    }

    /// Creates the folders of an exchange at a place where a trial shows that it works.
    /// - Throws: `notSupported` when it works nowhere.
    private func beginExchange(
        of mediaPath: String, _ status: FileStatus, _ journal: inout RestoreJournal
    ) throws(BackupError) -> MediaContentExchange {
        let amongMedia = try databaseAmongMedia()
        var refusal: BackupError?
        for path in try MediaFolder.stagingPaths(of: mediaPath, operation: journal.operation) {
            // Report kept files beside the media folder only once: a second trial could only add to them.
            if let media = journal.media, try MediaExchange.undo(media) != nil { break }
            let staging = try makeStaging(.content, at: path, for: mediaPath, status, &journal)
            let exchange = MediaContentExchange(mediaPath: mediaPath, stagingPath: staging, amongMedia: amongMedia)
            try exchange.prepare()
            do {
                try MediaExchangeProbe(exchange: exchange).run()
                return exchange
            } catch let error where error.code == .notSupported {
                refusal = error
            }
        }
        throw refusal ?? BackupError(.notSupported, "the media cannot be exchanged", path: mediaPath)
    }
}
