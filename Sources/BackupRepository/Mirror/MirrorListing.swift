import BackupCore
import ObjectStorage

extension ObjectStorage {
    /// All objects of a repository that are no packs: two requests for a small one.
    func records() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        var objects: [MirrorObject: ObjectFacts] = [:]
        // A label is stored before the record that it pins, so the labels, which come before the packs, are listed later.
        try forEachObject(after: ObjectName(MirrorObject.afterPacks)) { (facts) throws(BackupError) in
            if let object = MirrorObject(facts.name) { objects[object] = facts }
            return true
        }
        try forEachObject(after: nil) { (facts) throws(BackupError) in
            guard !facts.name.text.hasPrefix(MirrorObject.packsPrefix) else { return false }
            if let object = MirrorObject(facts.name) { objects[object] = facts }
            return true
        }
        return objects
    }

    /// All objects of a mirror, in which each record has its packs.
    ///
    /// A listing takes several requests, and packs come before records in it. Between two of them, another machine may upload
    /// packs that belong on a page that is already read, and then the record that needs them. What is listed after a record has
    /// all its packs, so packs are listed again where a record is new.
    /// - Parameter isKnown: whether the packs of a record were all seen before.
    /// - Throws: errors of the storage, and those of `isKnown`.
    func mirrorObjects(
        isKnown: (SnapshotID) throws(BackupError) -> Bool
    ) throws(BackupError) -> [MirrorObject: ObjectFacts] {
        var objects: [MirrorObject: ObjectFacts] = [:]
        var hasNewRecord = false
        try forEachObject { (facts) throws(BackupError) in
            guard let object = MirrorObject(facts.name) else { return }
            objects[object] = facts
            if case .snapshot(let id) = object, !hasNewRecord { hasNewRecord = try !isKnown(id) }
        }
        guard hasNewRecord else { return objects }
        try forEachObject(prefix: MirrorObject.packsPrefix) { (facts) throws(BackupError) in
            if let object = MirrorObject(facts.name) { objects[object] = facts }
        }
        return objects
    }
}
