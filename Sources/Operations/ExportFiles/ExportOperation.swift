import AppData
import BackupCore
import BackupRepository
import Formats
import Glibc
import SnapshotFormats
import SystemIO

/// Writes the live data, or a backup, as files that need no special program.
public struct ExportOperation: Sendable {
    /// What the file contains: the records alone, everything as an archive, or the photos as a page.
    public enum Form: Sendable {
        case json, archive(ArchiveFormat)
        /// One HTML file with the small pictures in it.
        case htmlGallery
        /// A PDF with the same.
        case pdfCatalog

        fileprivate var name: String {
            switch self {
            case .json: "json"
            case .archive(let format): format == .tar ? "tar" : "zip"
            case .htmlGallery: "html"
            case .pdfCatalog: "pdf"
            }
        }
    }

    private enum Content {
        case table(ExtentTable)
        /// The live records, straight from the database.
        case records
        case pages(PhotoPages)

        var sizeBytes: UInt64? { if case .table(let table) = self { table.size } else { nil } }
    }

    private let store: Store
    private let snapshotName: String?
    private let progress: ExportProgress

    /// - Parameters:
    ///   - snapshotName: `nil` for the live data.
    ///   - progress: receives the progress.
    public init(store: Store, snapshotName: String?, progress: ProgressHandler? = nil) {
        self.progress = ExportProgress(progress)
        self.store = store
        self.snapshotName = snapshotName
    }

    /// Writes a file, completely or not at all. Writes directly to a device or pipe.
    /// - Parameter path: if `nil`, the app's own file name in the current folder.
    /// - Returns: the path.
    /// - Throws: `usage` for a path that is the app's database or another database, or is in the store, the repository or the
    ///   media folder.
    @discardableResult
    public func write(_ form: Form, to path: String?) throws(BackupError) -> String {
        try recorded(form.name) { (facts) throws(BackupError) in
            let path = try reading { () throws(BackupError) in try write(form, to: path, &facts) }
            if facts.sizeBytes == nil { facts.sizeBytes = FileSystem.statusIfPresent(path)?.size }
            return path
        }
    }

