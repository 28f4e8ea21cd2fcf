import SystemIO
import TestSupport
import Testing

/// The faults of `FaultProxy`, as curl meets them.
@Suite(.rotating(oneIn: 3)) struct FaultProxyTests {
    let server: ObjectServer
    let proxy: FaultProxy
    let bucket: String
    let folder: TemporaryFolder

    init() throws {
        server = try ObjectServer.shared()
        proxy = try FaultProxy(targetPort: server.port)
        bucket = try server.makeBucket()
        folder = try TemporaryFolder()
    }

    private func url(_ key: String) -> String { "\(proxy.endpoint)/\(bucket)/\(key)" }

    /// - Parameter text: what the object consists of.
    @discardableResult
    private func put(_ key: String, _ text: String, _ arguments: [String] = []) throws -> Job.Result {
        let file = try folder.write(text, to: "upload-" + RandomToken.make())
        return try server.curl(["--upload-file", file, url(key)] + arguments)
    }

    private func get(_ key: String, _ arguments: [String] = []) throws -> Job.Result { try server.curl([url(key)] + arguments) }

    /// Past the proxy.
    private func isStored(_ key: String) throws -> Bool {
        try server.curl(["--head", "\(server.endpoint)/\(bucket)/\(key)"]).exitCode == 0
    }

    @Test func `without a fault, bytes pass unchanged over a kept connection`() throws {
        let text = String(repeating: "0123456789", count: 30_000)
        #expect(try put("some/key", text).exitCode == 0)
        try proxy.reset()
        let result = try server.curl([url("some/key"), url("some/key"), "--header", "Range: bytes=0-9"])
        #expect(result.output == "01234567890123456789")
        let requests = try proxy.requests()
        #expect(requests.map(\.status) == [206, 206])
        #expect(requests.map(\.answerBytes) == [10, 10])
        #expect(requests.map { $0.headers["range"] } == ["bytes=0-9", "bytes=0-9"])
        #expect(try proxy.connectionCount() == 1)
    }

    @Test func `a request that is cut reaches the server in part`() throws {
        try proxy.set(.init(.cutRequest(afterBytes: 1_000), method: "PUT"))
        #expect(try [52, 55, 56].contains(put("cut", String(repeating: "x", count: 200_000)).exitCode))
        #expect(try proxy.requests().map(\.faults) == [["cut-request"]])
        #expect(try !isStored("cut"))
        #expect(try put("cut", "whole").exitCode == 0)
    }

    @Test func `an answer that is cut ends early`() throws {
        try put("k", "0123456789")
        try proxy.set(.init(.cutAnswer(afterBytes: 4), method: "GET"))
        let result = try get("k")
        #expect(result.exitCode == 18)
        #expect(result.output == "0123")
        #expect(try get("k").output == "0123456789")
    }

    @Test func `a delay holds a request back`() throws {
        try put("k", "text")
        try proxy.set(.init(.delay(seconds: 1.5), method: "GET"))
        let result = try get("k", ["--write-out", " %{time_total}"])
        let seconds = try #require(result.output.split(separator: " ").last.flatMap { Double($0) })
        #expect(result.output.hasPrefix("text "))
        #expect(seconds >= 1.5)
    }

    @Test(arguments: [
        (500, "InternalError"), (503, "SlowDown"), (403, "AccessDenied"), (429, "TooManyRequests"), (507, "InsufficientStorage"),
    ])
    func `an error is answered for the server`(status: Int, code: String) throws {
        try proxy.set(.init(.answer(status: status, code: code, headers: ["Retry-After": "7"]), method: "PUT"))
        let result = try put("k", "text", ["--include"])
        #expect(result.exitCode == 22)
        #expect(result.output.contains("HTTP/1.1 \(status) "))
        #expect(result.output.contains("Retry-After: 7"))
        #expect(result.output.contains("<Code>\(code)</Code>"))
        #expect(try proxy.requests().map(\.serverStatus) == [nil])
        #expect(try proxy.requests().map(\.requestBytes) == [4])
        #expect(try !isStored("k"))
    }

    @Test func `an error can hide that the server has done what it was asked`() throws {
        try proxy.set(.init(.answer(status: 500, code: "InternalError", isForwarded: true), method: "PUT"))
        #expect(try put("k", "text").exitCode == 22)
        #expect(try proxy.requests().map(\.status) == [500])
        #expect(try proxy.requests().map(\.serverStatus) == [200])
        #expect(try isStored("k"))
    }

    @Test func `a connection is reset before an answer`() throws {
        try proxy.set(.init(.reset, times: nil))
        #expect(try [52, 56].contains(get("k").exitCode))
    }

    @Test func `connections are refused until they are accepted again`() throws {
        try put("k", "text")
        try proxy.refuse()
        #expect(try get("k").exitCode == 7)
        try proxy.accept()
        #expect(try get("k").output == "text")
    }

    @Test func `a byte of an answer or of a request is changed`() throws {
        try put("k", "0123456789")
        try proxy.set(.init(.flipAnswer(offset: 3), method: "GET"))
        #expect(try get("k").output == "0122456789")
        try proxy.set(.init(.flipRequest(offset: 0), method: "PUT"))
        #expect(try put("changed", "0123456789", ["--header", "Content-MD5: eB5eJF1ptWaXm4bijSPyxw=="]).exitCode == 22)
        #expect(try !isStored("changed"))
    }

    @Test func `a header of an answer is replaced or removed`() throws {
        try put("k", "text")
        try proxy.set(.init(.replaceHeaders(["ETag": "\"0123\""]), method: "HEAD"))
        #expect(try get("k", ["--head"]).output.contains("ETag: \"0123\""))
        try proxy.set(.init(.replaceHeaders(["ETag": nil]), method: "HEAD"))
        #expect(try !get("k", ["--head"]).output.lowercased().contains("\netag:"))
    }

    @Test func `a body stalls until it is released`() throws {
        try put("k", "0123456789")
        try proxy.set(.init(.stallAnswer(afterBytes: 5), method: "GET"))
        let result = try get("k", ["--max-time", "1"])
        #expect(result.exitCode == 28)
        #expect(result.output == "01234")
        try proxy.wait(for: "stall-answer")
        try proxy.set(.init(.stallRequest(afterBytes: 2), method: "PUT"))
        #expect(try put("k2", "text", ["--max-time", "1"]).exitCode == 28)
        try proxy.release()
        #expect(try !isStored("k2"))
    }

    @Test func `a listing is cut off, or lacks entries and claims to be complete`() throws {
        for key in ["a", "b", "c"] { try put(key, key) }
        let listing = "?list-type=2"
        try proxy.set(.init(.truncateBody(afterBytes: 200), method: "GET", path: "list-type"))
        let cut = try get(listing)
        #expect(cut.exitCode == 0)
        #expect(cut.output.utf8.count == 200)
        #expect(!cut.output.contains("</ListBucketResult>"))
        try proxy.set(.init(.hideEntries(key: "^b$"), method: "GET", path: "list-type"))
        let incomplete = try get(listing + "&max-keys=2").output
        #expect(incomplete.contains("<Key>a</Key>"))
        #expect(!incomplete.contains("<Key>b</Key>"))
        #expect(incomplete.contains("<IsTruncated>false</IsTruncated>"))
        #expect(incomplete.contains("</ListBucketResult>"))
        let complete = try get(listing + "&max-keys=2").output
        #expect(complete.contains("<Key>b</Key>"))
        #expect(complete.contains("<IsTruncated>true</IsTruncated>"))
    }

    @Test func `an answer is lost after the server has done what it was asked`() throws {
        try proxy.set(.init(.dropAnswer, method: "PUT"))
        #expect(try [52, 56].contains(put("k", "text").exitCode))
        #expect(try proxy.requests().map(\.serverStatus) == [200])
        #expect(try proxy.requests().map(\.status) == [nil])
        #expect(try isStored("k"))
    }

    @Test func `the server gets a request twice`() throws {
        try proxy.set(.init(.repeatRequest, method: "PUT"))
        let result = try put("k", "text", ["--header", "If-None-Match: *", "--include"])
        #expect(result.exitCode == 22)
        #expect(result.output.contains("HTTP/1.1 412 "))
        #expect(try isStored("k"))
    }

    @Test func `an answer comes twice`() throws {
        try put("k", "text")
        try proxy.set(.init(.answerTwice, method: "GET"))
        #expect(try get("k").output == "text")
        #expect(try proxy.requests().last?.answerBytes == 8)
    }

    @Test func `a fault applies to the requests that it names`() throws {
        try put("a", "a")
        try put("b", "b")
        try proxy.set(.init(.answer(status: 503, code: "SlowDown"), method: "GET", path: "/a$", nth: 2, times: 2))
        var codes: [Int32] = []
        for key in ["a", "b", "a", "b", "a", "a"] { codes.append(try get(key).exitCode) }
        #expect(codes == [0, 0, 22, 0, 22, 0])
    }

    @Test func `an unknown command is refused`() throws {
        #expect(throws: Machine.Unusable.self) { try proxy.wait(for: "delay", limitSeconds: 0) }
        #expect(throws: Machine.Unusable.self) { try proxy.set(.init(.reset, path: "(")) }
    }
}
