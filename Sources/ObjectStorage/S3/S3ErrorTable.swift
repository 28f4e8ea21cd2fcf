import BackupCore

/// What failures of a server mean for the caller: the code, what happened, and what to do. One table for all requests.
struct S3ErrorTable {
    let location: S3Location
    let region: String

    private enum Row {
        /// The access key, its permissions, or the clock.
        case denied(Message, remedy: Message)
        case full(Message)
        case wrong(BackupError.Code, Message, remedy: Message?)
    }

    private static let proxyLogin: Message = "the proxy demands a login"
    private static let proxyRemedy: Message = "Set it in https_proxy."

    /// - Parameters:
    ///   - response: of the last try.
    ///   - name: the object; `nil` for the bucket.
    func error(_ response: HTTPResponse, _ failure: S3Answers.Failure, name: ObjectName?) -> BackupError {
        let shown = MessageText.shortened(failure.message)
        let detail = "\(response.status) \(MessageText.shortened(failure.code))\(shown.isEmpty ? "" : ": \(shown)")"
        let cause = BackupError.Cause.error(BackupError(.inputOutput, "the server answered \(detail)"))
        let path = path(name)
        switch row(response, failure) {
        case .denied(let message, let remedy):
            return BackupError(.accessDenied, message, path: path, remedy: remedy, cause: cause)
        case .full(let message):
            return BackupError(
                .noSpace, message, path: path, remedy: "Free space there, or ask the provider for more.", cause: cause)
        case .wrong(let code, let message, let remedy):
            return BackupError(code, message, path: path, remedy: remedy, cause: cause)
        }
    }

    private func row(_ response: HTTPResponse, _ failure: S3Answers.Failure) -> Row {
        switch failure.code {
        case "InvalidAccessKeyId", "InvalidClientTokenId":
            return .denied(
                "the server does not know the access key", remedy: "Check the access key, and that it is for this server.")
        case "SignatureDoesNotMatch":
            return .denied(
                "the server refuses the signature", remedy: "Check the secret access key and the region (now \(region)).")
        case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken":
            return .denied("the session of the credentials has ended", remedy: "Renew the credentials.")
        case "RequestTimeTooSkewed", "RequestExpired":
            return .denied("the server refuses the time of this machine", remedy: "Set the clock of this machine.")
        case "NoSuchBucket":
            return .wrong(
                .inputOutput, "there is no bucket \(location.bucket)", remedy: "Create the bucket, or correct its name.")
        case "NoSuchKey", "NoSuchVersion": return .wrong(.notFound, "there is no such object", remedy: nil)
        case "QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "StorageFull", "XMinioAdminBucketQuotaExceeded":
            return .full("the storage is full")
        case "EntityTooLarge": return .full("the server does not take objects of this size")
        case "BadDigest", "XAmzContentSHA256Mismatch", "InvalidDigest":
            return .wrong(
                .damagedContent, "the bytes changed on their way to the server, which has refused them",
                remedy: "Try again. If it stays so, check the network and its proxies.")
        case "InvalidObjectState":
            return .denied(
                "the object is in an archive class and cannot be read at once", remedy: "Have the server restore it first.")
        case "NotImplemented", "MethodNotAllowed":
            return .wrong(.notSupported, "the server does not support this request", remedy: "See what its makers say of it.")
        case "ConditionalRequestConflict", "OperationAborted":
            return .wrong(.conflict, "another client changes the object at the same moment", remedy: "Try again.")
        case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
            return redirected(response, failure)
        default: break
        }
        switch response.status {
        case 301, 302, 307, 308: return redirected(response, failure)
        case 401, 403:
            return .denied(
                "the server denies access",
                remedy: "Check the permissions of the access key for this bucket and prefix, and the bucket's policy.")
        case 404: return .wrong(.inputOutput, "the server does not know the address", remedy: "Check the address and the bucket.")
        case 407: return .denied(Self.proxyLogin, remedy: Self.proxyRemedy)
        case 413: return .full("the server does not take objects of this size")
        case 507: return .full("the storage is full")
        case 408, 425, 429, 500, 502, 503, 504:
            return .wrong(.offline, "the server is overloaded or out of order", remedy: "Try again later.")
        case 501:
            return .wrong(.notSupported, "the server does not support this request", remedy: "See what its makers say of it.")
        default:
            return .wrong(
                .inputOutput, "the server answered with status \(response.status)", remedy: "Check the address, then try again.")
        }
    }

    private func redirected(_ response: HTTPResponse, _ failure: S3Answers.Failure) -> Row {
        if let region = response["x-amz-bucket-region"] ?? failure.region, region != self.region {
            return .wrong(
                .invalidArgument, "the bucket is in another region",
                remedy: "Set the region to \(MessageText.shortened(region)), and use its host name.")
        }
        if let endpoint = failure.endpoint {
            return .wrong(
                .invalidArgument, "the bucket has another address", remedy: "Use \(MessageText.shortened(endpoint)).")
        }
        return .wrong(
            .invalidArgument, "the server redirects to another address", remedy: "Use the address that it redirects to.")
    }

    /// - Parameter detail: libcurl's words.
    func error(_ kind: HTTPFailure.Network, detail: String, name: ObjectName?) -> BackupError {
        let cause = BackupError.Cause.error(BackupError(.offline, .verbatim(MessageText.shortened(detail, limit: 200))))
        let path = path(name)
        func offline(_ message: Message, remedy: Message) -> BackupError {
            BackupError(.offline, message, path: path, remedy: remedy, cause: cause)
        }
        let host = location.requestHost
        switch kind {
        case .unknownHost:
            return offline("the host \(host) is unknown", remedy: "Check the network connection and the name.")
        case .notConnected:
            return offline("no connection to \(host)", remedy: "Check the network connection, and that the server runs.")
        case .connectTimeout, .timeout:
            return offline("\(host) does not answer in time", remedy: "Check the network connection, then try again.")
        case .broken:
            return offline("the connection to \(host) broke", remedy: "Check the network connection, then try again.")
        case .protocolViolation:
            return offline(
                "\(host) does not answer as a server of the web", remedy: "Check the address: another service may be there.")
        case .proxyLogin:
            return BackupError(.accessDenied, Self.proxyLogin, path: path, remedy: Self.proxyRemedy, cause: cause)
        case .untrusted:
            return BackupError(
                .accessDenied, "the certificate of \(host) is not trusted", path: path,
                remedy: "Check the address and the clock. For a certificate of your own, name its file in the settings.",
                cause: cause)
        }
    }

    private func path(_ name: ObjectName?) -> String { name.map { "\(location)/\($0)" } ?? location.description }
}
