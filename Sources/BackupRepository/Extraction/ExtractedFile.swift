import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A file that is being extracted in one or more parts, by one or more threads. When the last reference is released, it gets its
/// time, or is removed if it could not be written completely.
final class ExtractedFile: Sendable {
    private struct State {
        /// Checksum and length of each written part, by its number.
        var parts: [Int: (crc32: UInt32, length: UInt64)] = [:]
        var hasFailed = false
    }

    private let entry: TreeEntry
    private let folder: ExtractedFolder
    private let ledger: ExtractionLedger
    private let descriptor: OwnedDescriptor
    private let state = Mutex(State())

    /// Creates the file.
    init(_ entry: TreeEntry, in folder: ExtractedFolder, _ ledger: ExtractionLedger) throws(BackupError) {
        self.entry = entry
        self.folder = folder
        self.ledger = ledger
        descriptor = try folder.handle.createFile(entry.name, permissions: mode_t(entry.restoredPermissions))
    }

    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(ExtractionFailure) {
        try ExtractionFailure.writing { () throws(BackupError) in
            if hasHoles {
                try descriptor.writeSparsely(bytes, at: offset)
            } else {
                try descriptor.writeAll(bytes, at: offset)
            }
        }
    }

    private var hasHoles: Bool { entry.metadata?.holeBytes ?? 0 > 0 }

    /// Restores what is stored of the file besides its bytes. If that fails, the file stays and the failure is recorded.
    private func restoreMetadata() {
        var problem: BackupError?
        if let owner = folder.owner(of: entry) {
            do throws(BackupError) { try descriptor.setOwner(owner) } catch { problem = error }
        }
        if let attributes = entry.metadata?.extendedAttributes, !attributes.isEmpty {
            let failure = descriptor.setExtendedAttributes(attributes, permissions: mode_t(entry.restoredPermissions))
            problem = problem ?? failure
        }
        if let problem { ledger.addIncomplete(problem, path: folder.path + entry.name.bytes) }
    }

    /// Records that a part has been written.
    func finish(part: Int, crc32: UInt32, length: UInt64) { state.withLock { $0.parts[part] = (crc32, length) } }

    /// Records that the file cannot be read from the repository. Only the first reason is reported.
    func fail(_ error: BackupError) {
        let isFirst = state.withLock { state in
            defer { state.hasFailed = true }
            return !state.hasFailed
        }
        if isFirst { ledger.add(error, path: folder.path + entry.name.bytes) }
    }

    deinit {
        let state = state.withLock { $0 }
        var crc32: UInt32 = 0
        var size: UInt64 = 0
        for (_, part) in state.parts.sorted(by: { $0.key < $1.key }) {
            crc32 = size == 0 ? part.crc32 : CRC32.combine(crc32, part.crc32, secondLength: part.length)
            size += part.length
        }
        // The chunks were whole; only the file's own checksum shows whether they are this file's.
        if !state.hasFailed, size != entry.size || crc32 != entry.crc32 {
            fail(BackupError(.repositoryDamaged, "the file's content is not what was backed up"))
        }
        if hasHoles, !hasFailed {
            // Holes at the end were not written.
            do { try descriptor.truncate(to: entry.size) } catch { fail(error) }
        }
        if hasFailed {
            try? folder.handle.removeFile(entry.name)
            return
        }
        restoreMetadata()
        do {
            try descriptor.setModificationTime(entry.modificationTime)
            ledger.add(files: 1, bytes: size)
        } catch {
            fail(error)
        }
    }
}

/// A folder that is being extracted. It gets its mode and time when its last reference is released, that is, when nothing more is
/// written into it. Its files hold a reference while they are written, and its subfolders until they are finished.
final class ExtractedFolder: Sendable {
    let handle: DirectoryHandle
    /// Relative to the extracted folder, with a slash at its end; empty for that folder itself.
    let path: [UInt8]
    private let parent: ExtractedFolder?
    /// `nil` for the target folder of the extraction.
    private let entry: TreeEntry?
    /// The owner of entries below it that name none.
    private let ownerInside: FileOwner?
    private let permissions: UInt32?
    private let modificationTime: Timestamp
    private let ledger: ExtractionLedger

    /// The target folder of the extraction; its own attributes are not changed.
    init(_ handle: DirectoryHandle, _ ledger: ExtractionLedger) {
        self.handle = handle
        self.ledger = ledger
        path = []
        parent = nil
        entry = nil
        ownerInside = ledger.isInMedia ? ledger.mediaOwner : nil
        permissions = nil
        modificationTime = Timestamp(seconds: 0)
    }

    /// Creates the folder.
    init(_ entry: TreeEntry, in parent: ExtractedFolder) throws(BackupError) {
        handle = try parent.handle.makeFolder(entry.name)
        path = parent.path + entry.name.bytes + [UInt8(ascii: "/")]
        self.parent = parent
        self.entry = entry
        ledger = parent.ledger
        let isMedia = parent.path.isEmpty && entry.name == Self.mediaName
        ownerInside = isMedia ? parent.ledger.mediaOwner : parent.ownerInside
        permissions = entry.restoredPermissions
        modificationTime = entry.modificationTime
    }

    private static let mediaName: FileName = "media"

    /// The owner to set for an entry in this folder; `nil` to leave it with the user who runs the extraction.
    func owner(of entry: TreeEntry) -> FileOwner? {
        ledger.restoresOwners ? entry.metadata?.owner ?? ownerInside : nil
    }

    /// Restores the folder's own metadata. If that fails, the folder stays and the failure is recorded.
    private func restoreMetadata(_ entry: TreeEntry) {
        var problem: BackupError?
        // The media folder has the same owner as its contents.
        if let owner = entry.metadata?.owner ?? ownerInside, ledger.restoresOwners {
            do throws(BackupError) { try handle.descriptor.setOwner(owner) } catch { problem = error }
        }
        if let attributes = entry.metadata?.extendedAttributes, !attributes.isEmpty {
            let failure = handle.descriptor.setExtendedAttributes(attributes, permissions: 0o700)
            problem = problem ?? failure
        }
        if let problem { ledger.addIncomplete(problem, path: path.dropLast()) }
    }

    deinit {
        guard let permissions, let entry else { return }
        restoreMetadata(entry)
        do {
            try handle.finish(permissions: mode_t(permissions), modificationTime: modificationTime)
        } catch {
            ledger.add(error, path: path.dropLast())
        }
    }
}
