import AppData
import BackupCore
import Glibc
import SystemIO

/// What a restore will do with an archive's media.
struct MediaPreparation {
    /// Where each file goes beside the existing ones; `nil` when the new media replace all existing ones.
    let plan: MediaPlan?
    /// Records which of the renamed files are needed.
    let names: MediaNames
    private let fileCount: Int?
    /// A warning about files restored without all their metadata.
    var incomplete: Message?
    /// The files that need not be written.
    var unchanged: UnchangedMedia?

    /// No media.
    init() {
        plan = nil
        names = MediaNames(newPaths: [:])
        fileCount = nil
    }

    init(allOf fileCount: Int) {
        plan = nil
        names = MediaNames(newPaths: [:])
        self.fileCount = fileCount
    }

    init(_ plan: MediaPlan) {
        self.plan = plan
        names = MediaNames(newPaths: plan.newPaths)
        fileCount = nil
    }

    /// To be called after all records were read.
    func outcome() -> MediaOutcome? {
        if let plan { return plan.outcome(names) }
        guard let fileCount else { return nil }
        var outcome = MediaOutcome()
        outcome.added = fileCount
        outcome.incomplete = incomplete
        return outcome
    }

    /// Removes staged files that turned out not to be needed.
    func removeUnneeded(in staging: String) throws(BackupError) {
        for path in plan?.unneeded(names) ?? [] { try StagedPath(in: staging).remove(path) }
    }
}

/// Tests whether media can be exchanged, before any change: moves a file and a folder into the media folder and out of it, and
/// each of its folders out and back. Modes, attributes, quotas and encryption may forbid that, and only a test shows what a file
/// system does not rename. Moves no file of the app: it might be a database in use with a log beside it. The journal is already
/// written: recovery undoes a crash.
struct MediaExchangeProbe {
    let exchange: MediaContentExchange

    /// - Throws: why they cannot be moved; everything is back in place then.
    func run() throws(BackupError) {
        let media = try DirectoryHandle(path: exchange.mediaPath, followsLink: false)
        do {
            try requireName(MediaFolder.keptPath(of: exchange.mediaPath, stagingPath: exchange.stagingPath))
            try moveProbes(media)
            try FaultInjection.reached("restore.probes-moved")
            try moveFolders(of: media, to: DirectoryHandle(path: exchange.oldPath, followsLink: false), exchange.amongMedia)
        } catch {
            try exchange.undo()
            guard Self.isObstacle(error) else { throw error }
            throw error.with(
                .notSupported, "the media cannot be exchanged: \(error.message)", remedy: MediaObstacles.remedy)
        }
    }

    /// - Throws: `notSupported` for a name that the file system does not allow.
    private func requireName(_ path: String) throws(BackupError) {
        do {
            _ = try FileSystem.identityIfPresent(path)
        } catch let error where error.code == .nameTooLong {
            throw BackupError(
                .notSupported, "the folder for media that a restore has to keep would have too long a name", path: path,
                remedy: "Give the media folder a shorter name, or restore into another folder with --target. Nothing was changed."
            )
        }
    }

    /// Whether the error will not resolve by itself.
    private static func isObstacle(_ error: BackupError) -> Bool {
        [.accessDenied, .notPermitted, .crossDevice, .readOnly, .notSupported, .busy].contains(error.code)
    }

    private func moveProbes(_ media: DirectoryHandle) throws(BackupError) {
        let new = try DirectoryHandle(path: exchange.newPath, followsLink: false)
        let name = exchange.probeName
        try moveProbeFile(new, media)
        _ = try new.makeFolder(name)
        try new.move(name, to: media, as: name)
        try media.move(name, to: new, as: name)
        try new.removeFolder(name)
    }

    /// Moves a new file from a folder of ours into one of the app's, and back.
    private func moveProbeFile(_ own: DirectoryHandle, _ folder: DirectoryHandle) throws(BackupError) {
        let name = exchange.probeName
        _ = try own.createFile(name, permissions: 0o600)
        try own.move(name, to: folder, as: name)
        try FaultInjection.reached("restore.probe-file-moved")
        try folder.move(name, to: own, as: name)
        try own.removeFile(name)
    }

    private func moveFolders(
        of folder: DirectoryHandle, to old: DirectoryHandle, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        for name in try folder.names() where !amongMedia.hides(name) {
            guard let status = try folder.statusIfPresent(name), status.kind == .directory else { continue }
            guard amongMedia.isBelow(name) else {
                try move(name, status, folder, to: old)
                continue
            }
            guard let inner = try folder.openFolder(name) else { continue }
            try moveFolders(of: inner, to: old.openOrMakeFolder(name), amongMedia.entering(name))
            try old.removeFolder(name)
        }
    }

    /// Moves a folder out and back. If it cannot be renamed, its entries will be moved: then a new file and each folder in it are
    /// tested.
    private func move(
        _ name: FileName, _ status: FileStatus, _ folder: DirectoryHandle, to old: DirectoryHandle
    ) throws(BackupError) {
        do {
            try folder.move(name, to: old, as: name)
            try FaultInjection.reached("restore.folder-tried")
            try exchange.putBack(name, old, to: folder, DirectoryHandle(path: exchange.asidePath, followsLink: false))
        } catch let error where error.code == .notFound {
            // Gone since the listing.
        } catch let error where error.code == .accessDenied && status.owner == geteuid() && status.mode & 0o200 == 0 {
            // Its owner can make it writable.
        } catch let error where error.code == .crossDevice {
            guard let inner = try folder.openFolder(name) else { return }
            let target = try old.openOrMakeFolder(name)
            try moveProbeFile(target, inner)
            for entry in try inner.names() {
                guard let status = try inner.statusIfPresent(entry), status.kind == .directory else { continue }
                try move(entry, status, inner, to: target)
            }
            try old.removeFolder(name)
        }
    }
}

extension MediaContentExchange {
    /// A reserved name of ours.
    var probeName: FileName { FileName(FileSystem.lastComponent(stagingPath) + "-probe") }

    /// Removes the leftovers of an interrupted trial in the media folder.
    func removeProbes() throws(BackupError) {
        guard try FileSystem.look(mediaPath) != nil else { return }
        let media = try DirectoryHandle(path: mediaPath, followsLink: false)
        switch try media.statusIfPresent(probeName)?.kind {
        case .directory: try media.removeFolder(probeName)
        case nil: break
        default: try media.removeFile(probeName)
        }
    }
}
