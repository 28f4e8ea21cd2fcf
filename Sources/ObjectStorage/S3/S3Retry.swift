import BackupCore

/// Which answers are worth another try, in one table, and how long to wait before it.
enum S3Retry {
    /// A request is sent at most so often.
    static let tryLimit = 3

    enum Verdict: Equatable {
        /// The same request again would fail again.
        case final
        case again
        /// After the difference between the clocks is corrected.
        case againWithServerTime
        /// With other credentials, if the source has some.
        case againWithNewCredentials
    }

    static func verdict(_ failure: HTTPFailure.Network) -> Verdict {
        switch failure {
        case .unknownHost, .notConnected, .timeout, .broken, .protocolViolation: .again
        // Three times the limit is longer than the caller should wait. What is not answered at all will hardly be so at once.
        case .connectTimeout, .untrusted, .proxyLogin: .final
        }
    }

    /// - Parameter code: of the error document; "" without one.
    static func verdict(status: Int, code: String) -> Verdict {
        switch code {
        case "RequestTimeTooSkewed", "RequestExpired": .againWithServerTime
        case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidAccessKeyId", "InvalidToken",
            "SignatureDoesNotMatch":
            .againWithNewCredentials
        // The connection was too slow; bytes changed on their way; two clients met.
        case "RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch", "ConditionalRequestConflict",
            "OperationAborted", "SlowDown", "SlowDownRead", "SlowDownWrite", "InternalError", "ServiceUnavailable",
            "TooManyRequests", "RequestLimitExceeded", "Throttling", "ThrottlingException":
            .again
        default:
            switch status {
            case 408, 425, 429, 500, 502, 503, 504: .again
            default: .final
            }
        }
    }

    /// Whether the request may have taken effect although its answer is a failure.
    static func mayHaveTakenEffect(status: Int) -> Bool { status == 408 || status >= 500 }
}

/// The waits between tries: they double, and vary so that clients do not come back all at once.
struct S3Backoff: Sendable {
    static let firstSeconds = 0.5
    static let longestSeconds = 20.0
    /// A server that wants a longer pause gets this one.
    static let longestServerSeconds = 60.0

    /// - Parameters:
    ///   - failedTries: 1 after the first.
    ///   - retryAfterSeconds: what the server has asked for.
    ///   - random: 0 to 1.
    static func seconds(failedTries: Int, retryAfterSeconds: Double?, random: Double) -> Double {
        let doubled = min(firstSeconds * Double(1 << max(0, min(failedTries - 1, 16))), longestSeconds)
        let own = doubled * (0.5 + 0.5 * min(max(random, 0), 1))
        guard let retryAfterSeconds, retryAfterSeconds > 0 else { return own }
        return max(own, min(retryAfterSeconds, longestServerSeconds))
    }

    /// - Parameter header: seconds, or a date.
    static func retryAfterSeconds(_ response: HTTPResponse, now: Timestamp) -> Double? {
        if let seconds = response["retry-after"].flatMap({ Double($0) }), seconds.isFinite { return max(0, seconds) }
        return response.time("retry-after").map { Double(max(0, $0.secondsSince(response.time("date") ?? now))) }
    }
}
