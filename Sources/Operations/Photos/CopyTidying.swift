import BackupCore
import BackupRepository
import Photos
import SystemIO

/// Removing kept copies of starred photos.
extension StarredPhotos {
    /// A program that moves a photo removes the original after it has copied it.
    static let youthSeconds: Int64 = 600

    /// What is found out about the copies in one pass.
    private struct Pass {
        /// The stars that stand for a copy.
        var stars: [SHA256Digest: [QueueItem]] = [:]
        /// Stars that say that a content is in the bucket of the settings.
        var uploads: [SHA256Digest: QueueItem] = [:]
        /// A damaged star may stand for any copy.
        var hasDamagedStars = false
    }

    /// Removes the copies whose bytes are elsewhere: in the bucket, which is asked; or in the newest backup, unless the copy is
    /// all that a star has, whose photo is not in the media folder any more. Later backups will not have it.
    /// - Parameters:
    ///   - bucket: that of the settings; `nil` to ask none.
    ///   - now: copies and stars that are younger than ten minutes then, or are of the future, stay.
    public func tidyCopies(bucket: PhotoBucket?, now: Timestamp = SystemClock.now()) throws(BackupError) {
        let copies = try queue.copies.all()
        guard !copies.isEmpty else { return }
        let pass = try lookAtStars()
        let newest = NewestPhotos(store)
        var elsewhere: [(copy: SHA256Digest, status: FileStatus)] = []
        for copy in copies {
            try Cancellation.check()
            guard let status = try queue.copies.status(of: copy), isOld(status, pass.stars[copy] ?? [], now),
                try isElsewhere(copy, status, pass, bucket, newest)
            else { continue }
            elsewhere.append((copy, status))
        }
        guard !elsewhere.isEmpty else { return }
        try queue.copies.withLock { () throws(BackupError) in
            let present = try lookAtStars()
            guard present.hasDamagedStars == pass.hasDamagedStars else { return }
            for (copy, status) in elsewhere { try remove(copy, status, pass, present) }
        }
    }

    /// The same in a mount, where the bucket is asked only if a copy may be in it.
    func tidyCopiesOfMount() throws(BackupError) {
        let copies = try queue.copies.all()
        guard !copies.isEmpty else { return }
        try tidyCopies(bucket: nil)
        let (pass, now) = (try lookAtStars(), SystemClock.now())
        for copy in copies where pass.uploads[copy] != nil {
            guard let status = try queue.copies.status(of: copy), isOld(status, pass.stars[copy] ?? [], now) else { continue }
            return try PhotoUpload(store: store, isAutomatic: true).tidyCopies()
        }
    }

    private func lookAtStars() throws(BackupError) -> Pass {
        var pass = Pass()
        for item in try queue.items({ _ in pass.hasDamagedStars = true }) {
            if let copy = item.copy { pass.stars[copy, default: []].append(item) }
            if let content = item.content, try isInBucket(content.sha256, item) { pass.uploads[content.sha256] = item }
        }
        return pass
    }

    private func isOld(_ copy: FileStatus, _ stars: [QueueItem], _ now: Timestamp) -> Bool {
        // A change time cannot be set by programs.
        now.secondsSince(copy.changeTime) >= Self.youthSeconds
            && stars.allSatisfy { now.secondsSince($0.queuedAt) >= Self.youthSeconds }
    }

    private func isElsewhere(
        _ copy: SHA256Digest, _ status: FileStatus, _ pass: Pass, _ bucket: PhotoBucket?, _ newest: NewestPhotos
    ) throws(BackupError) -> Bool {
        if let bucket, let content = pass.uploads[copy]?.content, try isStored(content, in: bucket) { return true }
        guard !pass.hasDamagedStars, try newest.list()?.record(sha256: copy) != nil else { return false }
        for star in pass.stars[copy] ?? [] {
            guard try folder.has(copy, sizeBytes: status.size, at: star.path) else { return false }
        }
        return true
    }

    private func isStored(_ content: QueueItem.Content, in bucket: PhotoBucket) throws(BackupError) -> Bool {
        do throws(BackupError) {
            return try bucket.isStored(content.key, sizeBytes: content.metadata.fileSize, sha256: content.sha256)
        } catch {
            // Something else has its name there by now. It must not keep other copies.
            guard error.code == .conflict else { throw error }
            return false
        }
    }

    /// Removes a copy, unless it was kept again since it was looked at, or another star stands for it by now.
    private func remove(
        _ copy: SHA256Digest, _ status: FileStatus, _ pass: Pass, _ present: Pass
    ) throws(BackupError) {
        let known = Set((pass.stars[copy] ?? []).map(\.id))
        let stars = present.stars[copy] ?? []
        guard try queue.copies.status(of: copy) == status, stars.allSatisfy({ known.contains($0.id) }) else { return }
        try queue.copies.remove(copy)
        for star in stars { _ = try queue.setCopy(nil, of: star.id) { $0.copy == copy } }
    }
}
