import SystemIO
import TestSupport
import Testing

/// The servers that other tests rely on.
struct ObjectServerTests {
    @Test func `keys differ in what they permit`() throws {
        let server = try ObjectServer.shared()
        let folder = try TemporaryFolder()
        let file = try folder.write("text", to: "file")
        let url = try "\(server.endpoint)/\(server.makeBucket())/key"
        let append = try #require(server.appendOnly)
        let read = try #require(server.readOnly)

        #expect(try server.curl(["--upload-file", file, url], keys: read).output.contains("<Code>AccessDenied</Code>"))
        #expect(try server.curl(["--upload-file", file, url], keys: append).exitCode == 0)
        #expect(try server.curl([url], keys: append).output == "text")
        #expect(try server.curl([url], keys: read).output == "text")
        #expect(try server.curl(["--request", "DELETE", url], keys: append).output.contains("<Code>AccessDenied</Code>"))
        #expect(try server.curl(["--request", "DELETE", url], keys: read).output.contains("<Code>AccessDenied</Code>"))
        #expect(try server.curl(["--request", "DELETE", url]).exitCode == 0)
        #expect(try server.curl([url]).output.contains("<Code>NoSuchKey</Code>"))
    }

    @Test func `a server with TLS is trusted by its certificate alone`() throws {
        let server = try ObjectServer.shared(usesTLS: true)
        #expect(server.endpoint.hasPrefix("https://127.0.0.1:"))
        let bucket = try server.makeBucket()
        #expect(try server.curl(["\(server.endpoint)/\(bucket)?list-type=2"]).output.contains("<KeyCount>0</KeyCount>"))
        let folder = try TemporaryFolder()
        let stranger = try Job(["curl", "--silent", "--noproxy", "*", server.endpoint], scratch: folder("curl")).wait()
        #expect(stranger.exitCode == 60)
    }

    @Test func `a server that was stopped comes back with its data, on the same port`() throws {
        let server = try ObjectServer()
        let folder = try TemporaryFolder()
        let file = try folder.write("text", to: "file")
        let url = try "\(server.endpoint)/\(server.makeBucket())/key"
        #expect(try server.curl(["--upload-file", file, url]).exitCode == 0)
        try server.stop()
        #expect(try server.curl([url]).exitCode == 7)
        try server.start()
        #expect(try server.curl([url]).output == "text")
    }

    @Test func `a server ends with a process that is killed`() throws {
        let folder = try TemporaryFolder()
        let script = """
            sleep 600 & owner=$!
            "$1/mount-scripts/object-servers/seaweedfs.sh" start "$2" --until-end-of "$owner" >"$2.values"
            server=$(sed -n 's/^processes=//p' "$2.values")
            kill -0 "$server" || exit 2
            kill -KILL "$owner"
            for _ in $(seq 1 200); do
                [ -e "$2" ] || break
                sleep 0.1
            done
            [ ! -e "$2" ] || exit 3
            ! kill -0 "$server" 2>/dev/null || grep -q '^State:.Z' "/proc/$server/status" || exit 4
            """
        let result = try Job(
            ["bash", "-c", script, "bash", Machine.projectPath, folder("server")], scratch: folder("job")
        ).wait()
        #expect(result.exitCode == 0, "\(result.text)")
    }
}
