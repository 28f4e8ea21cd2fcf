import BackupCore

/// Names for temporary files and operations.
public enum RandomToken {
    /// 32 lower-case hexadecimal digits from the system's generator.
    public static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<2 { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return Hexadecimal.encode(bytes)
    }

    /// Whether a text from an untrusted source could be a token.
    public static func isToken(_ text: some Collection<UInt8>) -> Bool {
        text.count == 32 && Hexadecimal.decode(text).map { Hexadecimal.encode($0).utf8.elementsEqual(text) } == true
    }
}
