import BackupCore
import CCurl
import Glibc
import SystemIO

/// Sends requests over HTTP and HTTPS with libcurl. Connections are kept for later requests. A request runs on the thread of its
/// caller, who waits when as many run as the settings permit. Redirects are not followed: a signature is for one host only.
final class HTTPClient: Sendable {
    private static let cancellationNanoseconds: UInt64 = 100_000_000

    private struct Pool {
        /// The most recently used is the last: its connection is the least likely to be closed by the server.
        var idle: [CurlHandle] = []
        var runningCount = 0
    }

    private let settings: HTTPSettings
    private let pool = Monitor(Pool())
    private let uploadLimit: BandwidthLimit
    private let downloadLimit: BandwidthLimit

    init(settings: HTTPSettings) throws(BackupError) {
        if let failure = backupfs_curl_load() {
            throw BackupError(
                .notSupported, "libcurl cannot be used: \(String(cString: failure))",
                remedy: "Install libcurl (on Debian: libcurl4), which remote storage needs.")
        }
        if let file = settings.certificateFile, access(file, R_OK) != 0 {
            throw BackupError(
                .invalidArgument, "the file of certificates cannot be read", path: file,
                remedy: "Name a readable file in PEM form, or leave the setting out.")
        }
        self.settings = settings
        uploadLimit = BandwidthLimit.of(settings.limitGroup.map { "up \($0)" }, settings.uploadBytesPerSecond)
        downloadLimit = BandwidthLimit.of(settings.limitGroup.map { "down \($0)" }, settings.downloadBytesPerSecond)
    }

    /// Also for the transfers that run now. In bytes per second; `nil` for no limit.
    func limitBandwidth(up: UInt64?, down: UInt64?) {
        uploadLimit.change(bytesPerSecond: up)
        downloadLimit.change(bytesPerSecond: down)
    }

    /// Sends a request and waits for the whole answer.
    /// - Parameters:
    ///   - counts: also set after a failure.
    ///   - consume: called with consecutive parts of the body and the headers before them, whatever the status. It must not send
    ///     requests with this client: that could wait for itself.
    func perform(
        _ request: HTTPRequest, counts: inout TransferCounts, consume: HTTPTransfer.Consumer
    ) throws(HTTPFailure) -> HTTPResponse {
        let handle = try acquire()
        defer { release(handle) }
        // The transfer, which holds the closure, ends before this call does.
        return try withoutActuallyEscaping(consume) { (consume) throws(HTTPFailure) in
            let transfer = HTTPTransfer(
                body: request.body, limits: (uploadLimit, downloadLimit), stallSeconds: settings.stallSeconds, consume: consume)
            defer {
                counts.requests += transfer.requestCount
                counts.sentBytes += transfer.sentBytes
                counts.receivedBytes += transfer.receivedBytes
            }
            do throws(BackupError) {
                try transfer.begin()
            } catch {
                throw .stopped(error)
            }
            let (code, detail) = handle.perform(request, settings, transfer)
            counts.newConnections += handle.newConnectionCount
            if let stop = transfer.stop { throw .stopped(stop) }
            if transfer.hasStalled { throw .network(.timeout, detail: "no bytes for \(Int(settings.stallSeconds)) seconds") }
            if transfer.hasTooManyHeaders { throw .network(.protocolViolation, detail: "the answer has too many headers") }
            if code != CURLE_OK, handle.proxyWantsLogin { throw .network(.proxyLogin, detail: detail) }
            if let kind = Self.kind(of: code) { throw .network(kind, detail: detail) }
            guard transfer.response.status >= 200 else { throw .network(.protocolViolation, detail: "there is no status") }
            return transfer.response
        }
    }

    private func acquire() throws(HTTPFailure) -> CurlHandle {
        let limit = max(1, settings.parallelRequests)
        while !pool.withLock({ pool in
            guard pool.runningCount < limit else { return false }
            pool.runningCount += 1
            return true
        }) {
            do throws(BackupError) {
                try Cancellation.check()
            } catch {
                throw .stopped(error)
            }
            _ = pool.wait(until: { $0.runningCount < limit }, forNanoseconds: Self.cancellationNanoseconds)
        }
        if let kept = pool.withLock({ $0.idle.popLast() }) { return kept }
        if let made = CurlHandle() { return made }
        pool.changeWakingOne { $0.runningCount -= 1 }
        throw .stopped(BackupError(.noResources, "libcurl has no memory for another request"))
    }

    private func release(_ handle: CurlHandle) {
        pool.changeWakingOne { pool in
            pool.runningCount -= 1
            pool.idle.append(handle)
        }
    }

    /// - Returns: `nil` for a complete answer.
    private static func kind(of code: CURLcode) -> HTTPFailure.Network? {
        switch code {
        case CURLE_OK: nil
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unknownHost
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .notConnected
        // No other limit is set.
        case CURLE_OPERATION_TIMEDOUT: .connectTimeout
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            .untrusted
        case CURLE_SSL_CONNECT_ERROR: .notConnected
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM,
            CURLE_BAD_CONTENT_ENCODING:
            .protocolViolation
        default: .broken
        }
    }
}

/// What requests have transferred.
struct TransferCounts: Equatable {
    /// Requests that were sent, or begun to be sent.
    var requests = 0
    /// Of bodies.
    var sentBytes: UInt64 = 0
    /// Of bodies.
    var receivedBytes: UInt64 = 0
    var newConnections = 0
}
