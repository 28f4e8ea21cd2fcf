import BackupCore
import Glibc
import ObjectStorage
import Synchronization
import SystemIO

/// The versions in a storage of the small files in its cache, so that only what has changed is transferred.
///
/// A refresh reads and replaces them, one process at a time. What a program stores itself is added to a second file, one line in
/// one write(2), which the next refresh takes over: a lost line costs a transfer.
final class CachedVersions: Sendable {
    private static let limitBytes = 64 << 20

    private let path: String
    /// As this process last read or noted them.
    private let known = Mutex(MirrorState())
    /// What the file holds, as far as it is known.
    private let written = Mutex<MirrorState?>(nil)

    /// - Parameter folder: of the cache.
    init(folder: String) { path = "\(folder)/versions" }

    private var addedPath: String { "\(path).added" }

    /// The versions, with those that were added. What cannot be read is unknown. Call it only while the cache is locked.
    func read() -> MirrorState {
        let bytes = try? FileSystem.readFileIfPresent(path, limitBytes: Self.limitBytes)
        var state = MirrorState(decoding: bytes ?? [])
        let before = bytes == nil ? nil : state
        written.withLock { $0 = before }
        if let added = try? FileSystem.readFileIfPresent(addedPath, limitBytes: Self.limitBytes) { state.add(lines: added) }
        return state
    }

    /// Call it only while the cache is locked. Errors are ignored.
    /// - Parameter temporaryFolder: on the same file system.
    func replace(by state: MirrorState, temporaryFolder: String) {
        known.withLock { $0 = state }
        do throws(BackupError) {
            if written.withLock({ $0 }) != state {
                try PrivateFile.publish(state.encoded, to: path, temporaryFolder: temporaryFolder, isDurable: false)
                written.withLock { $0 = state }
            }
            try FileSystem.removeFile(addedPath)
        } catch {
            written.withLock { $0 = nil }
        }
    }

    /// Notes what this process has stored. Errors are ignored.
    /// - Parameter sha256: of its bytes.
    func note(_ name: ObjectName, _ sha256: SHA256Digest, _ version: ObjectVersion) {
        let line = known.withLock { known in
            known.note(name, sha256, version.unread)
            return known.line(for: name)
        }
        do throws(BackupError) {
            let file = try OwnedDescriptor.open(addedPath, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, permissions: 0o600)
            try file.writeAll(line)
        } catch {}
    }

    /// The version of an object with these bytes, as far as this process knows; `nil` if it is unknown.
    func version(of name: ObjectName, sha256: SHA256Digest) -> ObjectVersion? {
        known.withLock { $0.sha256(of: name) == sha256 ? $0.version(of: name)?.stored : nil }
    }
}

extension ObjectVersion {
    private static let unreadPrefix = "copy "

    /// Noted for an object that was not read itself: a copy of it was, or this machine has stored it. A check reads it.
    var unread: ObjectVersion { ObjectVersion(Self.unreadPrefix + text) }

    /// The version in the storage.
    fileprivate var stored: ObjectVersion {
        text.hasPrefix(Self.unreadPrefix) ? ObjectVersion(String(text.dropFirst(Self.unreadPrefix.count))) : self
    }
}
