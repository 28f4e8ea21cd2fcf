/// The form of the secret of `backupfs serve`: for the command, which reads it, and for the server.
public enum AccessTokenText {
    /// What is shorter could be guessed.
    public static let minimumByteCount = 16

    /// Whether it is long enough, and has only visible ASCII characters that may stand in a cookie.
    public static func isUsable(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count >= minimumByteCount
            && bytes.allSatisfy { (33...126).contains($0) && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
    }
}
