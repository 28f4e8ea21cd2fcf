import BackupCore
import SystemIO

/// A list of checksums that is written under a temporary name into a folder of a destination. It gets its name when it is
/// complete and durable.
struct ManifestDraft {
    /// What happens to another file that has the name. One with the same bytes stays in any case.
    enum Policy {
        /// The list gets the next free name.
        case nextName
        case refuse
        /// The file is an earlier state of this list.
        case replace
    }

    private static let numberLimit = 1_000
    private static let partByteCount = 1 << 20

    private let name: FileName
    private let folder: DirectoryHandle
    private let temporary: FileName
    let output: BufferedOutput

    /// - Parameter token: that of the job.
    init(_ name: FileName, in folder: DirectoryHandle, token: String) throws(BackupError) {
        self.name = name
        self.folder = folder
        temporary = CopyNames.temporary(of: name, token: token, number: 0)
        try folder.removeFile(temporary)
        let file = try folder.createFile(temporary, permissions: 0o600)
        // Others may read it; some file systems have no modes.
        try? file.setPermissions(0o644)
        output = BufferedOutput(file)
    }

    /// Writes a whole list.
    /// - Returns: its name.
    @discardableResult
    static func write(
        _ name: FileName, in folder: DirectoryHandle, token: String, _ policy: Policy,
        _ body: (BufferedOutput) throws(BackupError) -> Void
    ) throws(BackupError) -> FileName {
        let draft = try ManifestDraft(name, in: folder, token: token)
        do throws(BackupError) {
            try body(draft.output)
            return try draft.finish(policy)
        } catch {
            try? folder.removeFile(draft.temporary)
            throw error
        }
    }

    private func finish(_ policy: Policy) throws(BackupError) -> FileName {
        try output.synchronize()
        var target = name
        var number = 1
        while try folder.statusIfPresent(target) != nil {
            if try isEqual(to: target) {
                try folder.removeFile(temporary)
                return target
            }
            switch policy {
            case .replace:
                try folder.replace(temporary, in: folder, as: target)
                try folder.synchronize()
                return target
            case .refuse: throw conflict(target)
            case .nextName:
                number += 1
                guard number < Self.numberLimit else { throw conflict(target) }
                target = CopyNames.numbered(name, number)
            }
        }
        try folder.move(temporary, to: folder, as: target)
        try folder.synchronize()
        return target
    }

    private func conflict(_ target: FileName) -> BackupError {
        BackupError(
            .conflict, "another file has the name of the list of checksums", path: "\(folder.path)/\(target)",
            remedy: "Move it away, and resume the job.")
    }

    private func isEqual(to target: FileName) throws(BackupError) -> Bool {
        guard let other = try folder.openFileIfPresent(target) else { return false }
        let (own, present) = (try SharedFile(folder.openFile(temporary)), try SharedFile(other))
        guard own.size == present.size else { return false }
        var offset: UInt64 = 0
        while true {
            let part = try own.bytes(at: offset, upTo: Self.partByteCount)
            guard try part == present.bytes(at: offset, upTo: Self.partByteCount) else { return false }
            if part.isEmpty { return true }
            offset += UInt64(part.count)
        }
    }
}
