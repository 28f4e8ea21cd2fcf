import BackupCore
import SystemIO

/// The secret without which nothing is shown: in the address once (`?token=…`, for a browser, which then gets a cookie), as the
/// password of any user name, or as a bearer token.
public struct AccessToken: Sendable {
    private let digest: SHA256Digest

    /// A browser sends the cookies of one server to all others on the same machine, whatever their ports: each has a name of
    /// its own.
    var cookieName: String { "backupfs-\(digest.hexadecimal.prefix(12))" }

    /// - Returns: `nil` for a text that is not usable (`AccessTokenText`).
    public init?(_ text: String) {
        guard AccessTokenText.isUsable(text.utf8) else { return nil }
        digest = SHA256Hasher.hash(Array(text.utf8))
    }

    /// Takes the same time for each wrong one.
    func isRight(_ text: some StringProtocol) -> Bool { SHA256Hasher.hash(Array(text.utf8)) == digest }

    /// - Parameters:
    ///   - authorization: the header of that name.
    ///   - cookie: the header of that name.
    func isIn(authorization: String?, cookie: String?) -> Bool {
        if let authorization {
            let parts = authorization.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { return false }
            switch parts[0].lowercased() {
            case "bearer": return isRight(parts[1])
            case "basic":
                guard let text = Base64.decode(Array(parts[1].utf8)), let colon = text.firstIndex(of: UInt8(ascii: ":")) else {
                    return false
                }
                return isRight(String(decoding: text[(colon + 1)...], as: UTF8.self))
            default: return false
            }
        }
        for part in cookie?.split(separator: ";") ?? [] {
            let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0] == cookieName, isRight(pair[1]) { return true }
        }
        return false
    }
}
