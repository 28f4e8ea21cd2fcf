import BackupCore
import Formats
import ObjectStorage
import Synchronization
import SystemIO

/// The photos in a bucket, or in a folder that is used as one. An object is never replaced: its name is that of its content.
public final class PhotoBucket: Sendable {
    /// In a folder, the metadata of an object is in a file beside it, with this after its name.
    static let metadataSuffix = ".metadata.json"
    static let catalogName = "catalog/catalog.jsonl"
    private static let documentLimitBytes = 1 << 20
    private static let sidecarLimitBytes = 4 << 20
    /// Each failed try means that another machine has written the document meanwhile.
    private static let documentTryLimit = 5
    /// Each failed try means that another machine has published its catalog meanwhile.
    private static let publishTryLimit = 20

    public let storage: any ObjectStorage
    private let busy = Monitor<Set<String>>([])

    public init(_ storage: any ObjectStorage) { self.storage = storage }

    /// Keeps other threads away from a content until `body` has ended: both would find that it is not there.
    func exclusively<Result>(_ md5: String, _ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        busy.wait(until: { !$0.contains(md5) }, { _ = $0.insert(md5) })
        defer { busy.changeWakingAll { _ = $0.remove(md5) } }
        return try body()
    }

    // MARK: Objects

    /// Whether the original is there.
    /// - Throws: `conflict` when something else has its name.
    public func isStored(_ key: PhotoKey, sizeBytes: UInt64, sha256: SHA256Digest) throws(BackupError) -> Bool {
        let name = try ObjectName.checked(key.text)
        guard let (facts, metadata) = try lookWithMetadata(name) else { return false }
        guard facts.sizeBytes == sizeBytes else { throw other(key) }
        // Two contents can be made that have one MD5.
        if let said = metadata.first(where: { $0.name == "sha256" })?.value {
            guard said == sha256.hexadecimal else { throw other(key) }
            return true
        }
        // Of another program: an MD5 is no proof, so only its bytes say.
        var hasher = SHA256Hasher()
        _ = try storage.read(name, range: nil) { (bytes) throws(BackupError) in hasher.update(bytes) }
        guard hasher.finish() == sha256 else { throw other(key) }
        return true
    }

    private func other(_ key: PhotoKey) -> BackupError {
        BackupError(
            .conflict, "another content has the name of this photo in the bucket; it was left as it is",
            path: "\(storage.location)/\(key.text)",
            remedy: "Look at that object. If it is damaged, remove it, and upload again with: backupfs star --upload")
    }

    /// Stores the original, unless it is there.
    /// - Returns: whether it was uploaded.
    func store(_ package: BackupPackage, now: Timestamp) throws(BackupError) -> Bool {
        if try isStored(package.key, sizeBytes: package.metadata.fileSize, sha256: package.sha256) {
            return false
        }
        var draft = ObjectDraft(
            source: package.originalData, sizeBytes: package.metadata.fileSize, sha256: package.sha256)
        draft.metadata = package.objectMetadata(now: now)
        do throws(BackupError) {
            try create(package.key.text, draft)
            return true
        } catch {
            // Another machine was faster.
            guard error.code == .alreadyExists,
                try isStored(package.key, sizeBytes: package.metadata.fileSize, sha256: package.sha256)
            else { throw error }
            return false
        }
    }

    /// Stores the thumbnail and the sidecar, unless they are there.
    func storeCompanions(_ package: BackupPackage) throws(BackupError) {
        if let thumbnail = package.thumbnailData {
            var draft = ObjectDraft(thumbnail)
            draft.metadata = [ObjectMetadata("source", "\(package.source.word)-thumbnail")]
            try createIfMissing(package.key.thumbnailText, draft)
        }
        // There may be more versions of it now.
        try write(package.key.sidecarText, package.sidecar, limitBytes: Self.sidecarLimitBytes)
    }

    /// Writes a document beside a photo. Other machines may write it at once; after some tries, theirs stays.
    private func write(_ text: String, _ document: [UInt8], limitBytes: Int) throws(BackupError) {
        _ = try change(.checked(text), limitBytes: limitBytes, tryLimit: Self.documentTryLimit) { _ in document }
    }

