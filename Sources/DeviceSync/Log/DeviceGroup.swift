import BackupCore
import SystemIO

/// The devices that exchange the changes of one app through one place: the object `devices/group`. It is made by the first of
/// them and never changed.
struct DeviceGroup: Equatable, Sendable {
    private static let magic = "backupfs device changes"
    private static let formatVersion = "1"

    /// Random: another place, or one that was emptied, has another.
    let id: String
    let app: String

    static func new(for app: String) throws(BackupError) -> DeviceGroup {
        DeviceGroup(id: try DeviceID.random().description, app: app)
    }

    init(id: String, app: String) {
        self.id = id
        self.app = app
    }

    var encoded: [UInt8] {
        var record = KeyValueRecord(magic: Self.magic)
        record.append("format", Self.formatVersion)
        record.append("group", id)
        record.append("app", app)
        record.append("sha256", Self.digest(id, app))
        return record.encoded
    }

    /// Some storages pass on what a bad disk gives them.
    private static func digest(_ id: String, _ app: String) -> SHA256Digest {
        SHA256Hasher.hash(Array("\(formatVersion)\n\(id)\n\(app)".utf8))
    }

    /// - Throws: `unsupportedVersion` for a later format; `damagedContent`.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        let record = KeyValueRecord(decoding: bytes, magic: Self.magic)
        if let version = record["format"], version != Self.formatVersion, record.flaws.isEmpty {
            throw BackupError(
                .unsupportedVersion,
                "the devices use format version \(MessageText.shortened(version)); this program reads \(Self.formatVersion)",
                remedy: "Use a newer backupfs.")
        }
        guard record.flaws.isEmpty, record["format"] == Self.formatVersion, let id = record["group"], !id.isEmpty,
            let app = record["app"], record["sha256"] == Self.digest(id, app).description
        else { throw BackupError(.damagedContent, "this is not the description of a group of devices") }
        self.init(id: id, app: app)
    }
}
