import BackupCore
import SystemIO

/// New keys for records whose own key belongs to another record.
enum FreshKey {
    /// After this many attempts, something is wrong with the keys.
    static let attemptLimit = 10_000

    /// The `attempt`th text to try instead of `key`, from 2 on. A UUID becomes another UUID, derived by SHA-256 (version 8 of RFC 9562), in the same letter
    /// case; anything else gets a number: `note-2`. The same key always gives the same texts, so that a dry run shows the actual result.
    static func text(instead key: [UInt8], attempt: Int) -> [UInt8] {
        guard isUUID(key) else { return key + Array("-\(attempt)".utf8) }
        var bytes = Array(SHA256Hasher.hash(key + [0] + Array("\(attempt)".utf8)).bytes.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(Hexadecimal.encode(bytes).utf8)
        let isUpperCase = key.contains { (65...70).contains($0) }
        var text: [UInt8] = []
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(isUpperCase && digit >= 97 ? digit - 32 : digit)
        }
        return text
    }

    private static func isUUID(_ key: [UInt8]) -> Bool { key.withUnsafeBytes { UUIDText.isValid($0) } }
}
