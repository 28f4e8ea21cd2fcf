import Glibc
import SystemIO

/// Apache's HTTP server between clients and a server: with TLS and HTTP/2 alone, with an IPv6 address, and as a proxy that
/// clients name. It ends with the last reference, and with the process of the tests.
public final class ServerFront: Sendable {
    /// Whether it is installed: for a trait of the tests.
    public static let isPossible = access("/usr/sbin/apache2", X_OK) == 0
    /// Why tests of it do not run where it is not.
    public static let whyNot = "NOT TESTED: Apache's HTTP server is not installed (on Debian: apache2-bin)"
    /// Whether this machine has `::1`.
    public static let hasIPv6 = Job.read("/proc/net/if_inet6").contains("00000000000000000000000000000001 ")

    /// A request that has ended.
    public struct Request: Sendable {
        /// `HTTP/2.0`
        public let version: String
        /// Of the client: of each of its connections another one.
        public let port: Int
        public let status: Int
        public let method: String
        /// With the query. For a proxy, the whole address.
        public let path: String
    }

    /// `https://localhost:PORT`: HTTP/2 alone. Also on `::1`, where there is one.
    public let endpoint: String
    /// `https://[::1]:PORT`, the same.
    public let secureEndpoint6: String
    /// `http://[::1]:PORT`: HTTP/1.1.
    public let endpoint6: String
    /// `http://127.0.0.1:PORT`: for the variables `http_proxy` and `https_proxy`.
    public let proxy: String
    /// The same, for clients with the user `member` and the password `secret` alone.
    public let lockedProxy: String
    /// `127.0.0.1:PORT`, where nothing listens.
    public let refusedHost: String
    /// A PEM file: the authority that signed the certificate for `localhost`, `127.0.0.1` and `::1`.
    public let certificatePath: String
    private let logPath: String
    private let script: ServerScript

    /// - Parameter target: `HOST:PORT` of the server behind it.
    public init(target: String) throws(Machine.Unusable) {
        script = ServerScript(name: "front", folder: try ServerScript.makeFolder(), options: ["--target", target])
        let values = try script.startForTests()
        guard let endpoint = values["endpoint"], let port = endpoint.split(separator: ":").last,
            let endpoint6 = values["endpoint6"], let proxy = values["proxy"], let lockedProxy = values["locked_proxy"],
            let refused = values["refused"], let certificatePath = values["certificate"], let logPath = values["log"]
        else { throw Machine.Unusable("the script of the front printed no endpoint: \(values)") }
        self.endpoint = endpoint
        self.endpoint6 = endpoint6
        secureEndpoint6 = "https://[::1]:\(port)"
        self.proxy = proxy
        self.lockedProxy = lockedProxy
        refusedHost = "127.0.0.1:\(refused)"
        self.certificatePath = certificatePath
        self.logPath = logPath
    }

    deinit { script.remove() }

    /// Ends it with all its connections, as a crash does.
    public func stop() throws(Machine.Unusable) { try script.stop() }

    /// Starts it again, on the same ports and with the same certificate.
    public func start() throws(Machine.Unusable) { _ = try script.start() }

    /// Has it finish the requests that run and close its connections, and go on with new settings, as administrators do.
    public func reload() throws(Machine.Unusable) {
        guard let process = pid_t(Job.read("\(script.folder)/apache.pid").filter(\.isNumber)), kill(process, SIGUSR1) == 0 else {
            throw Machine.Unusable("the front does not run")
        }
    }

    /// The requests that have completed since its first start, in this order. A `CONNECT` tunnel completes when it is closed.
    /// - Parameter count: the number of requests to wait for. Apache logs a request after it has sent the response.
    public func requests(atLeast count: Int = 0) throws -> [Request] {
        for _ in 0..<3_000 {
            // The one to `/` is the script's own, which waits for the start.
            let requests = Job.read(logPath).split(separator: "\n").compactMap { Request($0) }.filter { $0.path != "/" }
            if requests.count >= count { return requests }
            usleep(20_000)
        }
        throw Machine.Unusable("the front has not served \(count) requests: \(Job.read(logPath))")
    }
}

extension ServerFront.Request {
    fileprivate init?(_ line: Substring) {
        let words = line.split(separator: " ", maxSplits: 4).map(String.init)
        guard words.count == 5, let port = Int(words[1]), let status = Int(words[2]) else { return nil }
        self.init(version: words[0], port: port, status: status, method: words[3], path: words[4])
    }
}
