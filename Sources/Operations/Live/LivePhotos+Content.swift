import BackupCore
import Photos
import SystemIO

extension LivePhotos {
    /// The photo of the media folder that has these bytes, for a copy of it.
    /// - Parameter name: of several, the one with this name is preferred.
    /// - Returns: its path below the media folder; `nil` when no photo has them.
    /// - Throws: when the media folder cannot be read.
    public func path(
        ofContent sha256: SHA256Digest, sizeBytes: UInt64, named name: FileName
    ) throws(BackupError) -> [UInt8]? {
        let index = try index()
        func isNamedSo(_ record: PhotoRecord) -> Bool { FileName(bytes: BytePath.lastComponent(of: record.path)) == name }
        let known = try index.records(sha256: sha256)
        if let named = known.first(where: isNamedSo) { return named.path }
        // Photos that are not in the newest backup are read; first the one that most likely has the bytes.
        let others = try index.recordsWithoutChecksums(sizeBytes: sizeBytes)
        for record in others.filter(isNamedSo) + others.filter({ !isNamedSo($0) }) {
            if !isNamedSo(record), let first = known.first { return first.path }
            if has(record, sha256) { return record.path }
        }
        return known.first?.path
    }

    /// Whether a photo has these bytes. One that cannot be read, or has changed since it was listed, has not.
    private func has(_ record: PhotoRecord, _ sha256: SHA256Digest) -> Bool {
        let names = BytePath.components(of: record.path)
        guard let item = (try? media.item(at: names[...])).flatMap({ $0 }), item.status.kind == .regular,
            item.status.size == record.sizeBytes, let file = try? media.open(names[...], expected: item.status)
        else { return false }
        return (try? file.sha256()) == sha256
    }
}
