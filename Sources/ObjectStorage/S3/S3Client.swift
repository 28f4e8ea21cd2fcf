import BackupCore
import Synchronization
import SystemIO

/// One request to the bucket, before it is signed.
struct S3Request {
    let kind: StorageRequest.Kind
    let method: HTTPRequest.Method
    /// `nil` for the bucket itself.
    var name: ObjectName?
    var query: [(name: String, value: String)] = []
    var headers: [HTTPHeader] = []
    var body: HTTPBody?
    /// What is signed as the SHA-256 of the body, if it is not that: to see what a server does then.
    var wrongPayloadHash: SHA256Digest?
    var tryLimit = S3Retry.tryLimit
}

/// The answer to a request, whatever its status: what it means depends on the request.
struct S3Answer {
    var response = HTTPResponse()
    /// Unless it was consumed; bounded.
    var body: [UInt8] = []
    /// Whether an earlier try may have taken effect: its answer was lost, or was a failure of the server.
    var hasAmbiguousTry = false

    var status: Int { response.status }
    var failure: S3Answers.Failure { S3Answers.failure(body) }
    /// Without quotation marks.
    var tag: String? { response["etag"].map { S3Tag.bare($0) } }
}

/// A request that got no answer.
struct S3Failure: Error {
    let error: BackupError
    /// Whether it may have taken effect.
    let isAmbiguous: Bool
    /// Whether it failed in the network, not in the caller's own code.
    let isNetwork: Bool
}

/// Signs requests, sends them, and repeats those for which that may help.
final class S3Client: Sendable {
    let location: S3Location
    let region: String
    let errors: S3ErrorTable
    private let http: HTTPClient
    private let credentials: S3CredentialSource
    private let observer: (any StorageRequestObserver)?
    private let random: @Sendable () -> Double
    let sleep: @Sendable (Double) throws(BackupError) -> Void
    /// What to add to the clock of this machine for that of the server.
    private let clockOffsetSeconds = Atomic<Int64>(0)

    init(
        location: S3Location, region: String, http: HTTPClient, credentials: S3CredentialSource,
        observer: (any StorageRequestObserver)?,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
        sleep: @escaping @Sendable (Double) throws(BackupError) -> Void = S3Client.sleep
    ) {
        self.location = location
        self.region = region
        self.http = http
        self.credentials = credentials
        self.observer = observer
        self.random = random
        self.sleep = sleep
        errors = S3ErrorTable(location: location, region: region)
    }

    /// In bytes per second; `nil` for no limit.
    func limitBandwidth(up: UInt64?, down: UInt64?) { http.limitBandwidth(up: up, down: down) }

    /// Sends a request, and repeats it within its limit.
    /// - Returns: the last answer, also when it is a failure.
    func send(_ request: S3Request) throws(S3Failure) -> S3Answer {
        try send(request, keepsBody: true) { (_, _) throws(BackupError) in }
    }

