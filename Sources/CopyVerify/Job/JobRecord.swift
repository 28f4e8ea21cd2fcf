import BackupCore
import Formats
import SystemIO

/// What a job copies, from where and to where: `job.json`. It does not change.
public struct JobRecord: Sendable {
    private static let version = 1

    /// How a job gets its files.
    public enum Kind: String, Sendable, CaseIterable {
        /// From a folder, all of it.
        case copy
        /// One by one, as programs copy them into a set of destinations in the mount.
        case drop
    }

    /// Local time and a random suffix: `2026-01-11_14-30-00-1f2e3d`.
    public let id: String
    /// When the job was made.
    public let createdAt: Timestamp
    /// Of the files.
    public let kind: Kind
    /// Absolute; of `drop`, the set in the mount: `copy/SET`.
    public let source: String
    /// As in `st_dev` and `st_ino`, when the job was made.
    public let sourceIdentity: FileIdentity
    /// Where the file system of the source was mounted, and its type.
    public let sourcePlace: DestinationPlace
    /// As they were when the job was made.
    public let destinations: [DestinationPlace]
    public let options: CopyOptions
    /// As they were named: of a bag, the folder that has the payload.
    public var namedDestinations: [String] {
        destinations.map { options.manifests.contains(.bagit) ? FileSystem.parentPath($0.path) : $0.path }
    }
    /// Part of the names of unfinished copies.
    let token: String

    /// A new job.
    public init(source: String, destinations: [DestinationPlace], options: CopyOptions) throws(BackupError) {
        try self.init(.copy, source: source, destinations: destinations, options: options)
    }

    /// - Parameter spool: the folder that is read, if it is not the source.
    init(
        _ kind: Kind, source: String, spool: String? = nil, destinations: [DestinationPlace], options: CopyOptions
    ) throws(BackupError) {
        let random = RandomToken.make()
        createdAt = SystemClock.now()
        id = "\(SystemClock.localStamp(createdAt))-\(random.prefix(6))"
        token = String(random.suffix(10))
        self.kind = kind
        self.source = source
        let folder = spool ?? source
        guard let identity = try FileSystem.identityIfPresent(folder) else {
            throw BackupError(.notFound, "there is no such folder", path: folder)
        }
        sourceIdentity = identity
        sourcePlace = try DestinationPlace.at(folder, mounts: .current())
        self.destinations = destinations
        self.options = options
    }

    var json: OrderedJSON {
        let places = destinations.map { place -> OrderedJSON in
            [
                "path": place.path, "device": place.device, "mount_point": place.mountPoint,
                "file_system": place.fileSystemType, "made_by_job": place.isMade,
            ]
        }
        let record: OrderedJSON = [
            "id": id, "created_at": createdAt, "kind": kind.rawValue, "source": source, "source_device": sourceIdentity.device,
            "source_inode": sourceIdentity.inode, "source_mount_point": sourcePlace.mountPoint,
            "source_file_system": sourcePlace.fileSystemType, "destinations": places, "verify": options.verification.rawValue,
            "hidden": options.includesHidden, "on_conflict": options.conflicts.rawValue, "token": token,
            "hash": options.hashes.map(\.rawValue).sorted(), "manifest": options.manifests.map(\.rawValue).sorted(),
            "verify_source": options.sourceVerification.text, "version": Self.version,
        ]
        return options.label.map { record.adding(.object($0.members)) } ?? record
    }

    /// - Throws: `damagedContent` for a file that this program did not write; `unsupportedVersion`.
    init(parsing bytes: [UInt8], path: String) throws(BackupError) {
        let members = JSONMembers(bytes)
        guard let version: Int = members.number("version"), version <= Self.version else {
            throw BackupError(
                .unsupportedVersion, "the job was made by a newer version of this program, or its record is damaged", path: path,
                remedy: "Begin a new copy: what is there already is not copied again.")
        }
        guard let id = members.text("id"), let createdAt = members.time("created_at"), let source = members.text("source"),
            let device: UInt64 = members.number("source_device"), let inode: UInt64 = members.number("source_inode"),
            let mountPoint = members.text("source_mount_point"), let type = members.text("source_file_system"),
            let verification: VerificationMode = members.word("verify"),
            let conflicts: ConflictPolicy = members.word("on_conflict"),
            let token = members.text("token"), let places = try? Self.places(bytes), !places.isEmpty
        else {
            throw BackupError(
                .damagedContent, "the record of the job is damaged", path: path,
                remedy: "Begin a new copy: what is there already is not copied again.")
        }
        self.id = id
        self.createdAt = createdAt
        // The first jobs have none.
        kind = members.word("kind") ?? .copy
        self.source = source
        sourceIdentity = FileIdentity(device: device, inode: inode)
        sourcePlace = DestinationPlace(
            path: source, mountPoint: mountPoint, fileSystemType: type, device: device, isMade: false)
        destinations = places
        options = CopyOptions(
            verification: verification, includesHidden: members.flag("hidden"), conflicts: conflicts,
            label: CameraLabelSettings(members),
            hashes: Self.words("hash", bytes), manifests: Self.words("manifest", bytes),
            // Earlier versions did not look at lists.
            sourceVerification: members.text("verify_source").map { SourceVerification($0) } ?? .off)
        self.token = token
    }

    /// The members of an array of words; empty when there is none.
    private static func words<Word: RawRepresentable<String> & Hashable>(_ name: String, _ bytes: [UInt8]) -> Set<Word> {
        var words: Set<Word> = []
        let tokenizer = JSONTokenizer(BytesSource(bytes), bufferSizeBytes: 4_096)
        guard (try? tokenizer.next()) == .beginObject else { return [] }
        try? tokenizer.forEachMember { (member, value) throws(BackupError) in
            guard member == name, value == .beginArray else { return }
            while try tokenizer.next() == .string {
                if let word = Word(rawValue: tokenizer.text()) { words.insert(word) }
            }
        }
        return words
    }

    private static func places(_ bytes: [UInt8]) throws(BackupError) -> [DestinationPlace] {
        var places: [DestinationPlace] = []
        let tokenizer = JSONTokenizer(BytesSource(bytes), bufferSizeBytes: 4_096)
        guard try tokenizer.next() == .beginObject else { return [] }
        try tokenizer.forEachMember { (name, value) throws(BackupError) in
            guard name == "destinations", value == .beginArray else { return }
            while try tokenizer.next() == .beginObject {
                var texts: [String: String] = [:]
                var isMade = false
                try tokenizer.forEachMember { (name, value) throws(BackupError) in
                    if value == .string || value == .number { texts[name] = tokenizer.text() }
                    if name == "made_by_job" { isMade = value == .true }
                }
                guard let path = texts["path"], let mountPoint = texts["mount_point"], let type = texts["file_system"],
                    let device = texts["device"].flatMap({ UInt64($0) })
                else { continue }
                places.append(
                    DestinationPlace(
                        path: path, mountPoint: mountPoint, fileSystemType: type, device: device, isMade: isMade))
            }
        }
        return places
    }
}
