import BackupCore
import SystemIO

/// Changes. Each is one rename(2), link(2) or unlink(2), so that a reader, and the next start after a power cut, find the old
/// object or the new one.
extension FolderStorage {
    public func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        let components = try Self.components(of: name)
        return try changing(components, draft) { (root, parent, last, file) throws(BackupError) in
            guard let file else { return try requireFree(name, components, in: root) }
            if try canLink(in: file.folder) {
                try move(file, to: parent, as: last, name)
            } else {
                // A check and a rename, on a file system that has nothing better.
                try self.root.withLock(file.folder) { () throws(BackupError) in try move(file, to: parent, as: last, name) }
            }
        }
    }

    public func replace(
        _ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft
    ) throws(BackupError) -> ObjectVersion {
        let components = try Self.components(of: name)
        return try changing(components, draft) { (root, parent, last, file) throws(BackupError) in
            guard let file else { return _ = try require(version, of: name, components, in: root) }
            try self.root.withLock(file.folder) { () throws(BackupError) in
                let old = try require(version, of: name, components, in: root)
                try file.setTime(after: old)
                try file.folder.replace(file.name, in: parent, as: last)
            }
        }
    }

    public func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) {
        let components = try Self.components(of: name)
        try BackupError.ofStorage { () throws(BackupError) in
            let folder = try root.open()
            // What is not there needs no lock, for which this program may lack the permission.
            _ = try require(version, of: name, components, in: folder)
            guard let parent = try folder.openFolder(at: components.dropLast()), let last = components.last else { return }
            try root.withLock(root.controlFolder(in: folder)) { () throws(BackupError) in
                _ = try require(version, of: name, components, in: folder)
                try parent.remove(last, isDirectory: false)
            }
            try synchronize(parent)
        }
    }

    /// Writes a file and gives it its name.
    /// - Parameter body: called first without a file, to find out whether there is any use in writing one, then with the file.
    private func changing(
        _ components: [FileName], _ draft: ObjectDraft,
        _ body: (DirectoryHandle, DirectoryHandle, FileName, FolderDraft?) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectVersion {
        try BackupError.ofStorage { () throws(BackupError) in
            let folder = try root.open()
            let last = components[components.count - 1]
            try body(folder, folder, last, nil)
            let control = try root.controlFolder(in: folder)
            let file = try FolderDraft(in: control, owner: root.owner)
            do throws(BackupError) {
                try file.write(draft)
                if !hasSwept.exchange(true, ordering: .relaxed) { try? FolderDraft.removeStale(in: control, before: file) }
                let parent = try parentFolder(of: components, in: folder)
                try Cancellation.check()
                try body(folder, parent, last, file)
                try synchronize(parent)
                return Self.version(of: try file.status())
            } catch {
                // Without effect when the file has its name already.
                try? file.discard()
                throw error
            }
        }
    }

    /// - Throws: `alreadyExists`; `notSupported` when the name is taken by something that is no object.
    private func requireFree(_ name: ObjectName, _ components: [FileName], in folder: DirectoryHandle) throws(BackupError) {
        guard let parent = try folder.openFolder(at: components.dropLast()), let last = components.last,
            let status = try parent.statusIfPresent(last)
        else { return }
        guard status.kind == .regular else {
            throw BackupError(
                .notSupported, "a folder, or something that is no file, has the name of this object", path: path(name),
                remedy: "Choose another name, or move away what has it.")
        }
        throw BackupError(.alreadyExists, "there is an object of this name already", path: path(name))
    }

    /// - Returns: the time of the object's file.
    /// - Throws: `notFound`, `conflict`.
    private func require(
        _ version: ObjectVersion?, of name: ObjectName, _ components: [FileName], in folder: DirectoryHandle
    ) throws(BackupError) -> Timestamp {
        guard let parent = try folder.openFolder(at: components.dropLast()), let last = components.last,
            let status = try parent.statusIfPresent(last), status.kind == .regular
        else { throw missing(name) }
        guard version == nil || version == Self.version(of: status) else {
            throw BackupError(
                .conflict, "another program has changed the object", path: path(name), remedy: "Read it again, and try again.")
        }
        return status.modificationTime
    }

    private func move(
        _ file: FolderDraft, to parent: DirectoryHandle, as last: FileName, _ name: ObjectName
    ) throws(BackupError) {
        do throws(BackupError) {
            try file.folder.move(file.name, to: parent, as: last)
        } catch {
            guard error.code == .alreadyExists else { throw error }
            throw BackupError(.alreadyExists, "there is an object of this name already", path: path(name))
        }
    }

    /// After the change: whatever fails now, it may have taken effect.
    private func synchronize(_ parent: DirectoryHandle) throws(BackupError) {
        do throws(BackupError) { try parent.synchronize() } catch { throw error.with(.inputOutput) }
    }
}
