import BackupCore

/// What the files of one export's records are called in the archive. Names that had to be shortened can be the same: those get numbers.
struct ArchiveFileNames {
    /// Shorter ones have not been shortened: a character has four bytes at most.
    private static let longNameBytes = FileName.byteCountLimit - 4

    let naming: ArchiveNaming
    private var taken: Set<[UInt8]> = []

    init(_ naming: ArchiveNaming) { self.naming = naming }

    /// For each record once, in the order of the export.
    mutating func name(of path: [UInt8], key: String) -> [UInt8] {
        let name = naming.name(of: path, key: key)
        guard naming == .keyed, name.count >= Self.longNameBytes else { return name }
        var candidate = name
        var number = 2
        while !taken.insert(candidate).inserted {
            candidate = FileName.fitting(name, "_\(number)")
            number += 1
        }
        return candidate
    }
}