    /// - Parameters:
    ///   - keepsBody: whether the body of a successful answer is kept; `consume` is not called then.
    ///   - consume: gets the body of a successful answer. After it has got bytes, the request is not repeated.
    func send(
        _ request: S3Request, keepsBody: Bool = false, consume: HTTPTransfer.Consumer
    ) throws(S3Failure) -> S3Answer {
        let start = SystemClock.monotonicNanoseconds()
        var counts = TransferCounts()
        var tries = 0
        var status: Int?
        defer {
            let seconds = Double(SystemClock.monotonicNanoseconds() - start) / 1e9
            observer?.storageRequestEnded(
                StorageRequest(
                    kind: request.kind, method: request.method.rawValue, name: request.name, status: status,
                    sentBytes: counts.sentBytes, receivedBytes: counts.receivedBytes, tryCount: tries,
                    connectionCount: counts.newConnections, seconds: seconds))
        }
        var isAmbiguous = false
        var hasCorrectedClock = false
        var hasAskedForCredentials = false
        while true {
            tries += 1
            let used: S3Credentials
            var answer = S3Answer()
            var hasConsumed = false
            let requestsBefore = counts.requests
            do throws(BackupError) {
                try Cancellation.check()
                used = try credentials.current()
            } catch {
                throw S3Failure(error: error, isAmbiguous: isAmbiguous, isNetwork: false)
            }
            do throws(HTTPFailure) {
                let signed = signedRequest(request, used)
                answer.response = try http.perform(signed, counts: &counts) { (response, bytes) throws(BackupError) in
                    if !keepsBody, response.isSuccess {
                        hasConsumed = true
                        try consume(response, bytes)
                    } else {
                        guard answer.body.count + bytes.count <= ServerAnswer.limitBytes else {
                            throw S3Answers.damaged("the answer of the server is too long")
                        }
                        answer.body.append(contentsOf: bytes)
                    }
                }
            } catch {
                switch error {
                case .stopped(let stop):
                    let error = request.body == nil ? stop : stop.at(path(request))
                    throw S3Failure(error: error, isAmbiguous: true, isNetwork: false)
                case .network(let kind, let detail):
                    status = nil
                    isAmbiguous = isAmbiguous || counts.requests > requestsBefore
                    let failure = errors.error(kind, detail: detail, name: request.name)
                    guard S3Retry.verdict(kind) == .again, tries < request.tryLimit, !hasConsumed else {
                        throw S3Failure(error: failure, isAmbiguous: isAmbiguous, isNetwork: true)
                    }
                    try pause(tries, nil, isAmbiguous)
                    continue
                }
            }
            status = answer.status
            // libcurl has sent it twice.
            if counts.requests > requestsBefore + 1 { isAmbiguous = true }
            answer.hasAmbiguousTry = isAmbiguous
            if answer.response.isSuccess { return answer }
            let code = answer.failure.code
            switch S3Retry.verdict(status: answer.status, code: code) {
            case .final: return answer
            case .again:
                isAmbiguous = isAmbiguous || S3Retry.mayHaveTakenEffect(status: answer.status)
                answer.hasAmbiguousTry = isAmbiguous
                guard tries < request.tryLimit else { return answer }
                try pause(tries, S3Backoff.retryAfterSeconds(answer.response, now: SystemClock.systemTime()), isAmbiguous)
            case .againWithServerTime:
                guard !hasCorrectedClock, let time = answer.response.time("date") else { return answer }
                hasCorrectedClock = true
                clockOffsetSeconds.store(time.secondsSince(SystemClock.systemTime()), ordering: .relaxed)
            case .againWithNewCredentials:
                credentials.refuse(used)
                guard !hasAskedForCredentials else { return answer }
                hasAskedForCredentials = true
                // The same ones again would fail again.
                guard let others = try? credentials.current(), !others.isSame(as: used) else { return answer }
            }
        }
    }

    /// The same, for requests whose failure always is an error.
    /// - Returns: an answer with success.
    func sendExpectingSuccess(_ request: S3Request) throws(BackupError) -> S3Answer {
        let answer = try answer(to: request)
        guard answer.response.isSuccess else { throw error(answer, request.name) }
        return answer
    }

    /// The same with a plain error.
    func answer(to request: S3Request) throws(BackupError) -> S3Answer {
        do throws(S3Failure) {
            return try send(request)
        } catch {
            throw error.error
        }
    }

    func error(_ answer: S3Answer, _ name: ObjectName?) -> BackupError {
        errors.error(answer.response, answer.failure, name: name)
    }

    private func path(_ request: S3Request) -> String { request.name.map { "\(location)/\($0)" } ?? location.description }

    private func signedRequest(_ request: S3Request, _ credentials: S3Credentials) -> HTTPRequest {
        let path = location.path(key: request.name.map { location.keyPrefix + $0.text })
        let signed = SignatureV4.Request(
            method: request.method.rawValue, host: location.requestHost, path: path, query: request.query,
            headers: request.headers,
            payloadHash: (request.wrongPayloadHash ?? request.body?.sha256)?.hexadecimal ?? SignatureV4.emptyHash)
        let time = SystemClock.systemTime().adding(seconds: clockOffsetSeconds.load(ordering: .relaxed))
        let added = SignatureV4(credentials: credentials, region: region).headers(for: signed, at: time)
        let query = signed.queryText
        let scheme = location.isSecure ? "https" : "http"
        return HTTPRequest(
            method: request.method, url: "\(scheme)://\(location.requestHost)\(path)\(query.isEmpty ? "" : "?\(query)")",
            headers: request.headers + added, body: request.body)
    }

    private func pause(_ tries: Int, _ retryAfterSeconds: Double?, _ isAmbiguous: Bool) throws(S3Failure) {
        do throws(BackupError) {
            try sleep(S3Backoff.seconds(failedTries: tries, retryAfterSeconds: retryAfterSeconds, random: random()))
        } catch {
            throw S3Failure(error: error, isAmbiguous: isAmbiguous, isNetwork: false)
        }
    }

    /// Ends early when the operation is cancelled.
    static let sleep: @Sendable (Double) throws(BackupError) -> Void = { seconds throws(BackupError) in
        let end = SystemClock.monotonicNanoseconds() + UInt64(seconds * 1e9)
        let never = Monitor(())
        while true {
            try Cancellation.check()
            let now = SystemClock.monotonicNanoseconds()
            guard now < end else { return }
            _ = never.wait(until: { _ in false }, forNanoseconds: min(end - now, 50_000_000))
        }
    }
}
