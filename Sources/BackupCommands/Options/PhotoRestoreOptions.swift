import ArgumentParser
import BackupCore
import Operations
import Photos
import SystemIO

/// The options of `restore --from-photos`.
struct PhotoRestoreOptions: ParsableArguments {
    @Flag(name: .long, help: "Write starred photos from their bucket into the folder --target.")
    var fromPhotos = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The place of the photos (default: the store's remote of kind photos). No store is needed then.", valueName: "url"))
    var url: String?
    @Option(name: .long, help: ArgumentHelp("Only photos of this month or year, such as 2024/06.", valueName: "month"))
    var month: String?
    @Option(name: .long, help: ArgumentHelp("Only the photo with this MD5. Can be repeated.", valueName: "md5"))
    var md5: [String] = []
    @Flag(name: .long, help: "Put all photos into one folder, instead of one for each month.")
    var flat = false
    @OptionGroup(title: "How the server of --url is reached") var access: RemoteAccessOptions

    init() {}

    func validate(source: String?, target: String?) throws {
        guard fromPhotos else {
            if url != nil || month != nil || !md5.isEmpty || flat {
                throw ValidationError("--url, --month, --md5 and --flat need --from-photos.")
            }
            return
        }
        if source != nil { throw ValidationError("With --from-photos, no file and no backup is restored.") }
        if target == nil { throw ValidationError("--from-photos needs --target.") }
        if let month, !PhotoKey.isMonth(month), !PhotoKey.isMonth("\(month)/01") {
            throw ValidationError("Write the month as 2024/06, or a year as 2024.")
        }
        for text in md5 where !PhotoKey.isMD5(text) {
            throw ValidationError("An MD5 has 32 digits, 0 to 9 and a to f.")
        }
    }

    func restore(_ store: StoreOptions, _ remote: RemoteCopyOption, to target: String, isJSON: Bool) throws {
        var options = PhotoRestore.Options()
        options.month = month
        options.md5s = Set(md5)
        options.isFlat = flat
        let source: PhotoRestoreSource
        if let url {
            var settings = try RemoteSettings(name: "photos", url: RemotePlace.url(url))
            try access.apply(to: &settings)
            try settings.check()
            source = try PhotoRestoreSource(settings)
        } else {
            try access.requireNone(because: "the settings of the remote say how it is reached")
            source = try PhotoRestoreSource(storeAt: store.path(), remote: remote.remote)
        }
        let printer = ProgressPrinter(isJSON: isJSON)
        let target = FileSystem.absolutePath(target)
        let cancellation = Cancellation.current ?? Cancellation()
        let report = try CancellingSignals.run { () throws(BackupError) in
            defer { printer.finish() }
            return try cancellation.run { () throws(BackupError) in
                try PhotoRestore(from: source.bucket, to: target, options).run(progress: printer.handler)
            }
        }
        write(report, target, isJSON)
        for name in report.missing where !isJSON { Terminal.writeError("This photo is not in the bucket: \(name)") }
        if let first = report.failures.first {
            throw BackupError(
                .damagedContent, "some photos could not be restored, and nothing was written of them: \(first.message)",
                path: first.path, findings: report.failures.map(\.summary))
        }
        guard let first = report.missing.first else { return }
        throw BackupError(.notFound, "there is no photo with this MD5 in the bucket", path: first)
    }

    private func write(_ report: PhotoRestore.Report, _ target: String, _ isJSON: Bool) {
        if isJSON {
            return Terminal.write(
                jsonLine: [
                    "message_type": "photos_restored", "target": target, "written": report.writtenCount,
                    "bytes": report.writtenBytes, "present": report.presentCount, "failed": report.failures.count,
                    "missing": report.missing, "without_catalog": report.isWithoutCatalog,
                ])
        }
        if report.isWithoutCatalog {
            Terminal.writeError("The bucket has no readable catalog of photos, so its objects were asked one by one.")
        }
        let size = ByteCount.text(report.writtenBytes)
        Terminal.writeUnlessQuiet(
            .plural(
                report.writtenCount, one: "Restored \(report.writtenCount) photo, \(size), to \(target).",
                other: "Restored \(report.writtenCount) photos, \(size), to \(target)."))
        guard report.presentCount > 0 else { return }
        Terminal.writeUnlessQuiet(
            .plural(
                report.presentCount, one: "\(report.presentCount) photo was there already.",
                other: "\(report.presentCount) photos were there already."))
    }
}
