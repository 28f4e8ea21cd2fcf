import BackupCore
import Glibc
import SystemIO

/// A proxy in front of an object server that makes faults happen: `mount-scripts/object-servers/fault-proxy.py`.
///
/// Clients speak to `port` with plain HTTP. It ends with the last reference, and with the process of the tests.
public final class FaultProxy: Sendable {
    /// What happens to requests. Bytes and offsets count those of the body.
    public enum Action: Sendable {
        /// Before the request is forwarded.
        case delay(seconds: Double)
        /// The connection is closed when the request's head has arrived.
        case reset
        /// An error of S3 instead of the server's answer.
        /// - Parameter isForwarded: whether the server does all the same what it is asked.
        case answer(status: Int, code: String, headers: [String: String] = [:], isForwarded: Bool = false)
        /// A page instead of the server's answer, which is not asked. After a body that is shorter than a header `Content-Length`
        /// says, the connection is closed.
        /// - Parameter count: how often the body is repeated in the page.
        case page(status: Int = 200, headers: [String: String] = [:], body: String = "", count: Int = 1)
        case cutRequest(afterBytes: Int)
        /// Nothing moves until `release`.
        case stallRequest(afterBytes: Int)
        case flipRequest(offset: Int)
        /// The server gets the request twice, the client the second answer.
        case repeatRequest
        case cutAnswer(afterBytes: Int)
        /// Nothing moves until `release`.
        case stallAnswer(afterBytes: Int)
        /// The server's whole answer is lost, with the connection.
        case dropAnswer
        case flipAnswer(offset: Int)
        /// In the answer; `nil` removes a header.
        case replaceHeaders([String: String?])
        /// The body ends there, with a fitting length.
        case truncateBody(afterBytes: Int)
        /// Entries of a listing whose key fits a regular expression are missing, and it claims to be complete.
        case hideEntries(key: String)
        case answerTwice
    }

    /// An action and the requests that it applies to.
    public struct Fault: Sendable {
        let json: String

        /// - Parameters:
        ///   - method: all if `nil`.
        ///   - path: a regular expression for path and query as sent.
        ///   - nth: the first of the requests that fit, from 1.
        ///   - times: to how many of them from there on; `nil` for all.
        public init(_ action: Action, method: String? = nil, path: String = "", nth: Int = 1, times: Int? = 1) {
            let members =
                ["\"path\": \(quote(path))", "\"nth\": \(nth)", "\"times\": \(times ?? 0)"]
                + (method.map { ["\"method\": \(quote($0))"] } ?? [])
            json = "{\(action.members), \(members.joined(separator: ", "))}"
        }
    }

    /// What the proxy has seen of a request.
    public struct Request: Sendable {
        public let method: String
        /// With the query, as sent.
        public let path: String
        /// What the client got; `nil` when it got nothing.
        public let status: Int?
        /// What the server answered; `nil` when it was not asked or has not answered.
        public let serverStatus: Int?
        /// Bytes of the body that came from the client.
        public let requestBytes: Int
        /// Bytes of the body that went to the client.
        public let answerBytes: Int
        /// The number of the client's connection.
        public let connection: Int
        /// The names of the actions that were applied.
        public let faults: [String]
        /// With names in lower-case letters.
        public let headers: [String: String]
    }

    public let port: Int
    /// `http://127.0.0.1:PORT`
    public var endpoint: String { "http://127.0.0.1:\(port)" }
    private let job: Job
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - targetPort: of the server, on this machine.
    ///   - host: whose network the proxy listens in, at all addresses; on loopback of this machine if `nil`.
    public convenience init(targetPort: Int, in host: OtherHost.Running? = nil) throws {
        try self.init(target: "127.0.0.1:\(targetPort)", in: host)
    }

    /// - Parameters:
    ///   - target: the server, as `HOST:PORT`.
    ///   - certificateFile: has a certificate with its key, for TLS to the clients.
    public init(target: String, in host: OtherHost.Running? = nil, certificateFile: String? = nil) throws {
        folder = try TemporaryFolder()
        let script = "\(Machine.projectPath)/mount-scripts/object-servers/fault-proxy.py"
        let options =
            (host.map { ["--namespace", $0.networkPath] } ?? []) + (certificateFile.map { ["--certificate", $0] } ?? [])
        job = try Job(["python3", script, target, folder("control"), "\(getpid())"] + options, scratch: folder("proxy"))
        var waitedMilliseconds = 0
        while true {
            let digits = job.outputSoFar.filter(\.isNumber)
            if let port = Int(digits), job.outputSoFar.hasSuffix("\n") {
                self.port = port
                return
            }
            guard waitedMilliseconds < 20_000, kill(job.process, 0) == 0, waitpid(job.process, nil, WNOHANG) == 0 else {
                job.send(SIGKILL)
                throw Machine.Unusable("the proxy did not start: \(Job.read(folder("proxy.err")))")
            }
            usleep(5_000)
            waitedMilliseconds += 5
        }
    }

    deinit {
        job.send(SIGKILL)
        _ = try? job.wait(limitSeconds: 10)
    }

    // MARK: Commands

    /// These faults instead of all before. Counting of requests that fit begins again.
    public func set(_ faults: Fault...) throws { try set(faults) }

    public func set(_ faults: [Fault]) throws {
        _ = try ask("\"do\": \"set\", \"faults\": [\(faults.map(\.json).joined(separator: ", "))]")
    }

    /// Closes all connections and refuses new ones, as a server does that is not running.
    public func refuse() throws { _ = try ask("\"do\": \"refuse\", \"on\": true") }

    /// Listens again, on the same port.
    public func accept() throws { _ = try ask("\"do\": \"refuse\", \"on\": false") }

