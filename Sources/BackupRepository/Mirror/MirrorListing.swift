import BackupCore
import ObjectStorage
import Synchronization

/// Lists what a repository in a storage consists of, in an order in which nothing is missed: what a record needs is stored before
/// it, and so it is listed after it. A listing takes several requests, between which other machines store packs, labels and
/// records.
struct MirrorListing {
    /// What is known of the storage before it is listed. It decides only which requests are sent.
    struct Expectation {
        let packCount: Int
        /// Of objects whose names come before those of packs.
        let countBeforePacks: Int
    }

    /// A single listing of all objects takes one request, and names the packs, too. With more packs than this, it takes longer
    /// than one request for the names before them and one for those after them.
    private static let packCountLimit = 256
    /// For this many more objects before packs than expected, one request is enough: among them are the notes of locks. Servers
    /// that keep keys as paths open a folder for each pack that is listed for nothing.
    private static let slackCount = 6
    /// The first page when nothing is known.
    private static let firstPageSize = 32

    let storage: any ObjectStorage
    /// The same storage through another connection, which is open already: both can list at the same time.
    var other: (any ObjectStorage)?
    /// `nil` when nothing is known.
    var expected: Expectation?
    /// Whether nothing is known of the storage, so that each record is new: records are listed first then, and without packs.
    var isFirst = false
    /// Whether the labels that the register lists were seen before it.
    var isKnownRegister: (ObjectFacts) -> Bool = { _ in true }
    /// Whether all that a record needs was seen before it.
    let isKnown: (SnapshotID) throws(BackupError) -> Bool

    /// All objects that are no packs: one or two requests for a repository in which nothing is new.
    /// - Throws: errors of the storage, and those of `isKnown`.
    func records() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        try twiceIfUnordered { () throws(BackupError) in try listRecords() }
    }

    /// All objects.
    /// - Throws: as `records`.
    func everything() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        try twiceIfUnordered { () throws(BackupError) in
            if let objects = try small(withPacks: true) { return objects }
            let objects = try apart(nil)
            return try objects.merging(PackListing(storage: storage).packs()) { $1 }
        }
    }

    /// Lists once more where a server turns out in the middle of a listing to keep no order of names: pages before may lack some
    /// then. The storage sorts each listing after that.
    private func twiceIfUnordered(
        _ list: () throws(BackupError) -> [MirrorObject: ObjectFacts]
    ) throws(BackupError) -> [MirrorObject: ObjectFacts] {
        do throws(BackupError) {
            return try list()
        } catch {
            guard error.code == .inputOutput else { throw error }
            return try list()
        }
    }

    private func listRecords() throws(BackupError) -> [MirrorObject: ObjectFacts] {
        if let expected, other != nil || expected.packCount > Self.packCountLimit { return try apart(expected) }
        if !isFirst, let objects = try small(withPacks: false) { return objects }
        return try apart(nil)
    }

    /// The objects of a repository whose names fit on one page, with packs; `nil` if they do not.
    /// - Parameter withPacks: whether the packs that a new record needs must be among them.
    private func small(withPacks: Bool) throws(BackupError) -> [MirrorObject: ObjectFacts]? {
        guard var objects = try page() else { return nil }
        guard try hasNewRecord(objects) else { return objects }
        var later: [MirrorObject: ObjectFacts]
        if withPacks {
            guard let page = try page() else { return nil }
            later = page
        } else {
            let count = objects.values.count { Self.isBeforePacks($0.name) }
            later = try Self.beforePacks(storage, expecting: count)
        }
        for (object, facts) in later {
            // A record that is new since then waits for the next listing.
            if case .snapshot = object { continue }
            objects[object] = facts
        }
        return objects
    }

    private func hasNewRecord(_ objects: [MirrorObject: ObjectFacts]) throws(BackupError) -> Bool {
        for case .snapshot(let id) in objects.keys where try !isKnown(id) { return true }
        return false
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

    /// The objects after packs and those before them, without packs. A label is stored before the record that it pins, and a
    /// batch of indexes before the record that needs its packs: these come before packs, and are listed after the records.
    private func apart(_ expected: Expectation?) throws(BackupError) -> [MirrorObject: ObjectFacts] {
        guard let other, let count = expected?.countBeforePacks else {
            let objects = try Self.afterPacks(storage)
            return try objects.merging(Self.beforePacks(storage, expecting: expected?.countBeforePacks)) { $1 }
        }
        let before = Mutex<[MirrorObject: ObjectFacts]>([:])
        let after = Mutex<[MirrorObject: ObjectFacts]>([:])
        try ParallelTransfer(phase: "Reading the list of backups...", progress: nil).run(
            [true, false], sizeBytes: { _ in 0 }
        ) { [storage] (isBefore) throws(BackupError) in
            if isBefore {
                let objects = try Self.beforePacks(other, or: storage, expecting: count)
                before.withLock { $0 = objects }
            } else {
                let objects = try Self.afterPacks(storage)
                after.withLock { $0 = objects }
            }
        }
        let records = after.withLock { $0 }
        // They may have been listed before what they need was stored.
        var isNew = records[.register].map(isKnownRegister) == false
        if try hasNewRecord(records) { isNew = true }
        if isNew {
            let objects = try Self.beforePacks(storage, expecting: count)
            before.withLock { $0 = objects }
        }
        return before.withLock { records.merging($0) { $1 } }
    }

    private static func afterPacks(_ storage: any ObjectStorage) throws(BackupError) -> [MirrorObject: ObjectFacts] {
        var objects: [MirrorObject: ObjectFacts] = [:]
        try storage.forEachObject(after: ObjectName(MirrorObject.afterPacks)) { (facts) throws(BackupError) in
            if let object = MirrorObject(facts.name) { objects[object] = facts }
            return true
        }
        return objects
    }

    /// - Parameter patient: asked when the first one does not answer: it may have shorter time limits.
    private static func beforePacks(
        _ storage: any ObjectStorage, or patient: any ObjectStorage, expecting count: Int
    ) throws(BackupError) -> [MirrorObject: ObjectFacts] {
        do throws(BackupError) {
            return try beforePacks(storage, expecting: count)
        } catch {
            guard error.code == .offline else { throw error }
            return try beforePacks(patient, expecting: count)
        }
    }

    /// - Parameter count: how many objects there should be; `nil` if it is unknown.
    private static func beforePacks(
        _ storage: any ObjectStorage, expecting count: Int?
    ) throws(BackupError) -> [MirrorObject: ObjectFacts] {
        var objects: [MirrorObject: ObjectFacts] = [:]
        let pageSize = count.map { $0 + slackCount } ?? .max
        let first = count == nil ? firstPageSize : pageSize
        try storage.forEachObject(after: nil, firstPageSize: first, pageSize: pageSize) { (facts) throws(BackupError) in
            guard isBeforePacks(facts.name) else { return false }
            if let object = MirrorObject(facts.name) { objects[object] = facts }
            return true
        }
        return objects
    }

    private static func isBeforePacks(_ name: ObjectName) -> Bool {
        name.text.utf8.lexicographicallyPrecedes(MirrorObject.packsPrefix.utf8)
    }
}
