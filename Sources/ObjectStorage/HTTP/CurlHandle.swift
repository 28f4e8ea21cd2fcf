import BackupCore
import CCurl

/// One of libcurl's easy handles, with the connections that it keeps.
///
/// `@unchecked Sendable`: the pool lends it to one thread at a time, as libcurl demands.
final class CurlHandle: @unchecked Sendable {
    private static let bufferBytes = 256 << 10
    /// A larger body waits for the server's permission (`Expect: 100-continue`), so that it is not sent for nothing. For a
    /// smaller one, waiting takes longer than sending.
    private static let awaitedBodyBytes: UInt64 = 64 << 10

    private let handle: UnsafeMutableRawPointer

    /// - Returns: `nil` when there is no memory.
    init?() {
        guard let handle = backupfs_curl_init() else { return nil }
        self.handle = handle
    }

    deinit { backupfs_curl_cleanup(handle) }

    /// Connections that the last request has made.
    var newConnectionCount: Int {
        var count = 0
        return backupfs_curl_get_long(handle, CURLINFO_NUM_CONNECTS, &count) == CURLE_OK ? count : 0
    }

    /// Whether a proxy has refused the connection that the last request needed, since it wants a login.
    var proxyWantsLogin: Bool {
        var status = 0
        return backupfs_curl_get_long(handle, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK && status == 407
    }

    /// - Returns: libcurl's result, and its words for an error. They name hosts and numbers, never headers.
    func perform(_ request: HTTPRequest, _ settings: HTTPSettings, _ transfer: HTTPTransfer) -> (CURLcode, String) {
        // Keeps connections and what is known of hosts.
        backupfs_curl_reset(handle)
        var list: UnsafeMutablePointer<curl_slist>?
        defer { backupfs_curl_free(list) }
        // An empty value removes a header that libcurl would add.
        var lines = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        lines.append("Accept:")
        if let body = request.body {
            lines.append("Content-Type: application/octet-stream")
            if body.sizeBytes <= Self.awaitedBodyBytes { lines.append("Expect:") }
        }
        for line in lines {
            guard let longer = backupfs_curl_append(list, line) else { return (CURLE_OUT_OF_MEMORY, "no memory") }
            list = longer
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CURL_ERROR_SIZE)) { message in
            message.initialize(repeating: 0)
            var code = set(settings)
            if code == CURLE_OK { code = set(request) }
            if code == CURLE_OK { code = backupfs_curl_set_headers(handle, list) }
            if code == CURLE_OK { code = connect(to: transfer) }
            if code == CURLE_OK { code = backupfs_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, message.baseAddress) }
            if code == CURLE_OK {
                // libcurl has only a pointer to the transfer.
                code = withExtendedLifetime(transfer) { backupfs_curl_perform(handle) }
            }
            // The buffers end with this call.
            _ = backupfs_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, nil)
            _ = backupfs_curl_set_headers(handle, nil)
            let detail = message.baseAddress.map { String(cString: $0) } ?? ""
            return (code, detail.isEmpty ? String(cString: backupfs_curl_text(code)) : detail)
        }
    }

    /// - Returns: the first failure.
    private func set(_ values: [(CURLoption, Int)]) -> CURLcode {
        for (option, value) in values {
            let code = backupfs_curl_set_long(handle, option, value)
            guard code == CURLE_OK else { return code }
        }
        return CURLE_OK
    }

    private func set(_ settings: HTTPSettings) -> CURLcode {
        let code = set([
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_PATH_AS_IS, 1), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_PROXY_SSL_VERIFYPEER, 1),
            (CURLOPT_PROXY_SSL_VERIFYHOST, 2), (CURLOPT_SSLVERSION, backupfs_curl_at_least_tls_1_2),
            (CURLOPT_HTTP_VERSION, backupfs_curl_http_2_over_tls), (CURLOPT_TCP_KEEPALIVE, 1),
            (CURLOPT_CONNECTTIMEOUT_MS, Int(settings.connectSeconds * 1_000)),
            (CURLOPT_BUFFERSIZE, Self.bufferBytes), (CURLOPT_UPLOAD_BUFFERSIZE, Self.bufferBytes),
        ])
        guard code == CURLE_OK else { return code }
        guard let file = settings.certificateFile else { return code }
        let result = backupfs_curl_set_text(handle, CURLOPT_CAINFO, file)
        guard result == CURLE_OK else { return result }
        // Instead of the system's, not beside them.
        return backupfs_curl_set_pointer(handle, CURLOPT_CAPATH, nil)
    }

    private func set(_ request: HTTPRequest) -> CURLcode {
        var code = backupfs_curl_set_text(handle, CURLOPT_URL, request.url)
        guard code == CURLE_OK else { return code }
        // The default names libcurl with its version.
        code = backupfs_curl_set_text(handle, CURLOPT_USERAGENT, "backupfs")
        guard code == CURLE_OK else { return code }
        if let body = request.body {
            code = set([(CURLOPT_UPLOAD, 1)])
            guard code == CURLE_OK else { return code }
            code = backupfs_curl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, Int(clamping: body.sizeBytes))
            guard code == CURLE_OK, request.method != .put else { return code }
            return backupfs_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
        switch request.method {
        case .get: return set([(CURLOPT_HTTPGET, 1)])
        case .head: return set([(CURLOPT_NOBODY, 1)])
        default: return backupfs_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
    }

    /// Sets the functions that libcurl calls. Each gets the transfer as its context. The pointer is not retained: the transfer
    /// lives longer than the call of `backupfs_curl_perform`, the only one that uses it.
    private func connect(to transfer: HTTPTransfer) -> CURLcode {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        for option in [
            CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_HEADERDATA, CURLOPT_SEEKDATA, CURLOPT_XFERINFODATA, CURLOPT_PREREQDATA,
        ] {
            let code = backupfs_curl_set_pointer(handle, option, context)
            guard code == CURLE_OK else { return code }
        }
        let codes = [
            backupfs_curl_set_bytes_function(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return CurlHandle.transfer(context)?.receive(body: part) == true ? part.count : 0
            },
            backupfs_curl_set_bytes_function(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return CurlHandle.transfer(context)?.receive(header: line) == true ? line.count : 0
            },
            backupfs_curl_set_bytes_function(handle, CURLOPT_READFUNCTION) { bytes, size, count, context in
                let space = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
                return CurlHandle.transfer(context)?.read(into: space) ?? backupfs_curl_read_abort
            },
            backupfs_curl_set_seek_function(handle) { context, offset, origin in
                origin == 0 && CurlHandle.transfer(context)?.seek(to: offset) == true ? 0 : 1
            },
            backupfs_curl_set_request_function(handle) { context, _, _, _, _ in
                CurlHandle.transfer(context)?.noteRequest()
                return 0
            },
            backupfs_curl_set_progress_function(handle) { context, _, downloaded, _, uploaded in
                CurlHandle.transfer(context)?.goesOn(movedBytes: UInt64(clamping: downloaded + uploaded)) == true ? 0 : 1
            },
            set([(CURLOPT_NOPROGRESS, 0)]),
        ]
        return codes.first { $0 != CURLE_OK } ?? CURLE_OK
    }

    /// The context that `connect` has set.
    private static func transfer(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
        context.map { Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
    }
}
