import BackupCore
import CMicroHTTPD
import Glibc
import SystemIO

/// Serves a mounted tree over HTTP, by libmicrohttpd: each connection in a thread of its own, so that one whose file does not
/// come delays no other.
public final class WebServer: Sendable {
    /// Connections at once; further ones wait.
    private static let connectionLimit: UInt32 = 1_000
    /// After this, a connection is closed that is silent or does not take what is sent: a file must not stay open for it.
    private static let silentSeconds: UInt32 = 60
    /// Of the request line and the headers, in bytes; longer ones are refused.
    private static let headerLimitBytes = 32 << 10
    /// Of the body of a PROPFIND, in bytes.
    private static let bodyLimitBytes: UInt64 = 64 << 10

    private let handler: TreeHandler
    private let address: ListeningAddress

    /// - Parameters:
    ///   - tree: what is shown.
    ///   - language: of the listings of folders.
    public init(_ tree: ServedTree, at address: ListeningAddress, token: AccessToken, language: Language) {
        handler = TreeHandler(tree: tree, token: token, language: language)
        self.address = address
    }

    /// Serves from now on, in other threads, until the process ends.
    /// - Returns: the address and the port, which the system has chosen if it was 0.
    /// - Throws: when the address cannot be used.
    public func start() throws(BackupError) -> String {
        let listener = try address.listen()
        // The server lives as long as the process, and so does the context.
        let context = Unmanaged.passRetained(self).toOpaque()
        let daemon = backupfs_start_http(
            listener, { WebServer.handle($0, $1, $2, $3, $5, $6, $7) }, context, Self.connectionLimit, Self.silentSeconds,
            Self.headerLimitBytes)
        guard daemon != nil else { throw BackupError(.noResources, "the server cannot be started") }
        return try address.text(of: listener)
    }

    /// Called by libmicrohttpd when the headers of a request are there, for each part of its body, and at its end.
    ///
    /// The pointers are valid during the call; `state` is the request's own, and only says that there was a first call.
    private static func handle(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
        _ method: UnsafePointer<CChar>?, _ body: UnsafePointer<CChar>?, _ bodySize: UnsafeMutablePointer<Int>?,
        _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result {
        guard let context, let connection, let path, let method, let bodySize, let state else { return .NO }
        if state.pointee == nil {
            state.pointee = context
            let length = header("Content-Length", connection).flatMap { UInt64($0) } ?? 0
            guard length <= bodyLimitBytes, header("Transfer-Encoding", connection) == nil else {
                return send(.text(413, "Nothing can be written here."), to: connection)
            }
            return .YES
        }
        // What PROPFIND asks for is not looked at.
        guard bodySize.pointee == 0 else {
            bodySize.pointee = 0
            return .YES
        }
        let request = WebRequest(
            method: String(cString: method), path: String(cString: path), header: { header($0, connection) },
            parameter: { value(.GET_ARGUMENT_KIND, $0, connection) })
        let server = Unmanaged<WebServer>.fromOpaque(context).takeUnretainedValue()
        return send(server.handler.answer(request), to: connection)
    }

    private static func header(_ name: String, _ connection: OpaquePointer) -> String? {
        value(.HEADER_KIND, name, connection)
    }

    private static func value(_ kind: MHD_ValueKind, _ name: String, _ connection: OpaquePointer) -> String? {
        var start: UnsafePointer<CChar>?
        var count = 0
        guard MHD_lookup_connection_value_n(connection, kind, name, name.utf8.count, &start, &count) == .YES else {
            return nil
        }
        guard let start else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }

    private static func send(_ answer: WebAnswer, to connection: OpaquePointer) -> MHD_Result {
        guard let response = response(answer.body) else { return .NO }
        defer { MHD_destroy_response(response) }
        for (name, value) in answer.headers where MHD_add_response_header(response, name, value) != .YES { return .NO }
        return MHD_queue_response(connection, answer.status, response)
    }

    /// A file is read by the kernel while it is sent, sendfile(2). The response owns a descriptor of its own.
    private static func response(_ body: WebAnswer.Body) -> OpaquePointer? {
        switch body {
        case .bytes(var bytes):
            let count = bytes.count
            // Copied, so the pointer need not outlive the call.
            return bytes.withUnsafeMutableBytes { MHD_create_response_from_buffer(count, $0.baseAddress, .RESPMEM_MUST_COPY) }
        case .file(let file, let range):
            let descriptor = fcntl(file.rawDescriptor, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { return nil }
            let response = MHD_create_response_from_fd_at_offset64(UInt64(range.count), descriptor, range.lowerBound)
            if response == nil { close(descriptor) }
            return response
        }
    }
}
