import BackupRepository

/// The size of a backup as people know it: that of the app's database and of its media, whatever was rendered of them and stored
/// beside them.
extension Snapshot {
    /// The attribute with that size in bytes. Snapshots of older programs lack it.
    static let dataSizeAttribute = "data-size"

    /// In bytes. Of a snapshot of an older program, it is the size of all files in it.
    public var dataSizeBytes: UInt64 { recordedDataSizeBytes ?? record.root.totals.byteCount }

    fileprivate var recordedDataSizeBytes: UInt64? { record.attributes[Self.dataSizeAttribute].flatMap { UInt64($0) } }
}

extension Repository {
    /// The same, and of a snapshot of an older program as its folder says.
    public func dataSizeBytes(of snapshot: Snapshot) -> UInt64 {
        if let recorded = snapshot.recordedDataSizeBytes { return recorded }
        return (try? rootDirectory(of: snapshot))?.dataSizeBytes ?? snapshot.dataSizeBytes
    }
}

extension Directory {
    /// Of a snapshot's root; `nil` if it has no database.
    var dataSizeBytes: UInt64? {
        guard let database = entry(named: "database.sqlite"), database.kind == .file else { return nil }
        let media = entry(named: "media")?.storedDirectory?.totals.byteCount ?? 0
        return database.size.addingSaturating(media)
    }
}