    /// Changes a document that other machines may change, too. If one has done so meanwhile, it begins again with theirs.
    /// - Parameter make: gets the present bytes, `nil` if there is no document, and returns the new ones.
    /// - Returns: the version that is there then; `nil` when others have changed it each time.
    private func change(
        _ name: ObjectName, limitBytes: Int, tryLimit: Int, _ make: ([UInt8]?) throws(BackupError) -> [UInt8]
    ) throws(BackupError) -> ObjectVersion? {
        for _ in 0..<tryLimit {
            let stored: (bytes: [UInt8], version: ObjectVersion)?
            do throws(BackupError) {
                stored = try storage.contents(of: name, limitBytes: limitBytes)
            } catch {
                // It was replaced while it was read.
                guard error.code == .conflict else { throw error }
                continue
            }
            let bytes = try make(stored?.bytes)
            do throws(BackupError) {
                guard let stored else { return try storage.create(name, ObjectDraft(bytes)) }
                if bytes == stored.bytes { return stored.version }
                return try storage.replace(name, version: stored.version, ObjectDraft(bytes))
            } catch {
                guard [.alreadyExists, .conflict, .notFound].contains(error.code) else { throw error }
            }
        }
        return nil
    }

    private func createIfMissing(_ text: String, _ draft: ObjectDraft) throws(BackupError) {
        if try storage.look(.checked(text)) != nil { return }
        do throws(BackupError) {
            try create(text, draft)
        } catch {
            guard error.code == .alreadyExists else { throw error }
        }
    }

    private func create(_ text: String, _ draft: ObjectDraft) throws(BackupError) {
        if !storage.keepsMetadata, !draft.metadata.isEmpty {
            // Before the object: one without it would look like that of another program.
            let document = OrderedJSON.object(draft.metadata.map { .init($0.name, $0.value) }).prettyText
            try write(text + Self.metadataSuffix, document, limitBytes: Self.documentLimitBytes)
        }
        _ = try storage.create(.checked(text), draft)
    }

    /// What is known of an object; `nil` if it certainly does not exist.
    public func lookWithMetadata(
        _ name: ObjectName
    ) throws(BackupError) -> (facts: ObjectFacts, metadata: [ObjectMetadata])? {
        if storage.keepsMetadata { return try storage.lookWithMetadata(name) }
        guard let facts = try storage.look(name) else { return nil }
        let beside = try ObjectName.checked(name.text + Self.metadataSuffix)
        guard let (bytes, _) = try storage.contents(of: beside, limitBytes: Self.documentLimitBytes),
            case .object(let members)? = OrderedJSON(parsing: bytes)
        else { return (facts, []) }
        return (facts, members.compactMap { member in member.value.textValue.map { ObjectMetadata(member.name, $0) } })
    }

    // MARK: The catalog

    /// The catalog in the bucket; empty if there is none.
    /// - Throws: `damagedContent` for a damaged one.
    public func catalog() throws(BackupError) -> PhotoCatalog {
        let name = try ObjectName.checked(Self.catalogName)
        guard let (bytes, version) = try storage.contents(of: name, limitBytes: PhotoCatalog.limitBytes) else {
            return PhotoCatalog()
        }
        var catalog = try parsed(bytes)
        catalog.setPublished(version)
        return catalog
    }

    private func parsed(_ bytes: [UInt8]?) throws(BackupError) -> PhotoCatalog {
        guard let bytes else { return PhotoCatalog() }
        return try PhotoCatalog(parsing: bytes, path: "\(storage.location)/\(Self.catalogName)")
    }

    /// Adds a catalog to the one in the bucket. Of several machines that do so at once, none loses what another has added, where
    /// the server can compare and swap.
    /// - Returns: the catalog that is in the bucket now.
    public func publish(_ catalog: PhotoCatalog) throws(BackupError) -> PhotoCatalog {
        if let published = try publishUnread(catalog) { return published }
        var merged = catalog
        let version = try changeCatalog { (stored) throws(BackupError) in
            // What is there keeps its order: machines would otherwise write it again in turn.
            merged = try catalog.wasRead(from: stored ?? []) ? catalog : parsed(stored).merging(catalog)
            return merged.encoded
        }
        merged.setPublished(version)
        return merged
    }

