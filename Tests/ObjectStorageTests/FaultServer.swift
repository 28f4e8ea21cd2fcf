import Glibc
import TestSupport

/// A small HTTP server of these tests that fails as its rules say, and otherwise passes requests on to a real server.
final class FaultServer: Sendable {
    /// What to do with the first requests of a method whose address contains a text.
    struct Rule {
        enum Fault {
            case answer(Int, headers: [String: String] = [:], body: String = "")
            /// The answer of the real server, cut off after this many bytes of its body.
            case cut(bytes: Int)
            /// The real server gets the request, and its answer is lost.
            case loseAnswer
            case wrongTag
            /// The real server gets another first byte.
            case changeUpload
            case stall
            /// 12 MB of XML.
            case endlessAnswer
        }

        let method: String
        let path: String
        var times = 1
        let fault: Fault

        init(_ method: String, _ path: String, times: Int = 1, _ fault: Fault) {
            (self.method, self.path, self.times, self.fault) = (method, path, times, fault)
        }

        fileprivate var json: String {
            var fields = ["method": quoted(method), "path": quoted(path), "times": "\(times)"]
            switch fault {
            case .answer(let status, let headers, let body):
                fields["do"] = quoted("answer")
                fields["status"] = "\(status)"
                fields["headers"] = "{\(headers.map { "\(quoted($0.key)): \(quoted($0.value))" }.joined(separator: ","))}"
                fields["body"] = quoted(body)
            case .cut(let bytes):
                fields["do"] = quoted("cut")
                fields["bytes"] = "\(bytes)"
            case .loseAnswer: fields["do"] = quoted("lose")
            case .wrongTag: fields["do"] = quoted("tag")
            case .changeUpload: fields["do"] = quoted("change")
            case .stall: fields["do"] = quoted("stall")
            case .endlessAnswer: fields["do"] = quoted("endless")
            }
            return "{\(fields.map { "\(quoted($0.key)): \($0.value)" }.joined(separator: ","))}"
        }

        private func quoted(_ text: String) -> String {
            var result = ""
            for scalar in text.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { result += "\\" }
                result += scalar == "\n" ? "\\n" : String(scalar)
            }
            return "\"\(result)\""
        }
    }

    private static let script = #"""
        import http.client, http.server, json, ssl, sys, threading, time
        upstream, rules = sys.argv[1], json.loads(sys.argv[2])
        lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *arguments): pass
            def rule(self):
                with lock:
                    print(self.command, self.path, self.headers.get("x-amz-date"), self.headers.get("Range"), self.client_address[1], flush=True)
                    for rule in rules:
                        if rule["times"] > 0 and rule["method"] == self.command and rule["path"] in self.path:
                            rule["times"] -= 1
                            return rule
                return {"do": "pass"}
            def answer(self, status, headers, body, sent=None):
                self.send_response_only(status)
                for name, value in headers: self.send_header(name, value)
                if not any(name.lower() == "content-length" for name, _ in headers): self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD": self.wfile.write(body if sent is None else body[:sent])
                if sent is not None: self.close_connection = True
            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                rule = self.rule()
                do = rule["do"]
                if do == "stall": time.sleep(600)
                if do == "endless": return self.answer(200, [], b"<x>" * 4000000)
                if do == "answer":
                    text = rule["body"].encode()
                    length = int(rule["headers"].get("Content-Length", len(text)))
                    return self.answer(rule["status"], list(rule["headers"].items()), text, len(text) if length > len(text) and self.command != "HEAD" else None)
                if do == "change": body = b"#" + body[1:]
                connection = http.client.HTTPConnection(upstream)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
                connection.request(self.command, self.path, body or (b"" if self.command in ("PUT", "POST") else None), headers)
                response = connection.getresponse()
                data = response.read()
                if do == "lose":
                    self.close_connection = True
                    return
                answered = [(n, '"' + "0" * 32 + '"' if do == "tag" and n.lower() == "etag" else v) for n, v in response.getheaders()
                    if n.lower() not in ("transfer-encoding", "connection") and not (do == "tag" and n.lower().startswith("x-amz-checksum"))]
                self.answer(response.status, answered, data, rule.get("bytes"))
            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = serve

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if len(sys.argv) > 3:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[3])
            server.socket = context.wrap_socket(server.socket, server_side=True)
        print("port", server.server_address[1], flush=True)
        server.serve_forever()
        """#

    private let folder: TemporaryFolder
    private let job: Job
    let port: Int

    /// `127.0.0.1:PORT`.
    var host: String { "127.0.0.1:\(port)" }
    /// Of each request: method, address, time of the signature, range, and the port of the connection.
    var requests: [[String]] {
        job.outputSoFar.split(separator: "\n").dropFirst().map { $0.split(separator: " ").map(String.init) }
    }

    /// - Parameters:
    ///   - upstream: the real server, as `HOST:PORT`.
    ///   - certificateFile: has a certificate with its key, for TLS.
    init(_ rules: [Rule], upstream: String = "127.0.0.1:1", certificateFile: String? = nil) throws {
        folder = try TemporaryFolder()
        let path = try folder.write(Self.script, to: "server.py")
        let rules = "[\(rules.map(\.json).joined(separator: ","))]"
        job = try Job(["python3", path, upstream, rules] + (certificateFile.map { [$0] } ?? []), scratch: folder("server"))
        var waitedMilliseconds = 0
        var found: Int?
        while found == nil {
            guard waitedMilliseconds < 60_000 else {
                job.send(SIGKILL)
                throw Machine.Unusable("the server of this test did not start: \(Job.read(folder("server.err")))")
            }
            usleep(10_000)
            waitedMilliseconds += 10
            let line = job.outputSoFar.prefix { $0 != "\n" }
            if job.outputSoFar.contains("\n") { found = line.split(separator: " ").last.flatMap { Int($0) } }
        }
        port = found ?? 0
    }

    deinit {
        job.send(SIGKILL)
        _ = try? job.wait()
    }
}
