import BackupCore

/// Reads `SHA256SUMS` like GNU `sha256sum`: digest, space, space or asterisk, path; a leading backslash marks an escaped path.
enum ChecksumListingReader {
    /// - Throws: `damagedContent` for an invalid line or a path that is listed twice.
    static func read(_ text: [UInt8], path: String) throws(BackupError) -> [[UInt8]: SHA256Digest] {
        var digests: [[UInt8]: SHA256Digest] = [:]
        for line in text.split(separator: 10) {
            var line = line
            let isEscaped = line.first == UInt8(ascii: "\\")
            if isEscaped { line = line.dropFirst() }
            guard line.count > 66, let digest = SHA256Digest(hexadecimal: String(decoding: line.prefix(64), as: UTF8.self)),
                line.dropFirst(64).first == 32, let name = unescape(line.dropFirst(66), isEscaped),
                digests.updateValue(digest, forKey: name) == nil
            else {
                throw BackupError(
                    .damagedContent, "This backup file is corrupted and cannot be restored.", path: path,
                    findings: ["SHA256SUMS has a line that is not a digest and a path"])
            }
        }
        return digests
    }

    private static func unescape(_ text: ArraySlice<UInt8>, _ isEscaped: Bool) -> [UInt8]? {
        guard isEscaped else { return Array(text) }
        var output: [UInt8] = []
        var isAfterBackslash = false
        for byte in text {
            if isAfterBackslash {
                switch byte {
                case UInt8(ascii: "n"): output.append(10)
                case UInt8(ascii: "r"): output.append(13)
                case UInt8(ascii: "\\"): output.append(byte)
                default: return nil
                }
                isAfterBackslash = false
            } else if byte == UInt8(ascii: "\\") {
                isAfterBackslash = true
            } else {
                output.append(byte)
            }
        }
        return isAfterBackslash ? nil : output
    }
}
