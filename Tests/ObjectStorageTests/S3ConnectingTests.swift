import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// Servers that are not reached.
struct S3ConnectingTests {
    private let log = RequestLog()

    /// The kernel drops what comes to a socket with too many connections that the program has not taken.
    @Test func `a server that takes no connection is not tried again`() throws {
        let folder = try TemporaryFolder()
        let script = """
            import signal, socket
            server = socket.socket()
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            waiting = [socket.socket() for _ in range(4)]
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(server.getsockname())
            print(server.getsockname()[1], flush=True)
            signal.pause()
            """
        let job = try Job(["python3", "-c", script], scratch: folder("job"))
        defer {
            job.send(SIGKILL)
            _ = try? job.wait()
        }
        for _ in 0..<1_000 where !job.outputSoFar.hasSuffix("\n") { usleep(10_000) }
        let port = try #require(Int(job.outputSoFar.filter(\.isNumber)))
        let location = try S3Location("s3:http://127.0.0.1:\(port)/bucket")
        let credentials = S3CredentialSource(.fixed(try S3Credentials(accessKeyID: "KEY", secretAccessKey: "SECRET")))
        var http = HTTPSettings()
        http.connectSeconds = 0.3
        let client = S3Client(
            location: location, region: "us-east-1", http: try HTTPClient(settings: http), credentials: credentials,
            observer: log, sleep: { _ in })
        let storage = try S3Storage(client, options: S3Options(), capabilities: [])
        let error = failure { _ = try storage.bytes(named("x")) }
        #expect(error?.code == .offline)
        #expect(error?.message.english == "127.0.0.1:\(port) does not answer in time")
        #expect(log.requests.map(\.tryCount) == [1])
    }
}
