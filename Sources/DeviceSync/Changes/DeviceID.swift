import BackupCore
import SystemIO

/// One device of an app: a random number, which a store takes when it begins to exchange changes.
public struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    static let byteCount = 16

    private let high: UInt64
    private let low: UInt64

    /// - Returns: `nil` unless there are 16 bytes.
    init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: [UInt64] = [0, 0]
        for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
        (high, low) = (words[0], words[1])
    }

    /// - Returns: `nil` unless there are 32 lower-case hexadecimal digits.
    public init?(text: some StringProtocol) {
        guard let bytes = Hexadecimal.decode(text.utf8), let id = DeviceID(bytes: bytes), id.description.elementsEqual(text)
        else {
            return nil
        }
        self = id
    }

    /// A new one.
    /// - Throws: `inputOutput` when the system returns no random numbers.
    static func random() throws(BackupError) -> DeviceID {
        guard let id = DeviceID(bytes: try SecureRandom.bytes(count: byteCount)) else {
            preconditionFailure("a device ID has \(byteCount) bytes")
        }
        return id
    }

    var bytes: [UInt8] {
        [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
    }

    /// 32 hexadecimal digits.
    public var description: String { Hexadecimal.encode(bytes) }
    /// Enough of it to tell the devices of one user apart.
    public var shortText: String { String(description.prefix(8)) }

    public static func < (left: DeviceID, right: DeviceID) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

/// How far a device has merged the logs of others: for each device the number of its last batch.
typealias SeenBatches = [DeviceID: UInt64]
