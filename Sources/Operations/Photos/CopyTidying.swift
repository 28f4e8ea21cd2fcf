import BackupCore
import BackupRepository
import Photos
import SystemIO

/// Removing kept copies of starred photos.
extension StarredPhotos {
    /// A program that moves a photo removes the original after it has copied it.
    static let youthSeconds: Int64 = 600
    /// The same where the original is a reason: a program, or a person, copies many photos before it removes them.
    static let originalYouthSeconds: Int64 = 86_400

    /// What is found out about the copies in one pass.
    private struct Pass {
        /// All stars.
        var items: [String: QueueItem] = [:]
        /// The stars that stand for a copy.
        var stars: [SHA256Digest: [QueueItem]] = [:]
        /// Where the bucket of the settings has a content, as a star says or the catalog of this machine: also those whose stars
        /// were taken away. The bucket is asked.
        var uploads: [SHA256Digest: PhotoKey] = [:]
        /// A damaged star may stand for any copy.
        var hasDamagedStars = false
    }

    /// Where the bytes of a copy are besides.
    private enum Place {
        case bucket
        /// In the newest backup, and in these photos of the media folder, which were in these states.
        case photos([(path: String, state: QueueItem.FileState)])
    }

    /// Removes the copies whose bytes are elsewhere: in the bucket, which is asked; or in the newest backup and in the media
    /// folder. Later backups do not have a photo that is not in the media folder any more.
    /// - Parameters:
    ///   - bucket: that of the settings; `nil` to ask none.
    ///   - now: copies and stars that are younger than ten minutes then, or than a day where only the media folder and a backup
    ///     have them, or that are of the future, stay.
    public func tidyCopies(bucket: PhotoBucket?, now: Timestamp = SystemClock.now()) throws(BackupError) {
        let copies = try queue.copies.all()
        guard !copies.isEmpty else { return }
        try adopt(copies)
        let pass = try lookAtStars(copies)
        let newest = NewestPhotos(store)
        for copy in copies {
            try Cancellation.check()
            guard let status = try queue.copies.status(of: copy),
                let place = try place(of: copy, status, pass, bucket, newest, now)
            else { continue }
            // At once: the media folder changes.
            try queue.copies.withLock { () throws(BackupError) in try remove(copy, status, pass, place) }
        }
    }

    /// The same in a mount, where the bucket is asked only if a copy may be in it.
    func tidyCopiesOfMount() throws(BackupError) {
        let copies = try queue.copies.all()
        guard !copies.isEmpty else { return }
        try tidyCopies(bucket: nil)
        let (pass, now) = (try lookAtStars(copies), SystemClock.now())
        for copy in copies where pass.uploads[copy] != nil {
            guard let status = try queue.copies.status(of: copy),
                isOld(status, pass.stars[copy] ?? [], now, seconds: Self.youthSeconds)
            else { continue }
            return try PhotoUpload(store: store, isAutomatic: true).tidyCopies()
        }
    }

    /// Gives copies back to stars that have lost them: an earlier version of this program does not know them. Only where the
    /// photo is gone: a star of another photo at that path stands for that.
    private func adopt(_ copies: [SHA256Digest]) throws(BackupError) {
        let copies = Set(copies)
        for item in try queue.items() where item.copy == nil {
            guard let content = item.content?.sha256, copies.contains(content), isGone(item.path) else { continue }
            try queue.copies.withLock { () throws(BackupError) in
                guard try queue.copies.status(of: content) != nil else { return }
                _ = try queue.setCopy(content, of: item.id) { $0.copy == nil && $0.content?.sha256 == content }
            }
        }
    }

    private func isGone(_ path: String) -> Bool {
        do throws(BackupError) {
            _ = try folder.state(of: path)
            return false
        } catch {
            return error.code == .notFound
        }
    }

