import BackupCore
import ObjectStorage
import PhotoData
import StorageSimulation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Photos

/// A media folder, a queue and a bucket in memory.
final class PhotoFixture: Sendable {
    static let now = Timestamp(seconds: 1_767_225_600)  // 2026-01-01T00:00:00Z

    let folder: TemporaryFolder
    let server = SimulatedServer()
    let storage: SimulatedStorage
    let queue: QueueFolder
    let photos: PhotoFolder
    /// The stages of items, as `path stage`.
    let steps = Mutex<[String]>([])

    init() throws {
        folder = try TemporaryFolder()
        storage = SimulatedStorage(server)
        queue = QueueFolder(root: folder("photos"))
        photos = PhotoFolder(root: folder("media"))
        try FileSystem.makeDirectories(folder("media"))
        try queue.make()
    }

    static func helper() throws -> String {
        let path = "\(FileSystem.parentPath(try Machine.binaryPath()))/backupfs-media"
        guard try FileSystem.exists(path) else { throw Machine.Unusable("\(path) is not there: build it with `make media`") }
        return path
    }

    func options() throws -> QueueWorker.Options {
        var options = QueueWorker.Options()
        options.helper = try Self.helper()
        options.retryMilliseconds = 1
        options.now = { Self.now }
        options.note = { [self] item in steps.withLock { $0.append("\(item.path) \(item.stage.text)") } }
        return options
    }

    /// Bytes that no decoder understands: backed up all the same.
    @discardableResult
    func write(_ text: String, to path: String) throws -> String {
        try FileSystem.makeDirectories(FileSystem.parentPath(folder("media/\(path)")))
        try writeFile(folder("media/\(path)"), Array(text.utf8))
        return path
    }

    /// A JPEG of 64 × 48 pixels, with tags that ExifTool writes.
    func photo(_ path: String, _ tags: [String]) throws {
        try FileSystem.makeDirectories(FileSystem.parentPath(folder("media/\(path)")))
        try ok(["vips", "gaussnoise", "\(folder.path)/noise.v", "64", "48"])
        try ok(["vips", "cast", "\(folder.path)/noise.v", "\(folder.path)/base.v", "uchar"])
        try ok(["vips", "copy", "\(folder.path)/base.v", "\(folder.path)/base.jpg"])
        try ok(["mv", "\(folder.path)/base.jpg", folder("media/\(path)")])
        try ok(["exiftool", "-q", "-n", "-overwrite_original"] + tags + [folder("media/\(path)")])
    }

    func ok(_ command: [String]) throws {
        let result = try Job(command, scratch: folder("job")).wait(limitSeconds: 60)
        try #require(result.exitCode == 0, "\(command): \(result.text)")
    }

    func star(_ path: String, pair: String? = nil) throws {
        var item = QueueItem(path: path, source: photos.source(of: path), queuedAt: SystemClock.now())
        item.pairID = pair.map { QueueItem.id(of: $0) }
        item.content = try queue.item(item.id)?.content
        try queue.add(item)
    }

    @discardableResult
    func upload(
        _ storage: (any ObjectStorage)? = nil, _ change: (inout QueueWorker.Options) -> Void = { _ in }
    ) throws -> QueueWorker.Summary {
        var options = try self.options()
        change(&options)
        return try QueueWorker(queue, of: photos, to: PhotoBucket(storage ?? self.storage), options: options).run()
    }

    func names(_ prefix: String = "") throws -> [String] {
        var names: [String] = []
        try storage.forEachObject(prefix: prefix) { names.append($0.name.text) }
        return names
    }

    func bytes(_ name: String) throws -> [UInt8] {
        try #require(try storage.contents(of: ObjectName.checked(name), limitBytes: 1 << 24)).bytes
    }

    func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

    /// By md5sum, which is no code of ours.
    func md5(_ path: String) throws -> String {
        String(try Job(["md5sum", folder("media/\(path)")], scratch: folder("md5")).wait(limitSeconds: 60).output.prefix(32))
    }

    func createCount() -> Int { storage.traffic[.create].requestCount }
}

/// A storage before whose uploads of originals something happens.
final class HookedStorage: ObjectStorage {
    private let inner: SimulatedStorage
    private let before: @Sendable () throws(BackupError) -> Void
    private let after: @Sendable () -> Void
    private let beforeReplace: @Sendable (ObjectName) throws(BackupError) -> Void

    init(
        _ inner: SimulatedStorage, after: @escaping @Sendable () -> Void = {},
        before: @escaping @Sendable () throws(BackupError) -> Void,
        beforeReplace: @escaping @Sendable (ObjectName) throws(BackupError) -> Void = { _ in }
    ) {
        self.beforeReplace = beforeReplace
        self.inner = inner
        self.before = before
        self.after = after
    }

    var location: String { inner.location }
    var capabilities: StorageCapabilities { inner.capabilities }
    var keepsMetadata: Bool { true }

    func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        try inner.list(prefix: prefix, after: previous, limit: limit)
    }

    func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? { try inner.look(name) }

    func lookWithMetadata(_ name: ObjectName) throws(BackupError) -> (facts: ObjectFacts, metadata: [ObjectMetadata])? {
        try inner.lookWithMetadata(name)
    }

    func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts { try inner.read(name, range: range, consume) }

    func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        guard name.text.hasPrefix("photos/") else { return try inner.create(name, draft) }
        try before()
        defer { after() }
        return try inner.create(name, draft)
    }

    func replace(_ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try beforeReplace(name)
        return try inner.replace(name, version: version, draft)
    }

    func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) { try inner.remove(name, version: version) }
}

/// Counts what runs at once.
final class Gate: Sendable {
    private struct State {
        var runningCount = 0
        var mostCount = 0
    }

    private let state = Monitor(State())

    var mostCount: Int { state.withLock { $0.mostCount } }

    /// Waits until this many have run at the same time.
    func enter(wanted: Int) {
        state.changeWakingAll { state in
            state.runningCount += 1
            state.mostCount = max(state.mostCount, state.runningCount)
        }
        _ = state.wait(until: { $0.mostCount >= wanted }, forNanoseconds: 20_000_000_000)
    }

    func leave() { state.changeWakingAll { $0.runningCount -= 1 } }
}
