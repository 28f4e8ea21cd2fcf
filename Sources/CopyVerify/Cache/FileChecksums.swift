import BackupCore
import Synchronization
import SystemIO

/// Computes checksums of files, or takes them from the cache.
public final class FileChecksums: Sendable {
    private static let partByteCount = 1 << 20

    /// Where checksums came from.
    public struct Counts: Sendable, Equatable {
        /// Taken from the cache.
        public var hitCount: UInt64 = 0
        /// Computed.
        public var missCount: UInt64 = 0
        /// What was read for them.
        public var readBytes: UInt64 = 0
    }

    private enum Access {
        /// Opened at the first use.
        case closed(path: String, ageSeconds: Int64)
        case open(ChecksumCache)
        case none
    }

    private let access: Mutex<Access>
    private let state = Mutex(Counts())

    /// - Parameter path: of the cache; `nil` to compute all.
    public init(cacheAt path: String?, ageSeconds: Int64 = ChecksumCache.defaultAgeSeconds) {
        access = Mutex(path.map { .closed(path: $0, ageSeconds: ageSeconds) } ?? .none)
    }

    private func openCache() -> ChecksumCache? {
        access.withLock { access in
            switch access {
            case .none: return nil
            case .open(let cache): return cache
            case .closed(let path, let ageSeconds):
                let cache = ChecksumCache(path: path, ageSeconds: ageSeconds)
                access = .open(cache)
                return cache
            }
        }
    }

    /// Writes what was computed into the cache.
    /// - Returns: why the cache was not used, or was emptied.
    public func finish() -> BackupError? {
        guard case .open(let cache) = access.withLock({ $0 }) else { return nil }
        cache.finish()
        return cache.problem
    }

    /// So far.
    public var counts: Counts { state.withLock { $0 } }

    /// The checksum of a file.
    /// - Throws: as `checksums`.
    public func checksum(
        of file: consuming OwnedDescriptor, at path: [UInt8], _ algorithm: HashAlgorithm, expected: FileStatus? = nil
    ) throws(BackupError) -> [UInt8] {
        try checksums(of: file, at: path, [algorithm], expected: expected)[algorithm] ?? []
    }

    /// The checksums of a file by some algorithms; the file is read once at most.
    /// - Parameters:
    ///   - path: absolute, without links.
    ///   - expected: the file's status when it was found; `nil` for whatever is there.
    /// - Throws: `stale` for a file that is not the expected one, or changed while it was read; the errors of reading it.
    public func checksums(
        of file: consuming OwnedDescriptor, at path: [UInt8], _ algorithms: Set<HashAlgorithm>, expected: FileStatus? = nil
    ) throws(BackupError) -> [HashAlgorithm: [UInt8]] {
        let cache = FileSystem.keepsChangeTime(file) ? openCache() : nil
        let file = try SharedFile(file)
        // A program that writes through a mapped page which is dirty already changes no time.
        let wasWritten = cache != nil && file.writeBack()
        let before = try file.status()
        if let expected, expected != before { throw Self.changed(file.path) }
        var found: [HashAlgorithm: [UInt8]] = [:]
        for algorithm in algorithms { found[algorithm] = cache?.digest(ChecksumKey(path: path, algorithm, before)) }
        let (hitCount, missing) = (found.count, algorithms.subtracting(found.keys))
        state.withLock { $0.hitCount += UInt64(hitCount) }
        if missing.isEmpty { return found }
        // A later change within the same step of the clock would leave no trace.
        let isSettled = before.isSettled
        let digests = try read(file, missing)
        guard try file.status() == before else { throw Self.changed(file.path) }
        state.withLock { counts in
            counts.missCount += UInt64(missing.count)
            counts.readBytes += before.size
        }
        for algorithm in missing {
            guard let digest = digests.bytes(algorithm) else { continue }
            found[algorithm] = digest
            if wasWritten, isSettled { cache?.keep(digest, for: ChecksumKey(path: path, algorithm, before)) }
        }
        return found
    }

    private func read(_ file: SharedFile, _ algorithms: Set<HashAlgorithm>) throws(BackupError) -> FileDigests {
        if algorithms.count > 1, file.size > DigestLanes.smallByteCount { return try DigestLanes.read(file, algorithms) }
        var hasher = FileDigester(algorithms)
        let count = Int(min(UInt64(Self.partByteCount), max(file.size, 1)))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4_096)
        defer { buffer.deallocate() }
        var offset: UInt64 = 0
        while true {
            let count = try file.read(at: offset, into: buffer)
            try FaultInjection.reached("compare.read")
            if count == 0 { return hasher.finish() }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += UInt64(count)
        }
    }

    static func changed(_ path: String) -> BackupError {
        BackupError(
            .stale, "the file changed while it was read", path: path, remedy: "Try again when no program writes to it.")
    }
}
