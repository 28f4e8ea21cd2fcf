import BackupCore
import SystemIO
import TestSupport

@testable import ObjectStorage

/// A real S3-compatible server for tests, with a bucket of its own: SeaweedFS, or the one that `BACKUPFS_TEST_S3` names with its
/// credentials and a bucket that may be filled, `http://KEY:SECRET@127.0.0.1:8333/bucket`.
struct S3TestServer: Sendable {
    let host: String
    let bucket: String
    let accessKeyID: String
    let secretAccessKey: String

    init() throws {
        guard let text = Machine.environment("BACKUPFS_TEST_S3") else {
            try self.init(.seaweedfs)
            return
        }
        let parts = text.split { "/@:".contains($0) }.map(String.init)
        guard parts.count == 6, parts[0] == "http" else {
            throw Machine.Unusable("BACKUPFS_TEST_S3 is not http://KEY:SECRET@HOST:PORT/BUCKET")
        }
        let keys = ObjectServer.Keys(accessKey: parts[1], secretKey: parts[2])
        self.init(host: "\(parts[3]):\(parts[4])", bucket: parts[5], keys)
    }

    /// The server of this kind that all tests share.
    /// - Parameter locksObjects: whether the bucket permits object lock.
    init(_ kind: ObjectServer.Kind, locksObjects: Bool = false) throws {
        let server = try ObjectServer.shared(kind)
        let bucket = try server.makeBucket(locksObjects: locksObjects)
        self.init(host: "127.0.0.1:\(server.port)", bucket: bucket, server.administrator)
    }

    private init(host: String, bucket: String, _ keys: ObjectServer.Keys) {
        (self.host, self.bucket) = (host, bucket)
        (accessKeyID, secretAccessKey) = (keys.accessKey, keys.secretKey)
    }

    static let allCapabilities: StorageCapabilities = [
        .conditionalCreate, .compareAndSwap, .conditionalRemove, .rangedReads, .removal,
    ]

    func credentials() throws -> S3CredentialSource {
        .init(.fixed(try S3Credentials(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey)))
    }

    /// A storage below a prefix of its own.
    /// - Parameters:
    ///   - host: of a proxy before the server, if not the server's; with `https://` for TLS.
    ///   - sleep: instead of the pauses between tries.
    func storage(
        _ prefix: String, through host: String? = nil, options: S3Options = S3Options(), http: HTTPSettings = HTTPSettings(),
        capabilities: StorageCapabilities = Self.allCapabilities, observer: (any StorageRequestObserver)? = nil,
        pageLimit: Int = 1_000, sleep: @escaping @Sendable (Double) throws(BackupError) -> Void = S3Client.sleep
    ) throws -> S3Storage {
        let host = host ?? self.host
        let location = try S3Location("s3:\(host.hasPrefix("http") ? host : "http://\(host)")/\(bucket)/\(prefix)")
        let client = S3Client(
            location: location, region: location.region(setting: options.region), http: try HTTPClient(settings: http),
            credentials: try credentials(), observer: observer, sleep: sleep)
        return try S3Storage(client, options: options, capabilities: capabilities, pageLimit: pageLimit)
    }

    /// What boto3 does with the bucket. The script has the client as `s3`, the bucket as `bucket`, and its arguments in
    /// `sys.argv`.
    func boto3(_ script: String, _ arguments: [String] = []) throws -> String {
        let keys = ObjectServer.Keys(accessKey: accessKeyID, secretKey: secretAccessKey)
        return try Boto3(endpoint: "http://\(host)", region: "us-east-1", keys: keys).run(
            "bucket = \"\(bucket)\"\n" + script, arguments)
    }
}

/// Bytes with an object's name.
func draft(_ bytes: [UInt8]) -> ObjectDraft {
    ObjectDraft(source: MemorySource(bytes), sizeBytes: UInt64(bytes.count), sha256: SHA256Hasher.hash(bytes))
}

func draft(_ text: String) -> ObjectDraft { draft(Array(text.utf8)) }

func named(_ text: String) throws -> ObjectName {
    guard let name = ObjectName(text) else { throw Machine.Unusable("\(text) is no name") }
    return name
}

/// Keeps what it has seen.
final class RequestLog: StorageRequestObserver {
    private let seen = Monitor<[StorageRequest]>([])

    var requests: [StorageRequest] { seen.withLock { $0 } }

    func storageRequestEnded(_ request: StorageRequest) { seen.withLock { $0.append(request) } }
}
