import BackupCore
import Synchronization
import SystemIO

/// Objects in a bucket of an S3-compatible server, below a prefix.
///
/// A version is the object's ETag. Two states of an object with the same bytes have the same version: a content that has to be
/// told from all others needs something unique in it.
///
/// What the server keeps of its promises is an argument, since finding it out takes requests: see `S3Probe`.
public final class S3Storage: ObjectStorage {
    /// How long an answer proves that the bucket is there.
    private static let proofNanoseconds: UInt64 = 60_000_000_000

    let place: S3Location
    let options: S3Options
    let client: S3Client
    /// Names that are asked for at once.
    let pageLimit: Int
    /// The server's promises.
    public let capabilities: StorageCapabilities
    /// Whether the ETags of objects that were stored with one request are their MD5, as far as is known.
    let hasMD5Tags = Atomic<Bool>(true)
    /// Whether the last answer to an upload had the SHA-256 of what was stored: MD5, which takes the processor twice as long as
    /// SHA-256, is not needed then.
    let returnsChecksums = Atomic<Bool>(false)
    /// Whether a listing was found that is not in the order of names.
    let hasUnorderedListings = Atomic<Bool>(false)
    private let bucketSeenAt = Atomic<UInt64>(0)

    /// Sends nothing yet.
    /// - Parameters:
    ///   - location: the server, the bucket and the prefix. The bucket must exist.
    ///   - credentials: asked for each request, see there.
    ///   - capabilities: those that `S3Probe` has found.
    ///   - observer: sees each request.
    /// - Throws: `invalidArgument` for a file of certificates that cannot be read, and for impossible options.
    public convenience init(
        _ location: S3Location, credentials: S3CredentialSource, options: S3Options = S3Options(),
        http: HTTPSettings = HTTPSettings(), capabilities: StorageCapabilities, observer: (any StorageRequestObserver)? = nil
    ) throws(BackupError) {
        let client = S3Client(
            location: location, region: location.region(setting: options.region), http: try HTTPClient(settings: http),
            credentials: credentials, observer: observer)
        try self.init(client, options: options, capabilities: capabilities)
    }

    init(
        _ client: S3Client, options: S3Options, capabilities: StorageCapabilities, pageLimit: Int = 1_000
    ) throws(BackupError) {
        let sizes: ClosedRange<UInt64> = 5 << 20...5 << 30
        guard sizes.contains(options.partSizeBytes), sizes.contains(options.multipartThresholdBytes) else {
            throw BackupError(
                .invalidArgument, "parts of an upload have 5 MiB to 5 GiB", path: client.location.description,
                remedy: "Correct the size of parts in the settings.")
        }
        self.client = client
        self.pageLimit = pageLimit
        place = client.location
        self.options = options
        self.capabilities = capabilities
    }

    public var location: String { place.description }

    /// Limits all transfers together, also those that run now. In bytes per second; `nil` for no limit.
    public func limitBandwidth(uploadBytesPerSecond: UInt64?, downloadBytesPerSecond: UInt64?) {
        client.limitBandwidth(up: uploadBytesPerSecond, down: downloadBytesPerSecond)
    }

    public func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? {
        guard let answer = try head(name) else { return nil }
        return try facts(of: answer.response, name)
    }

    public var keepsMetadata: Bool { true }

    public func lookWithMetadata(
        _ name: ObjectName
    ) throws(BackupError) -> (facts: ObjectFacts, metadata: [ObjectMetadata])? {
        guard let answer = try head(name) else { return nil }
        return (try facts(of: answer.response, name), answer.response.headers.compactMap { ObjectMetadata($0) })
    }

    /// The answer with the headers of an object; `nil` if there certainly is none.
    func head(_ name: ObjectName) throws(BackupError) -> S3Answer? {
        let request = S3Request(
            kind: .look, method: .head, name: name, headers: [HTTPHeader("x-amz-checksum-mode", "ENABLED")])
        var answer = try client.answer(to: request)
        if [400, 401, 403].contains(answer.status) {
            // This answer has no document that says why. The reason may be one that another request removes: an old session, a
            // wrong clock.
            try proveBucket()
            answer = try client.answer(to: request)
        }
        if answer.status == 404 {
            // Also the answer for a bucket that is not there, and of a server that is not the right one.
            try proveBucketUnlessSeen()
            return nil
        }
        guard answer.response.isSuccess else { throw client.error(answer, name) }
        noteBucket()
        return answer
    }