    /// Closes the connections of requests that stall.
    public func release() throws { _ = try ask("\"do\": \"release\"") }

    /// Forgets requests and counters.
    public func reset() throws { _ = try ask("\"do\": \"reset\"") }

    /// All requests since the last `reset`.
    public func requests() throws -> [Request] {
        try ask("\"do\": \"log\"").filter { $0.first == "request" && $0.count == 10 }.map { fields in
            var headers: [String: String] = [:]
            for line in fields[9].split(separator: "\u{1F}") {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[String(line[..<colon])] = String(line[line.index(after: colon)...].dropFirst())
            }
            return Request(
                method: fields[1], path: fields[2], status: Int(fields[3]), serverStatus: Int(fields[4]),
                requestBytes: Int(fields[5]) ?? 0, answerBytes: Int(fields[6]) ?? 0,
                connection: Int(fields[7]) ?? 0, faults: fields[8].split(separator: ",").map(String.init), headers: headers)
        }
    }

    /// How many connections clients have made since the last `reset`.
    public func connectionCount() throws -> Int {
        try ask("\"do\": \"counters\"").first { $0.first == "connections" }.flatMap { Int($0[1]) } ?? 0
    }

    /// Waits until a fault was applied.
    /// - Parameters:
    ///   - action: its name, as in `Request.faults`.
    ///   - count: how often, since the last `reset`.
    /// - Throws: when that did not happen in time.
    public func wait(for action: String, count: Int = 1, limitSeconds: Int = 30) throws {
        let reply = try ask("\"do\": \"wait\", \"fault\": \(quote(action)), \"count\": \(count), \"seconds\": \(limitSeconds)")
        guard reply.first == ["reached", "True"] else {
            throw Machine.Unusable("\(action) was not applied \(count) times in \(limitSeconds) s")
        }
    }

    /// - Returns: the lines of the answer, with their fields.
    private func ask(_ members: String) throws -> [[String]] {
        let connection = try connect()
        let command = Array("{\"fields\": true, \(members)}\n".utf8)
        var sent = 0
        while sent < command.count {
            let count = send(connection.rawValue, Array(command[sent...]), command.count - sent, Int32(MSG_NOSIGNAL))
            guard count > 0 else { throw Machine.Unusable("the proxy has gone: \(Job.read(folder("proxy.err")))") }
            sent += count
        }
        shutdown(connection.rawValue, Int32(SHUT_WR))
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection.rawValue, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            reply += buffer[..<count]
        }
        let lines = String(decoding: reply, as: UTF8.self).split(separator: "\n")
        let answer = lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
        guard let first = answer.first?.first ?? (reply.isEmpty ? nil : ""), first != "error" else {
            throw Machine.Unusable("the proxy did not do \(members): \(lines) \(Job.read(folder("proxy.err")))")
        }
        return answer
    }

    private func connect() throws -> OwnedDescriptor {
        let path = folder("control")
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw Machine.Unusable("no socket: errno \(errno)") }
        let descriptor = OwnedDescriptor(owning: number, path: path)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8) + [0]
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw Machine.Unusable("the path is too long for a socket: \(path)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: address) { pointer in
            // Both begin with the family, and the kernel reads the rest as the family says.
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            throw Machine.Unusable("the proxy does not listen: errno \(errno) \(Job.read(folder("proxy.err")))")
        }
        return descriptor
    }
}

extension FaultProxy.Action {
    /// The name in the scripts and in `Request.faults`.
    public var name: String {
        switch self {
        case .delay: "delay"
        case .reset: "reset"
        case .answer, .page: "answer"
        case .cutRequest: "cut-request"
        case .stallRequest: "stall-request"
        case .flipRequest: "flip-request"
        case .repeatRequest: "repeat-request"
        case .cutAnswer: "cut-answer"
        case .stallAnswer: "stall-answer"
        case .dropAnswer: "drop-answer"
        case .flipAnswer: "flip-answer"
        case .replaceHeaders: "replace-headers"
        case .truncateBody: "truncate-body"
        case .hideEntries: "hide-entries"
        case .answerTwice: "answer-twice"
        }
    }

    fileprivate var members: String {
        let values: [String] =
            switch self {
            case .delay(let seconds): ["\"seconds\": \(seconds)"]
            case .answer(let status, let code, let headers, let isForwarded):
                [
                    "\"status\": \(status)", "\"code\": \(quote(code))", "\"forward\": \(isForwarded)",
                    "\"headers\": \(object(headers))",
                ]
            case .page(let status, let headers, let body, let count):
                [
                    "\"status\": \(status)", "\"headers\": \(object(headers))", "\"body\": \(quote(body))",
                    "\"repeat\": \(count)",
                ]
            case .cutRequest(let bytes), .stallRequest(let bytes), .cutAnswer(let bytes), .stallAnswer(let bytes),
                .truncateBody(let bytes):
                ["\"bytes\": \(bytes)"]
            case .flipRequest(let offset), .flipAnswer(let offset): ["\"offset\": \(offset)"]
            case .replaceHeaders(let values): ["\"headers\": \(object(values))"]
            case .hideEntries(let key): ["\"key\": \(quote(key))"]
            case .reset, .repeatRequest, .dropAnswer, .answerTwice: []
            }
        return (["\"action\": \(quote(name))"] + values).joined(separator: ", ")
    }
}

/// A JSON string. Texts in tests have no control characters.
private func quote(_ text: String) -> String {
    "\"" + text.flatMap { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" } + "\""
}

/// A JSON object of texts.
private func object(_ values: [String: String?]) -> String {
    "{\(values.map { "\(quote($0.key)): \($0.value.map(quote) ?? "null")" }.joined(separator: ", "))}"
}