    private func lookAtStars(_ copies: [SHA256Digest]) throws(BackupError) -> Pass {
        var pass = Pass()
        for item in try queue.items({ _ in pass.hasDamagedStars = true }) {
            pass.items[item.id] = item
            if let copy = item.copy { pass.stars[copy, default: []].append(item) }
            if let content = item.content, try isInBucket(content.sha256, item) { pass.uploads[content.sha256] = content.key }
        }
        let others = Set(copies.filter { pass.uploads[$0] == nil })
        if !others.isEmpty, let remote = store.settings.photosRemote, try queue.isOf(remote.url) {
            pass.uploads.merge(queue.catalogKeys(of: others)) { star, _ in star }
        }
        return pass
    }

    private func isOld(_ copy: FileStatus, _ stars: [QueueItem], _ now: Timestamp, seconds: Int64) -> Bool {
        // A change time cannot be set by programs.
        now.secondsSince(copy.changeTime) >= seconds && stars.allSatisfy { now.secondsSince($0.queuedAt) >= seconds }
    }

    /// - Returns: `nil` when the copy must stay.
    private func place(
        of copy: SHA256Digest, _ status: FileStatus, _ pass: Pass, _ bucket: PhotoBucket?, _ newest: NewestPhotos,
        _ now: Timestamp
    ) throws(BackupError) -> Place? {
        let stars = pass.stars[copy] ?? []
        guard isOld(status, stars, now, seconds: Self.youthSeconds) else { return nil }
        if let bucket, let key = pass.uploads[copy], try isStored(copy, status.size, key, in: bucket) { return .bucket }
        guard isOld(status, stars, now, seconds: Self.originalYouthSeconds), !pass.hasDamagedStars,
            let records = try newest.list()?.records(sha256: copy), !records.isEmpty
        else { return nil }
        guard stars.isEmpty else {
            var photos: [(path: String, state: QueueItem.FileState)] = []
            for star in stars {
                guard let state = try photoState(copy, status, at: star.path) else { return nil }
                photos.append((star.path, state))
            }
            return .photos(photos)
        }
        // Its star was taken away, or lost it.
        for record in records {
            guard let path = String(validating: record.path, as: UTF8.self) else { continue }
            if let state = try photoState(copy, status, at: path) { return .photos([(path, state)]) }
        }
        return nil
    }

    private func isStored(
        _ copy: SHA256Digest, _ sizeBytes: UInt64, _ key: PhotoKey, in bucket: PhotoBucket
    ) throws(BackupError) -> Bool {
        do throws(BackupError) {
            return try bucket.isStored(key, sizeBytes: sizeBytes, sha256: copy)
        } catch {
            // Something else has its name there by now. It must not keep other copies.
            guard error.code == .conflict else { throw error }
            return false
        }
    }

    /// Removes a copy, unless it was kept again since it was looked at, another star stands for it by now, or a photo has changed
    /// that is a reason. Within the lock of the copies.
    private func remove(_ copy: SHA256Digest, _ status: FileStatus, _ pass: Pass, _ place: Place) throws(BackupError) {
        guard try queue.copies.status(of: copy) == status, let stars = try stars(of: copy, pass) else { return }
        if case .photos(let photos) = place {
            guard photos.allSatisfy({ isPhoto($0.state, at: $0.path) }) else { return }
        }
        try queue.copies.remove(copy)
        for star in stars { _ = try queue.setCopy(nil, of: star) { $0.copy == copy } }
    }

    /// The stars that stand for a copy now. Those that were of other bytes are not read again.
    /// - Returns: `nil` when there is one more than before, or one cannot be read any more.
    private func stars(of copy: SHA256Digest, _ pass: Pass) throws(BackupError) -> [String]? {
        let known = Set((pass.stars[copy] ?? []).map(\.id))
        var stars: [String] = []
        for id in try Set(queue.queuedIDs() + queue.uploadedIDs()) {
            if let item = pass.items[id], item.copy != copy, item.content?.sha256 != copy { continue }
            do throws(BackupError) {
                guard try queue.item(id)?.copy == copy else { continue }
            } catch {
                guard error.code == .damagedContent, pass.hasDamagedStars else { return nil }
                continue
            }
            guard known.contains(id) else { return nil }
            stars.append(id)
        }
        return stars
    }
}
