import BackupCore
import SystemIO

extension ObjectDraft {
    /// Of bytes in memory.
    public init(_ bytes: [UInt8]) {
        self.init(source: BytesSource(bytes), sizeBytes: UInt64(bytes.count), sha256: SHA256Hasher.hash(bytes))
    }

    /// Of a file that does not change, which is read once for its checksum.
    public init(_ file: SharedFile) throws(BackupError) {
        var crc32: UInt32 = 0
        let sha256 = try file.sha256 { crc32 = CRC32.update(crc32, $0) }
        self.init(source: file, sizeBytes: file.size, sha256: sha256, crc32: crc32)
    }
}

extension ObjectStorage {
    /// The bytes and the version of a small object; `nil` if it certainly does not exist.
    /// - Parameter limitBytes: a larger object is an error, and is not read to its end.
    /// - Throws: `tooLarge`; as `read`.
    public func contents(
        of name: ObjectName, limitBytes: Int
    ) throws(BackupError) -> (bytes: [UInt8], version: ObjectVersion)? {
        var bytes: [UInt8] = []
        do throws(BackupError) {
            let facts = try read(name, range: nil) { (part) throws(BackupError) in
                guard bytes.count + part.count <= limitBytes else {
                    throw BackupError(.tooLarge, "the object is larger than \(limitBytes) bytes", path: "\(location)/\(name)")
                }
                bytes += part
            }
            return (bytes, facts.version)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// Calls `body` with each object below a prefix, in the order of the names.
    public func forEachObject(
        prefix: String = "", _ body: (ObjectFacts) throws(BackupError) -> Void
    ) throws(BackupError) {
        try forEachObject(prefix: prefix, after: nil) { (facts) throws(BackupError) in
            try body(facts)
            return true
        }
    }

    /// Calls `body` with each object below a prefix, in the order of the names.
    /// - Parameters:
    ///   - previous: only names after this one; `nil` from the start.
    ///   - firstPageSize: how many objects are listed at first at most; `nil` for as many as later.
    ///   - pageSize: how many objects are listed at once at most.
    ///   - body: returns whether to go on.
    public func forEachObject(
        prefix: String = "", after previous: ObjectName?, firstPageSize: Int? = nil, pageSize: Int = .max,
        _ body: (ObjectFacts) throws(BackupError) -> Bool
    ) throws(BackupError) {
        var last = previous
        var limit = firstPageSize ?? pageSize
        while true {
            let page = try list(prefix: prefix, after: last, limit: limit)
            limit = pageSize
            for object in page.objects {
                // A server that answers the same page again would otherwise be asked for ever.
                if let last, object.name <= last {
                    throw BackupError(
                        .inputOutput, "the listing is not in order: “\(object.name)” comes after “\(last)”", path: location)
                }
                last = object.name
                guard try body(object) else { return }
            }
            guard page.hasMore else { return }
            guard !page.objects.isEmpty else { throw hasNoNames }
        }
    }

    /// The error for a page without objects after which there are more.
    public var hasNoNames: BackupError {
        BackupError(.inputOutput, "the listing says that there is more, but has no names", path: location)
    }
}
