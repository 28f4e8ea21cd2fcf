import BackupCore
import ObjectStorage

/// The names of the objects in a remote: `devices/group`, and `devices/DEVICE/0000000000000001.changes` for each batch.
struct DeviceLogName: Equatable, Sendable {
    static let prefix = "devices/"
    static let group = name("\(prefix)group")
    private static let digitCount = 16
    private static let suffix = ".changes"

    let device: DeviceID
    let sequence: UInt64

    init(device: DeviceID, sequence: UInt64) {
        self.device = device
        self.sequence = sequence
    }

    /// - Returns: `nil` for an object that is not a batch.
    init?(_ name: ObjectName) {
        let parts = name.text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, "\(parts[0])/" == Self.prefix, let device = DeviceID(text: parts[1]),
            parts[2].hasSuffix(Self.suffix)
        else { return nil }
        let digits = parts[2].dropLast(Self.suffix.utf8.count)
        guard digits.utf8.count == Self.digitCount, digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let sequence = UInt64(digits), ChangeBatch.sequences.contains(sequence)
        else { return nil }
        self.init(device: device, sequence: sequence)
    }

    /// The names of all batches of a device begin with it.
    static func prefix(of device: DeviceID) -> String { "\(prefix)\(device)/" }

    var object: ObjectName {
        let digits = String(sequence)
        let zeros = String(repeating: "0", count: max(0, Self.digitCount - digits.utf8.count))
        return Self.name("\(Self.prefix(of: device))\(zeros)\(digits)\(Self.suffix)")
    }

    private static func name(_ text: String) -> ObjectName {
        guard let name = ObjectName(text) else { preconditionFailure("\(text) is not a valid name") }
        return name
    }
}
