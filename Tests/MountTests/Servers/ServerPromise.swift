import TestSupport

/// What `remote add` and `remote test` say of a server, as `Docs/explanation/object-storage-servers.md` has it.
enum ServerPromise {
    /// What the trial asks, in its order, and what follows if it is not so.
    private static let questions = [
        ("a range of an object is sent alone", "each read transfers the object from its start"),
        ("a listing has what was stored just now", "new backups may be overlooked for some time: do not use this server"),
        ("listings are in the order of names", "some listings are sorted here, and take longer"),
        ("bytes that do not fit their signature are refused", "bytes that change on their way are only noticed afterwards"),
        ("bytes that do not fit their checksum are refused", "damage on the server is noticed only by backupfs itself"),
        ("of several clients that create one object, one succeeds", "only one computer may write to this storage"),
        ("of several clients that replace one object, one succeeds", "only one computer may write to this storage"),
        ("an object is not removed when it has changed", "only one computer may remove backups"),
    ]

    /// Whether each is so. A server that has removed an object in spite of the condition is not asked whether it may.
    private static func answers(of kind: ObjectServer.Kind) -> [Bool] {
        switch kind {
        case .seaweedfs: [true, true, true, false, true, true, true, true]
        case .radosgw: [true, true, true, true, false, true, false, false]
        case .swift: [true, true, true, true, true, false, false, true]
        case .juicefs: [true, true, true, true, false, false, false, false]
        case .rclone: [true, true, true, false, false, false, false, false]
        }
    }

    /// The lines that are printed.
    static func lines(of kind: ObjectServer.Kind) -> [String] {
        let lines = zip(questions, answers(of: kind)).map { line, isKept in
            isKept ? "yes: \(line.0)" : "NO:  \(line.0); \(line.1)"
        }
        return lines + (answers(of: kind)[7] ? ["yes: the credentials permit removing objects"] : [])
    }

    /// Whether several machines may make backups in a repository there.
    static func isForSeveralMachines(_ kind: ObjectServer.Kind) -> Bool { answers(of: kind)[5] && answers(of: kind)[6] }
}
