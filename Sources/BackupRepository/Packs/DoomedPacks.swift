import BackupCore
import SystemIO

/// A list of packs that a prune of a repository in an object storage has found unneeded. A later prune removes them, if they are
/// still unneeded then.
///
/// In an object storage, no lock is certain: a machine that slept may have lost its lock, and finish its backup all the same. Its
/// record shows up in the time between, and its packs stay. Duplicacy calls such packs fossils.
struct DoomedPacks {
    static let nameExtension = ".doomed"
    static let byteCountLimit = 64 << 20
    /// How long a pack stays.
    static let graceSeconds: Int64 = 86_400

    private static let magic = "backupfs-doomed 1"
    private static let end = "end"

    /// The file with the list.
    let path: String
    let packs: [PackID]
    /// When the list was stored, by the storage's clock.
    let since: Timestamp

    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    static func decode(_ bytes: [UInt8]) throws(BackupError) -> [PackID] {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let first = lines.first ?? ""
        if first != magic, first.hasPrefix("backupfs-doomed ") {
            throw BackupError(
                .unsupportedVersion, "the list of doomed packs is of a newer version", remedy: "Use a newer version of backupfs.")
        }
        guard first == magic, lines.count >= 3, lines.last == "", lines[lines.count - 2] == end else { throw damaged }
        var packs: [PackID] = []
        for line in lines[1..<lines.count - 2] {
            guard let digest = SHA256Digest(hexadecimal: String(line)) else { throw damaged }
            packs.append(PackID(digest))
        }
        return packs
    }

    private static var damaged: BackupError {
        BackupError(
            .repositoryDamaged, "the list of doomed packs is damaged",
            remedy: "Remove it from the storage: the next prune makes a new one, and nothing is removed before that.")
    }

    static func encode(_ packs: [PackID]) -> [UInt8] {
        Array(([magic] + packs.map(\.hexadecimal) + [end, ""]).joined(separator: "\n").utf8)
    }

    /// - Throws: as `decode`, naming the list; errors of reading.
    static func read(in layout: RepositoryLayout) throws(BackupError) -> [DoomedPacks] {
        var lists: [DoomedPacks] = []
        for name in try FileSystem.names(in: layout.doomed) {
            if let list = try read(name, in: layout) { lists.append(list) }
        }
        return lists
    }

    /// - Returns: `nil` for a file that is no list, or is gone.
    private static func read(_ name: FileName, in layout: RepositoryLayout) throws(BackupError) -> DoomedPacks? {
        let path = "\(layout.doomed)/\(name)"
        guard name.description.hasSuffix(nameExtension), let status = try FileSystem.look(path),
            let bytes = try FileSystem.readFileIfPresent(path, limitBytes: byteCountLimit)
        else { return nil }
        do throws(BackupError) {
            return DoomedPacks(path: path, packs: try decode(bytes), since: status.modificationTime)
        } catch {
            throw error.at("\(layout.packSource?.location ?? layout.path)/doomed/\(name)")
        }
    }

    /// All packs in readable lists. A prune decides nothing while one is unreadable, so a writer need not care.
    static func all(in layout: RepositoryLayout) -> Set<PackID> {
        let names = (try? FileSystem.names(in: layout.doomed)) ?? []
        return Set(names.flatMap { (try? read($0, in: layout))?.packs ?? [] })
    }
}
