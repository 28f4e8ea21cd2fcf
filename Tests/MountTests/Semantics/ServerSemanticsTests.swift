import TestSupport
import Testing

/// Mounts of stores whose repository is kept by a real server.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct ServerSemanticsTests {
    /// A store with the backup `one` on a server behind a proxy. `body` mounts it.
    private static func use(_ body: (Sandbox, FaultProxy, _ url: String) throws -> Void) throws {
        let server = try ObjectServer.shared()
        let proxy = try FaultProxy(targetPort: server.port)
        let url = "s3:\(proxy.endpoint)/\(try server.makeBucket())/cars"
        try Sandbox.use { sandbox in
            sandbox.variables.merge(server.administrator.variables) { $1 }
            sandbox.variables["AWS_REGION"] = server.region
            try sandbox.sh(
                """
                backupfs init --app ev-charging-tracker --sample --repository \(url) --store $S >/dev/null
                backupfs backup --label one --store $S >/dev/null
                """)
            try body(sandbox, proxy, url)
        }
    }

    @Test func `S80: a repository on a server is used through the mount as one in a folder, by several machines`() throws {
        try Self.use { sandbox, _, url in
            // Another machine.
            try sandbox.sh(
                "backupfs init --app ev-charging-tracker --sample --new-source --repository \(url) --store $R/other >/dev/null")
            try sandbox.mount()
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
            try sandbox.sh("mkdir $M/snapshots/two; cd $M/snapshots/two; sha256sum --quiet -c SHA256SUMS; unzip -tq archive.zip")
            #expect(
                try sandbox.sh("backupfs snapshots --json --store $R/other | jq -r '.[].name' | sort | tr '\\n' ' '")
                    == "one two ")
            // What the other one makes appears, whole.
            try sandbox.sh(
                """
                backupfs backup --label three --store $R/other >/dev/null
                wait_until '[ -e $M/snapshots/three ]'
                backupfs restore three --target $R/three --store $R/other >/dev/null
                cmp $R/three/export.json $M/snapshots/three/export.json
                """)
            // A name, a pin and a removal.
            try sandbox.sh(
                """
                setfattr -n user.backupfs.pinned -v 1 $M/snapshots/one
                mv $M/snapshots/two $M/snapshots/renamed; rmdir $M/snapshots/three
                """)
            #expect(
                try sandbox.sh(
                    "backupfs snapshots --json --store $R/other | jq -r '.[] | .name + (.pinned | tostring)' | sort | tr '\\n' ' '"
                )
                    == "onetrue renamedfalse ")
            // A restore by copying.
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite 'DELETE FROM expenses'
                cp $M/snapshots/one/export.json $M/restore/
                """)
            #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT count(*) FROM expenses'") == "1200")
            try sandbox.unmount()
        }
    }

    @Test func `a mount goes on without its server, and says what it lacks`() throws {
        try Self.use { sandbox, proxy, url in
            try sandbox.sh(
                """
                backupfs init --app ev-charging-tracker --sample --new-source --repository \(url) --store $R/other >/dev/null
                """)
            try sandbox.mount()
            try sandbox.sh("cat $M/snapshots/one/archive.zip > $R/one.zip")
            try proxy.refuse()
            try sandbox.sh("timeout 20 ls -l $M $M/snapshots $M/live >/dev/null; cmp $R/one.zip $M/snapshots/one/archive.zip")
            try sandbox.fails("mkdir $M/snapshots/two; sync $M/snapshots/two", saying: "Network is unreachable")
            #expect(try sandbox.names("snapshots") == ["latest", "one", "two.error.txt"])
            #expect(
                try sandbox.sh("jq -r .lastError.message $M/status.json")
                    .hasPrefix("No internet connection. Backup requires network access."))
            try proxy.accept()
            try sandbox.sh("mkdir $M/snapshots/two; sync $M/snapshots/two; [ -e $M/snapshots/two/export.json ]")
            try sandbox.unmount()
        }
    }
}
