import BackupCore
import Glibc
import Synchronization
import SystemIO

/// The folders that a job has made in a destination, in all its runs: they get the modes and times of their originals at the
/// end. Others keep their own. For all threads.
final class MadeFolders: Sendable {
    private let file: OwnedDescriptor
    private let paths: Mutex<Set<[UInt8]>>

    /// - Parameter path: a file of the job's folder, a line for each folder in hexadecimal digits, with a minus sign before it
    ///   for one that was not made after all. It is made if it is missing. A power cut may cost its last lines: those folders
    ///   keep the modes with which they were made.
    init(_ path: String) throws(BackupError) {
        var found: Set<[UInt8]> = []
        if try FileSystem.exists(path) {
            var lines = try LineFile(path: path)
            while let line = try lines.next() {
                let isTakenBack = line.first == UInt8(ascii: "-")
                guard let bytes = Hexadecimal.decode(line.dropFirst(isTakenBack ? 1 : 0)) else { continue }
                if isTakenBack { found.remove(bytes) } else { found.insert(bytes) }
            }
        }
        paths = Mutex(found)
        file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW)
    }

    /// To be called before the folder is made: a program that is killed in between must know it in its next run.
    func add(_ path: [FileName]) throws(BackupError) {
        let key = BytePath.joined(path)
        let isNew = paths.withLock { $0.insert(key).inserted }
        if isNew { try file.writeAll(Array("\(Hexadecimal.encode(key))\n".utf8)) }
    }

    /// For a folder that another program has made meanwhile.
    func takeBack(_ path: [FileName]) throws(BackupError) {
        let key = BytePath.joined(path)
        let wasThere = paths.withLock { $0.remove(key) != nil }
        if wasThere { try file.writeAll(Array("-\(Hexadecimal.encode(key))\n".utf8)) }
    }

    func has(_ path: [FileName]) -> Bool { paths.withLock { $0.contains(BytePath.joined(path)) } }
}
