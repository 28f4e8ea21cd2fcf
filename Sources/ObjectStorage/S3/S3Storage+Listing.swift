import BackupCore
import Synchronization

extension S3Storage {
    /// How often a listing is asked for that has an incomplete entry.
    private static let listTryLimit = 5

    /// Keys that cannot be names of objects are left out: the markers of folders that some programs make.
    ///
    /// Some servers list folder by folder, so that `a/x` comes before `a-b`, although the byte `/` is greater than `-`. Once
    /// such a place is found, each page is cut from a listing of all names with the prefix.
    public func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        // Servers that keep keys as paths list something else for these.
        guard ObjectName.canBegin(with: prefix) else { return ObjectPage(objects: [], hasMore: false) }
        if let previous, !previous.text.utf8.starts(with: prefix.utf8) {
            // Behind all names with the prefix, or before them: then SeaweedFS would answer with nothing.
            if prefix.utf8.lexicographicallyPrecedes(previous.text.utf8) { return ObjectPage(objects: [], hasMore: false) }
            return try list(prefix: prefix, after: nil, limit: limit)
        }
        let limit = min(limit, pageLimit)
        if hasUnorderedListings.load(ordering: .relaxed) {
            return try sortedPage(prefix: prefix, after: previous, limit: limit)
        }
        let keyPrefix = place.keyPrefix + prefix
        var start = previous.map { place.keyPrefix + $0.text }
        while true {
            let listing = try listPage(keyPrefix: keyPrefix, after: start, continuation: nil, limit: limit)
            guard Self.isOrdered(listing.entries, after: start) else {
                hasUnorderedListings.store(true, ordering: .relaxed)
                guard previous == nil else {
                    // Pages before this one may lack names.
                    throw BackupError(
                        .inputOutput, "the server does not list names in their order", path: "\(place)/\(prefix)",
                        remedy: "Try again: the next listing is sorted here.")
                }
                return try sortedPage(prefix: prefix, after: nil, limit: limit)
            }
            let objects = listing.entries.compactMap(facts)
            // A page of foreign keys alone has no name to continue after.
            guard objects.isEmpty, listing.isTruncated, let last = listing.entries.last else {
                return ObjectPage(objects: objects, hasMore: listing.isTruncated)
            }
            start = last.key
        }
    }

    private func sortedPage(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        let keyPrefix = place.keyPrefix + prefix
        var objects: [ObjectFacts] = []
        var continuation: String?
        repeat {
            let listing = try listPage(keyPrefix: keyPrefix, after: nil, continuation: continuation, limit: pageLimit)
            objects += listing.entries.compactMap(facts)
            if listing.isTruncated, listing.continuation == nil {
                throw S3Answers.damaged("the listing is truncated and cannot be continued").at(location)
            }
            continuation = listing.isTruncated ? listing.continuation : nil
        } while continuation != nil
        objects.sort { $0.name < $1.name }
        for (one, next) in zip(objects, objects.dropFirst()) where one.name == next.name {
            throw S3Answers.damaged("the listing has a name twice").at("\(place)/\(one.name)")
        }
        if let previous { objects.removeAll { !(previous < $0.name) } }
        return ObjectPage(objects: Array(objects.prefix(limit)), hasMore: objects.count > limit)
    }

    /// One request, unless the answer tells of a change at the same moment.
    /// - Parameter continuation: the server's own mark of the page; takes the place of `after`.
    func listPage(
        keyPrefix: String, after: String?, continuation: String?, limit: Int
    ) throws(BackupError) -> S3Answers.Listing {
        var request = S3Request(kind: .list, method: .get)
        request.query = [
            ("list-type", "2"), ("prefix", keyPrefix), ("max-keys", "\(limit)"), ("encoding-type", "url"),
        ]
        if let continuation {
            request.query.append(("continuation-token", continuation))
        } else if let after {
            request.query.append(("start-after", after))
        }
        let question = S3Answers.ListingQuestion(bucket: place.bucket, prefix: keyPrefix, limit: limit)
        var tries = 0
        while true {
            tries += 1
            let answer = try client.sendExpectingSuccess(request)
            do throws(BackupError) {
                let listing = try S3Answers.listing(answer.body, question)
                noteBucket()
                return listing
            } catch {
                guard tries < Self.listTryLimit, S3Answers.hasIncompleteEntry(answer.body) else { throw error.at(location) }
            }
            try client.sleep(S3Backoff.seconds(failedTries: tries, retryAfterSeconds: nil, random: Double.random(in: 0...1)))
        }
    }

    private func facts(_ entry: S3Answers.Listing.Entry) -> ObjectFacts? {
        guard let rest = String(entry.key.utf8.dropFirst(place.keyPrefix.utf8.count)), let name = ObjectName(rest) else {
            return nil
        }
        return ObjectFacts(
            name: name, sizeBytes: entry.sizeBytes, version: ObjectVersion(entry.tag), storedAt: entry.storedAt.wholeSeconds)
    }

    private static func isOrdered(_ entries: [S3Answers.Listing.Entry], after start: String?) -> Bool {
        var previous = start
        for entry in entries {
            if let previous, !previous.utf8.lexicographicallyPrecedes(entry.key.utf8) { return false }
            previous = entry.key
        }
        return true
    }
}
