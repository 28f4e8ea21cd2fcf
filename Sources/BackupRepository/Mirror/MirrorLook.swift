import BackupCore
import ObjectStorage
import SystemIO

/// What an update of a mirror finds there at its beginning: all objects, and of what it is a mirror.
///
/// A look changes nothing, so that it can be made before it is known what will be uploaded. An update that begins with it is one
/// that has begun at the time of the look.
public struct MirrorLook: Sendable {
    /// An update does not begin with an older one, in nanoseconds since its begin.
    public static let freshNanoseconds: UInt64 = 30_000_000_000

    /// Before the first request, also counting the time in which the machine sleeps.
    let begin: UInt64
    let present: [MirrorObject: ObjectFacts]
    /// Of all objects in the storage.
    let storedBytes: UInt64
    /// What the configuration says; `nil` when there is none.
    let configuration: RepositoryFacts?

    /// Whether there is a mirror, complete or not.
    public var hasMirror: Bool { configuration != nil }

    var isFresh: Bool { SystemClock.bootNanoseconds() - begin < Self.freshNanoseconds }
}

extension RepositoryMirror {
    /// Looks what is in a storage.
    /// - Throws: `notEmpty` and `notPermitted` when the storage holds something else; errors of the storage.
    public static func look(at storage: any ObjectStorage) throws(BackupError) -> MirrorLook {
        let begin = SystemClock.bootNanoseconds()
        let listed = try inventory(of: storage)
        // Read each time: a version says nothing of another storage that has taken this one's place.
        let isDeclared = listed.present[.configuration] != nil
        let configuration = isDeclared ? try declaredFacts(in: storage) : nil
        return MirrorLook(
            begin: begin, present: listed.present, storedBytes: listed.storedBytes, configuration: configuration)
    }

    typealias Inventory = (present: [MirrorObject: ObjectFacts], storedBytes: UInt64)

    /// All objects of a mirror, and the bytes of all objects in the storage.
    static func inventory(of storage: any ObjectStorage) throws(BackupError) -> Inventory {
        var present: [MirrorObject: ObjectFacts] = [:]
        var storedBytes: UInt64 = 0
        var foreign: ObjectName?
        try storage.forEachObject { (facts) throws(BackupError) in
            storedBytes = storedBytes.addingSaturating(facts.sizeBytes)
            guard let object = MirrorObject(facts.name) else {
                if !isBeside(facts.name) { foreign = foreign ?? facts.name }
                return
            }
            try requireNoPrimary(object, at: storage.location)
            present[object] = facts
        }
        let isBegun = present.keys.allSatisfy(mayPrecedeConfiguration)
        if present[.configuration] == nil, !isBegun || foreign != nil {
            throw occupied(storage, by: foreign ?? present.values.map(\.name).min())
        }
        return (present, storedBytes)
    }
}
