import BackupCore
import SystemIO

/// What a repository knows about one of its sources besides the snapshots: which store continues it, and what a new machine needs
/// to continue it (the app's definition and the store's settings). It is replaced as a whole when any of this changes.
public struct SourceDocument: Hashable, Sendable {
    public let id: SourceID
    /// The store that currently makes this source's backups; another store takes over a source by writing its own ID here.
    public var storeID: String
    /// The definition's name, and the app's display name.
    public var app: String
    /// The app's display name.
    public var title: String
    /// The host of the store, by its name.
    public var hostName: String
    /// The machine's installation ID (machine-id(5)); empty if it has none, or if an older program wrote the document. Host names
    /// alone are not unique.
    public var machineID: String
    /// Absolute, on that host.
    public var storePath: String
    /// The text of the definition file, for an app that is not built in.
    public var definition: String?
    /// The text of `store.yaml`.
    public var settings: String

    public init(
        id: SourceID, storeID: String, app: String, title: String, hostName: String, machineID: String = "", storePath: String,
        definition: String?, settings: String
    ) {
        self.id = id
        self.storeID = storeID
        self.app = app
        self.title = title
        self.hostName = hostName
        self.machineID = machineID
        self.storePath = storePath
        self.definition = definition
        self.settings = settings
    }

    /// Whether the store is, or was, on this machine. If neither has a machine ID, the host name decides; if only one has none,
    /// it is another machine.
    public var isOfThisMachine: Bool { hostName == HostIdentity.hostName && machineID == HostIdentity.machineID }
}

/// The encoding (format document, "Source").
extension SourceDocument {
    private static let magic: [UInt8] = Array("bfssrce\n".utf8)
    private static let version: UInt16 = 1
    private static let entryCountLimit = 256
    static let byteCountLimit = 4 << 20

    func encode() -> [UInt8] {
        var values = [
            "store": storeID, "app": app, "title": title, "host": hostName, "path": storePath, "settings": settings,
        ]
        values["definition"] = definition
        if !machineID.isEmpty { values["machine"] = machineID }
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.version)
        writer.append(UInt16(0))
        writer.append(id.hexadecimal)
        writer.append(UInt32(values.count))
        for (key, value) in values.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            writer.append(key)
            writer.append(value)
        }
        writer.append(CRC32.of(writer.bytes))
        return writer.bytes
    }

    /// Unknown keys are ignored: a later version may add some.
    /// - Throws: `repositoryDamaged`, also for the document of another source; `unsupportedVersion`.
    init(decoding bytes: [UInt8], for id: SourceID) throws(BackupError) {
        var reader = ByteReader(bytes)
        try StructureHeader.read(&reader, magic: Self.magic, version: Self.version, name: "source document")
        let named = try reader.readText()
        let count = Int(try reader.read(UInt32.self))
        guard count <= Self.entryCountLimit else { throw Self.damaged }
        var values: [String: String] = [:]
        for _ in 0..<count {
            let key = try reader.readText()
            guard values.updateValue(try reader.readText(), forKey: key) == nil else { throw Self.damaged }
        }
        let checkedCount = bytes.count - reader.remainingCount
        guard try reader.read(UInt32.self) == CRC32.of(Array(bytes[..<checkedCount])), reader.isAtEnd, named == id.hexadecimal,
            let storeID = values["store"], let app = values["app"], let settings = values["settings"]
        else { throw Self.damaged }
        self.init(
            id: id, storeID: storeID, app: app, title: values["title"] ?? app, hostName: values["host"] ?? "",
            machineID: values["machine"] ?? "", storePath: values["path"] ?? "", definition: values["definition"],
            settings: settings)
    }

    private static var damaged: BackupError { BackupError(.repositoryDamaged, "a source document is damaged") }
}

/// Identifies the origin of snapshots: the line of backups of one store. 16 random bytes, so that two stores never have the same
/// one by chance.
public struct SourceID: Hashable, Sendable, Comparable, CustomStringConvertible {
    private static let digitCount = 32

    /// 32 lower-case hexadecimal digits.
    public let hexadecimal: String

    /// - Returns: `nil` unless it is 32 lower-case hexadecimal digits.
    public init?(hexadecimal: String) {
        guard hexadecimal.utf8.count == Self.digitCount, hexadecimal == hexadecimal.lowercased(),
            Hexadecimal.decode(hexadecimal.utf8) != nil
        else { return nil }
        self.hexadecimal = hexadecimal
    }

    private init(token: String) { hexadecimal = token }

    /// 32 digits from the system's random numbers.
    public static func random() -> SourceID { SourceID(token: RandomToken.make()) }

    /// Enough of it for a user to distinguish a repository's sources.
    public var short: String { String(hexadecimal.prefix(8)) }

    public var description: String { hexadecimal }

    public static func < (left: SourceID, right: SourceID) -> Bool { left.hexadecimal < right.hexadecimal }
}
