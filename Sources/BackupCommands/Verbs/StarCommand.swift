import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import Photos
import SystemIO

struct StarCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "star",
        abstract: "Star photos of the app's media folder, and upload them.",
        discussion: """
            Each starred photo is uploaded to the remote of kind photos, under the name of its content: the same photo is stored once, \
            and what is there is never replaced. Of a Live Photo, both parts are starred. What is interrupted goes on at the next run, \
            and in the mount.

            Example:
              backupfs remote add photos s3:https://s3.example.org/photos --kind photos
              backupfs star Photos/IMG_0001.HEIC
              backupfs star --rule 'camera=Canon*' --rule 'date>=2024-06-01'
              backupfs star --list --json | jq -r '.[] | [.path, .stage] | @tsv'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Photos and videos in the media folder.", valueName: "file"), completion: .file())
    var files: [String] = []
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Star what fulfils this rule: camera=, date>=, path=, rating>=, keyword= or type=. Of several rules, all must hold.",
            valueName: "rule"))
    var rule: [String] = []
    @Option(
        name: .long,
        help: ArgumentHelp("Star what had a star when this backup was made.", valueName: "backup"),
        completion: .snapshot)
    var fromBackup: String?
    @Flag(name: .long, help: "List all stars, with how far their uploads are.")
    var list = false
    @Flag(name: .long, help: "Upload what waits, also what has failed before.")
    var upload = false
    @Flag(name: .long, help: "Do not upload now: a mount of the store does, or the next run.")
    var noWait = false
    @Flag(name: .long, help: "Make the catalog in the bucket again from the photos that are there.")
    var rebuildCatalog = false

    func validate() throws {
        let isStarring = !files.isEmpty || !rule.isEmpty || fromBackup != nil
        let count = [isStarring, list, upload, rebuildCatalog].count { $0 }
        guard count == 1 else {
            throw ValidationError("Give files, --rule or --from-backup, or one of --list, --upload and --rebuild-catalog.")
        }
        if [!files.isEmpty, !rule.isEmpty, fromBackup != nil].count(where: { $0 }) > 1 {
            throw ValidationError("Give either files, --rule or --from-backup.")
        }
        if noWait, !isStarring { throw ValidationError("--no-wait is for new stars.") }
    }

    func run() throws {
        let rules = try rule.map { text throws(BackupError) in try PhotoRule(parsing: text) }
        let store = try store.open()
        let stars = try StarredPhotos(store)
        if list { return try show(stars) }
        if rebuildCatalog { return try rebuild(store) }
        var failure: BackupError?
        if let fromBackup {
            failure = try star(store.snapshot(named: fromBackup), store, stars)
        } else if !upload {
            failure = rules.isEmpty ? try star(files, stars) : try star(rules, stars)
        }
        // The stars are kept without a remote, too.
        if upload || !noWait { try PhotoUploadReport(isJSON: output.json).run(store, mustRun: upload) }
        if let failure { throw failure }
    }

    /// - Returns: the error for files that could not be starred; the others are.
    private func star(_ files: [String], _ stars: StarredPhotos) throws(BackupError) -> BackupError? {
        var failures: [BackupError] = []
        for file in files {
            do throws(BackupError) {
                for change in try stars.star(stars.folder.relativePath(of: file)) {
                    StarReport.write(change, isJSON: output.json)
                }
            } catch {
                guard error.code != .interrupted, error.code != .noSpace else { throw error }
                failures.append(error)
            }
        }
        guard let first = failures.first else { return nil }
        return failures.count == 1 ? first : first.with(findings: failures.map(\.summary))
    }

    private func star(_ rules: [PhotoRule], _ stars: StarredPhotos) throws(BackupError) -> BackupError? {
        var (count, failures) = (0, [BackupError]())
        let cancellation = Cancellation.current ?? Cancellation()
        try CancellingSignals.run { () throws(BackupError) in
            try cancellation.run { () throws(BackupError) in
                try PhotoSearch(stars.folder, rules).run {
                    failures.append($0)
                } found: { (path) throws(BackupError) in
                    for change in try stars.star(path) {
                        StarReport.write(change, isJSON: output.json)
                        count += 1
                    }
                }
            }
        }
        if count == 0, !output.json { Terminal.writeUnlessQuiet("No photo fulfils the rules.") }
        guard !failures.isEmpty else { return nil }
        return BackupError(
            .sourceUnreadable, "some files could not be read", path: failures[0].path, findings: failures.map(\.summary))
    }

    /// - Returns: the error for photos that are not there any more, or that could not be starred; the others are.
    private func star(_ snapshot: Snapshot, _ store: Store, _ stars: StarredPhotos) throws(BackupError) -> BackupError? {
        var count = 0
        let (missing, failures) = try stars.star(from: snapshot, in: store.repository) { change in
            StarReport.write(change, isJSON: output.json)
            count += 1
        }
        if count == 0, missing.isEmpty, failures.isEmpty, !output.json {
            Terminal.writeUnlessQuiet("No photo had a star in this backup.")
        }
        if let first = failures.first {
            let findings = failures.map(\.summary) + missing.map { .verbatim($0) }
            return findings.count == 1 ? first : first.with(findings: findings)
        }
        guard !missing.isEmpty else { return nil }
        return BackupError(
            .notFound, "some photos that had a star are not in the media folder", path: missing[0],
            remedy: "Restore them first.", findings: missing.map { .verbatim($0) })
    }

    private func show(_ stars: StarredPhotos) throws(BackupError) {
        var damaged: [BackupError] = []
        let items = try stars.all { damaged.append($0) }
        if output.json {
            Terminal.write(json: .array(items.map(StarReport.json)))
        } else if items.isEmpty {
            Terminal.writeUnlessQuiet("No photo is starred. Star one with: backupfs star FILE")
        } else {
            Terminal.write(
                verbatim: Table.text(
                    ["Photo", "State", "Object"], items.map { [$0.path, $0.stage.text, $0.content?.key.text ?? ""] }))
        }
        if let first = damaged.first { throw damaged.count == 1 ? first : first.with(findings: damaged.map(\.summary)) }
    }

    private func rebuild(_ store: Store) throws(BackupError) {
        let (count, unknown) = try PhotoUpload(store: store).rebuildCatalog()
        if output.json {
            return Terminal.write(jsonLine: ["message_type": "catalog_rebuilt", "photos": count, "unknown": unknown])
        }
        Terminal.writeUnlessQuiet(
            .plural(
                count, one: "The catalog has \(count) photo.", other: "The catalog has \(count) photos."))
        for name in unknown { Terminal.writeUnlessQuiet("This object is no photo, and was left alone: \(name)") }
    }
}

struct UnstarCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unstar",
        abstract: "Take stars away from photos.",
        discussion: """
            What waits for its upload is not uploaded any more. What is uploaded stays in the bucket. Of a Live Photo, both parts lose \
            their stars.

            Example:
              backupfs unstar Photos/IMG_0001.HEIC
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Photos and videos in the media folder.", valueName: "file"), completion: .file())
    var files: [String]

    func run() throws {
        let stars = try StarredPhotos(try store.open())
        for file in files {
            for change in try stars.unstar(stars.folder.relativePath(of: file), acceptsBackups: true) {
                StarReport.write(change, isJSON: output.json)
            }
        }
    }
}
