import BackupCore
import ObjectStorage

/// The packs of an update of a mirror: which are there, which are missing, and which are damaged here.
struct PackUpload {
    /// A pack of the repository.
    struct Pack: Sendable {
        let id: PackID
        let sizeBytes: UInt64
    }

    /// The objects of the mirror as last listed.
    private(set) var present: [MirrorObject: ObjectFacts]
    /// The packs that are to be uploaded if they are missing; `nil` for all.
    private var needs: MirrorNeeds?
    private var uploaded: [PackID: UInt64] = [:]
    /// Packs that are damaged here, and that the mirror does not have.
    private(set) var damaged: Set<PackID> = []

    init(_ present: [MirrorObject: ObjectFacts]) { self.present = present }

    /// All packs that the mirror has now, with their lengths in bytes.
    var stored: [PackID: UInt64] {
        var stored = uploaded
        for (object, facts) in present {
            if case .pack(let id) = object, stored[id] == nil { stored[id] = facts.sizeBytes }
        }
        return stored
    }

    /// The packs that the mirror lacks, or has with another length, sorted.
    func missing(in layout: RepositoryLayout) throws(BackupError) -> [Pack] {
        try PackFolder.list(layout).filter { id, sizeBytes in
            present[.pack(id)]?.sizeBytes != sizeBytes && uploaded[id] != sizeBytes && !damaged.contains(id)
                && needs?.packs.contains(id) != false
        }.map { Pack(id: $0.key, sizeBytes: $0.value) }.sorted { $0.id < $1.id }
    }

    /// Packs that a prune of the mirror is going to remove: nothing that is uploaded may rely on them.
    var blocked: Set<PackID> { needs?.blocked ?? [] }

    /// The mirror was listed again.
    mutating func renew(_ present: [MirrorObject: ObjectFacts]) { self.present = present }

    /// Leaves out what no backup of the mirror needs.
    mutating func limit(to needs: MirrorNeeds) { self.needs = needs }

    mutating func note(uploaded packs: [Pack], damaged: Set<PackID>) {
        for pack in packs { uploaded[pack.id] = pack.sizeBytes }
        self.damaged.formUnion(damaged)
    }
}