    /// - Parameter size: of the whole object; that of the body if `nil`.
    func facts(of response: HTTPResponse, _ name: ObjectName, size: UInt64? = nil) throws(BackupError) -> ObjectFacts {
        guard let size = size ?? response.contentLength, let tag = response["etag"].map({ S3Tag.bare($0) }), !tag.isEmpty,
            let storedAt = response.time("last-modified")
        else { throw S3Answers.damaged("the server does not give the size, the time or the ETag").at("\(place)/\(name)") }
        return ObjectFacts(name: name, sizeBytes: size, version: ObjectVersion(tag), storedAt: storedAt)
    }

    public func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) {
        guard let facts = try look(name) else { throw notFound(name) }
        if let version, facts.version != version { throw conflict(name) }
        try delete(name, version: version) { (answer) throws(S3Failure) in
            guard try lookAgain(name) != nil else {
                // An earlier try may have done it.
                if answer.hasAmbiguousTry { return }
                throw S3Failure(error: notFound(name), isAmbiguous: false, isNetwork: false)
            }
            throw S3Failure(error: conflict(name), isAmbiguous: false, isNetwork: false)
        }
    }

    public func removeIfPresent(_ name: ObjectName) throws(BackupError) {
        try delete(name, version: nil) { (answer) throws(S3Failure) in
            // Also the answer for a bucket that is not there.
            if try lookAgain(name) != nil { throw failure(answer, name) }
        }
    }

    /// - Parameter refused: decides about the answer that the object is not there, or is another one.
    private func delete(
        _ name: ObjectName, version: ObjectVersion?, refused: (S3Answer) throws(S3Failure) -> Void
    ) throws(BackupError) {
        var request = S3Request(kind: .remove, method: .delete, name: name)
        if let version, capabilities.contains(.conditionalRemove) {
            request.headers.append(HTTPHeader("If-Match", S3Tag.quoted(version.text)))
        }
        do throws(S3Failure) {
            let answer = try client.send(request)
            if answer.response.isSuccess { return }
            guard answer.status == 404 || answer.status == 412 || answer.status == 409 else { throw failure(answer, name) }
            try refused(answer)
        } catch {
            if error.isNetwork, error.isAmbiguous, isCertainlyGone(name) { return }
            throw error.error
        }
    }

    private func isCertainlyGone(_ name: ObjectName) -> Bool {
        do throws(BackupError) {
            return try look(name) == nil
        } catch {
            return false
        }
    }

    private func failure(_ answer: S3Answer, _ name: ObjectName) -> S3Failure {
        S3Failure(error: client.error(answer, name), isAmbiguous: answer.hasAmbiguousTry, isNetwork: false)
    }

    private func lookAgain(_ name: ObjectName) throws(S3Failure) -> ObjectFacts? {
        do throws(BackupError) {
            return try look(name)
        } catch {
            throw S3Failure(error: error, isAmbiguous: true, isNetwork: false)
        }
    }

    // MARK: The bucket

    func noteBucket() { bucketSeenAt.store(SystemClock.monotonicNanoseconds(), ordering: .relaxed) }

    /// - Throws: also when the bucket is not there.
    func proveBucketUnlessSeen() throws(BackupError) {
        let seen = bucketSeenAt.load(ordering: .relaxed)
        if seen > 0, SystemClock.monotonicNanoseconds() < seen + Self.proofNanoseconds { return }
        try proveBucket()
    }

    private func proveBucket() throws(BackupError) {
        _ = try listPage(keyPrefix: place.keyPrefix, after: nil, continuation: nil, limit: 1)
    }

    // MARK: Errors

    func notFound(_ name: ObjectName) -> BackupError {
        BackupError(.notFound, "there is no such object", path: "\(place)/\(name)")
    }

    func conflict(_ name: ObjectName) -> BackupError {
        BackupError(
            .conflict, "another client has changed the object", path: "\(place)/\(name)", remedy: "Read it again, then try again."
        )
    }

    func alreadyExists(_ name: ObjectName) -> BackupError {
        BackupError(.alreadyExists, "there is an object of this name", path: "\(place)/\(name)")
    }
}