    /// Without reading the catalog again, which may have many megabytes, if no other machine has written it since.
    /// - Returns: `nil` when it has to be read.
    private func publishUnread(_ catalog: PhotoCatalog) throws(BackupError) -> PhotoCatalog? {
        guard let version = catalog.version else { return nil }
        let name = try ObjectName.checked(Self.catalogName)
        guard catalog.hasNews else { return try storage.look(name)?.version == version ? catalog : nil }
        do throws(BackupError) {
            var published = catalog
            published.setPublished(try storage.replace(name, version: version, ObjectDraft(catalog.encoded)))
            return published
        } catch {
            guard [.alreadyExists, .conflict, .notFound].contains(error.code) else { throw error }
            return nil
        }
    }

    private func changeCatalog(
        _ make: ([UInt8]?) throws(BackupError) -> [UInt8]
    ) throws(BackupError) -> ObjectVersion {
        let name = try ObjectName.checked(Self.catalogName)
        let version = try change(name, limitBytes: PhotoCatalog.limitBytes, tryLimit: Self.publishTryLimit, make)
        if let version { return version }
        throw BackupError(
            .conflict, "other machines change the catalog of photos all the time", path: "\(storage.location)/\(name)",
            remedy: "The photos are uploaded. Try again later with: backupfs star --upload")
    }

    /// Makes the catalog in the bucket again from the objects that are there. What the old one says of them is kept. If another
    /// machine changes the catalog meanwhile, it begins again: that machine may have added photos that were not listed yet.
    /// - Returns: also the names of objects that are no photos of this program.
    public func rebuildCatalog() throws(BackupError) -> (catalog: PhotoCatalog, unknown: [String]) {
        var rebuilt: (catalog: PhotoCatalog, unknown: [String]) = (PhotoCatalog(), [])
        _ = try changeCatalog { (stored) throws(BackupError) in
            rebuilt = try completed(PhotoCatalog())
            rebuilt.catalog.supplement(from: PhotoCatalog(readableLinesOf: stored ?? []))
            return rebuilt.catalog.encoded
        }
        return rebuilt
    }

    /// A catalog with the photos of the bucket that it lacks: it is published after them. Each of those costs a request.
    /// - Returns: also the names of objects that are no photos of this program.
    public func completed(_ known: PhotoCatalog) throws(BackupError) -> (catalog: PhotoCatalog, unknown: [String]) {
        var catalog = PhotoCatalog()
        var found: [CatalogEntry] = []
        var unknown: [String] = []
        var thumbnails: Set<String> = []
        try storage.forEachObject(prefix: "thumbnails/") { (facts) throws(BackupError) in thumbnails.insert(facts.name.text) }
        try storage.forEachObject(prefix: "\(PhotoKey.originalFolder)/") { (facts) throws(BackupError) in
            try Cancellation.check()
            if facts.name.text.hasSuffix(Self.metadataSuffix) { return }
            let key = PhotoKey(parsing: facts.name.text)
            if let key, let entry = known[key.md5], entry.key == key { return catalog.note(entry) }
            guard let key, let (_, metadata) = try lookWithMetadata(facts.name) else {
                unknown.append(facts.name.text)
                return
            }
            func value(_ name: String) -> String? { metadata.first { $0.name == name }?.value }
            var entry = CatalogEntry(
                key: key, size: facts.sizeBytes, dateTaken: value("date-taken-is-upload") == nil ? value("date-taken") : nil,
                fileModificationDate: value("file-modification-date").flatMap { ISO8601.parse($0) },
                originalFilenames: value("original-filename").map { [$0] } ?? [], source: value("source") ?? "directory",
                livePhotoPair: value("live-photo-pair"),
                thumbnailKey: thumbnails.contains(key.thumbnailText) ? key.thumbnailText : nil,
                uploadedAt: facts.storedAt)
            entry.sha256 = value("sha256").flatMap { SHA256Digest(hexadecimal: $0) }
            found.append(entry)
        }
        // One content may be under two names: that of the catalog has precedence.
        for entry in found { catalog.note(entry) }
        // Of a Live Photo, the part that was uploaded first does not name the other one.
        for entry in found { if let pair = entry.livePhotoPair { catalog.link(pair, to: entry.md5) } }
        // A photo that is in the catalog alone is lost, which must not be silent.
        for entry in known.entries where !catalog.has(entry.md5) { catalog.note(entry) }
        return (catalog, unknown)
    }
}
