import Glibc
import TestSupport
import Testing

/// `backupfs sync`, and the upload after a backup, with a real server whose connection fails.
@Suite(.rotating(oneIn: 3)) struct SyncServerTests {
    private static let offline = "No internet connection. Backup requires network access."
    private static let signIn = "You must be signed into iCloud to use automatic backups."
    private static let full = "iCloud storage is full. Please free up space or upgrade your plan."

    @Test func `a first sync uploads all, the next one nothing, and secrets are nowhere`() throws {
        let server = try ServerSandbox()
        let store = server.store
        #expect(try store.status(".state") == #""never""#)
        #expect(try store.backUp("one", "--no-sync").exitCode == 0)
        #expect(try store.status(".state, .pendingSnapshots") == "\"never\"\n1")
        let first = try store.sync()
        #expect(first.exitCode == 0 && first.errors == "", "\(first.text)")
        #expect(first.output.hasPrefix("iCloud: uploaded backups: 1 (") && first.output.hasSuffix("Backups there: 1\n"))
        #expect(try server.objects() == store.expectedObjects())
        #expect(try store.status("[.state, .pendingSnapshots, .snapshotCount, .lastError]") == #"["upToDate",0,1,null]"#)

        try server.proxy.reset()
        let second = try store.sync("--json")
        #expect(try store.documents(of: second, "[.up_to_date, .bytes_uploaded, .error]") == "[true,0,null]")
        #expect(try server.proxy.requests().allSatisfy { $0.method == "GET" || $0.method == "HEAD" })
        #expect(try server.proxy.requests().count <= 4)

        let secret = server.server.administrator.secretKey
        #expect(
            try store.sandbox.sh(
                """
                { cat $S/store.yaml $S/*.log; find $S/remotes -type f -exec cat {} +; backupfs status --json --store $S
                  backupfs status --prometheus --store $S; backupfs status --store $S; } | grep -cF '\(secret)' || true
                """) == "0")
    }

    @Test func `the upload after a backup looks at the remote once, and for no label`() throws {
        let server = try ServerSandbox()
        #expect(try server.store.backUp("one").exitCode == 0)
        try server.proxy.reset()
        let made = try server.store.backUp("two")
        #expect(made.exitCode == 0 && made.errors == "", "\(made.text)")
        let requests = try server.proxy.requests()
        func count(_ method: String, _ path: String) -> Int { requests.count { $0.method == method && $0.path.contains(path) } }
        // All objects, and the lists of a prune.
        #expect(count("GET", "list-type") == 2)
        #expect(count("GET", "/config") == 1 && count("GET", "/register") == 1 && count("HEAD", "") == 0)
        #expect(count("PUT", "/snapshots/") == 1 && count("PUT", "/indexes/") == 1 && count("PUT", "/register") == 1)
        #expect(try server.objects() == server.store.expectedObjects())
    }

    @Test func `a sync that was killed in the middle goes on where it ended`() throws {
        let server = try ServerSandbox()
        let store = server.store
        for name in ["one", "two", "three", "four"] { #expect(try store.backUp(name, "--no-sync").exitCode == 0) }
        let killed = try store.sync("", ["BACKUPFS_FAULT": "sync.pack-uploaded:3"])
        #expect(killed.exitCode == 128 + SIGKILL)
        #expect(try store.status("[.state, .lastSync, .pendingSnapshots]") == #"["pendingRetry",null,4]"#)
        let there = try server.objects().split(separator: "\n").count { $0.hasPrefix("packs/") }
        #expect(there >= 3)
        // No record is there before its packs.
        #expect(try !server.objects().contains("snapshots/"))
        try server.proxy.reset()
        #expect(try store.sync().exitCode == 0)
        let all = try store.expectedObjects().split(separator: "\n").count { $0.hasPrefix("packs/") }
        #expect(try server.packUploadCount() == all - there)
        #expect(try server.objects() == store.expectedObjects())
        #expect(try store.status("[.state, .pendingSnapshots, .snapshotCount]") == #"["upToDate",0,4]"#)
        #expect(try store.sandbox.sh("find $S/remotes -name '*.tmp-*'") == "")
    }

    @Test func `REM-05, REM-09: offline, in the document's words, and uploaded when it is online again`() throws {
        let server = try ServerSandbox()
        let store = server.store
        #expect(try store.sync().exitCode == 0)
        try server.proxy.refuse()
        let made = try store.backUp("one")
        #expect(made.exitCode == 0 && made.output == "one\n")
        #expect(made.errors.contains("warning: the backup was made, but not uploaded to iCloud: "), "\(made.errors)")
        #expect(made.errors.contains(Self.offline))
        #expect(try store.status("[.state, .pendingSnapshots, .lastError.code]") == #"["pendingRetry",1,"offline"]"#)
        let failed = try store.sync()
        #expect(failed.exitCode == 1 && failed.errors.contains(Self.offline), "\(failed.text)")
        #expect(try store.status(".failureCount") == "2")
        #expect(
            try store.sandbox.sh(
                "jq -c 'select(.op == \"sync\") | [.result, .error, .remote]' $S/backupfs.log | tail -n 1")
                == #"["failed","offline","cloud"]"#)
        try server.proxy.accept()
        #expect(try store.sync().exitCode == 0)
        #expect(try store.status("[.state, .pendingSnapshots, .lastError]") == #"["upToDate",0,null]"#)
        #expect(try server.objects() == store.expectedObjects())
    }

    @Test func `REM-09: a failing operation sends a request three times at most`() throws {
        let server = try ServerSandbox()
        #expect(try server.store.sync().exitCode == 0)
        try server.proxy.reset()
        try server.proxy.set(FaultProxy.Fault(.answer(status: 503, code: "SlowDown"), times: nil))
        let failed = try server.store.sync()
        #expect(failed.exitCode == 1 && failed.errors.contains(Self.offline), "\(failed.text)")
        #expect(try server.proxy.requests().count == 3)
    }

    @Test func `REM-08: a permission that is withdrawn in the middle leaves the backup and asks to sign in`() throws {
        let server = try ServerSandbox()
        let store = server.store
        #expect(try store.sync().exitCode == 0)
        try server.proxy.set(
            FaultProxy.Fault(
                .answer(status: 403, code: "AccessDenied"), method: "PUT", path: "/packs/", nth: 2, times: nil))
        let made = try store.backUp("one")
        #expect(made.exitCode == 0 && made.output == "one\n")
        #expect(made.errors.contains(Self.signIn), "\(made.errors)")
        #expect(made.errors.contains("Check the permissions of the access key"), "\(made.errors)")
        #expect(try store.status("[.state, .lastError.code]") == #"["pendingRetry","accessDenied"]"#)
        try store.sandbox.sh("backupfs verify one --store $S")
        // Not one object more than what is whole.
        #expect(try !server.objects().contains("snapshots/"))
        let json = try store.backUp("two", "--json")
        #expect(
            try store.documents(of: json, "[.remote, .up_to_date, .error, .message]")
                == #"["cloud",false,"accessDenied","\#(Self.signIn)"]"#)
        try server.proxy.set()
        #expect(try store.sync().exitCode == 0)
        #expect(try server.objects() == store.expectedObjects())
    }

    @Test func `REM-10: a connection that breaks in the middle leaves no part of an object`() throws {
        let server = try ServerSandbox()
        #expect(try server.store.sync().exitCode == 0)
        try server.proxy.set(FaultProxy.Fault(.cutRequest(afterBytes: 100), method: "PUT", path: "/packs/", times: nil))
        let made = try server.store.backUp("one")
        #expect(made.exitCode == 0 && made.errors.contains(Self.offline), "\(made.text)")
        #expect(try !server.objects().contains("packs/"))
        try server.proxy.set()
        #expect(try server.store.sync().exitCode == 0)
        #expect(try server.objects() == server.store.expectedObjects())
    }

    @Test func `REM-06: a server that is full`() throws {
        let server = try ServerSandbox()
        try server.proxy.set(
            FaultProxy.Fault(.answer(status: 507, code: "InsufficientStorage"), method: "PUT", path: "/packs/", times: nil))
        let made = try server.store.backUp("one")
        #expect(made.exitCode == 0 && made.errors.contains(Self.full), "\(made.text)")
        #expect(try server.store.status("[.state, .lastError.code]") == #"["pendingRetry","noSpace"]"#)
    }
}
