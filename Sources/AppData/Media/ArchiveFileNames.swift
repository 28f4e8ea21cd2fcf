import BackupCore

/// The archive names of the files of one export's records. Shortened names can be equal: those get numbers.
struct ArchiveFileNames {
    /// Shorter names have not been shortened: a character has at most four bytes.
    private static let longNameBytes = FileName.byteCountLimit - 4

    let naming: ArchiveNaming
    private var taken: Set<[UInt8]> = []

    init(_ naming: ArchiveNaming) { self.naming = naming }

    /// To be called once for each record, in export order.
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
