import Glibc
import TestSupport
import Testing

/// `remotes/NAME/` in a mount: what lies elsewhere, as files.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct RemoteSemanticsTests {
    private static func use(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                mkdir $R/cloud
                backupfs init --app ev-charging-tracker --sample --store $S >/dev/null
                backupfs remote add offsite $R/cloud --store $S >/dev/null
                backupfs backup --label one --store $S >/dev/null
                """)
            try body(sandbox)
        }
    }

    @Test func `S77: REM-15, a remote has backups and export_data, with the same bytes as here`() throws {
        try Self.use { sandbox in
            try sandbox.mount()
            #expect(try sandbox.names("remotes") == ["offsite"])
            #expect(try sandbox.names("remotes/offsite") == ["backups", "export_data"])
            #expect(try sandbox.names("remotes/offsite/backups") == ["one"])
            #expect(try sandbox.names("remotes/offsite/export_data") == sandbox.names("exports"))
            try sandbox.sh(
                """
                diff -r $M/snapshots/one $M/remotes/offsite/backups/one
                diff -r $M/exports $M/remotes/offsite/export_data
                cd $M/remotes/offsite/backups/one; sha256sum --quiet -c SHA256SUMS; unzip -tq archive.zip
                """)
            #expect(
                try sandbox.sh("sqlite3 -readonly $M/remotes/offsite/backups/one/database.sqlite 'SELECT count(*) FROM expenses'")
                    == "1200")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.checksum.sha256 $M/remotes/offsite/backups/one/export.json")
                    == sandbox.sh("sha256sum < $M/snapshots/one/export.json | cut -d' ' -f1"))
            for command in [
                "touch $M/remotes/x", "mkdir $M/remotes/offsite/backups/new", "rmdir $M/remotes/offsite/backups/one",
                "rm $M/remotes/offsite/export_data/*", "mv $M/remotes/offsite/backups/one $M/remotes/offsite/backups/two",
                "rm -r $M/remotes/offsite", "setfattr -n user.backupfs.pinned -v 1 $M/remotes/offsite/backups/one",
            ] {
                try sandbox.fails(command, saying: "Read-only file system")
            }
            // A restore by copying it here.
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'DELETE FROM expenses'")
            try sandbox.sh("cp $M/remotes/offsite/export_data/*.json $M/restore/")
            #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT count(*) FROM expenses'") == "1200")
            try sandbox.unmount()
        }
    }

    /// A server that takes connections and never answers.
    @Test func `a mount ends while a server does not answer`() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(listener >= 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(listener, pointer, length)
                _ = listen(listener, 16)
                _ = getsockname(listener, pointer, &length)
            }
        }
        let port = UInt16(bigEndian: address.sin_port)
        try Sandbox.use { sandbox in
            sandbox.variables["AWS_ACCESS_KEY_ID"] = "key"
            sandbox.variables["AWS_SECRET_ACCESS_KEY"] = "secret"
            try sandbox.sh(
                """
                backupfs init --app ev-charging-tracker --sample --store $S >/dev/null
                end=$(tail -n 1 $S/store.yaml); sed -i '$d' $S/store.yaml
                printf 'remotes:\n  silent:\n    url: s3:http://127.0.0.1:\(port)/bucket/cars\n%s\n' "$end" >> $S/store.yaml
                """)
            try sandbox.mount()
            try sandbox.sh("ls $M/remotes/silent/backups >/dev/null 2>&1 & sleep 1; kill -KILL $!; wait")
            let start = ContinuousClock.now
            try sandbox.unmount()
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    @Test func `a cache that is removed under a mount comes back at the next look`() throws {
        try Self.use { sandbox in
            try sandbox.mount()
            #expect(try sandbox.names("remotes/offsite/backups") == ["one"])
            try sandbox.sh("rm -r $S/remotes/offsite/cache")
            #expect(try sandbox.names("remotes/offsite/backups") == ["one"])
            try sandbox.sh("diff -r $M/snapshots/one $M/remotes/offsite/backups/one")
            // The same remote again, before the mount has read that it was removed.
            try sandbox.sh(
                "backupfs remote remove offsite --store $S >/dev/null; backupfs remote add offsite $R/cloud --store $S >/dev/null"
            )
            #expect(try sandbox.names("remotes/offsite/backups") == ["one"])
            try sandbox.sh("diff -r $M/snapshots/one $M/remotes/offsite/backups/one")
            try sandbox.unmount()
        }
    }

    @Test func `S79: REM-03, a backup of another device appears within five seconds of a look`() throws {
        try Self.use { sandbox in
            try sandbox.mount()
            #expect(try sandbox.names("remotes/offsite/backups") == ["one"])
            // Another machine with the same repository uploads. This one has no part in it, and its cache learns nothing of it.
            try sandbox.sh(
                """
                cp -a $S $R/other; rm -r $R/other/remotes
                backupfs backup --label two --store $R/other --no-sync >/dev/null; backupfs sync --store $R/other >/dev/null
                """)
            let started = time(nil)
            try sandbox.sh("ls $M/remotes/offsite/backups >/dev/null; wait_until '[ -e $M/remotes/offsite/backups/two ]'")
            #expect(time(nil) - started <= 5)
            #expect(try sandbox.names("remotes/offsite/backups") == ["one", "two"])
            try sandbox.unmount()
        }
    }

    @Test func `S78: a remote that cannot be reached is an error where it is read, and nowhere else`() throws {
        try Self.use { sandbox in
            // What was uploaded from here is known: names and sizes, but not the content of files.
            try sandbox.sh("mv $R/cloud $R/away")
            try sandbox.mount()
            #expect(try sandbox.names("remotes/offsite/backups") == ["one"])
            try sandbox.fails("cat $M/remotes/offsite/backups/one/export.json", saying: "Network is unreachable")
            try sandbox.unmount()
            // Of this, nothing was ever read.
            try sandbox.sh("rm -r $S/remotes/offsite/cache")
            try sandbox.mount()
            // Some of it is an error (1 or 2), and none of it is waited for (124).
            let listed = try sandbox.run("timeout 60 ls -lR $M $M/snapshots/one $M/remotes/offsite >/dev/null")
            #expect([1, 2].contains(listed.exitCode), "\(listed.text)")
            #expect(try sandbox.names("remotes/offsite") == ["backups", "export_data"])
            for folder in ["backups", "export_data"] {
                try sandbox.fails("ls $M/remotes/offsite/\(folder)", saying: "Network is unreachable")
            }
            // The disk is mounted again.
            try sandbox.sh("mv $R/away $R/cloud; wait_until 'ls $M/remotes/offsite/backups/one/export.json'")
            try sandbox.sh("cat $M/remotes/offsite/backups/one/archive.zip > /dev/null; mv $R/cloud $R/away")
            // What was read can be read again, also by another mount.
            try sandbox.unmount()
            try sandbox.mount()
            try sandbox.sh("diff -r $M/snapshots/one $M/remotes/offsite/backups/one")
            try sandbox.unmount()
        }
    }

    /// A server that accepts connections and never answers.
    @Test func `a server that does not answer blocks nothing else`() throws {
        let server = try ObjectServer.shared()
        let proxy = try FaultProxy(targetPort: server.port)
        let bucket = try server.makeBucket()
        try Sandbox.use { sandbox in
            sandbox.variables.merge(server.administrator.variables) { $1 }
            try sandbox.sh(
                """
                backupfs init --app ev-charging-tracker --sample --store $S >/dev/null
                backupfs remote add far s3:\(proxy.endpoint)/\(bucket)/x --region \(server.region) --no-after-backup --store $S >/dev/null
                backupfs backup --label one --store $S >/dev/null; backupfs sync --store $S >/dev/null
                """)
            try sandbox.mount()
            try proxy.set(FaultProxy.Fault(.stallAnswer(afterBytes: 0), times: nil))
            let readers = try (0..<20).map { _ in try sandbox.start("ls -R $M/remotes/far/backups") }
            // A look that waited for the server would take ten seconds at least.
            try sandbox.sh(
                """
                for n in 1 2 3; do timeout 5 ls -l $M $M/remotes $M/remotes/far $M/snapshots/one >/dev/null; done
                timeout 8 cat $M/snapshots/one/archive.zip $M/status.json > /dev/null; timeout 8 mkdir $M/snapshots/two
                """)
            try proxy.set([])
            try proxy.release()
            for reader in readers { #expect(try sandbox.finish(reader).exitCode == 0) }
            try sandbox.unmount()
        }
    }
}
