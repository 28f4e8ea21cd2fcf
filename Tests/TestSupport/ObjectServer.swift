import Glibc
import Synchronization
import SystemIO
import Testing

/// A real object server on this machine, started by a script in `mount-scripts/object-servers`.
///
/// It ends with the process of the tests, however that ends; a folder with its data goes with it. Tests that share a server
/// each make a bucket of their own.
public final class ObjectServer: Sendable {
    /// The scripts' names.
    public enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case seaweedfs, radosgw, swift, juicefs, rclone

        public var testDescription: String { rawValue }

        /// The servers besides SeaweedFS that this run tests. `BACKUPFS_REMOTE_SERVERS` names them, as `radosgw,swift`, or says
        /// `all`, which are those that are installed. Without it, there are none: they need seconds to start.
        public static let chosen: [Kind] = {
            let others = allCases.filter { $0 != .seaweedfs }
            guard let text = Machine.environment("BACKUPFS_REMOTE_SERVERS") else { return [] }
            guard text != "all" else { return others.filter(\.isInstalled) }
            return text.split(separator: ",").map { word in
                guard let kind = others.first(where: { $0.rawValue == word }) else {
                    preconditionFailure("BACKUPFS_REMOTE_SERVERS: there is no server \(word)")
                }
                return kind
            }
        }()

        /// Whether `mount-scripts/install-dependencies.sh remotes` could install it.
        public var isInstalled: Bool {
            let program = ["seaweedfs": "weed", "swift": "swift-proxy-server"][rawValue] ?? rawValue
            return Machine.pythonTool(program) != nil || Machine.hasTool(program)
        }
    }

    public struct Keys: Equatable, Sendable {
        public let accessKey: String
        public let secretKey: String

        public init(accessKey: String, secretKey: String) {
            self.accessKey = accessKey
            self.secretKey = secretKey
        }

        /// The environment in which programs use them.
        public var variables: [String: String] { ["AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey] }
    }

    public let kind: Kind
    /// `http://127.0.0.1:PORT`, or with `https`.
    public let endpoint: String
    public let port: Int
    /// For signatures.
    public let region: String
    /// They may do everything.
    public let administrator: Keys
    /// They may read, write and list, but not remove; `nil` where the server cannot tell these apart.
    public let appendOnly: Keys?
    /// They may read and list; `nil` where the server cannot tell these apart.
    public let readOnly: Keys?
    /// The file with the authority that signed the server's certificate, in PEM; `nil` without TLS.
    public let certificatePath: String?
    public let version: String
    /// With the server's data and logs.
    public let folder: String
    private let script: ServerScript

    /// Starts a server that the caller does not share.
    /// - Throws: when it does not answer, with what it printed. Nothing of it is left then.
    public init(_ kind: Kind = .seaweedfs, usesTLS: Bool = false) throws(Machine.Unusable) {
        script = ServerScript(
            name: kind.rawValue, folder: try ServerScript.makeFolder(), options: usesTLS ? ["--tls"] : [])
        let values = try script.startForTests()
        func keys(_ prefix: String) -> Keys? {
            guard let access = values[prefix + "access_key"], let secret = values[prefix + "secret_key"] else { return nil }
            return Keys(accessKey: access, secretKey: secret)
        }
        guard let endpoint = values["endpoint"], let port = endpoint.split(separator: ":").last.flatMap({ Int($0) }),
            let region = values["region"], let administrator = keys("")
        else { throw Machine.Unusable("the script of \(kind) printed no endpoint: \(values)") }
        self.kind = kind
        folder = script.folder
        self.endpoint = endpoint
        self.port = port
        self.region = region
        self.administrator = administrator
        appendOnly = keys("append_")
        readOnly = keys("read_")
        certificatePath = values["certificate"]
        version = values["version"] ?? ""
    }

    deinit { script.remove() }

    // MARK: Life

    /// Ends the server's processes. Its data stays, for `start`.
    public func stop() throws(Machine.Unusable) { try script.stop() }

    /// Starts the server again, on the same port and with the same data.
    public func start() throws(Machine.Unusable) { _ = try script.start() }

    // MARK: Sharing

    private static let sharedServers = Mutex<[String: ObjectServer]>([:])

    /// The server of this kind that all tests of this process share. The first call starts it.
    public static func shared(_ kind: Kind = .seaweedfs, usesTLS: Bool = false) throws -> ObjectServer {
        try sharedServers.withLock { servers in
            let key = "\(kind) \(usesTLS)"
            if let server = servers[key] { return server }
            // The script ends a server whose process was killed; at a usual end it has gone before the process has.
            if servers.isEmpty { atexit { ObjectServer.stopShared() } }
            let server = try ObjectServer(kind, usesTLS: usesTLS)
            servers[key] = server
            return server
        }
    }

    private static func stopShared() {
        for server in sharedServers.withLock({ $0.values.map { $0 } }) { server.script.remove() }
    }

    // MARK: Use

    /// Makes a bucket with a new name, by curl or boto3.
    /// - Parameter locksObjects: whether the bucket permits object lock. It then keeps all versions of its objects.
    /// - Returns: its name.
    public func makeBucket(locksObjects: Bool = false) throws -> String {
        let name = "bucket-" + RandomToken.make().lowercased()
        // The names of Swift's users have a colon, where curl would end them.
        guard kind != .swift, !locksObjects else {
            let lock = locksObjects ? ", ObjectLockEnabledForBucket=True" : ""
            _ = try boto3("s3.create_bucket(Bucket=sys.argv[1]\(lock))", [name])
            return name
        }
        let result = try curl(["--request", "PUT", "\(endpoint)/\(name)"])
        guard result.exitCode == 0 else { throw Machine.Unusable("no bucket on \(kind): \(result.text)") }
        return name
    }

    /// Sends a signed request by curl, which is no code of ours. Fails for a status of 400 and higher.
    /// - Parameter keys: those of the administrator if `nil`.
    public func curl(_ arguments: [String], keys: Keys? = nil) throws -> Job.Result {
        let scratch = try TemporaryFolder()
        let keys = keys ?? administrator
        // In a file: arguments can be seen by all users of the machine.
        let settings = try scratch.write("user = \"\(keys.accessKey):\(keys.secretKey)\"\n", to: "settings")
        let trust = certificatePath.map { ["--cacert", $0] } ?? []
        let command =
            ["curl", "--silent", "--show-error", "--fail-with-body", "--noproxy", "*", "--max-time", "60", "--config", settings]
            // Old versions of curl leave the header out, and Ceph then refuses the signature.
            + ["--aws-sigv4", "aws:amz:\(region):s3", "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"] + trust + arguments
        return try Job(command, scratch: scratch("curl")).wait(limitSeconds: 90)
    }

    /// Runs a script of Python with boto3, which is no code of ours.
    public func boto3(_ script: String, _ arguments: [String] = []) throws -> String {
        try Boto3(endpoint: endpoint, region: region, keys: administrator).run(script, arguments)
    }
}
