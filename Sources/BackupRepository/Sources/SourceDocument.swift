import BackupCore
import SystemIO

/// What a repository knows of one of its sources besides the snapshots: who continues it, and what a new machine needs to go on with it (the app's
/// definition and the store's settings). Replaced as a whole whenever that changes.
public struct SourceDocument: Hashable, Sendable {
    public let id: SourceID
    /// The store that makes this source's backups now; another one takes a source over by writing its own ID here.
    public var storeID: String
    /// The definition's name, and what people call the app.
    public var app: String
    public var title: String
    public var hostName: String
    /// Of the machine's installation (machine-id(5)); empty where it has none, or where an older program wrote the document. Many machines have the
    /// same name.
    public var machineID: String
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

    /// Whether the store is, or was, on this machine. Where neither has a machine ID, the name decides; where one has none, it is another machine.
    public var isOfThisMachine: Bool { hostName == HostIdentity.hostName && machineID == HostIdentity.machineID }
}

/// How it is written (format document, "Source").
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

    /// Keys that are not known are passed over: a later version may add some.
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
