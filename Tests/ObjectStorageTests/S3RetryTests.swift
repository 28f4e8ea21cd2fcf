import BackupCore
import TestSupport
import Testing

@testable import ObjectStorage

@Suite struct S3RetryTests {
    @Test(
        arguments: [
            (408, "", .again), (429, "", .again), (500, "InternalError", .again), (502, "", .again), (503, "SlowDown", .again),
            (504, "", .again), (400, "RequestTimeout", .again), (409, "ConditionalRequestConflict", .again),
            (400, "BadDigest", .again),
            (403, "RequestTimeTooSkewed", .againWithServerTime), (403, "ExpiredToken", .againWithNewCredentials),
            (403, "SignatureDoesNotMatch", .againWithNewCredentials), (403, "AccessDenied", .final), (403, "", .final),
            (404, "NoSuchKey", .final), (412, "PreconditionFailed", .final), (409, "BucketAlreadyExists", .final),
            (416, "", .final),
            (501, "NotImplemented", .final), (507, "", .final), (301, "PermanentRedirect", .final),
            (400, "EntityTooLarge", .final),
        ] as [(Int, String, S3Retry.Verdict)])
    func `the table of answers that are worth another try`(status: Int, code: String, verdict: S3Retry.Verdict) {
        #expect(S3Retry.verdict(status: status, code: code) == verdict)
    }

    private static let refusals: [HTTPFailure.Network] = [.untrusted, .proxyLogin]

    @Test func `failures of the network are tried again, but not where that would take long or fail again`() {
        for kind in HTTPFailure.Network.allCases {
            #expect(S3Retry.verdict(kind) == (Self.refusals.contains(kind) || kind == .connectTimeout ? .final : .again))
        }
    }

    @Test(
        arguments: [
            (1, nil, 0.0, 0.25), (1, nil, 1.0, 0.5), (2, nil, 1.0, 1.0), (3, nil, 0.0, 1.0), (7, nil, 1.0, 20.0),
            (99, nil, 1.0, 20.0),
            (1, 3.0, 1.0, 3.0), (1, 0.1, 1.0, 0.5), (1, 3_600.0, 0.5, 60.0), (1, -5.0, 1.0, 0.5), (0, nil, 1.0, 0.5),
        ] as [(Int, Double?, Double, Double)])
    func `waits double, vary by half, and have bounds`(tries: Int, retryAfter: Double?, random: Double, seconds: Double) {
        #expect(S3Backoff.seconds(failedTries: tries, retryAfterSeconds: retryAfter, random: random) == seconds)
    }

    @Test func `a server asks for a pause in seconds or by a date`() {
        let now = Timestamp(seconds: 1_795_688_043)
        func pause(_ headers: [HTTPHeader]) -> Double? {
            S3Backoff.retryAfterSeconds(HTTPResponse(status: 503, headers: headers), now: now)
        }
        #expect(pause([HTTPHeader("Retry-After", "7")]) == 7)
        #expect(pause([HTTPHeader("retry-after", "Thu, 26 Nov 2026 10:14:08 GMT")]) == 5)
        #expect(
            pause([
                HTTPHeader("Retry-After", "Thu, 26 Nov 2026 10:14:08 GMT"), HTTPHeader("Date", "Thu, 26 Nov 2026 10:14:07 GMT"),
            ]) == 1)
        #expect(pause([HTTPHeader("Retry-After", "soon")]) == nil)
        #expect(pause([]) == nil)
    }

    @Test(
        arguments: [
            (403, "AccessDenied", .accessDenied), (401, "", .accessDenied), (403, "", .accessDenied),
            (403, "InvalidAccessKeyId", .accessDenied),
            (403, "SignatureDoesNotMatch", .accessDenied), (400, "ExpiredToken", .accessDenied),
            (403, "RequestTimeTooSkewed", .accessDenied),
            (404, "NoSuchBucket", .inputOutput), (404, "", .inputOutput), (404, "NoSuchKey", .notFound), (507, "", .noSpace),
            (403, "QuotaExceeded", .noSpace), (400, "EntityTooLarge", .noSpace), (413, "", .noSpace),
            (400, "BadDigest", .damagedContent),
            (503, "SlowDown", .offline), (500, "InternalError", .offline), (504, "", .offline), (429, "", .offline),
            (501, "", .notSupported),
            (301, "PermanentRedirect", .invalidArgument), (307, "", .invalidArgument), (409, "OperationAborted", .conflict),
            (400, "Unheard", .inputOutput), (418, "", .inputOutput), (407, "", .accessDenied),
        ] as [(Int, String, BackupError.Code)])
    func `the table of errors`(status: Int, code: String, expected: BackupError.Code) throws {
        let table = S3ErrorTable(location: try S3Location("s3:https://s3.example.org/bucket/p"), region: "us-east-1")
        let failure = S3Answers.Failure(code: code, message: "words of the \u{1B}[31mserver")
        let error = table.error(HTTPResponse(status: status), failure, name: ObjectName("a/b"))
        #expect(error.code == expected)
        #expect(error.path == "s3:https://s3.example.org/bucket/p/a/b")
        #expect(error.code == .notFound || error.remedy?.isEmpty == false)
        #expect(!error.message.contains("\u{1B}"))
    }

    @Test func `another region is named in the remedy`() throws {
        let table = S3ErrorTable(location: try S3Location("s3:https://s3.example.org/bucket"), region: "us-east-1")
        let header = HTTPResponse(status: 301, headers: [HTTPHeader("x-amz-bucket-region", "eu-west-3")])
        #expect(table.error(header, S3Answers.Failure(), name: nil).remedy?.contains("eu-west-3") == true)
        let malformed = S3Answers.Failure(code: "AuthorizationHeaderMalformed", message: "", region: "eu-west-2")
        #expect(table.error(HTTPResponse(status: 400), malformed, name: nil).remedy?.contains("eu-west-2") == true)
    }

    @Test(arguments: HTTPFailure.Network.allCases) func `a failure of the network names the host`(kind: HTTPFailure.Network)
        throws
    {
        let table = S3ErrorTable(location: try S3Location("s3:https://s3.example.org/bucket"), region: "us-east-1")
        let error = table.error(kind, detail: "curl's words", name: nil)
        #expect(error.code == (Self.refusals.contains(kind) ? .accessDenied : .offline))
        #expect(error.message.contains("s3.example.org") || kind == .proxyLogin)
        #expect(error.remedy?.isEmpty == false)
    }
}
