import BackupCore
import ObjectStorage
import Synchronization

/// Lists the packs in a storage. A server lists a thousand names in a request: where there are many, several parts of the names
/// are listed at once.
struct PackListing {
    /// With fewer pages, as the first one shows, one request after the other is as fast.
    private static let sequentialPageCount = 4
    private static let digits = "0123456789abcdef"

    let storage: any ObjectStorage

    /// - Throws: errors of the storage.
    func packs() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        let first = try storage.list(prefix: MirrorObject.packsPrefix, after: nil)
        let found = Mutex(Self.objects(first.objects))
        if first.hasMore {
            guard let last = first.objects.last?.name else { throw storage.hasNoNames }
            try ParallelTransfer(phase: "Reading the list of backups...", progress: nil).run(
                parts(after: last), sizeBytes: { _ in 0 }
            ) { [storage] (prefix) throws(BackupError) in
                var part: [ObjectFacts] = []
                // The first page may have some of them.
                let begin = last.text.hasPrefix(prefix) ? last : nil
                try storage.forEachObject(prefix: prefix, after: begin) { (facts) throws(BackupError) in
                    part.append(facts)
                    return true
                }
                let objects = Self.objects(part)
                found.withLock { $0.merge(objects) { $1 } }
            }
        }
        return found.withLock { $0 }
    }

    private static func objects(_ facts: [ObjectFacts]) -> [MirrorObject: ObjectFacts] {
        var objects: [MirrorObject: ObjectFacts] = [:]
        for facts in facts {
            if let object = MirrorObject(facts.name) { objects[object] = facts }
        }
        return objects
    }

    /// The prefixes that what comes after the first page is listed by. The names of packs are evenly distributed checksums.
    private func parts(after last: ObjectName) -> [String] {
        let whole = [MirrorObject.packsPrefix]
        guard let digit = last.text.dropFirst(MirrorObject.packsPrefix.count).first,
            let index = Self.digits.firstIndex(of: digit),
            Self.digits.distance(from: Self.digits.startIndex, to: index) < Self.digits.count / Self.sequentialPageCount
        else { return whole }
        return Self.digits[index...].map { MirrorObject.packsPrefix + String($0) }
    }
}
