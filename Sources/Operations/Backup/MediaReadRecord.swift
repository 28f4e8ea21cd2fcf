import BackupCore
import BackupRepository
import SystemIO

/// When all media files on file systems without change times were last read. A backup records this itself. If a backup was skipped because it would equal the
/// newest, a line in the store records it: the newest one's ID, and when it was found to be equal.
struct MediaReadRecord {
    /// `media.read` in the store.
    let path: String

    /// The time up to which `snapshot` is known to match these files.
    func lastReadAt(_ snapshot: Snapshot) -> Timestamp? {
        let own = snapshot.record.attributes[Snapshot.mediaReadAttribute].flatMap { ISO8601.parse($0) }
        guard let bytes = try? FileSystem.readFile(path, limitBytes: 1 << 10) else { return own }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, words[0] == snapshot.id.hexadecimal, let found = ISO8601.parse(String(words[1])) else {
            return own
        }
        return own.map { max($0, found) } ?? found
    }

    /// Without the line all files are read again, which is harmless.
    func note(_ snapshot: Snapshot, readAt time: Timestamp) {
        let line = "\(snapshot.id.hexadecimal) \(ISO8601.format(time))\n"
        try? FileSystem.writeFileAtomically(path, Array(line.utf8))
    }
}
