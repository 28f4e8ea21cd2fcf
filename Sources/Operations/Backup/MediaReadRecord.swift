import BackupCore
import BackupRepository
import SystemIO

/// When all media files on file systems that keep no change time were last read. A backup says so itself; one that was not made, since it would
/// have been the same as the newest, leaves a line in the store: the ID of that one, and when it was found to be the same.
struct MediaReadRecord {
    /// `media.read` in the store.
    let path: String

    /// Up to when `snapshot` is known to hold what these files hold.
    func lastReadAt(_ snapshot: Snapshot) -> Timestamp? {
        let own = snapshot.record.attributes[Snapshot.mediaReadAttribute].flatMap { ISO8601.parse($0) }
        guard let bytes = try? FileSystem.readFile(path, limitBytes: 1 << 10) else { return own }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, words[0] == snapshot.id.hexadecimal, let found = ISO8601.parse(String(words[1])) else {
            return own
        }
        return own.map { max($0, found) } ?? found
    }

    /// Without the line all is read again: that does no harm.
    func note(_ snapshot: Snapshot, readAt time: Timestamp) {
        let line = "\(snapshot.id.hexadecimal) \(ISO8601.format(time))\n"
        try? FileSystem.writeFileAtomically(path, Array(line.utf8))
    }
}
