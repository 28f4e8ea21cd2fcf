import BackupCore
import ObjectStorage

/// Lists what a repository in a storage consists of, in an order in which nothing is missed: what a record needs is stored before
/// it, and so it is listed after it. A listing takes several requests, between which other machines store packs, labels and
/// records.
struct MirrorListing {
    let storage: any ObjectStorage
    /// Whether all that a record needs was seen before it.
    let isKnown: (SnapshotID) throws(BackupError) -> Bool

    /// All objects that are no packs: one request for a small repository in which nothing is new.
    /// - Throws: errors of the storage, and those of `isKnown`.
    func records() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        if let objects = try small() { return objects }
        return try large()
    }

    /// All objects.
    /// - Throws: as `records`.
    func everything() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        if let objects = try small() { return objects }
        let objects = try large()
        return try objects.merging(PackListing(storage: storage).packs()) { $1 }
    }

    /// The objects of a repository whose names fit on one page, with packs; `nil` if they do not.
    private func small() throws(BackupError) -> [MirrorObject: ObjectFacts]? {
        guard var objects = try page() else { return nil }
        var hasNewRecord = false
        for case .snapshot(let id) in objects.keys where try !isKnown(id) { hasNewRecord = true }
        guard hasNewRecord else { return objects }
        guard let later = try page() else { return nil }
        for (object, facts) in later {
            // A record that is new since then waits for the next listing.
            if case .snapshot = object { continue }
            objects[object] = facts
        }
        return objects
    }

    private func page() throws(BackupError) -> [MirrorObject: ObjectFacts]? {
        let page = try storage.list(prefix: "", after: nil)
        guard !page.hasMore else { return nil }
        var objects: [MirrorObject: ObjectFacts] = [:]
        for facts in page.objects {
            if let object = MirrorObject(facts.name) { objects[object] = facts }
        }
        return objects
    }

    private func large() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        var objects: [MirrorObject: ObjectFacts] = [:]
        // A label is stored before the record that it pins, and a batch of indexes before the record that needs its packs. Their
        // names come before those of packs.
        try storage.forEachObject(after: ObjectName(MirrorObject.afterPacks)) { (facts) throws(BackupError) in
            if let object = MirrorObject(facts.name) { objects[object] = facts }
            return true
        }
        try storage.forEachObject(after: nil) { (facts) throws(BackupError) in
            guard !facts.name.text.hasPrefix(MirrorObject.packsPrefix) else { return false }
            if let object = MirrorObject(facts.name) { objects[object] = facts }
            return true
        }
        return objects
    }
}
