import ArgumentParser
import BackupCore
import CopyVerify
import SystemIO

struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy a folder to several places at once, and prove that every byte arrived.",
        discussion: """
            What is in SRC is copied into each DEST. The source is read once; each destination is written at its own pace and read back. \
            A file gets its name only after it was verified. Nothing that exists is overwritten. A destination that fails is left out, and \
            the others go on. Ctrl-C stops the job; --resume continues it, also after a crash. The exit code is 3 if some copies failed, and 1 if all did.

            Example:
              backupfs copy /media/card /mnt/a /mnt/b
              backupfs copy --verify paranoid --hidden /media/card /mnt/a/card-1
              backupfs copy --label prefix --label-numbering /media/A001 /mnt/a /mnt/b
              backupfs copy --manifest ascmhl /media/card /mnt/a/A001 /mnt/b/A001
              backupfs copy --resume 2026-01-11_14-30-00-1f2e3d
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Option(
        name: .long,
        help: ArgumentHelp(
            "quick (the size), standard (SHA-256), thorough (and MD5), or paranoid (byte for byte, and SHA-1 too).",
            valueName: "mode"))
    var verify: VerificationMode?
    @Flag(name: .long, help: "Copy names that begin with a dot, too.")
    var hidden = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "If another file has the name: refuse (that file is not copied) or rename (NAME-2.ext).", valueName: "policy"))
    var onConflict: ConflictPolicy?
    @OptionGroup var labels: LabelOptions
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Compute this digest too: sha256, xxh128, md5, sha1, c4, xxh64 or xxh3. Can be repeated.", valueName: "algorithm"))
    var hash: [HashAlgorithm] = []
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write a list of checksums into each destination: sha256sums, bagit (the copies are in data/ then) or ascmhl. Can be repeated.",
            valueName: "kind"))
    var manifest: [ManifestKind] = []
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Compare the source with the lists of checksums in its folder (auto), with this one, or with none (off).",
            valueName: "auto|off|file"),
        completion: .file())
    var verifySource: String?
    @Option(
        name: .long, help: ArgumentHelp("Continue this job: its ID, or its folder.", valueName: "job"), completion: .job)
    var resume: String?
    @OptionGroup var reports: CopyReportOptions
    @Argument(
        help: ArgumentHelp("The folder to copy, and then the folders that get the copies.", valueName: "folder"),
        completion: .directory)
    var folders: [String] = []

    func validate() throws {
        if resume != nil {
            guard folders.isEmpty else { throw ValidationError("--resume knows the folders of the job: name none.") }
            let isBare = verify == nil && !hidden && onConflict == nil && labels.label == nil && hash.isEmpty && manifest.isEmpty
            guard isBare, verifySource == nil else {
                throw ValidationError(
                    "--resume continues the job with its own options: give none. For others, begin a new copy: what is there is not copied again."
                )
            }
        } else if folders.count < 2 {
            throw ValidationError("Name the folder to copy, and then each folder that gets a copy.")
        }
        if manifest.contains(.bagit), Set(manifest).count > 1 || labels.label != nil {
            throw ValidationError("A bag has its own list and folder: --manifest bagit cannot be combined, nor with --label.")
        }
        if !manifest.isEmpty, verify == .quick {
            throw ValidationError(
                "A list of checksums is of copies that were read back: choose another mode than --verify quick.")
        }
    }

    func run() throws {
        DescriptorLimit.raise()
        Malloc.limitArenas()
        let place = try JobPlace.resolve(store)
        store.wait?.begin()
        let settings = JobPlace.reportSettingsOrNone(store)
        let besides = resume.map { JobPlace.folders(ofJob: $0, in: place) } ?? folders
        let runner = try CopyRunner(isJSON: output.json, log: JobPlace.log(store, besides: besides)) {
            reports.preferences($0 ?? settings)
        }
        if let resume { return try runner.resume(resume, in: place) }
        let paths = folders.map(FileSystem.absolutePath)
        let options = CopyOptions(
            verification: verify ?? .standard, includesHidden: hidden, conflicts: onConflict ?? .refuse, label: labels.settings,
            hashes: Set(hash), manifests: Set(manifest),
            sourceVerification: SourceVerification(verifySource ?? "auto"))
        let destinations = paths.dropFirst().map { manifest.contains(.bagit) ? CopyOptions.payloadOfBag($0) : $0 }
        try runner.begin(paths[0], destinations, options, in: place)
    }
}
