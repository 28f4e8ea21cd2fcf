import BackupCore
import Glibc
import SystemIO

/// The file that a rollback journal names after a transaction over several databases: SQLite lists all their journals in it (a super-journal). A program that
/// rolls the journal back deletes the named file without checking what it is.
enum SuperJournal {
    private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    /// The end of a journal that names a file: the name's length and checksum, and the magic.
    private static let trailerByteCount: UInt64 = 16
    /// SQLite accepts no longer names.
    private static let nameLimitBytes: UInt32 = 512
    /// More than the names of the maximum number of databases that SQLite can attach.
    private static let listLimitBytes = 1 << 20

    /// Must be called before SQLite may write to a database, which rolls back a journal beside it.
    /// - Throws: `notPermitted` when SQLite would delete a file that does not list the journal.
    static func requireOwn(ofDatabase path: String) throws(BackupError) {
        try requireOwn(journal: DatabaseFile.realPath(path) + "-journal")
    }

    private static func requireOwn(journal: String) throws(BackupError) {
        guard let status = try FileSystem.look(journal), status.kind == .regular, status.size > 0 else { return }
        // SQLite does not lock journals: closing it again drops no lock of this process.
        let file = try SharedFile(path: journal)
        guard let name = try name(in: file) else { return }
        // The target of a path that is not UTF-8 cannot be checked.
        if let path = String(validating: name, as: UTF8.self) {
            guard let named = try FileSystem.look(path) else { return }
            if named.kind == .regular, try lists(path, FileIdentity(status)) { return }
        }
        throw BackupError(
            .notPermitted,
            "SQLite would delete a file that the journal of the database names, and that is none of its own: \(MessageText.name(name))",
            path: journal,
            remedy: "Copy that file to a safe place, open the app once and close it, and try again.")
    }

    /// The name at the end of a journal, as SQLite reads it.
    /// - Returns: `nil` for a journal that names nothing, or that will not be rolled back.
    private static func name(in journal: SharedFile) throws(BackupError) -> [UInt8]? {
        guard journal.size > trailerByteCount, let first = try journal.bytes(at: 0, upTo: 1).first, first != 0 else { return nil }
        let trailer = try journal.bytes(at: journal.size - trailerByteCount, upTo: Int(trailerByteCount))
        guard trailer.count == trailerByteCount, trailer[8...].elementsEqual(journalMagic) else { return nil }
        let length = number(trailer[0..<4])
        guard (1...nameLimitBytes).contains(length), UInt64(length) <= journal.size - trailerByteCount else { return nil }
        let bytes = try journal.bytes(at: journal.size - trailerByteCount - UInt64(length), upTo: Int(length))
        // SQLite adds up `char` values, which are signed on some processors and unsigned on others.
        let plainSum = bytes.reduce(0 as UInt32) { $0 &+ UInt32($1) }
        let signedSum = bytes.reduce(0 as UInt32) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
        guard [plainSum, signedSum].contains(number(trailer[4..<8])) else { return nil }
        return Array(bytes.prefix { $0 != 0 })
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Whether a file lists a journal: zero-terminated names.
    private static func lists(_ path: String, _ journal: FileIdentity) throws(BackupError) -> Bool {
        let file = try SharedFile(path: path)
        guard file.size <= UInt64(listLimitBytes) else { return false }
        for name in try file.bytes(at: 0, upTo: listLimitBytes).split(separator: 0) {
            guard let text = String(validating: name, as: UTF8.self) else { continue }
            if (try? FileSystem.identityIfPresent(text)) == journal { return true }
        }
        return false
    }
}
