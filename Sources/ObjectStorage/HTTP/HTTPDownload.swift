import BackupCore
import SystemIO

/// Reads a file from a web server, without credentials.
public enum HTTPDownload {
    /// - Parameters:
    ///   - url: with `https:`; with `http:` only of this machine.
    ///   - seconds: how long all of it may take.
    ///   - consume: called with consecutive parts of an answer that has the file.
    /// - Throws: `invalidArgument` for another URL; `notFound`; `offline` when the server does not answer in time, or is
    ///   overloaded; `inputOutput` for any other answer, also a redirection; `interrupted`; errors of `consume`.
    public static func get(
        _ url: String, seconds: Double, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let isOwn = ["http://127.0.0.1:", "http://127.0.0.1/", "http://localhost:", "http://localhost/"].contains {
            url.hasPrefix($0)
        }
        guard isOwn || url.hasPrefix("https://"), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw BackupError(
                .invalidArgument, "this is no URL with https:", path: MessageText.shortened(url),
                remedy: "Write https:// and escape spaces and other letters.")
        }
        var settings = HTTPSettings()
        settings.connectSeconds = min(settings.connectSeconds, seconds)
        settings.stallSeconds = seconds
        let client = try HTTPClient(settings: settings)
        let end = SystemClock.monotonicSeconds() + seconds
        let deadline = Cancellation(within: .current) { SystemClock.monotonicSeconds() > end }
        var counts = TransferCounts()
        do throws(HTTPFailure) {
            var isComplete = false
            let response = try perform(client, url, deadline, &counts) { (response, bytes) throws(BackupError) in
                if response.status == 200 { try consume(bytes) }
            }
            isComplete = response.status == 200
            guard !isComplete else { return }
            let code: BackupError.Code =
                switch response.status {
                case 404, 410: .notFound
                case 429, 500...: .offline
                default: .inputOutput
                }
            throw .stopped(BackupError(code, "the server answers with status \(response.status)", path: url))
        } catch {
            switch error {
            case .network(_, let detail):
                throw BackupError(.offline, "the server does not send the file: \(detail)", path: url, remedy: "Try again later.")
            case .stopped(let stop):
                guard stop.code == .interrupted, SystemClock.monotonicSeconds() > end else { throw stop }
                throw BackupError(
                    .offline, "the server did not send the file within \(Int(seconds)) seconds", path: url,
                    remedy: "Try again later.")
            }
        }
    }

    private static func perform(
        _ client: HTTPClient, _ url: String, _ deadline: Cancellation, _ counts: inout TransferCounts,
        _ consume: HTTPTransfer.Consumer
    ) throws(HTTPFailure) -> HTTPResponse {
        var result: Result<HTTPResponse, HTTPFailure> = .failure(.network(.timeout, detail: "no answer"))
        do throws(BackupError) {
            try deadline.run { () throws(BackupError) in
                do throws(HTTPFailure) {
                    result = .success(
                        try client.perform(HTTPRequest(method: .get, url: url), counts: &counts, consume: consume))
                } catch {
                    result = .failure(error)
                }
            }
        } catch {
            throw .stopped(error)
        }
        return try result.get()
    }
}
