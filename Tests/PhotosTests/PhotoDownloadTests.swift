import BackupCore
import Glibc
import ObjectStorage
import SystemIO
import TestSupport
import Testing

@testable import Photos

struct PhotoDownloadTests {
    /// A web server that sends a file at `/photo.jpg`, a text at `/text`, and nothing at `/slow`.
    private static let server = """
        import http.server, sys, threading
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == '/slow': return threading.Event().wait()
                bodies = {'/photo.jpg': open(sys.argv[1], 'rb').read(), '/text': b'sorry'}
                path = self.path.split('?')[0]
                body = bodies.get(path, b'nothing')
                self.send_response(200 if path in bodies else 404)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def log_message(self, *arguments): pass
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        server.daemon_threads = True
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    @Test func `REM-17: a photo that is not here is downloaded, and one that does not come in time fails`() throws {
        let fixture = try PhotoFixture()
        try fixture.photo("here.jpg", ["-DateTimeOriginal=2024:06:30 23:59:00"])
        let md5 = try fixture.md5("here.jpg")
        let job = try Job(["python3", "-c", Self.server, fixture.folder("media/here.jpg")], scratch: fixture.folder("server"))
        defer { job.send(SIGKILL) }
        var port: Int?
        let end = SystemClock.monotonicSeconds() + 30
        while port == nil, SystemClock.monotonicSeconds() < end {
            usleep(10_000)
            port = Int(job.outputSoFar.prefix { $0 != "\n" })
        }
        let url = "http://127.0.0.1:\(try #require(port))"
        for (path, line) in [
            ("a.jpg.remote", "\(url)/photo.jpg"), ("b.jpg.remote", "\(url)/slow"), ("c.jpg.remote", "\(url)/none?token=hidden"),
            ("d.jpg.remote", "ftp://example.org/x"), (".e.heic.icloud", "bplist00"),
            ("f.jpg.remote", "\(url)/text"), ("g.jpg.remote", "https://user:hidden@example.org/x"),
        ] {
            try fixture.write("\(line)\n", to: path)
            try fixture.star(fixture.photos.original(of: path))
        }
        let began = SystemClock.monotonicSeconds()
        let summary = try fixture.upload { $0.downloadSeconds = 1 }
        #expect(SystemClock.monotonicSeconds() - began < 20)
        #expect(summary.uploadedCount == 1)
        #expect(try fixture.names("photos/") == ["photos/2024/06/\(md5).jpg"])
        let items = try fixture.queue.items()
        #expect(items.map(\.path) == ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.heic", "f.jpg", "g.jpg"])
        // The text is there, and no photo.
        let lost = QueueItem.Stage.failed(.iCloudDownloadFailed)
        #expect(items.map(\.stage) == [.uploaded, lost, lost, lost, lost, .failed(.metadataExtractionFailed), lost])
        let steps = fixture.steps.withLock { $0.filter { $0.hasPrefix("a.jpg") } }
        #expect(steps == ["a.jpg processing", "a.jpg downloading", "a.jpg uploading", "a.jpg uploaded"])
        #expect(try FileSystem.names(in: fixture.folder("photos/downloads")).isEmpty)
        // A URL may have a secret.
        #expect(items[2].error?.contains("c.jpg.remote") == true)
        for item in items { #expect(item.error?.contains("hidden") != true) }
        // What does not exist is not tried again unless a user asks for it; what came too late is.
        #expect(items.filter(\.mayPass).map(\.path) == ["b.jpg"])
        // A corrected stub.
        try fixture.write("\(url)/photo.jpg", to: "f.jpg.remote")
        #expect(try fixture.upload { $0.downloadSeconds = 1 }.presentCount == 1)
    }

    @Test func `REM-17: a photo whose server cannot be reached is downloaded when it can be, without a user`() throws {
        let fixture = try PhotoFixture()
        try fixture.photo("here.jpg", ["-DateTimeOriginal=2024:06:30 23:59:00"])
        try fixture.star(fixture.write("other", to: "b.jpg"))
        // Port 1 is closed.
        try fixture.write("http://127.0.0.1:1/photo.jpg", to: "a.jpg.remote")
        try fixture.star("a.jpg")
        let summary = try fixture.upload { $0.parallelCount = 1 }
        // The bucket can be reached all the same.
        #expect(summary.uploadedCount == 1 && summary.stop == nil && summary.mustTryAgain)
        let item = try #require(try fixture.queue.item(QueueItem.id(of: "a.jpg")))
        #expect(item.stage == .failed(.iCloudDownloadFailed) && item.mayPass)
        #expect(try QueueWorker.hasWork(fixture.queue, retried: .network))
        #expect(try !QueueWorker.hasWork(fixture.queue, retried: .none))
        _ = try fixture.storage.create(.checked("incoming/x"), .init(readFile(fixture.folder("media/here.jpg"))))
        try fixture.write("s3:incoming/x", to: "a.jpg.remote")
        #expect(try fixture.upload { $0.retried = .none }.uploadedCount == 0)
        #expect(try fixture.upload { $0.retried = .network }.uploadedCount == 1)
        #expect(try fixture.queue.items().map(\.mayPass) == [false, false])
        // What is not in the bucket stays so.
        try fixture.write("s3:incoming/none", to: "c.jpg.remote")
        try fixture.star("c.jpg")
        #expect(try fixture.upload().failures.map(\.path) == ["c.jpg"])
        #expect(try !QueueWorker.hasWork(fixture.queue, retried: .network))
    }

    @Test func `ERR-11: a photo for which the disk is too small fails, and nothing is left of it`() throws {
        let fixture = try PhotoFixture()
        try fixture.photo("here.jpg", ["-DateTimeOriginal=2024:06:30 23:59:00"])
        _ = try fixture.storage.create(.checked("incoming/x"), .init(readFile(fixture.folder("media/here.jpg"))))
        try fixture.write("s3:incoming/x", to: "x.jpg.remote")
        try fixture.star("x.jpg")
        let summary = try FileObservation.observing(below: fixture.queue.downloads, by: FullDisk()) {
            try fixture.upload { $0.parallelCount = 1 }
        }
        #expect(summary.uploadedCount == 0 && summary.failures.map(\.error.code) == [.noSpace])
        let item = try #require(try fixture.queue.items().first)
        #expect(item.stage == .failed(.insufficientStorage))
        #expect(try FileSystem.names(in: fixture.queue.downloads).isEmpty && fixture.names("photos/").isEmpty)
        // With space, a user has it uploaded.
        #expect(try fixture.upload().uploadedCount == 1)
    }

    @Test func `REM-17: a stub can name an object of the bucket`() throws {
        let fixture = try PhotoFixture()
        try fixture.photo("here.jpg", ["-DateTimeOriginal=2024:06:30 23:59:00"])
        let photo = try readFile(fixture.folder("media/here.jpg"))
        _ = try fixture.storage.create(.checked("incoming/x"), .init(photo))
        try fixture.write("s3:incoming/x", to: "x.jpg.remote")
        try fixture.star("x.jpg")
        #expect(try fixture.upload().uploadedCount == 1)
        #expect(try fixture.bytes("photos/2024/06/\(try fixture.md5("here.jpg")).jpg") == photo)
    }
}

/// A disk on which no byte can be written.
private final class FullDisk: FileObserver {
    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        if case .write(let path, _, _) = operation { throw SystemCall.error(ENOSPC, action: "write", path: path) }
        try body()
    }
}
