import BackupCore

/// A place for objects: immutable byte sequences under names, as S3-compatible servers offer them. A folder is one, too.
///
/// Every implementation keeps these promises, which `StoragePromises` in the tests checks:
/// - An object is there as a whole or not at all. A failed or killed `create` or `replace` leaves no part of one.
/// - What a call has reported as done is durable, and each later call of any client sees it, also in listings.
/// - An error never means "not there": `look` returns `nil`, and `read` and `remove` throw `notFound`, only if the storage
///   has said that there is no such object.
/// - Bytes are checked on their way, in both directions, where the storage offers checksums. The reader of an object still
///   compares them with the name or the checksum that it knows: the storage may be damaged.
/// - Each call ends within the time limits of its storage. It ends early when the thread's operation is cancelled.
///
/// All calls are thread-safe. Errors have the codes `offline`, `accessDenied`, `noSpace`, `notFound`, `alreadyExists`,
/// `conflict`, `inputOutput`, `damagedContent`, `invalidArgument`, `notSupported` and `interrupted`. After `offline` or
/// `inputOutput` from a change, the change may have taken effect.
public protocol ObjectStorage: Sendable {
    /// Where it is, for messages, without credentials: `s3:https://host/bucket/prefix` or `/srv/backups`.
    var location: String { get }
    /// What this storage can do beyond the promises above.
    var capabilities: StorageCapabilities { get }

    /// Lists objects in the order of the bytes of their names.
    /// - Parameters:
    ///   - prefix: only names that begin with these bytes; "" for all.
    ///   - previous: only names after this one; `nil` from the start.
    ///   - limit: how many objects are wanted: positive. More are never returned, and fewer may be.
    /// - Returns: at most 1,000 objects.
    func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage

    /// What is known of an object without reading it; `nil` if it certainly does not exist.
    func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts?

    /// Whether it keeps the metadata of drafts. A storage that does not ignores them.
    var keepsMetadata: Bool { get }

    /// As `look`, with the metadata that the object was stored with, in any order.
    func lookWithMetadata(_ name: ObjectName) throws(BackupError) -> (facts: ObjectFacts, metadata: [ObjectMetadata])?

    /// Reads an object, or a range of it. It never passes other bytes than those asked for, also when a server ignores ranges.
    /// - Parameters:
    ///   - range: in bytes; `nil` for all. A range that goes beyond the end is cut; one that starts there or after it is
    ///     empty and passes nothing.
    ///   - consume: called with consecutive parts, in order. A connection that breaks is continued at the byte where it
    ///     ended, if the object is still of the same version.
    /// - Returns: the facts of the object that the bytes belong to.
    /// - Throws: `notFound`; `conflict` when the object was replaced in between; errors of `consume`.
    func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts

    /// Makes a new object.
    /// - Throws: `alreadyExists` when there is one with this name, which stays unchanged. Without
    ///   `StorageCapabilities.conditionalCreate`, an object that another client makes at the same moment may be replaced.
    func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion

    /// Replaces an object.
    /// - Throws: `conflict` when its version is another one, `notFound` when there is none; it stays as it is then. Without
    ///   `StorageCapabilities.compareAndSwap`, a change by another client at the same moment may be lost.
    func replace(_ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion

    /// Removes an object.
    /// - Parameter version: only this version; `nil` for any.
    /// - Throws: `conflict` when its version is another one, `notFound` when there is none. Without
    ///   `StorageCapabilities.conditionalRemove`, a change by another client at the same moment may be lost.
    func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError)

    /// Removes an object of any version; a no-op when there is none. It costs a server one request, and `remove` two.
    func removeIfPresent(_ name: ObjectName) throws(BackupError)
}

extension ObjectStorage {
    public var keepsMetadata: Bool { false }

    public func lookWithMetadata(
        _ name: ObjectName
    ) throws(BackupError) -> (facts: ObjectFacts, metadata: [ObjectMetadata])? {
        guard let facts = try look(name) else { return nil }
        return (facts, [])
    }

    /// Lists as many objects as the storage lists at once.
    public func list(prefix: String, after previous: ObjectName?) throws(BackupError) -> ObjectPage {
        try list(prefix: prefix, after: previous, limit: .max)
    }

    public func removeIfPresent(_ name: ObjectName) throws(BackupError) {
        do throws(BackupError) {
            try remove(name, version: nil)
        } catch {
            guard error.code == .notFound else { throw error }
        }
    }
}

