import Glibc
import TestSupport
import Testing

/// Stores whose repository is kept by a real server.
@Suite(.rotating(oneIn: 3)) struct RepositoryOnServerTests {
    private let server: ObjectServer
    private let proxy: FaultProxy
    /// For `--repository`.
    private let url: String
    private let sandbox: Sandbox

    init() throws {
        server = try ObjectServer.shared()
        proxy = try FaultProxy(targetPort: server.port)
        url = "s3:\(proxy.endpoint)/\(try server.makeBucket())/cars"
        sandbox = try Sandbox()
        sandbox.variables.merge(server.administrator.variables) { $1 }
        sandbox.variables["AWS_REGION"] = server.region
    }

    private func create(_ options: String = "", at store: String = "$S") throws {
        try sandbox.sh(
            "backupfs init --app ev-charging-tracker --sample --repository \(url) \(options) --store \(store) >/dev/null")
    }

    private func names(_ store: String = "$S") throws -> String {
        try sandbox.sh("backupfs snapshots --json --store \(store) | jq -r '.[].name' | sort | tr '\\n' ' '")
    }

    private func setDevice(_ name: String) throws {
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = '\(name)' WHERE key = 'device_name'\"")
    }

    private func device() throws -> String {
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"SELECT value FROM app_metadata WHERE key = 'device_name'\"")
    }

    @Test func `an encrypted repository on a server does all that one in a folder does`() throws {
        try sandbox.sh("echo horse > $R/password; echo new > $R/new; echo wrong > $R/wrong")
        sandbox.variables["BACKUPFS_PASSWORD_FILE"] = sandbox("password")
        try create("--encrypt")
        try setDevice("one")
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        try setDevice("two")
        try sandbox.sh("backupfs backup --label two --tag kept --store $S >/dev/null")
        #expect(try names() == "one two ")
        #expect(try sandbox.run("backupfs check --read-data --store $S").output.contains("No damage was found."))
        try sandbox.sh("backupfs verify one --store $S >/dev/null; backupfs diff one two --json --store $S >/dev/null")
        #expect(try sandbox.run("backupfs restore one --yes --store $S").exitCode == 0)
        #expect(try device() == "one")
        try sandbox.sh("backupfs undo --yes --store $S >/dev/null")
        #expect(try device() == "two")
        try sandbox.sh(
            """
            backupfs pin one --store $S >/dev/null; backupfs delete two --yes --store $S >/dev/null
            backupfs undelete two --store $S >/dev/null; backupfs stats --json --store $S | jq -e . >/dev/null
            backupfs prune --store $S >/dev/null; backupfs export two --zip -o $R/two.zip --store $S >/dev/null
            unzip -tq $R/two.zip
            """)
        #expect(try names() == "one two ")
        // Another machine, with another password from then on.
        try create("--new-source", at: "$R/other")
        #expect(try names("$R/other") == "one two ")
        try sandbox.sh("backupfs passwd --new-password-file $R/new --store $R/other >/dev/null")
        // An interrupted refresh may leave some of its files.
        try sandbox.sh("rm $S/remotes/repository/cache/repository/key")
        #expect(try sandbox.run("backupfs backup --label three --store $S").exitCode == 12)
        #expect(try sandbox.run("backupfs snapshots --store $S").exitCode == 12)
        sandbox.variables["BACKUPFS_PASSWORD_FILE"] = sandbox("new")
        try sandbox.sh("rm $S/remotes/repository/cache/repository/key*; backupfs backup --label three --store $S >/dev/null")
        #expect(try names() == "one three two ")
        // No secret is in the store, and nothing of the data on the server is readable.
        let secret = server.administrator.secretKey
        #expect(try sandbox.sh("grep -rlF -e '\(secret)' -e horse $S $R/other || true") == "")
        #expect(try sandbox.sh("grep -rlF two $S/remotes || true") == "")
    }

    @Test func `a lost machine gets its backups back from the bucket alone`() throws {
        try create()
        try setDevice("precious")
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null; rm -r $S")
        // The only source, but this machine seems to have its store still.
        try sandbox.sh(
            """
            source=$(backupfs init --app ev-charging-tracker --repository \(url) --new-source --store $R/look --json >/dev/null
                backupfs snapshots --json --store $R/look | jq -r '.[0].source')
            backupfs init --repository \(url) --adopt $source --store $S >/dev/null
            backupfs restore one --yes --store $S >/dev/null
            """)
        #expect(try device() == "precious")
        try sandbox.sh("backupfs backup --label two --store $S >/dev/null")
        #expect(try names() == "one two ")
        // A folder with the whole repository.
        try sandbox.sh("backupfs remote fetch \(url) $R/fetched --region \(server.region) >/dev/null")
        try sandbox.sh("backupfs init --repository $R/fetched --new-source --sample --store $R/local >/dev/null")
        #expect(try names("$R/local") == "one two ")
    }

    @Test func `without the network, backups are shown and none is made`() throws {
        try create()
        try sandbox.sh(
            "backupfs backup --label one --store $S >/dev/null; backupfs export one --json -o - --store $S > $R/before")
        try proxy.refuse()
        let listed = try sandbox.run("backupfs snapshots --json --store $S")
        #expect(listed.exitCode == 0 && listed.output.contains(#""name": "one""#), "\(listed.text)")
        #expect(listed.errors.contains("Cannot access 127.0.0.1. Check your internet connection."), "\(listed.errors)")
        try sandbox.sh("backupfs export one --json -o - --store $S 2>/dev/null | cmp - $R/before")
        let made = try sandbox.run("backupfs backup --label two --store $S")
        #expect(made.exitCode == 1 && made.output == "", "\(made.text)")
        #expect(made.errors.contains("No internet connection. Backup requires network access."), "\(made.errors)")
        try proxy.accept()
        try sandbox.sh("backupfs backup --label two --store $S >/dev/null")
        #expect(try names() == "one two ")
    }

    /// What a backup does not ask before it has the lock: see `ServerLook`.
    @Test func `a backup sees what another machine has done since this one asked`() throws {
        try create()
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        try create("--new-source", at: "$R/other")
        try sandbox.sh("backupfs backup --label two --store $R/other >/dev/null")
        let taken = try sandbox.run("backupfs backup --label two --store $S")
        #expect(taken.exitCode == 1 && taken.errors.contains("there is a backup of that name already"), "\(taken.text)")
        #expect(try names() == "one two ")
        try sandbox.sh("backupfs delete two --yes --store $R/other >/dev/null")
        func lists() throws -> Int {
            try proxy.requests().count { $0.method == "GET" && $0.path.contains("list-type") }
        }
        let before = try lists()
        try sandbox.sh("backupfs backup --label two --store $S >/dev/null")
        // For each of two locks its notes; everything for the first one; for the second one, what comes before and after the
        // packs.
        #expect(try lists() - before == 5)
        #expect(try names("$R/other") == "one two ")
        #expect(try sandbox.run("backupfs check --read-data --store $S").output.contains("No damage was found."))
    }

    @Test func `a repository that took the place of this one gets no backup`() throws {
        try create()
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        let bucket = String(try #require(url.split(separator: "/").dropLast().last))
        _ = try server.boto3(
            """
            for page in s3.get_paginator("list_objects_v2").paginate(Bucket=sys.argv[1]):
                for found in page.get("Contents", []): s3.delete_object(Bucket=sys.argv[1], Key=found["Key"])
            """, [bucket])
        let gone = try sandbox.run("backupfs backup --label two --store $S")
        #expect(gone.exitCode != 0 && gone.errors.contains("No backups found in 127.0.0.1."), "\(gone.text)")
        try create(at: "$R/other")
        let refused = try sandbox.run("backupfs backup --label two --store $S")
        #expect(refused.exitCode != 0 && refused.output == "", "\(refused.text)")
        #expect(try names("$R/other") == "")
        let left = try server.boto3(
            """
            for found in s3.list_objects_v2(Bucket=sys.argv[1]).get("Contents", []): print(found["Key"])
            """, [bucket])
        #expect(!left.contains("locks/") && !left.contains("packs/") && !left.contains("snapshots/"), "\(left)")
    }

    @Test func `a backup that is killed in the middle leaves none, and the next one goes on`() throws {
        try create()
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        for point in ["remote.pack-stored", "backup.record-written", "backup.published"] {
            try setDevice(point)
            let killed = try sandbox.run("backupfs backup --label \(point) --store $S", ["BACKUPFS_FAULT": point])
            #expect(killed.exitCode == 128 + SIGKILL, "\(point): \(killed.text)")
            let isThere = try names().contains(point)
            #expect(isThere == (point == "backup.published"), "\(point)")
            try sandbox.sh("backupfs backup --label after-\(point) --store $S >/dev/null")
        }
        #expect(try sandbox.run("backupfs check --read-data --store $S").output.contains("No damage was found."))
    }

    @Test func `credentials that may only add make backups and remove nothing`() throws {
        let keys = try #require(server.appendOnly)
        try create()
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        sandbox.variables.merge(keys.variables) { $1 }
        try setDevice("two")
        try sandbox.sh("backupfs backup --label two --store $S >/dev/null; backupfs backup --label three --store $S >/dev/null")
        let refused = try sandbox.run("backupfs delete one --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("permission"), "\(refused.text)")
        #expect(try names() == "one three two ")
        sandbox.variables.merge(server.administrator.variables) { $1 }
        try sandbox.sh("backupfs prune --store $S >/dev/null; backupfs delete one --yes --store $S >/dev/null")
        #expect(try names() == "three two ")
        #expect(try sandbox.run("backupfs check --read-data --store $S").output.contains("No damage was found."))
    }

    /// SeaweedFS lists `order/a` before `order-b`, and a page ends before them.
    @Test func `what a trial left with keys that may not delete hides no backup`() throws {
        try create()
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        let bucket = String(try #require(url.split(separator: "/").dropLast().last))
        _ = try server.boto3(
            """
            for name in ["order/a", "order-b", *map(str, range(10, 30))]:
                s3.put_object(Bucket=sys.argv[1], Key="cars/backupfs-probe/left/" + name, Body=b"")
            """, [bucket])
        for label in ["two", "three"] { try sandbox.sh("backupfs backup --label \(label) --store $S >/dev/null") }
        #expect(try names() == "one three two ")
    }

    @Test func `how the server is reached is a setting`() throws {
        try create("--parallel-requests 3 --download-limit '50 MB'")
        let settings = try sandbox.sh("sed -n '/^remotes:/,/^[^ r]/p' $S/store.yaml")
        #expect(settings.contains("  repository:\n    url: \"\(url)\"\n    kind: \"primary\""), "\(settings)")
        #expect(settings.contains("    parallel-requests: \"3\""), "\(settings)")
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null; backupfs config check --store $S")
        #expect(try names() == "one ")
        // It is no copy.
        #expect(try sandbox.sh("backupfs remote list --json --store $S") == "[]")
        let copy = try sandbox.run("backupfs remote add twice \(url) --store $S")
        #expect(copy.exitCode != 0, "\(copy.text)")
        let folder = try sandbox.run("backupfs init --sample --repository $R/folder --region here --store $R/third")
        #expect(folder.exitCode == 2 && folder.errors.contains("--region"), "\(folder.text)")
        try sandbox.sh("sed -i 's|^    url:.*|    url: \"s3:https://elsewhere.example/bucket/cars\"|' $S/store.yaml")
        let wrong = try sandbox.run("backupfs snapshots --store $S")
        #expect(wrong.exitCode != 0 && wrong.errors.contains("the setting repository names"), "\(wrong.text)")
    }
}
