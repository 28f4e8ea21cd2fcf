import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import Photos

struct PhotoDownloadTests {
    /// A web server that sends `photo` at `/photo.jpg`, and nothing at `/slow`.
    private static let server = """
        import http.server, threading
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == '/slow': return threading.Event().wait()
                self.send_response(200 if self.path == '/photo.jpg' else 404)
                self.send_header('Content-Length', '5')
                self.end_headers()
                self.wfile.write(b'photo')
            def log_message(self, *arguments): pass
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        server.daemon_threads = True
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    @Test func `REM-17: a photo that is not here is downloaded, and one that does not come in time fails`() throws {
        let fixture = try PhotoFixture()
        let job = try Job(["python3", "-c", Self.server], scratch: fixture.folder("server"))
        defer { job.send(SIGKILL) }
        var port: Int?
        let end = SystemClock.monotonicSeconds() + 30
        while port == nil, SystemClock.monotonicSeconds() < end {
            usleep(10_000)
            port = Int(job.outputSoFar.prefix { $0 != "\n" })
        }
        let url = "http://127.0.0.1:\(try #require(port))"
        for (path, line) in [
            ("a.jpg.remote", "\(url)/photo.jpg"), ("b.jpg.remote", "\(url)/slow"), ("c.jpg.remote", "\(url)/none"),
            ("d.jpg.remote", "ftp://example.org/x"), (".e.heic.icloud", "bplist00"),
        ] {
            try fixture.write("\(line)\n", to: path)
            try fixture.star(fixture.photos.original(of: path))
        }
        let began = SystemClock.monotonicSeconds()
        let summary = try fixture.upload { $0.downloadSeconds = 1 }
        #expect(SystemClock.monotonicSeconds() - began < 20)
        #expect(summary.uploadedCount == 1)
        // md5sum of "photo"
        #expect(try fixture.names("photos/") == ["photos/2026/01/5ae0c1c8a5260bc7b6648f6fbd115c35.jpg"])
        let items = try fixture.queue.items()
        #expect(items.map(\.path) == ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.heic"])
        #expect(items.map(\.stage) == [.uploaded] + Array(repeating: .failed(.iCloudDownloadFailed), count: 4))
        let steps = fixture.steps.withLock { $0.filter { $0.hasPrefix("a.jpg") } }
        #expect(steps == ["a.jpg processing", "a.jpg downloading", "a.jpg uploading", "a.jpg uploaded"])
        #expect(try FileSystem.names(in: fixture.folder("photos/downloads")).isEmpty)
    }

    @Test func `REM-17: a stub can name an object of the bucket`() throws {
        let fixture = try PhotoFixture()
        _ = try fixture.storage.create(.checked("incoming/x"), .init(Array("photo".utf8)))
        try fixture.write("s3:incoming/x", to: "x.jpg.remote")
        try fixture.star("x.jpg")
        #expect(try fixture.upload().uploadedCount == 1)
        #expect(try fixture.text("photos/2026/01/5ae0c1c8a5260bc7b6648f6fbd115c35.jpg") == "photo")
    }
}
