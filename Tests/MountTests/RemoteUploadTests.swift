import SystemIO
import TestSupport
import Testing

/// Uploads of a mount: after its backups, beside all requests.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct RemoteUploadTests {
    /// A store with the remote `cloud` on a real server behind a proxy. `body` mounts it.
    private func sandbox(_ body: (Sandbox, FaultProxy) throws -> Void) throws {
        let server = try ObjectServer.shared()
        let proxy = try FaultProxy(targetPort: server.port)
        let bucket = try server.makeBucket()
        try Sandbox.use { sandbox in
            sandbox.variables.merge(server.administrator.variables) { $1 }
            try sandbox.sh(
                """
                backupfs init --sample --store $S
                sed -i '$i remotes:\\n  cloud:\\n    url: s3:\(proxy.endpoint)/\(bucket)/cars\\n    region: \(server.region)' $S/store.yaml
                """)
            try body(sandbox, proxy)
        }
    }

    private func wait(_ sandbox: Sandbox, until filter: String) throws {
        try sandbox.sh("wait_until \"jq -e '.remotes[0] | \(filter)' $M/status.json\"")
    }

    @Test func `SCH-08: an unreachable remote delays nothing, and gets the backups when it is back`() throws {
        try sandbox { sandbox, proxy in
            try proxy.refuse()
            try sandbox.mount()
            try sandbox.sh("mkdir $M/snapshots/one; [ -e $M/snapshots/one/export.json ]")
            try wait(sandbox, until: #".state == \"pendingRetry\" and .failureCount > 0"#)
            #expect(
                try sandbox.sh("jq -c '.remotes[0] | [.pendingSnapshots, .lastError.code]' $M/status.json") == #"[1,"offline"]"#)
            #expect(
                try sandbox.sh("jq -r '.remotes[0].lastError.message' $M/status.json")
                    .hasPrefix("No internet connection. Backup requires network access."))
            // No alert of what no user has asked for.
            #expect(try sandbox.sh("cat $S/mount.log") == "")
            try sandbox.sh("grep '\"op\":\"sync\"' $S/backupfs.log | grep -q '\"error\":\"offline\"'")
            try sandbox.unmount()
            try proxy.accept()
            try sandbox.mount()
            try wait(sandbox, until: #".state == \"upToDate\" and .pendingSnapshots == 0 and .snapshotCount == 1"#)
            // And each further one at once.
            try sandbox.sh("mkdir $M/snapshots/two")
            try wait(sandbox, until: #".state == \"upToDate\" and .snapshotCount == 2"#)
            try sandbox.unmount()
        }
    }

    @Test func `the end of a mount ends an upload at once, and the next mount completes it`() throws {
        try sandbox { sandbox, proxy in
            try sandbox.sh("backupfs sync --store $S")
            try proxy.set(FaultProxy.Fault(.stallRequest(afterBytes: 0), method: "PUT", path: "/packs/", times: nil))
            try sandbox.mount()
            // It returns, although the upload does not end.
            try sandbox.sh("mkdir $M/snapshots/one")
            try proxy.wait(for: "stall-request")
            #expect(try sandbox.sh("jq -r '.remotes[0].state' $M/status.json") == "uploading")
            let began = SystemClock.monotonicNanoseconds()
            try sandbox.unmount()
            #expect(SystemClock.monotonicNanoseconds() - began < 10_000_000_000)
            #expect(
                try sandbox.sh("backupfs status --json --store $S | jq -c '.remotes[0] | [.state, .pendingSnapshots]'")
                    == #"["pendingRetry",1]"#)
            try proxy.release()
            try proxy.set()
            try sandbox.mount()
            try wait(sandbox, until: #".state == \"upToDate\" and .snapshotCount == 1"#)
            try sandbox.unmount()
        }
    }

    @Test func `a scheduled backup is uploaded too, and a read-only mount uploads nothing`() throws {
        try sandbox { sandbox, proxy in
            sandbox.variables["BACKUPFS_SCHEDULE"] = nil
            try sandbox.sh("backupfs backup --if-due --no-sync --store $S", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
            let later = ["BACKUPFS_NOW": "2026-01-12T09:00:00Z"]
            try sandbox.mount(later)
            try sandbox.sh("wait_until [ -e $M/snapshots/2026-01-12_09-00-00/export.json ]")
            try wait(sandbox, until: #".state == \"upToDate\" and .pendingSnapshots == 0"#)
            try sandbox.unmount()
            try sandbox.sh("backupfs backup --label one --no-sync --store $S", later)
            try proxy.reset()
            try sandbox.mount(later, options: "-o ro")
            try sandbox.sh("[ -e $M/snapshots/one/export.json ]; ls $M/snapshots")
            #expect(try sandbox.sh("jq -r '.remotes[0].state' $M/status.json") == "pending")
            try sandbox.unmount()
            #expect(try proxy.requests().isEmpty)
        }
    }
}