    /// Live data must not mix the states before and after a restore. A backup never changes.
    private func reading<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        try snapshotName == nil ? store.readingWholeData(body) : body()
    }

    private func recorded<Result>(
        _ format: String, _ body: (inout OperationFacts) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try store.recorded(.export) { (facts) throws(BackupError) in
            facts.format = format
            // Records the backup's real name, and nothing for a name that matches no backup.
            facts.snapshot = snapshotName.flatMap { try? store.anySnapshot(named: $0).name.description }
            return try body(&facts)
        }
    }

    private func write(_ form: Form, to path: String?, _ facts: inout OperationFacts) throws(BackupError) -> String {
        if let path, let status = FileSystem.statusIfPresent(path), status.kind != .regular {
            let (content, _) = try content(form, isStreamed: true)
            facts.sizeBytes = content.sizeBytes
            try put(content, form, into: OwnedDescriptor.open(path, O_WRONLY), &facts)
            progress.enter(.end)
            return path
        }
        if let path { try store.requireWritable(path) }
        let (content, time) = try content(form)
        let target = path ?? defaultName(form, time)
        if path == nil { try store.requireWritable(target) }
        let draft = "\(target).part-\(RandomToken.make())"
        do {
            let file = try OwnedDescriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL)
            if case .records = content {
                let sink = DescriptorSink(file)
                try writeRecords(createdAt: time, to: sink)
                try sink.synchronize()
            } else {
                try put(content, form, into: file, &facts)
                try file.synchronize()
            }
            try FileSystem.rename(draft, to: target)
            try FileSystem.synchronizeDirectory(FileSystem.parentPath(target))
        } catch {
            unlink(draft)
            if error.path == store.database.path { throw error }
            throw error.with(path: target)
        }
        progress.enter(.end)
        return target
    }

    /// Everything but live records.
    private func put(
        _ content: Content, _ form: Form, into file: borrowing OwnedDescriptor, _ facts: inout OperationFacts
    ) throws(BackupError) {
        switch content {
        case .table(let table): try copy(table) { (bytes) throws(BackupError) in try file.writeAll(bytes) }
        case .pages(let pages):
            progress.update(always: true) { $0[.writing].totalItems = UInt64(pages.count) }
            facts.fileCount = UInt64(pages.count)
            if case .pdfCatalog = form {
                facts.sizeBytes = try CataloguePages(pages: pages).write(to: file, progress)
            } else {
                var gallery = GalleryPage(pages)
                facts.sizeBytes = try gallery.write(to: file, progress)
            }
        case .records: break
        }
    }

    private func copy(
        _ table: ExtentTable, _ write: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        progress.update(always: true) { $0[.writing].totalBytes = table.size }
        try store.repository.copy(table) { (bytes) throws(BackupError) in
            try write(bytes)
            progress.update { $0[.writing].processedBytes += UInt64(bytes.count) }
        }
    }

    /// - Parameter descriptor: stays open.
    public func write(_ form: Form, toDescriptor descriptor: Int32) throws(BackupError) {
        try recorded(form.name) { (facts) throws(BackupError) in
            try reading { () throws(BackupError) in
                let (content, _) = try content(form, isStreamed: true)
                facts.sizeBytes = content.sizeBytes
                try put(content, form, into: OwnedDescriptor(owning: dup(descriptor), path: "standard output"), &facts)
            }
            progress.enter(.end)
        }
    }

    /// One CSV file for each collection (RFC 4180).
    /// - Returns: the files' paths.
    public func writeCSV(to folder: String) throws(BackupError) -> [String] {
        try recorded("csv") { (facts) throws(BackupError) in
            let paths = try reading { () throws(BackupError) in try writeFiles(to: folder) }
            facts.fileCount = UInt64(paths.count)
            facts.sizeBytes = paths.reduce(0) { $0 + (FileSystem.statusIfPresent($1)?.size ?? 0) }
            return paths
        }
    }

    private func writeFiles(to folder: String) throws(BackupError) -> [String] {
        try store.requireWritable(folder)
        for collection in store.definition.collections { try store.requireWritable("\(folder)/\(collection.name).csv") }
        guard let snapshotName else { return try writeCSV(of: store.database, to: folder) }
        // A backup's rows come from its database: they equal its export, and are read as the live rows are.
        let root = try store.repository.rootDirectory(of: store.anySnapshot(named: snapshotName))
        let stored = root.entry(named: "media")?.storedDirectory
        let media = store.definition.describesMedia ? stored.map { StoredMediaCatalog($0, in: store.repository) } : nil
        guard let entry = root.entry(named: "database.sqlite") else {
            throw BackupError(.notFound, "the backup has no database", path: snapshotName)
        }
        let table = try store.repository.extents(of: entry.content)
        return try store.withWorkFolder { (work) throws(BackupError) in
            let path = "\(work)/database.sqlite"
            let copy = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
            try store.repository.copy(table) { (bytes) throws(BackupError) in try copy.writeAll(bytes) }
            let database = AppDatabase(at: path, definition: store.definition, media: media)
            try database.check()
            return try writeCSV(of: database, to: folder)
        }
    }

    private func writeCSV(of database: AppDatabase, to folder: String) throws(BackupError) -> [String] {
        try database.readSnapshot { (snapshot) throws(BackupError) in
            try CSVWriter().write(snapshot, toFolder: folder).map(\.path)
        }
    }

    /// Live records are written directly from the database to a file, without a rendering that nothing else reads. Only where the
    /// app's writers do not wait for readers, since a disk may be slow. Not into pipes, since their readers may be slow.
    private func content(_ form: Form, isStreamed: Bool = false) throws(BackupError) -> (Content, Timestamp) {
        switch form {
        case .htmlGallery, .pdfCatalog:
            let pages = try PhotoPages(of: store, snapshotName: snapshotName)
            return (.pages(pages), pages.time)
        case .json, .archive: break
        }
        if snapshotName == nil, !isStreamed, case .json = form {
            try store.database.check()
            if try store.database.readersLetWritersPass() { return (.records, SystemClock.now()) }
        }
        let (table, time) = try table(form)
        return (.table(table), time)
    }

    private func writeRecords(createdAt: Timestamp, to sink: DescriptorSink) throws(BackupError) {
        try store.database.readSnapshot { (snapshot) throws(BackupError) in
            _ = try WireWriter().write(snapshot, createdAt: createdAt.wholeSeconds, to: sink)
        }
    }

    private func table(_ form: Form) throws(BackupError) -> (ExtentTable, Timestamp) {
        var archive: ArchiveFormat?
        if case .archive(let format) = form { archive = format }
        let name = archive?.fileName ?? "export.json"
        guard let snapshotName else {
            let view = try LiveData(store: store, readsMedia: archive != nil).view()
            guard let entry = try view.entry(at: [name]) else { throw BackupError(.notFound, "there is no live data") }
            return (try entry.content.table(), SystemClock.now())
        }
        let snapshot = try store.anySnapshot(named: snapshotName)
        let records = try SnapshotRecords(of: snapshot, in: store.repository, for: store)
        if let archive {
            let table = try SnapshotArchive.table(of: snapshot, archive, with: records.rendered, in: store.repository)
            return (table, snapshot.creationTime)
        }
        return (try records.export(), snapshot.creationTime)
    }

    private func defaultName(_ form: Form, _ time: Timestamp) -> String {
        let name = store.definition.fileNames.export.name(at: time)
        let endings = [".json", ".zip"]
        let stem = endings.first { name.hasSuffix($0) }.map { name.dropLast($0.count) } ?? name[...]
        switch form {
        case .json: return name.hasSuffix(".zip") ? stem + ".json" : name
        case .archive(let format): return stem.count == name.count ? name : stem + (format == .tar ? ".tar" : ".zip")
        case .htmlGallery: return stem + ".html"
        case .pdfCatalog: return stem + ".pdf"
        }
    }
}
