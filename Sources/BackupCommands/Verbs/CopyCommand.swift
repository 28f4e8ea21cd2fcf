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
    var verify: VerificationMode = .standard
    @Flag(name: .long, help: "Copy names that begin with a dot, too.")
    var hidden = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "If another file has the name: refuse (that file is not copied) or rename (NAME-2.ext).", valueName: "policy"))
    var onConflict: ConflictPolicy = .refuse
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
    var verifySource = "auto"
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
            guard labels.label == nil else { throw ValidationError("--resume knows the label of the job: give none.") }
        } else if folders.count < 2 {
            throw ValidationError("Name the folder to copy, and then each folder that gets a copy.")
        }
        if manifest.contains(.bagit), Set(manifest).count > 1 || labels.label != nil {
            throw ValidationError("A bag has its own list and folder: --manifest bagit cannot be combined, nor with --label.")
        }
        if manifest.contains(.bagit), Set(manifest).count > 1 {
            throw ValidationError("A bag has its own list of checksums: --manifest bagit cannot be combined.")
        }
    }

    func run() throws {
        DescriptorLimit.raise()
        Malloc.limitArenas()
        let place = try JobPlace.resolve(store)
        store.wait?.begin()
        let settings = JobPlace.reportSettingsOrNone(store)
        let runner = CopyRunner(isJSON: output.json) { reports.preferences($0 ?? settings) }
        if let resume { return try runner.resume(resume, in: place) }
        let paths = folders.map(FileSystem.absolutePath)
        let options = CopyOptions(
            verification: verify, includesHidden: hidden, conflicts: onConflict, label: labels.settings,
            hashes: Set(hash), manifests: Set(manifest),
            sourceVerification: SourceVerification(verifySource))
        let destinations = paths.dropFirst().map { manifest.contains(.bagit) ? CopyOptions.payloadOfBag($0) : $0 }
        try runner.begin(paths[0], destinations, options, in: place)
    }
}
