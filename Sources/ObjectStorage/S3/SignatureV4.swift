import BackupCore
import SystemIO

/// AWS Signature Version 4 for S3: proves in the headers that the sender knows the secret key, for one request, its headers and
/// the SHA-256 of its body, for some minutes.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>
struct SignatureV4 {
    let credentials: S3Credentials
    let region: String

    /// Of a request without a body.
    static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private static let algorithm = "AWS4-HMAC-SHA256"

    /// What is signed.
    struct Request {
        let method: String
        /// `HOST` or `HOST:PORT`, as the request has it.
        let host: String
        /// Escaped, with its leading slash.
        let path: String
        /// Not escaped. A parameter without a value has an empty one.
        var query: [(name: String, value: String)] = []
        /// All of them are signed; without those that the signature adds.
        var headers: [HTTPHeader] = []
        /// Of the body, in hexadecimal digits.
        var payloadHash = SignatureV4.emptyHash

        /// As the URL has it, so that both are the same.
        var queryText: String {
            query.map { (PercentEncoding.encode($0.name.utf8), PercentEncoding.encode($0.value.utf8)) }
                .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
                .map { "\($0.0)=\($0.1)" }
                .joined(separator: "&")
        }
    }

    /// - Parameter time: the server refuses one that differs from its own by more than 15 minutes.
    /// - Returns: the headers to add to those of the request.
    func headers(for request: Request, at time: Timestamp) -> [HTTPHeader] {
        let stamp = Self.stamp(time)
        var added = [HTTPHeader("x-amz-content-sha256", request.payloadHash), HTTPHeader("x-amz-date", stamp)]
        if let token = credentials.sessionToken { added.append(HTTPHeader("x-amz-security-token", token.text)) }
        let (canonical, names) = Self.canonicalRequest(request, headers: request.headers + added)
        let scope = "\(stamp.prefix(8))/\(region)/s3/aws4_request"
        let text = "\(Self.algorithm)\n\(stamp)\n\(scope)\n\(SHA256Hasher.hash(Array(canonical.utf8)).hexadecimal)"
        let signature = HMACSHA256.authenticate(Array(text.utf8), key: signingKey(date: stamp.prefix(8)))
        let credential = "Credential=\(credentials.accessKeyID)/\(scope)"
        added.append(
            HTTPHeader(
                "Authorization", "\(Self.algorithm) \(credential),SignedHeaders=\(names),Signature=\(signature.hexadecimal)"))
        return added
    }

    /// - Returns: also the names of the signed headers.
    static func canonicalRequest(_ request: Request, headers: [HTTPHeader]) -> (text: String, names: String) {
        let lines = (headers + [HTTPHeader("host", request.host)])
            .map { (name: $0.name.lowercased(), value: $0.value.split(separator: " ").joined(separator: " ")) }
            .sorted { $0.name < $1.name }
        let names = lines.map(\.name).joined(separator: ";")
        let block = lines.map { "\($0.name):\($0.value)\n" }.joined()
        let text = "\(request.method)\n\(request.path)\n\(request.queryText)\n\(block)\n\(names)\n\(request.payloadHash)"
        return (text, names)
    }

    private func signingKey(date: Substring) -> SecretBytes {
        var key = credentials.secretAccessKey.prefixed(with: "AWS4")
        for part in [String(date), region, "s3", "aws4_request"] {
            key = HMACSHA256.authenticate(Array(part.utf8), key: key).withUnsafeBytes { SecretBytes(copying: $0) }
        }
        return key
    }

    /// `20130524T000000Z`.
    static func stamp(_ time: Timestamp) -> String {
        ISO8601.format(time.wholeSeconds).filter { $0 != "-" && $0 != ":" }
    }
}

extension SecretBytes {
    /// A copy of the text's bytes. The text itself is not wiped.
    static func of(_ text: String) -> SecretBytes { Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) } }

    /// For a header. It is not wiped.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

    func prefixed(with prefix: String) -> SecretBytes {
        withUnsafeTemporaryAllocation(byteCount: prefix.utf8.count + count, alignment: 8) { buffer in
            defer { SecretBytes.wipe(buffer) }
            buffer.copyBytes(from: prefix.utf8)
            withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[prefix.utf8.count...]).copyMemory(from: $0) }
            return SecretBytes(copying: UnsafeRawBufferPointer(buffer))
        }
    }
}
