import BackupCore
import Glibc
import Operations
import SystemIO

/// Puts a media file of a backup back into the app's media folder. What is there stays: another file of that name is kept, and
/// the one of the backup gets its time, or the name of the backup, into its name.
struct MediaReturn {
    /// What became of it.
    enum Outcome {
        case back(name: FileName)
        /// Under another name, since another file has that one.
        case beside(name: FileName)
        /// A file with the same bytes is there already.
        case present
    }

    private static let compareSizeBytes = 1 << 20

    /// In the mount.
    let source: String
    /// Below the media folder.
    let path: [FileName]
    /// What a second file of this name is told apart by.
    let version: String
    /// The app's media folder.
    let folder: String

    /// - Throws: `invalidArgument` for anything but a file; `alreadyExists` when both names are taken. Then nothing is changed.
    func run() throws(BackupError) -> Outcome {
        guard let name = path.last, try FileSystem.look(source)?.kind == .regular else {
            throw BackupError(
                .invalidArgument, "only a file can be put back", path: source,
                remedy: "Get the files of a folder with: backupfs restore NAME:PATH --target FOLDER")
        }
        let file = try SharedFile(path: source)
        var target = try DirectoryHandle(path: folder)
        for component in path.dropLast() {
            let isNew = try target.statusIfPresent(component) == nil
            let next = try target.openOrMakeFolder(component)
            if isNew { NewFileOwner.giveToOwnerOfFolder(next.path) }
            target = next
        }
        if try hasSameBytes(file, target, name) { return .present }
        let other = try otherName(name)
        if try target.statusIfPresent(name) != nil, try hasSameBytes(file, target, other) { return .present }
        let outcome: Outcome
        // Of a file without a name, nothing is left if the program ends.
        if let made = try target.createNamelessFile(upTo: permissions(target)) {
            try fill(made, from: file, target)
            outcome = try place(name, other) { (name) throws(BackupError) in try target.link(nameless: made, as: name) }
        } else {
            // Backups leave such names out.
            let draft = FileName(".backupfs-staging-\(RandomToken.make())")
            do throws(BackupError) {
                try fill(target.createFile(draft, permissions: permissions(target)), from: file, target)
                outcome = try place(name, other) { (name) throws(BackupError) in
                    try target.move(draft, to: target, as: name)
                }
            } catch {
                try? target.removeFile(draft)
                throw error
            }
        }
        try target.synchronize()
        return outcome
    }

    private func place(
        _ name: FileName, _ other: FileName, _ body: (FileName) throws(BackupError) -> Void
    ) throws(BackupError) -> Outcome {
        do {
            try body(name)
            return .back(name: name)
        } catch let error where error.code == .alreadyExists {
            try body(other)
            return .beside(name: other)
        }
    }

    /// `IMG_1 (2026-01-11_14-30-00).jpg`; a name that would be too long is shortened before that.
    private func otherName(_ name: FileName) throws(BackupError) -> FileName {
        let other = FileName.fitting(name.bytes, " (\(version))")
        guard other.count <= FileName.byteCountLimit else {
            throw BackupError(.nameTooLong, "no name for the file beside it is short enough", path: source)
        }
        return FileName(bytes: other)
    }

    /// The mount does not show the modes that the files had. A new file of the app has that of its folder.
    private func permissions(_ target: DirectoryHandle) throws(BackupError) -> mode_t {
        mode_t(try target.descriptor.status().mode & 0o666 | 0o600)
    }

    private func fill(
        _ made: borrowing OwnedDescriptor, from file: SharedFile, _ target: DirectoryHandle
    ) throws(BackupError) {
        NewFileOwner.give(made, toOwnerOf: try target.descriptor.status())
        try made.setPermissions(permissions(target))
        try file.copy(file.size, to: made, named: source)
        try made.setModificationTime(file.status().modificationTime)
        try made.synchronize()
    }

    private func hasSameBytes(_ file: SharedFile, _ target: DirectoryHandle, _ name: FileName) throws(BackupError) -> Bool {
        guard let status = try target.statusIfPresent(name), status.kind == .regular, status.size == file.size else {
            return false
        }
        let other = try SharedFile(target.openFile(name))
        var offset: UInt64 = 0
        while offset < file.size {
            let part = try file.bytes(at: offset, upTo: Self.compareSizeBytes)
            guard !part.isEmpty, try other.bytes(at: offset, upTo: Self.compareSizeBytes) == part else { return false }
            offset += UInt64(part.count)
        }
        return true
    }
}
