import AppData
import BackupCore
import Glibc
import SystemIO

/// The content of a new, empty database: no records, and this machine's name as the device in exports.
struct NewDeviceData: RecordSource {
    /// The metadata member, in the wire formats that have one.
    private static let deviceField = "deviceName"

    let definition: AppDefinition

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        let fields = definition.metadata.fields
        guard let index = fields.firstIndex(where: { $0.name == Self.deviceField }), let name = Self.hostName else { return }
        let metadata = RecordBuffer(fieldCount: fields.count)
        for (other, field) in fields.enumerated() {
            switch field.source {
            case .stored: if let value = field.defaultValue { metadata.set(other, text: value) }
            case .creationTime: metadata.set(other, time: SystemClock.now(), as: field.type)
            case .constant: if let value = field.defaultValue { metadata.set(other, text: value) }
            case .schemaVersion: metadata.set(other, integer: Int64(definition.schemaVersion))
            }
        }
        metadata.set(index, text: name)
        try visitor.visit(metadata: metadata)
    }

    private static var hostName: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }
}
