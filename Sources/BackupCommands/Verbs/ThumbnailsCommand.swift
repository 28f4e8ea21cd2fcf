import ArgumentParser
import BackupCore
import FUSEBridge
import Photos
import SystemIO

struct ThumbnailsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnails",
        abstract: "Put thumbnails of mounted photos into the cache of file managers.",
        discussion: """
            A file manager that shows photos in the mount makes thumbnails of them, and reads each photo for that. The backups have \
            thumbnails already. This command puts those into your cache of thumbnails, where file managers find them. It reads no \
            photo.

            Example:
              backupfs thumbnails /mnt/backups/live/media
              backupfs thumbnails /mnt/backups/snapshots/latest/media
            """)

    @OptionGroup var output: OutputOptions
    @Argument(
        help: ArgumentHelp("Mounted photos, and folders of them: MOUNT/live/media, or media of a backup.", valueName: "path"),
        completion: .file())
    var paths: [String]

    func run() throws {
        var runs: [ThumbnailRun] = []
        for path in paths { runs.append(try ThumbnailRun(path, mountpoint: try mountpoint(of: path))) }
        let report = ThumbnailReport(isJSON: output.json)
        let printer = ProgressPrinter(isJSON: output.json)
        let cancellation = Cancellation.current ?? Cancellation()
        var stop: BackupError?
        do throws(BackupError) {
            try CancellingSignals.run { () throws(BackupError) in
                try cancellation.run { () throws(BackupError) in
                    defer { printer.finish() }
                    let cache = try ThumbnailCache(path: ThumbnailCache.path())
                    for run in runs {
                        try run.run(into: cache, progress: printer.handler) { (result) throws(BackupError) in
                            try report.write(result)
                        }
                    }
                }
            }
        } catch {
            stop = error
        }
        report.writeSummary()
        if let stop { throw report.isPartlyDone && stop.code == .noSpace ? report.incomplete(stop) : stop }
        if report.failedCount > 0 { throw report.incomplete(nil) }
    }

    /// - Throws: `invalidArgument` for a path that is in no mount of this program; `notFound`.
    private func mountpoint(of path: String) throws(BackupError) -> String {
        guard try FileSystem.exists(path) else { throw BackupError(.notFound, "there is no such file or folder", path: path) }
        let real = try FileSystem.realPath(path)
        let cache = try FileSystem.realPath(ThumbnailCache.path())
        guard real != cache, !real.hasPrefix("\(cache)/") else {
            throw BackupError(.invalidArgument, "is in the cache of thumbnails itself, which gets none", path: path)
        }
        guard let entry = try MountTable.current().ownEntry(holding: real) else {
            throw BackupError(
                .invalidArgument, "is not in a folder that backupfs is mounted on", path: path,
                remedy: "Mount the store, and name a folder such as MOUNT/live/media or MOUNT/snapshots/latest/media.")
        }
        return entry.path
    }
}