/// What a storage can do beyond the promises of `ObjectStorage`.
public struct StorageCapabilities: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Of several clients that create one name at the same moment, one succeeds.
    public static let conditionalCreate = StorageCapabilities(rawValue: 1)
    /// Of several clients that replace one version at the same moment, one succeeds.
    public static let compareAndSwap = StorageCapabilities(rawValue: 2)
    /// `remove` with a version never removes another one.
    public static let conditionalRemove = StorageCapabilities(rawValue: 4)
    /// A read of a few bytes costs microseconds, not a request over a network.
    public static let cheapRandomReads = StorageCapabilities(rawValue: 8)
    /// A server sends a range of an object alone. Without it, the bytes before the range are transferred, too.
    public static let rangedReads = StorageCapabilities(rawValue: 16)
    /// Objects can be removed and replaced. Without it, only `create` and reading are permitted.
    public static let removal = StorageCapabilities(rawValue: 32)
}

/// The name of an object: components separated by `/`, as in the path of a file. Names are ordered by their bytes.
public struct ObjectName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// S3's limit, with room for a prefix.
    public static let byteCountLimit = 900

    /// All components, with their slashes.
    public let text: String

    /// - Returns: `nil` for a name that a file system or a server could change or refuse: one that is empty, longer than
    ///   `byteCountLimit`, has an empty component, `.` or `..`, a control character, or a backslash (SeaweedFS stores `a\\b` as
    ///   `a/b`).
    public init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.byteCountLimit).contains(bytes.count), bytes.allSatisfy(Self.isPermitted) else { return nil }
        let components = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard
            components.allSatisfy({
                !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) && $0.count <= 255
            })
        else { return nil }
        self.text = text
    }

    public var description: String { text }

    /// Whether there can be a name that begins with these bytes.
    static func canBegin(with prefix: String) -> Bool {
        prefix.isEmpty || ObjectName(prefix) != nil || ObjectName(prefix + "x") != nil
    }

    private static func isPermitted(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\") }

    public static func < (left: ObjectName, right: ObjectName) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// By bytes: two names that look the same but differ in their Unicode normalization are two names.
    public static func == (left: ObjectName, right: ObjectName) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

/// One state of an object, as its storage names it: an ETag on a server.
public struct ObjectVersion: Hashable, Sendable {
    /// Without meaning for callers.
    public let text: String

    public init(_ text: String) { self.text = text }
}

/// What a storage says of an object.
public struct ObjectFacts: Equatable, Sendable {
    public let name: ObjectName
    /// Of its content.
    public let sizeBytes: UInt64
    public let version: ObjectVersion
    /// When it was stored, by the storage's clock; at most a second exact.
    public let storedAt: Timestamp

    public init(name: ObjectName, sizeBytes: UInt64, version: ObjectVersion, storedAt: Timestamp) {
        self.name = name
        self.sizeBytes = sizeBytes
        self.version = version
        self.storedAt = storedAt
    }
}

/// A part of a listing.
public struct ObjectPage: Equatable, Sendable {
    /// In the order of their names.
    public let objects: [ObjectFacts]
    /// Whether there may be more after the last of them.
    public let hasMore: Bool

    public init(objects: [ObjectFacts], hasMore: Bool) {
        self.objects = objects
        self.hasMore = hasMore
    }
}

/// The bytes of an object that is to be stored. They can be read several times, for attempts after a failure.
public struct ObjectDraft: Sendable {
    public let source: any ByteSource
    /// Of the whole object; the source has at least as many.
    public let sizeBytes: UInt64
    /// Of all bytes. A storage refuses bytes that do not fit it, before or after their transfer, and keeps nothing of them.
    public let sha256: SHA256Digest
    /// The CRC-32 of all bytes; `nil` where it is unknown. It shows in a fraction of the time that a source still returns the
    /// same bytes.
    public let crc32: UInt32?
    /// Kept with the object where the storage can (`ObjectStorage.keepsMetadata`).
    public var metadata: [ObjectMetadata] = []

    public init(source: any ByteSource, sizeBytes: UInt64, sha256: SHA256Digest, crc32: UInt32? = nil) {
        self.source = source
        self.sizeBytes = sizeBytes
        self.sha256 = sha256
        self.crc32 = crc32
    }
}
