import BackupCore
import Photos
import SystemIO

extension LivePhotos {
    /// The photo of the media folder that has these bytes now: a list only says where to look, and the file is read.
    /// - Parameters:
    ///   - name: of several photos, the one with this name is preferred.
    ///   - isAccepted: whether a photo at this path may be taken.
    /// - Returns: `nil` when no photo has them.
    /// - Throws: when the media folder cannot be read, or a photo that may have them.
    public func photo(
        withContent sha256: SHA256Digest, sizeBytes: UInt64, named name: FileName, where isAccepted: (String) -> Bool
    ) throws(BackupError) -> FoundPhoto? {
        var failure: BackupError?
        let held = heldIndex
        // A walk through the folder for each of a thousand copies would take hours.
        if let held, let found = try photo(in: held, sha256, sizeBytes, name, isAccepted, &failure) { return found }
        // The photo may have come just now.
        let index = try index(looksAgain: true)
        if index !== held {
            failure = nil
            if let found = try photo(in: index, sha256, sizeBytes, name, isAccepted, &failure) { return found }
        }
        if let failure { throw failure }
        return nil
    }

    private func photo(
        in index: PhotoIndex, _ sha256: SHA256Digest, _ sizeBytes: UInt64, _ name: FileName, _ isAccepted: (String) -> Bool,
        _ failure: inout BackupError?
    ) throws(BackupError) -> FoundPhoto? {
        func isNamedSo(_ record: PhotoRecord) -> Bool {
            let photo = BytePath.lastComponent(of: record.path)
            // Copy programs use `.IMG_1.jpg.Ab12Cd` and `IMG_1.jpg.part` while they work.
            let copy = name.bytes.first == UInt8(ascii: ".") ? name.bytes.dropFirst() : name.bytes[...]
            return name.bytes.elementsEqual(photo) || copy.starts(with: photo + [UInt8(ascii: ".")])
        }
        // First those that most likely have the bytes.
        let known = try index.records(sha256: sha256)
        let unknown = try index.recordsWithoutChecksums(sizeBytes: sizeBytes)
        let named = known.filter(isNamedSo) + unknown.filter(isNamedSo)
        for record in named + (known + unknown).filter({ !isNamedSo($0) }) {
            try Cancellation.check()
            guard let path = String(validating: record.path, as: UTF8.self), isAccepted(path) else { continue }
            do throws(BackupError) {
                if let found = try read(path, sha256, sizeBytes) { return found }
            } catch {
                guard error.code != .interrupted else { throw error }
                failure = failure ?? error
            }
        }
        return nil
    }

    /// - Returns: `nil` for a file that has other bytes, or is gone.
    private func read(_ path: String, _ sha256: SHA256Digest, _ sizeBytes: UInt64) throws(BackupError) -> FoundPhoto? {
        let names = BytePath.components(of: Array(path.utf8))
        guard let item = try media.item(at: names[...]), item.status.kind == .regular, item.status.size == sizeBytes else {
            return nil
        }
        let file = try FileSystem.ifPresent { () throws(BackupError) in try media.open(names[...], expected: item.status) }
        guard let file, try file.sha256() == sha256 else { return nil }
        return FoundPhoto(path: path, modificationTime: item.status.modificationTime)
    }
}
