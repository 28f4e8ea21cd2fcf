import BackupCore
import Glibc
import SystemIO

/// A list of paths of any length: in memory while it is short, else in a file without a name in the folder for temporary files.
public final class PathSpool {
    private static let memoryLimitBytes = 1 << 20
    private static let lengthByteCount = 4

    /// What is not in the file yet.
    private var tail: [UInt8] = []
    private var fileSize: UInt64 = 0
    private var file: SharedFile?
    /// How many paths it has.
    public private(set) var count: UInt64 = 0

    public init() {}

    /// - Returns: its place, for `path(at:)`.
    @discardableResult
    public func append(_ path: [UInt8]) throws(BackupError) -> UInt64 {
        let place = fileSize + UInt64(tail.count)
        withUnsafeBytes(of: UInt32(path.count).littleEndian) { tail += $0 }
        tail += path
        count += 1
        if tail.count > Self.memoryLimitBytes { try flush() }
        return place
    }

    private func flush() throws(BackupError) {
        let target: SharedFile
        if let file { target = file } else { target = try Self.makeFile() }
        file = target
        let offset = fileSize
        do throws(BackupError) {
            try tail.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try target.write(bytes, at: offset) }
        } catch {
            throw error.code == .noSpace
                ? error.with(remedy: "Make space in the folder for temporary files, or name another one with TMPDIR.") : error
        }
        fileSize += UInt64(tail.count)
        tail = []
    }

    private static func makeFile() throws(BackupError) -> SharedFile {
        let folder = Environment.text("TMPDIR") ?? "/tmp"
        let path = "\(folder)/.backupfs-compare-\(RandomToken.make())"
        let file = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        try FileSystem.removeFile(path)
        return try SharedFile(file)
    }

    /// The path at a place that `append` returned.
    public func path(at place: UInt64) throws(BackupError) -> [UInt8] {
        let length = try bytes(at: place, count: Self.lengthByteCount)
        let count = length.reversed().reduce(0) { $0 << 8 | Int($1) }
        return try bytes(at: place + UInt64(Self.lengthByteCount), count: count)
    }

    private func bytes(at place: UInt64, count: Int) throws(BackupError) -> [UInt8] {
        if place >= fileSize { return Array(tail[Int(place - fileSize)...].prefix(count)) }
        guard let file else { return [] }
        return try file.readExactly(at: place, count: count)
    }

    /// Passes all paths in the order in which they were added.
    public func forEach(_ body: ([UInt8]) throws(BackupError) -> Void) throws(BackupError) {
        var place: UInt64 = 0
        while place < fileSize + UInt64(tail.count) {
            let path = try path(at: place)
            place += UInt64(Self.lengthByteCount + path.count)
            try body(path)
        }
    }
}
