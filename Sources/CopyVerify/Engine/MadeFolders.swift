import BackupCore
import Glibc
import Synchronization
import SystemIO

/// The folders that a job has made in a destination, in all its runs: they get the modes and times of their originals at the
/// end. Others keep their own. For all threads.
final class MadeFolders: Sendable {
    private struct State: Sendable {
        var paths: Set<[UInt8]> = []
    }

    private let file: OwnedDescriptor
    private let state: Mutex<State>

    /// - Parameter path: a file of the job's folder, a line for each folder in hexadecimal digits. It is made if it is missing. A
    ///   power cut may cost its last lines: those folders keep the modes with which they were made.
    init(_ path: String) throws(BackupError) {
        var found = State()
        if try FileSystem.exists(path) {
            var lines = try LineFile(path: path)
            while let line = try lines.next() {
                if let bytes = Hexadecimal.decode(line) { found.paths.insert(bytes) }
            }
        }
        state = Mutex(found)
        file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW)
    }

    private static func key(_ path: [FileName]) -> [UInt8] { Array(path.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }

    func add(_ path: [FileName]) throws(BackupError) {
        let key = Self.key(path)
        let isNew = state.withLock { $0.paths.insert(key).inserted }
        if isNew { try file.writeAll(Array("\(Hexadecimal.encode(key))\n".utf8)) }
    }

    func has(_ path: [FileName]) -> Bool { state.withLock { $0.paths.contains(Self.key(path)) } }
}
