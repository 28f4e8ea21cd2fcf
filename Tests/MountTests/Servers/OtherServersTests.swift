import Glibc
import TestSupport
import Testing

/// The program against real servers besides SeaweedFS: those that `BACKUPFS_REMOTE_SERVERS` names, as `make test-remotes` does.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct OtherServersTests {
    /// A store of photos with a film of several packs, on the disk of this machine, and a bucket.
    private struct Place {
        let sandbox: Sandbox
        let server: ObjectServer
        let proxy: FaultProxy
        let bucket: String

        /// Of a remote, through the proxy.
        var url: String { "s3:\(proxy.endpoint)/\(bucket)/cars" }

        /// Names and SHA-256 of what is below the prefix, as boto3 reads it.
        func objects() throws -> String {
            try server.boto3(
                """
                for page in s3.get_paginator("list_objects_v2").paginate(Bucket=sys.argv[1], Prefix="cars/"):
                    for entry in page.get("Contents", []):
                        data = s3.get_object(Bucket=sys.argv[1], Key=entry["Key"])["Body"].read()
                        print(hashlib.sha256(data).hexdigest() + "  " + entry["Key"][5:])
                """, [bucket])
        }

        func addRemote(_ options: String = "") throws -> Job.Result {
            try sandbox.run("backupfs remote add off \(url) --region \(server.region) \(options) --store $S")
        }
    }

    private static func use(_ kind: ObjectServer.Kind, _ body: (Place) throws -> Void) throws {
        let server = try ObjectServer.shared(kind)
        let proxy = try FaultProxy(targetPort: server.port)
        try Sandbox.use { sandbox in
            sandbox.variables.merge(server.administrator.variables) { $1 }
            sandbox.variables["AWS_REGION"] = server.region
            try body(Place(sandbox: sandbox, server: server, proxy: proxy, bucket: server.makeBucket()))
        }
    }

    /// A store with a backup `one` in a repository here, of 70 MB that cannot be compressed.
    private static func useStore(_ kind: ObjectServer.Kind, _ body: (Place) throws -> Void) throws {
        try use(kind) { place in
            try PhotoDiary.setUp(place.sandbox)
            try place.sandbox.sh(
                """
                head -c 70000000 /dev/urandom > $P/film.mp4; : > $P/empty.jpg
                backupfs backup --label one --store $S
                """)
            try body(place)
        }
    }

    /// The files of a repository that a copy has, with their SHA-256.
    private static let expected =
        "cd $S/repository; find config config.copy packs snapshots labels -type f -print0 | sort -z | xargs -0 sha256sum"
    private static func mirrored(_ objects: String) -> [String] {
        objects.split(separator: "\n").map(String.init).filter { line in
            ["config", "packs/", "snapshots/", "labels/"].contains { line.dropFirst(66).hasPrefix($0) }
        }.sorted()
    }

    @Test(arguments: ObjectServer.Kind.chosen) func `a trial says what the server keeps`(kind: ObjectServer.Kind) throws {
        try Self.use(kind) { place in
            try place.sandbox.sh("backupfs init --sample --store $S")
            let added = try place.addRemote()
            #expect(added.exitCode == 0, "\(added)")
            #expect(added.lines.filter { $0.hasPrefix("yes: ") || $0.hasPrefix("NO:  ") } == ServerPromise.lines(of: kind))
            #expect(added.output.contains("\noff can be used. There is no copy of this repository yet.\n"), "\(added)")
            #expect(try place.objects() == "")
            let none = try place.sandbox.run(
                "backupfs remote add none \(place.url.replacing(place.bucket, with: "no-\(place.bucket)")) --store $S")
            #expect(none.exitCode == 1 && none.errors.contains("there is no bucket no-\(place.bucket)"), "\(none)")
            place.sandbox.variables["AWS_SECRET_ACCESS_KEY"] = "wrong"
            let refused = try place.sandbox.run("backupfs remote test off --store $S")
            #expect(refused.exitCode == 1 && refused.errors.contains("the server refuses the signature"), "\(refused)")
        }
    }

    @Test(arguments: ObjectServer.Kind.chosen)
    func `a copy is uploaded, read, checked, restored and fetched, byte by byte`(kind: ObjectServer.Kind) throws {
        try Self.useStore(kind) { place in
            let sandbox = place.sandbox
            #expect(try place.addRemote("--no-after-backup").exitCode == 0)
            let first = try sandbox.run("backupfs sync --store $S")
            #expect(first.exitCode == 0 && first.output.hasPrefix("off: uploaded backups: 1 ("), "\(first)")
            #expect(
                try Self.mirrored(place.objects()) == sandbox.sh(Self.expected).split(separator: "\n").map(String.init).sorted())
            try place.proxy.reset()
            let second = try sandbox.run("backupfs sync --store $S")
            #expect(second.exitCode == 0 && second.output == "off: nothing to upload. Backups there: 1\n", "\(second)")
            #expect(try place.proxy.requests().allSatisfy { $0.method == "GET" || $0.method == "HEAD" })
            #expect(try place.proxy.requests().count <= 4)

            try sandbox.sh(
                """
                [ "$(backupfs snapshots --remote off --json --store $S | jq -r '.[].name')" = one ]
                backupfs ls one --remote off --json --store $S > $R/there; backupfs ls one --json --store $S | cmp - $R/there
                backupfs check --read-data --remote off --store $S | grep -qx 'No damage was found.'
                backupfs restore one --remote off --target $R/out --store $S
                (cd $P; \(PhotoDiary.describe)) > $R/photos; (cd $R/out/media; \(PhotoDiary.describe)) | cmp - $R/photos
                sqlite3 $S/app/database.sqlite .dump > $R/records; sqlite3 $R/out/database.sqlite .dump | cmp - $R/records
                backupfs remote fetch off $R/fetched --store $S
                (cd $R/fetched; find config config.copy packs snapshots labels -type f -print0 | sort -z | xargs -0 sha256sum) > $R/fetched.sums
                (\(Self.expected)) | cmp - $R/fetched.sums
                """)
            try sandbox.mount()
            try sandbox.sh(
                "diff -r $M/snapshots/one $M/remotes/off/backups/one; cd $M/remotes/off/backups/one; sha256sum --quiet -c SHA256SUMS"
            )
            try sandbox.unmount()

            // A restore into the app, after it has lost all.
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite 'DELETE FROM photos'; rm -r $P/*
                backupfs restore one --remote off --yes --store $S
                sqlite3 $S/app/database.sqlite .dump | sort | cmp - <(sort $R/records); (cd $P; \(PhotoDiary.describe)) | cmp - $R/photos
                """)
        }
    }

    @Test(arguments: ObjectServer.Kind.chosen)
    func `an upload whose program is killed in the middle of a pack goes on where it ended`(kind: ObjectServer.Kind) throws {
        try Self.useStore(kind) { place in
            let sandbox = place.sandbox
            #expect(try place.addRemote("--no-after-backup --parallel-requests 1").exitCode == 0)
            try place.proxy.set(FaultProxy.Fault(.stallRequest(afterBytes: 1_000), method: "PUT", path: "/packs/", nth: 2))
            let job = try sandbox.start([Machine.binaryPath(), "sync", "--store", sandbox.storePath])
            try place.proxy.wait(for: "stall-request", limitSeconds: 300)
            job.send(SIGKILL)
            #expect(try sandbox.finish(job).exitCode == 128 + SIGKILL)
            try place.proxy.release()
            try place.proxy.set()
            let all = try sandbox.sh(Self.expected).split(separator: "\n").map(String.init).sorted()
            let there = try Self.mirrored(place.objects())
            // What is there is whole, and no record is there before its packs.
            #expect(Set(there).isSubset(of: all), "\(there)")
            let packCount = there.count { $0.contains("  packs/") }
            #expect(packCount == 1 && !there.contains { $0.contains("  snapshots/") }, "\(there)")
            try place.proxy.reset()
            let resumed = try sandbox.run("backupfs sync --store $S")
            #expect(resumed.exitCode == 0, "\(resumed)")
            #expect(
                try place.proxy.requests().count { $0.method == "PUT" && $0.path.contains("/packs/") }
                    == all.count { $0.contains("  packs/") } - packCount)
            #expect(try Self.mirrored(place.objects()) == all)
        }
    }

    @Test(arguments: ObjectServer.Kind.chosen)
    func `a server keeps the repository itself, of two stores`(kind: ObjectServer.Kind) throws {
        try Self.use(kind) { place in
            let sandbox = place.sandbox
            let made = try sandbox.run("backupfs init --app ev-charging-tracker --sample --repository \(place.url) --store $S")
            #expect(made.exitCode == 0, "\(made)")
            let warning =
                "warning: this server does not keep apart what several machines write at the same moment. Let only one machine make backups in this repository.\n"
            #expect(made.errors == (ServerPromise.isForSeveralMachines(kind) ? "" : warning))
            try sandbox.sh(
                """
                change() { sqlite3 $1/app/database.sqlite "UPDATE app_metadata SET value = '$2' WHERE key = 'device_name'"; }
                names() { backupfs snapshots --json --store $1 | jq -r '.[].name' | sort | tr '\\n' ' '; }
                change $S one; sqlite3 $S/app/database.sqlite .dump > $R/one; backupfs backup --label one --store $S
                change $S two; sqlite3 $S/app/database.sqlite .dump > $R/two; backupfs backup --label two --store $S
                backupfs init --new-source --sample --repository \(place.url) --store $R/other --quiet 2> $R/second
                change $R/other other; backupfs backup --label other --store $R/other
                [ "$(names $S)" = 'one other two ' ]; [ "$(names $R/other)" = 'one other two ' ]
                """)
            #expect(try sandbox.sh("cat $R/second") + "\n" == (ServerPromise.isForSeveralMachines(kind) ? "\n" : warning))
            try sandbox.mount()
            try sandbox.sh("mv $M/snapshots/one $M/snapshots/first; [ -e $M/snapshots/first/export.json ]")
            try sandbox.unmount()
            try sandbox.sh(
                """
                [ "$(backupfs snapshots --json --store $R/other | jq -r '.[].name' | sort | tr '\\n' ' ')" = 'first other two ' ]
                backupfs pin first --store $S
                ! backupfs delete first --yes --store $S 2> $R/refused; grep -q 'the backup is pinned' $R/refused
                backupfs config set undelete-days 0 --store $S
                backupfs delete two --yes --store $S; backupfs prune --store $S
                [ "$(backupfs snapshots --json --store $R/other | jq -r '.[].name' | sort | tr '\\n' ' ')" = 'first other ' ]
                backupfs check --read-data --store $S | grep -qx 'No damage was found.'
                backupfs check --read-data --store $R/other | grep -qx 'No damage was found.'
                backupfs restore first --target $R/out --store $S; sqlite3 $R/out/database.sqlite .dump | cmp - $R/one
                """)
            // From what the server has alone.
            try sandbox.sh(
                """
                rm -r $S/remotes/repository/cache; backupfs restore first --yes --store $S
                sqlite3 $S/app/database.sqlite .dump | sort | cmp - <(sort $R/one)
                backupfs remote fetch \(place.url) $R/fetched; backupfs init --repository $R/fetched --new-source --sample --store $R/third
                [ "$(backupfs snapshots --json --store $R/third | jq -r '.[] | select(.own | not) | .name' | sort | tr '\\n' ' ')" = 'first other ' ]
                """)
        }
    }

    /// Locks are notes, which need no conditions: only that a listing shows what was stored.
    @Test(arguments: ObjectServer.Kind.chosen) func `backups of two stores at once keep each other out`(kind: ObjectServer.Kind)
        throws
    {
        try Self.use(kind) { place in
            let sandbox = place.sandbox
            try sandbox.sh(
                """
                backupfs init --app ev-charging-tracker --sample --repository \(place.url) --store $S
                backupfs init --new-source --app ev-charging-tracker --sample --repository \(place.url) --store $R/two
                """)
            let jobs = try ["store", "two"].map { name in
                try sandbox.start(
                    """
                    set -e
                    for n in 1 2 3 4; do
                        sqlite3 $STORE/app/database.sqlite "UPDATE app_metadata SET value = '$NAME $n' WHERE key = 'device_name'"
                        backupfs backup --wait=120s --label $NAME-$n --store $STORE
                    done
                    """, ["STORE": sandbox(name), "NAME": name])
            }
            for job in jobs {
                let result = try sandbox.finish(job)
                #expect(result.exitCode == 0, "\(result)")
            }
            let check = try sandbox.run("backupfs check --read-data --store $S")
            #expect(check.exitCode == 0 && check.output.contains("Checked backups: 8"), "\(check)")
            let devices = try sandbox.sh(
                "backupfs snapshots --json --store $S | jq -r '.[] | \"\\(.name) \\(.device_name)\"' | sed 's/ ([^)]*)//' | sort")
            #expect(devices.split(separator: "\n").count == 8, "\(devices)")
            for name in ["store", "two"] {
                for number in 1...4 { #expect(devices.contains("\(name) \(number)"), "\(devices)") }
            }
        }
    }
}
