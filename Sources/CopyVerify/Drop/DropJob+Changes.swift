import BackupCore
import Glibc
import SystemIO

/// Changes of the destinations besides copying: folders, names and attributes. What one destination cannot do is a problem of the
/// job, and the others go on.
extension DropJob {
    /// Runs a change in every destination that works.
    /// - Parameter body: returns false where there was nothing to do.
    /// - Returns: the paths of the destinations where it was made.
    /// - Throws: the error of the last destination, when the change was made in none.
    @discardableResult
    private func inEach(_ body: (Destination) throws(BackupError) -> Bool) throws(BackupError) -> Set<String> {
        if context.mustStop { throw CopyContext.cancelled }
        var done: Set<String> = []
        var failure = destinations.lazy.compactMap(\.error).first
        for destination in destinations where destination.error == nil {
            do throws(BackupError) {
                try destination.requirePresent()
                if try body(destination) { done.insert(destination.place.path) }
            } catch {
                if Destination.isOfDevice(error) { destination.fail(error) }
                context.problems.add(error)
                failure = error
            }
        }
        if !done.isEmpty { return done }
        throw failure ?? BackupError(.notFound, "no destination has this file or folder")
    }

    /// Where something is in a destination; `nil` if its folder is not there.
    private func folder(of path: [FileName], in destination: Destination) throws(BackupError) -> DirectoryHandle? {
        try destination.root.openFolder(at: path.dropLast())
    }

    /// - Parameter permissions: of the new folder.
    func makeFolder(_ path: [FileName], permissions: mode_t) throws(BackupError) {
        guard let name = path.last else { return }
        try inEach { (destination) throws(BackupError) in
            let parent = try TargetFolders(destination).openOrMake(Array(path.dropLast())) { _ in }
            guard try parent.statusIfPresent(name)?.kind != .directory else { return true }
            try destination.madeFolders.add(path)
            try parent.makeFolder(name).descriptor.setPermissions(permissions | 0o700)
            try parent.synchronize()
            return true
        }
    }

    /// Sets what a program has set, where the file or folder is.
    func setAttributes(_ path: [FileName], permissions: mode_t?, modificationTime: Timestamp?) throws(BackupError) {
        try inEach { (destination) throws(BackupError) in
            guard let name = path.last else {
                try Self.set(destination.root.descriptor, permissions, modificationTime)
                return true
            }
            guard let folder = try folder(of: path, in: destination), let status = try folder.statusIfPresent(name) else {
                return false
            }
            switch status.kind {
            case .directory: try Self.set(folder.openDirectory(name).descriptor, permissions, modificationTime)
            case .regular: try Self.set(folder.openFile(name), permissions, modificationTime)
            // A link has no mode of its own.
            case .symbolicLink: if let modificationTime { try folder.setModificationTime(of: name, modificationTime) }
            case .other: return false
            }
            return true
        }
        if let modificationTime { rows.setTime(modificationTime, of: BytePath.joined(path)) }
    }

    private static func set(
        _ file: borrowing OwnedDescriptor, _ permissions: mode_t?, _ modificationTime: Timestamp?
    ) throws(BackupError) {
        if let permissions { try file.setPermissions(permissions) }
        if let modificationTime { try file.setModificationTime(modificationTime) }
    }

    func setExtendedAttribute(_ attribute: ExtendedAttribute, of path: [FileName]) throws(BackupError) {
        try inEach { (destination) throws(BackupError) in
            guard let name = path.last else { return try Self.set(attribute, of: destination.root.descriptor) }
            guard let folder = try folder(of: path, in: destination), let status = try folder.statusIfPresent(name) else {
                return false
            }
            switch status.kind {
            case .directory: return try Self.set(attribute, of: folder.openDirectory(name).descriptor)
            case .regular: return try Self.set(attribute, of: folder.openFile(name))
            case .symbolicLink, .other: throw BackupError(.notSupported, "a link has no attributes", path: "\(name)")
            }
        }
    }

    private static func set(
        _ attribute: ExtendedAttribute, of file: borrowing OwnedDescriptor
    ) throws(BackupError) -> Bool {
        let permissions = mode_t(try file.status().mode & 0o7777)
        if let error = file.setExtendedAttributes([attribute], permissions: permissions) { throw error }
        return true
    }

    // MARK: Names

