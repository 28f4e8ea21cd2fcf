import BackupCore
import FUSEBridge
import Glibc
import Operations
import SystemIO
import VirtualTree

/// A mounted store, and the place in it that a path of a file manager stands for.
struct DesktopPlace {
    let mountpoint: String
    /// Of the store that is mounted there; `nil` if the mount did not say so.
    let storePath: String?
    /// Below the mountpoint. A file of the app's own media folder is that of `live/media`.
    let names: [FileName]

    /// The process that serves the mount; `nil` if the mount did not say so.
    private let server: ProcessMark?

    /// - Parameter path: `nil` for the first mounted store.
    /// - Throws: `notFound` for a path that does not exist, and without a mounted store; `invalidArgument` for a path that no
    ///   mounted store knows; `notPermitted` for a mount of another user, who could have made up all that is in it.
    init(_ path: String?) throws(BackupError) {
        let table = try MountTable.current()
        let trusted = table.ownEntries.filter(Self.isTrusted)
        guard let path else {
            // Of those that do not answer, nothing can be asked.
            for entry in trusted {
                guard let server = try MountServer.of(entry.path), server.storePath != nil else { continue }
                self.init(entry, server, [])
                return
            }
            throw BackupError(
                .notFound, "no folder with backups is mounted", remedy: "Mount a store first with: backupfs mount")
        }
        let real = try FileSystem.exists(path) ? FileSystem.realPath(path) : nil
        // Of a name that is not UTF-8, this is another file.
        guard let real, ![path, real].contains(where: { $0.unicodeScalars.contains("\u{FFFD}") }) else {
            throw BackupError(.notFound, "there is no such file or folder", path: path)
        }
        if let entry = table.ownEntry(holding: real) {
            guard Self.isTrusted(entry) else {
                throw BackupError(
                    .notPermitted, "this is in a mount of another user", path: path, remedy: "Run this as that user.")
            }
            self.init(
                entry, try MountServer.of(entry.path), BytePath.components(of: Array(real.utf8.dropFirst(entry.path.utf8.count))))
            return
        }
        for entry in trusted {
            guard let server = try MountServer.of(entry.path), let storePath = server.storePath,
                let media = try? StorePaths(root: storePath).mediaFolder(), let folder = try? FileSystem.realPath(media),
                real == folder || real.hasPrefix("\(folder)/")
            else { continue }
            let names = BytePath.components(of: Array(real.utf8.dropFirst(folder.utf8.count)))
            self.init(entry, server, ["live", "media"] + names)
            return
        }
        throw BackupError(
            .invalidArgument, "is not in a folder that backupfs is mounted on, nor in the media folder of an app that is mounted",
            path: path)
    }

    private init(_ entry: MountTable.Entry, _ server: MountServer?, _ names: [FileName]) {
        mountpoint = entry.path
        storePath = server?.storePath
        self.server = server?.process
        self.names = names
    }

    private static func isTrusted(_ entry: MountTable.Entry) -> Bool {
        entry.userID.map { StoreTrust.isTrusted(userID: $0) } ?? false
    }

    /// A question may stand for minutes.
    /// - Throws: `busy` when the folder was unmounted meanwhile, or something else is mounted there.
    func requireSame() throws(BackupError) {
        let now = try MountServer.of(mountpoint)
        guard let server, now?.process == server else {
            throw BackupError(
                .busy, "the folder was unmounted meanwhile; nothing was changed", path: mountpoint, remedy: "Try again.")
        }
    }

    /// Of a file or folder in the mount.
    func path(_ names: [FileName]) -> String { "\(mountpoint)/\(String(decoding: BytePath.joined(names), as: UTF8.self))" }

    /// The folder in `versions/` with all versions of this file, or of the files in this folder.
    /// - Returns: `nil` for what has none.
    var versions: [FileName]? {
        guard let start = names.firstIndex(where: { $0 == "media" || $0 == "data" }) else { return nil }
        switch (names.first, start) {
        case ("live", 1), ("snapshots", 2), ("versions", 1): break
        default: return nil
        }
        var inside = Array(names[start...])
        // A version itself.
        if names.first == "versions", (try? FileSystem.look(path(names)))??.kind == .regular { inside.removeLast() }
        return ["versions"] + inside
    }

    /// Writes a line into a file of `control/`, and waits until what it asks for has ended.
    /// - Returns: the file's text without its first line: how it went.
    /// - Throws: when it does not begin.
    func ask(_ verb: ControlVerb, _ line: String) throws(BackupError) -> Message {
        let path = path(["control", FileName(verb.rawValue)])
        let descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemCall.error(errno, action: "write", path: path) }
        let bytes = Array("\(line)\n".utf8)
        let hasWritten = write(descriptor, bytes, bytes.count) == bytes.count
        // It begins with close(2), which says so if it cannot.
        let failure = close(descriptor) != 0 ? errno : hasWritten ? 0 : EIO
        var state = failure == 0 ? self.state(of: path) : nil
        while state == .running {
            usleep(Self.pollMicroseconds)
            state = self.state(of: path)
        }
        if failure == EBUSY { throw SystemCall.error(failure, action: "write", path: path) }
        // The first line has the time, and the last one ends, too.
        let lines = String(decoding: try FileSystem.readFile(path), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast()
        let text = Message.verbatim(lines.joined(separator: "\n"))
        guard failure == 0 else { throw BackupError(SystemCall.error(failure, action: "write", path: path).code, text) }
        guard state != .failed else { throw BackupError(.inputOutput, text) }
        return text
    }

    private func state(of path: String) -> ControlState? {
        FileSystem.extendedAttribute(StateAttribute.name, of: path)
            .flatMap { ControlState(rawValue: String(decoding: $0, as: UTF8.self)) }
    }

    private static let pollMicroseconds: UInt32 = 200_000
}
