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
    func isStored(_ key: PhotoKey, sizeBytes: UInt64, sha256: SHA256Digest) throws(BackupError) -> Bool {
        let name = try ObjectName.checked(key.text)
        guard let (facts, metadata) = try lookWithMetadata(name) else { return false }
        guard facts.sizeBytes == sizeBytes else { throw other(key) }
        // Two contents can be made that have one MD5.
        if let said = metadata.first(where: { $0.name == "sha256" })?.value {
            guard said == sha256.hexadecimal else { throw other(key) }
        }
        let said = metadata.first { $0.name == "md5" }?.value ?? facts.version.text
        if said == key.md5 { return true }
        // Of another program, perhaps uploaded in parts: only its bytes say.
        var hasher = MD5Hasher()
        _ = try storage.read(name, range: nil) { (bytes) throws(BackupError) in hasher.update(bytes) }
        guard hasher.finish().hexadecimal == key.md5 else { throw other(key) }
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
        let name = try ObjectName.checked(package.key.sidecarText)
        guard let (bytes, version) = try storage.contents(of: name, limitBytes: 4 << 20) else {
            return try createIfMissing(package.key.sidecarText, ObjectDraft(package.sidecar))
        }
        // There may be more versions of it now.
        guard bytes != package.sidecar else { return }
        _ = try storage.replace(name, version: version, ObjectDraft(package.sidecar))
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
            let name = try ObjectName.checked(text + Self.metadataSuffix)
            if let (bytes, version) = try storage.contents(of: name, limitBytes: Self.documentLimitBytes) {
                if bytes != document { _ = try storage.replace(name, version: version, ObjectDraft(document)) }
            } else {
                _ = try storage.create(name, ObjectDraft(document))
            }
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
    public func catalog() throws(BackupError) -> PhotoCatalog { try storedCatalog()?.catalog ?? PhotoCatalog() }

    private func storedCatalog() throws(BackupError) -> (catalog: PhotoCatalog, bytes: [UInt8], version: ObjectVersion)? {
        let name = try ObjectName.checked(Self.catalogName)
        guard let (bytes, version) = try storage.contents(of: name, limitBytes: PhotoCatalog.limitBytes) else { return nil }
        return (try PhotoCatalog(parsing: bytes, path: "\(storage.location)/\(name)"), bytes, version)
    }

    /// Adds a catalog to the one in the bucket. Of several machines that do so at once, none loses what another has added, where
    /// the server can compare and swap.
    /// - Parameter replacing: whether the one in the bucket is lost or damaged, and is not read.
    /// - Returns: the catalog that is in the bucket now.
    public func publish(_ catalog: PhotoCatalog, replacing: Bool = false) throws(BackupError) -> PhotoCatalog {
        let name = try ObjectName.checked(Self.catalogName)
        for _ in 0..<Self.publishTryLimit {
            var merged = catalog
            do throws(BackupError) {
                if replacing, let facts = try storage.look(name) {
                    _ = try storage.replace(name, version: facts.version, ObjectDraft(merged.encoded))
                } else if let stored = try storedCatalog() {
                    // What is there keeps its order: machines would otherwise write it again in turn.
                    merged = stored.catalog
                    merged.merge(catalog)
                    let bytes = merged.encoded
                    guard bytes != stored.bytes else { return merged }
                    _ = try storage.replace(name, version: stored.version, ObjectDraft(bytes))
                } else {
                    _ = try storage.create(name, ObjectDraft(merged.encoded))
                }
                return merged
            } catch {
                guard [.alreadyExists, .conflict, .notFound].contains(error.code) else { throw error }
            }
        }
        throw BackupError(
            .conflict, "other machines change the catalog of photos all the time", path: "\(storage.location)/\(name)",
            remedy: "The photos are uploaded. Try again later with: backupfs star --upload")
    }

    /// Makes the catalog from the objects that are there. It costs a request for each photo.
    /// - Returns: also the names of objects that are no photos of this program.
    public func rebuiltCatalog() throws(BackupError) -> (catalog: PhotoCatalog, unknown: [String]) {
        var catalog = PhotoCatalog()
        var unknown: [String] = []
        var thumbnails: Set<String> = []
        try storage.forEachObject(prefix: "thumbnails/") { (facts) throws(BackupError) in thumbnails.insert(facts.name.text) }
        try storage.forEachObject(prefix: "\(PhotoKey.originalFolder)/") { (facts) throws(BackupError) in
            try Cancellation.check()
            if facts.name.text.hasSuffix(Self.metadataSuffix) { return }
            guard let key = PhotoKey(parsing: facts.name.text), let (_, metadata) = try lookWithMetadata(facts.name) else {
                unknown.append(facts.name.text)
                return
            }
            func value(_ name: String) -> String? { metadata.first { $0.name == name }?.value }
            catalog.note(
                CatalogEntry(
                    key: key, size: facts.sizeBytes, dateTaken: value("date-taken-is-upload") == nil ? value("date-taken") : nil,
                    fileModificationDate: value("file-modification-date").flatMap { ISO8601.parse($0) },
                    originalFilenames: value("original-filename").map { [$0] } ?? [], source: value("source") ?? "directory",
                    livePhotoPair: value("live-photo-pair"),
                    thumbnailKey: thumbnails.contains(key.thumbnailText) ? key.thumbnailText : nil,
                    uploadedAt: facts.storedAt))
        }
        return (catalog, unknown)
    }
}
