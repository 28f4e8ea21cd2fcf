import BackupCore
import SystemIO

/// A bucket on an S3-compatible server, and the prefix of all names in it: `s3:https://HOST[:PORT]/BUCKET[/PREFIX]`.
public struct S3Location: Sendable, Equatable, CustomStringConvertible {
    /// Where a URL has the bucket's name.
    public enum AddressingStyle: String, Sendable, CaseIterable {
        /// `https://HOST/BUCKET/KEY`: all servers know it.
        case path
        /// `https://BUCKET.HOST/KEY`: Amazon demands it of new buckets.
        case virtualHost = "virtual-host"
    }

    /// How a location begins in settings and in messages.
    public static let scheme = "s3:"
    private static let form: Message = "Write it as s3:https://HOST/BUCKET/PREFIX."
    private static let amazonSuffixes = [".amazonaws.com", ".amazonaws.com.cn"]

    /// Whether connections use TLS.
    public let isSecure: Bool
    /// `s3.example.org`, `s3.example.org:9000`, `[::1]:8333`.
    public let host: String
    /// The bucket's name.
    public let bucket: String
    /// Without slashes at its ends; "" for the whole bucket.
    public let prefix: String
    /// `path`, and `virtualHost` for amazonaws.com, unless another one was given.
    public let style: AddressingStyle

    /// - Parameters:
    ///   - text: with its scheme.
    ///   - style: `nil` for the usual one of the host.
    ///   - permitsPlainHTTP: whether `http:` is allowed for other machines, too. Everyone on the way can then read and change
    ///     requests.
    /// - Throws: `invalidArgument` for anything else.
    public init(_ text: String, style: AddressingStyle? = nil, permitsPlainHTTP: Bool = false) throws(BackupError) {
        func invalid(_ reason: Message, remedy: Message = Self.form) -> BackupError {
            BackupError(.invalidArgument, reason, path: MessageText.shortened(Self.withoutCredentials(text)), remedy: remedy)
        }
        let isSecure = text.hasPrefix("s3:https://")
        guard isSecure || text.hasPrefix("s3:http://") else { throw invalid("this is not the location of an S3 server") }
        let address = text.dropFirst(isSecure ? 11 : 10)
        let parts = address.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var host = parts[0].lowercased()
        // libcurl leaves the usual port out of the header that is signed.
        if host.hasSuffix(isSecure ? ":443" : ":80") { host.removeLast(isSecure ? 4 : 3) }
        guard !host.contains("@") else {
            throw invalid(
                "the location contains credentials",
                remedy: "Leave them out: they come from the environment, from ~/.aws/credentials or from a command.")
        }
        guard let name = Self.hostName(host) else { throw invalid("the location has no valid host name") }
        guard isSecure || permitsPlainHTTP || Self.isLoopback(name) else {
            throw invalid(
                "http: sends everything readable over the network; it is only allowed to this machine",
                remedy: "Write https:, or permit plain HTTP with --plain-http or the setting plain-http if the network is safe.")
        }
        var path = (parts.count > 1 ? parts[1] : "").split(separator: "/", omittingEmptySubsequences: false)
        if path.last?.isEmpty == true { path.removeLast() }
        guard let bucket = path.first.map(String.init), Self.isBucketName(bucket) else {
            throw invalid("the location has no valid bucket name")
        }
        let prefix = path.dropFirst().joined(separator: "/")
        guard prefix.isEmpty || (ObjectName(prefix) != nil && !prefix.contains { "?#%".contains($0) }), prefix.utf8.count <= 100
        else { throw invalid("the location has no valid prefix") }
        let isAmazon = Self.amazonSuffixes.contains { name.hasSuffix($0) }
        guard !isAmazon || name.hasPrefix("s3.") || name.hasPrefix("s3-") else {
            throw invalid(
                "the host name contains the bucket", remedy: "Write it as s3:https://s3.REGION.amazonaws.com/BUCKET/PREFIX.")
        }
        self.isSecure = isSecure
        self.host = host
        self.bucket = bucket
        self.prefix = prefix
        // A certificate for *.s3.amazonaws.com is not valid for a bucket with a dot.
        self.style = style ?? (isAmazon && !bucket.contains(".") ? .virtualHost : .path)
    }

    /// As it is written.
    public var description: String {
        "s3:\(isSecure ? "https" : "http")://\(host)/\(bucket)\(prefix.isEmpty ? "" : "/\(prefix)")"
    }

    /// The region that requests are signed for.
    /// - Parameter setting: takes precedence; then come `AWS_REGION`, `AWS_DEFAULT_REGION` and the region in the name of a host
    ///   of Amazon. Other servers mostly accept `us-east-1`.
    public func region(setting: String?) -> String { region(setting: setting) { Environment.text($0) } }

    func region(setting: String?, environment: (String) -> String?) -> String {
        setting ?? environment("AWS_REGION") ?? environment("AWS_DEFAULT_REGION") ?? hostRegion ?? "us-east-1"
    }

    /// `eu-west-1` of `s3.eu-west-1.amazonaws.com`, `s3.dualstack.eu-west-1.amazonaws.com` and `s3-eu-west-1.amazonaws.com`.
    private var hostRegion: String? {
        guard let suffix = Self.amazonSuffixes.first(where: { host.hasSuffix($0) }) else { return nil }
        let service = host.dropLast(suffix.count).dropFirst(3)
        return service.split(separator: ".").last { $0 != "dualstack" && $0 != "fips" }.map(String.init)
    }

    // MARK: Addresses of requests

    /// The host of a request for the bucket.
    var requestHost: String { style == .path ? host : "\(bucket).\(host)" }

    /// - Parameter key: `nil` for the bucket itself.
    /// - Returns: escaped.
    func path(key: String?) -> String {
        let key = PercentEncoding.encode((key ?? "").utf8, keeping: "/")
        return style == .path ? "/\(PercentEncoding.encode(bucket.utf8))\(key.isEmpty ? "" : "/\(key)")" : "/\(key)"
    }

    /// What stands before the names of objects in their keys.
    var keyPrefix: String { prefix.isEmpty ? "" : "\(prefix)/" }

    // MARK: Parts

    /// - Returns: the name without the port; `nil` when either is invalid.
    private static func hostName(_ host: String) -> String? {
        let isAddress = host.hasPrefix("[")
        let end = isAddress ? host.firstIndex(of: "]").map { host.index(after: $0) } : host.firstIndex(of: ":") ?? host.endIndex
        guard let end else { return nil }
        let name = host[..<end]
        let port = host[end...]
        guard port.isEmpty || (port.hasPrefix(":") && UInt16(port.dropFirst()) ?? 0 > 0) else { return nil }
        let characters = isAddress ? "0123456789abcdef:.[]" : "abcdefghijklmnopqrstuvwxyz0123456789.-"
        guard !name.isEmpty, name.allSatisfy(characters.contains), !name.hasPrefix(".") else { return nil }
        return String(name)
    }

    private static func isLoopback(_ name: String) -> Bool {
        let numbers = name.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
        return name == "localhost" || name == "[::1]" || isAddress
    }

    /// Older buckets have capitals and underscores.
    private static func isBucketName(_ name: String) -> Bool {
        let bytes = name.utf8
        return (3...255).contains(bytes.count) && !name.contains("..")
            && bytes.allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122, 45, 46, 95: true
                default: false
                }
            } && bytes.first != 45 && bytes.first != 46
    }

    /// For an error.
    private static func withoutCredentials(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@") else { return text }
        return "s3:…\(text[at...])"
    }
}