    /// Gives a file, a link or an empty folder another name at all destinations. Replaces nothing. Durable when it returns; then
    /// the rows of a file that had a temporary name are written.
    /// - Parameter keepsTemporary: whether the new name is a temporary one, too.
    func rename(_ path: [FileName], to newPath: [FileName], keepsTemporary: Bool) throws(BackupError) {
        guard let name = path.last, let newName = newPath.last else { return }
        for destination in destinations where destination.error == nil {
            guard try folder(of: newPath, in: destination)?.statusIfPresent(newName) == nil else {
                throw BackupError(
                    .alreadyExists, "another file has the name in the destination",
                    path: "\(destination.place.path)/\(MessageText.name(BytePath.joined(newPath)))",
                    remedy: "Remove it there, or give the copy another name.")
            }
        }
        let held = rows.held(BytePath.joined(path))
        let done = try inEach { (destination) throws(BackupError) in
            guard let folder = try folder(of: path, in: destination), let status = try folder.statusIfPresent(name) else {
                return false
            }
            // A file of another program can have the name where the copy has a numbered one, or is gone.
            if !held.isEmpty, !Self.isCopy(status, named: path, held, destination) { return false }
            // The rows of what is in it have its name.
            if status.kind == .directory, try !folder.openDirectory(name).names().isEmpty {
                throw BackupError(
                    .notPermitted, "only an empty folder can get another name here", path: "\(folder.path)/\(name)",
                    remedy: "Copy it under the other name.")
            }
            let target = try TargetFolders(destination).openOrMake(Array(newPath.dropLast())) { _ in }
            try folder.move(name, to: target, as: newName)
            try target.synchronize()
            try folder.synchronize()
            return true
        }
        let key = BytePath.joined(newPath)
        info.withLock { $0.rename(path, to: newPath, isTemporary: keepsTemporary) }
        guard !held.isEmpty else {
            // Its rows are written, if it has any.
            let old = MessageText.name(BytePath.joined(path))
            return context.problems.warn("\(old) was renamed to \(MessageText.name(key)) after it was copied")
        }
        _ = rows.takeHeld(BytePath.joined(path))
        let moved = held.filter { done.contains($0.destination) }.map { row in
            var row = row
            (row.path, row.target) = (key, nil)
            return row
        }
        if keepsTemporary { rows.hold(moved, as: key) } else { try context.journal.append(moved) }
        try failRows(held.filter { !done.contains($0.destination) }, as: key)
    }

    /// A copy that could not get its name counts as none.
    private func failRows(_ lost: [ResultRow], as path: [UInt8]) throws(BackupError) {
        guard let first = lost.first else { return }
        let error = BackupError(
            .inputOutput, "the copy could not be renamed", path: "\(first.destination)/\(MessageText.name(path))",
            remedy: "Copy the file again.")
        try context.journal.append(
            lost.map { row in
                var row = row
                (row.path, row.target, row.status, row.error) = (path, nil, .failed, error)
                return row
            })
        throw error
    }

    /// Whether this is the copy that a row is about, under its own name.
    private static func isCopy(
        _ status: FileStatus, named path: [FileName], _ held: [ResultRow], _ destination: Destination
    ) -> Bool {
        let key = BytePath.joined(path)
        return held.contains { row in
            row.destination == destination.place.path && (row.target ?? row.path) == key && row.targetInode == status.inode
                && (status.kind == .symbolicLink || row.size == status.size)
        }
    }

    /// Removes a file that has a temporary name still, where this job has made it.
    /// - Throws: `notPermitted` for any other file.
    func remove(_ path: [FileName]) throws(BackupError) {
        let key = BytePath.joined(path)
        // One that was there before is not the job's.
        let held = rows.held(key).filter { $0.status != .present }
        guard !held.isEmpty else { throw CopySet.removesNothing(path) }
        try inEach { (destination) throws(BackupError) in
            guard let row = held.first(where: { $0.destination == destination.place.path }) else { return false }
            // The copy has a number where another file has its name.
            let names = BytePath.components(of: row.target ?? row.path)
            guard let own = names.last, let folder = try folder(of: names, in: destination),
                let status = try folder.statusIfPresent(own), Self.isCopy(status, named: names, held, destination)
            else { return false }
            try folder.removeFile(own)
            try folder.synchronize()
            return true
        }
        _ = rows.takeHeld(key)
        info.withLock { $0.forget(path) }
    }
}
