import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO

/// The content of a dropped file: bytes in a spool file. As long as it is only a copy of a snapshot's file that the kernel asked
/// this program to make (copy_file_range(2)), it is a reference to that file instead.
final class DropContent: Sendable {
    private enum Kind {
        case spooled
        /// The first `count` bytes of an immutable file, as it was opened.
        case stored(ExtentTable, of: any OpenFile, count: UInt64)
    }

    /// Distinguishes contents.
    enum Key: Equatable {
        case digest(SHA256Digest)
        case stored(number: Int)
    }

    private static let bufferSizeBytes = 1 << 20
    /// Limits one call, so that a copy of a live file can be interrupted: the caller asks again for the rest.
    private static let copyLimitBytes: UInt64 = 64 << 20

    let spoolPath: String
    private let repository: Repository
    private let state = Mutex((kind: Kind.spooled, number: 0))
    /// Held while bytes are copied into the spool file: a write has to wait until the earlier bytes are there; a query of the
    /// size does not.
    private let spooling = Mutex(())

    init(spoolPath: String, repository: Repository) throws(BackupError) {
        self.spoolPath = spoolPath
        self.repository = repository
        _ = try OwnedDescriptor.open(spoolPath, O_RDWR | O_CREAT | O_EXCL)
    }

    func discard() {
        unlink(spoolPath)
        forgetAsLeft()
    }

    /// Called when the program releases it and the user has not removed it: content that was never submitted may be the only
    /// copy.
    func letGo() { if FileSystem.statusIfPresent(RemainingDrops.notePath(of: spoolPath)) == nil { discard() } }

    /// Records that nothing of a copy with this name was restored, for the process that clears the spool, now or after a crash.
    func noteAsLeft(_ name: FileName) throws(BackupError) {
        guard size > 0 else { return }
        try FileSystem.writeFileAtomically(RemainingDrops.notePath(of: spoolPath), name.bytes)
    }

    /// It was submitted or removed.
    func forgetAsLeft() { unlink(RemainingDrops.notePath(of: spoolPath)) }

    var size: UInt64 {
        state.withLock { state in
            if case .stored(_, _, let count) = state.kind { return count }
            return FileSystem.statusIfPresent(spoolPath)?.size ?? 0
        }
    }

    var modificationTime: Timestamp? { FileSystem.statusIfPresent(spoolPath)?.modificationTime }

    /// The content to submit.
    var submission: DropSubmission.Content {
        get throws(BackupError) {
            if let table = whole { return .stored(table) }
            try spool()
            return .spooled(path: spoolPath)
        }
    }

    /// The file that this is a complete copy of.
    private var whole: ExtentTable? {
        state.withLock { state in
            guard case .stored(let table, _, let count) = state.kind, count == table.size else { return nil }
            return table
        }
    }

    func key() throws(BackupError) -> Key {
        if whole != nil { return .stored(number: state.withLock { $0.number }) }
        try spool()
        return .digest(try SharedFile(path: spoolPath).sha256())
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer, _ file: SharedFile) throws(BackupError) -> Int {
        let kind = state.withLock { $0.kind }
        guard case .stored(let table, _, let count) = kind else { return try file.read(at: offset, into: buffer) }
        guard offset < count else { return 0 }
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(UInt64(buffer.count), count - offset))])
        return try repository.read(table, at: offset, into: part)
    }

    func truncate(to size: UInt64) throws(BackupError) {
        // Bytes that would be cut off are not copied first.
        try spool(upTo: size)
        try OwnedDescriptor.open(spoolPath, O_WRONLY).truncate(to: size)
    }

    /// Copies referenced content into the spool file. Called before every write.
    func spool() throws(BackupError) { try spool(upTo: .max) }

    private func spool(upTo limit: UInt64) throws(BackupError) {
        try spooling.withLock { (_) throws(BackupError) in
            guard case .stored(let table, _, let count) = state.withLock({ $0.kind }) else { return }
            let file = try OwnedDescriptor.open(spoolPath, O_WRONLY | O_TRUNC)
            try repository.copy(table, upTo: min(count, limit)) { (bytes) throws(BackupError) in try file.writeAll(bytes) }
            state.withLock { $0.kind = .spooled }
        }
    }

    /// Copies a part of an open file into this one.
    /// - Returns: bytes copied: fewer than `count` at the end of the file, or if it would take too long.
    func copy(
        _ source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        if sourceOffset == offset, let taken = refer(to: source, at: offset, count: count) { return taken }
        try spool()
        let file = try OwnedDescriptor.open(spoolPath, O_WRONLY)
        var done: UInt64 = 0
        var bytes = [UInt8](repeating: 0, count: Self.bufferSizeBytes)
        while done < min(count, Self.copyLimitBytes) {
            let part = Int(min(UInt64(bytes.count), count - done))
            let copied = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try source.read(at: sourceOffset + done, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<part]))
            }
            if copied == 0 { break }
            try bytes.withUnsafeBytesThrowing(count: copied) { (buffer) throws(BackupError) in
                try file.writeAll(buffer, at: offset + done)
            }
            done += UInt64(copied)
        }
        return done
    }

    /// - Returns: `nil` when this is not a copy of that file from its beginning.
    private func refer(to source: any OpenFile, at offset: UInt64, count: UInt64) -> UInt64? {
        guard let table = source.storedContent else { return nil }
        return spooling.withLock { _ in state.withLock { state in refer(to: source, table, at: offset, count: count, &state) } }
    }

    private func refer(
        to source: any OpenFile, _ table: ExtentTable, at offset: UInt64, count: UInt64, _ state: inout (kind: Kind, number: Int)
    ) -> UInt64? {
        switch state.kind {
        case .spooled: guard offset == 0, (FileSystem.statusIfPresent(spoolPath)?.size ?? 0) == 0 else { return nil }
        case .stored(_, let before, let known): guard before === source, offset <= known else { return nil }
        }
        let end = min(table.size, offset + min(count, table.size))
        guard end > offset else { return 0 }
        if case .stored(_, _, let known) = state.kind, known >= end { return end - offset }
        state.kind = .stored(table, of: source, count: end)
        state.number += 1
        return end - offset
    }
}

