import BackupCore
import CCurl
import SystemIO

/// What is sent to a server.
struct HTTPRequest {
    enum Method: String {
        case get = "GET"
        case head = "HEAD"
        case put = "PUT"
        case post = "POST"
        case delete = "DELETE"
    }

    var method: Method
    /// Complete and escaped.
    var url: String
    var headers: [HTTPHeader] = []
    var body: HTTPBody?
}

/// One header field. Names differ only by more than their case.
struct HTTPHeader: Equatable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The bytes of an upload: a range of a source. They can be read again, for another try.
struct HTTPBody {
    let source: any ByteSource
    let offset: UInt64
    let sizeBytes: UInt64
    /// Of these bytes. The last of them are not sent when the source has returned others: the server then never has a whole body.
    let sha256: SHA256Digest
    /// Of these bytes; compared instead of the SHA-256 unless it is `nil`: where the server computes that of what it receives.
    var crc32: UInt32?
    /// Whether the answer is to have the MD5 of what was sent.
    var needsMD5 = true

    init(_ source: any ByteSource, offset: UInt64 = 0, sizeBytes: UInt64, sha256: SHA256Digest) {
        self.source = source
        self.offset = offset
        self.sizeBytes = sizeBytes
        self.sha256 = sha256
    }

    /// Bytes in memory.
    init(_ bytes: [UInt8]) {
        self.init(BytesInMemory(bytes), sizeBytes: UInt64(bytes.count), sha256: SHA256Hasher.hash(bytes))
    }

    static let empty = HTTPBody([])
}

/// A small body.
private final class BytesInMemory: ByteSource {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let start = Int(min(offset, UInt64(bytes.count)))
        let count = min(buffer.count, bytes.count - start)
        buffer.copyBytes(from: bytes[start..<start + count])
        return count
    }
}

/// What a server has answered, without the body.
struct HTTPResponse {
    /// 200, 404, …
    var status = 0
    var headers: [HTTPHeader] = []
    /// Of the body that was sent; `nil` without one, or if it was not needed.
    var sentMD5: MD5Digest?

    /// The first value of a header.
    subscript(_ name: String) -> String? {
        headers.first { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name }?.value
    }

    var isSuccess: Bool { (200...299).contains(status) }
    /// Of the body; `nil` when the server does not say.
    var contentLength: UInt64? { self["content-length"].flatMap { UInt64($0) } }
}

/// Why there is no complete answer.
enum HTTPFailure: Error {
    /// The network, or a server that does not keep the protocol.
    case network(Network, detail: String)
    /// The caller's own code: its source, its consumer, or its cancellation.
    case stopped(BackupError)

    enum Network: CaseIterable {
        /// The name of the server, or of a proxy, has no address.
        case unknownHost
        case notConnected
        /// Connecting took too long. The kernel has tried several times.
        case connectTimeout
        /// No bytes came or went for the time limit.
        case timeout
        /// The server's certificate is not valid for it, or not signed by an authority that this machine trusts.
        case untrusted
        /// The proxy makes no connection without a login.
        case proxyLogin
        /// The connection broke, or the answer is shorter than announced.
        case broken
        case protocolViolation
    }
}

extension HTTPResponse {
    /// A date in a header, such as `Thu, 26 Nov 2026 10:14:03 GMT`; `nil` for an absent or invalid one.
    func time(_ name: String) -> Timestamp? {
        guard let text = self[name] else { return nil }
        let seconds = backupfs_curl_date(text)
        return seconds < 0 ? nil : Timestamp(seconds: Int64(seconds))
    }
}
