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
            let server = try ObjectServer.shared()
            (accessKeyID, secretAccessKey) = (server.administrator.accessKey, server.administrator.secretKey)
            (host, bucket) = ("127.0.0.1:\(server.port)", try server.makeBucket())
            return
        }
        let parts = text.split { "/@:".contains($0) }.map(String.init)
        guard parts.count == 6, parts[0] == "http" else {
            throw Machine.Unusable("BACKUPFS_TEST_S3 is not http://KEY:SECRET@HOST:PORT/BUCKET")
        }
        (accessKeyID, secretAccessKey, host, bucket) = (parts[1], parts[2], "\(parts[3]):\(parts[4])", parts[5])
    }

    static let allCapabilities: StorageCapabilities = [
        .conditionalCreate, .compareAndSwap, .conditionalRemove, .rangedReads, .removal,
    ]

    func credentials() throws -> S3CredentialSource {
        .init(.fixed(try S3Credentials(accessKeyID: accessKeyID, secretAccessKey: secretAccessKey)))
    }

    /// A storage below a prefix of its own.
    /// - Parameter host: of a proxy before the server, if not the server's.
    func storage(
        _ prefix: String, through host: String? = nil, options: S3Options = S3Options(), http: HTTPSettings = HTTPSettings(),
        capabilities: StorageCapabilities = Self.allCapabilities, observer: (any StorageRequestObserver)? = nil,
        pageLimit: Int = 1_000
    ) throws -> S3Storage {
        let location = try S3Location("s3:http://\(host ?? self.host)/\(bucket)/\(prefix)")
        let client = S3Client(
            location: location, region: location.region(setting: options.region), http: try HTTPClient(settings: http),
            credentials: try credentials(), observer: observer)
        return try S3Storage(client, options: options, capabilities: capabilities, pageLimit: pageLimit)
    }

    /// What boto3 does with the bucket. The script has the client as `s3`, the bucket as `bucket`, and its arguments in
    /// `sys.argv`.
    func boto3(_ script: String, _ arguments: [String] = []) throws -> String {
        let folder = try TemporaryFolder()
        let prelude = """
            import boto3, os, sys, hashlib, json
            from botocore.config import Config
            s3 = boto3.client("s3", endpoint_url="http://\(host)", region_name="us-east-1", aws_access_key_id="\(accessKeyID)",
                aws_secret_access_key="\(secretAccessKey)", config=Config(s3={"addressing_style": "path"}))
            bucket = "\(bucket)"

            """
        try folder.write(prelude + script, to: "script.py")
        let result = try Job(["python3", folder("script.py")] + arguments, scratch: folder("job")).wait()
        guard result.exitCode == 0 else { throw Machine.Unusable(result.errors) }
        return result.trimmed
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