/// A dropped file while it is open.
final class OpenDrop: OpenFile {
    private let file: DroppedFile
    /// Its spool file.
    private let descriptor: SharedFile
    /// The process; `nil` when it is unknown.
    private let opener: Int32?
    /// The number of the last write through this open file; 0 before the first.
    private let lastWrite = Atomic(0)

    let keepsCache = false
    let usesDirectIO = true

    init(_ file: DroppedFile, _ descriptor: SharedFile, process: Int32) {
        self.file = file
        self.descriptor = descriptor
        opener = ProcessIdentity.process(ofThread: process)
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try file.content.read(at: offset, into: buffer, descriptor)
    }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        note(
            try file.write { () throws(BackupError) in
                try file.content.spool()
                try descriptor.write(bytes, at: offset)
            }.number)
    }

    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        let (number, copied) = try file.write { () throws(BackupError) in
            try file.content.copy(source, at: sourceOffset, to: offset, count: count)
        }
        if copied > 0 { note(number) }
        return copied
    }

    private func note(_ number: Int) { lastWrite.max(number, ordering: .relaxed) }

    func flush(process: Int32) throws(BackupError) {
        try file.flush(process: process, opener: opener, lastWrite: lastWrite.load(ordering: .relaxed))
    }

    func synchronize() throws(BackupError) { try descriptor.synchronize() }

    func release() { file.noteRelease() }
}

/// The files dropped into one folder, by name, until they are removed or the tree is unmounted.
final class DropInbox: Sendable {
    private let files = Mutex<[FileName: DroppedFile]>([:])

    func file(named name: FileName) -> DroppedFile? { files.withLock { $0[name] } }

    var sortedFiles: [(name: FileName, file: DroppedFile)] {
        files.withLock { files in files.map { ($0.key, $0.value) } }.sorted { $0.name < $1.name }
    }

    /// Adds a file under a name; a file that had the name before is discarded.
    func put(_ file: DroppedFile, as name: FileName) {
        let replaced = files.withLock { files in
            let old = files[name]
            files[name] = file
            return old
        }
        if let replaced, replaced !== file { replaced.discard() }
    }

    /// Removes a file from the folder without discarding its content.
    func take(_ name: FileName) -> DroppedFile? { files.withLock { $0.removeValue(forKey: name) } }
}

/// Files that were copied into `restore/` under a name that is never submitted. `mv` has removed the original, so they are kept
/// when the spool is cleared.
public enum RemainingDrops {
    private static let spoolPrefix = "drop-"
    private static let noteSuffix = ".left"

    /// The path of the note that holds the name of such a file.
    static func notePath(of spoolPath: String) -> String { spoolPath + noteSuffix }

    /// The result of clearing a spool.
    public struct Outcome: Sendable {
        /// Their names in the folder for kept files.
        public var kept: [FileName] = []
        /// Why some stay in the spool, until it is cleared again.
        public var failure: BackupError?
    }

    /// Clears a spool of dropped files. It must not be served any more.
    /// - Parameter folder: for files that were never submitted; created when needed.
    public static func clear(_ spool: String, keepingIn folder: String) throws(BackupError) -> Outcome {
        var outcome = Outcome()
        var staying: Set<FileName> = []
        let names = try DirectoryHandle(path: spool).names().filter { $0.description.hasPrefix(spoolPrefix) }
        for name in names where name.description.hasSuffix(noteSuffix) {
            let content = FileName(name.description.dropLast(noteSuffix.count))
            do throws(BackupError) {
                guard let status = try FileSystem.look("\(spool)/\(content)"), status.size > 0 else { continue }
                let note = FileName(bytes: try FileSystem.readFile("\(spool)/\(name)", limitBytes: FileName.byteCountLimit))
                // A damaged note has no valid name for it; the file is kept all the same.
                let kept = note.isSafeComponent ? note : content
                outcome.kept.append(try move(content, in: FileSystem.realPath(spool), to: folder, as: kept))
            } catch {
                outcome.failure = error
                staying.formUnion([content, name])
            }
        }
        for name in names where !staying.contains(name) { try FileSystem.removeFile("\(spool)/\(name)") }
        return outcome
    }

    /// - Returns: its name in the folder: existing files are not replaced.
    private static func move(
        _ content: FileName, in spool: String, to folder: String, as name: FileName
    ) throws(BackupError) -> FileName {
        try FileSystem.makeDirectories(folder)
        let (source, target) = (
            try DirectoryHandle(path: spool, followsLink: false), try DirectoryHandle(path: folder, followsLink: false)
        )
        for number in 1... {
            let end = number == 1 ? [] : Array(".\(number)".utf8)
            let candidate = FileName(bytes: name.bytes.prefix(FileName.byteCountLimit - end.count) + end)
            do throws(BackupError) {
                try source.move(content, to: target, as: candidate)
            } catch let error where error.code == .alreadyExists {
                continue
            }
            try target.synchronize()
            return candidate
        }
        return name
    }
}
