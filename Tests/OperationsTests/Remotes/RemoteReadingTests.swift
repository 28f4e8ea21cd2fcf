import TestSupport
import Testing

/// Verbs with `--remote`: the copy of the repository in a remote, listed, checked and restored from.
struct RemoteReadingTests {
    /// A store with the backups `one` and `two`, both in the folder `$R/cloud`.
    private func makeSandbox(_ initOptions: String = "") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/cloud; echo horse > $R/password
            backupfs init --app ev-charging-tracker --sample --store $S \(initOptions) >/dev/null
            backupfs remote add offsite $R/cloud --no-after-backup --store $S >/dev/null
            backupfs backup --label one --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = 'two' WHERE key = 'device_name'"
            backupfs backup --label two --tag kept --store $S >/dev/null
            backupfs sync --store $S >/dev/null
            """)
        return sandbox
    }

    @Test func `all that reads a repository reads the copy`() throws {
        let sandbox = try makeSandbox()
        for command in [
            "snapshots --json", "snapshots", "ls one", "ls two:data", "diff one two --json", "export one --json -o -",
            "export two --zip -o -", "find export.json",
        ] {
            let local = try sandbox.run("backupfs \(command) --store $S")
            let remote = try sandbox.run("backupfs \(command) --store $S --remote offsite")
            #expect(local.exitCode == remote.exitCode && local.output == remote.output, "\(command): \(remote.text)")
            #expect(remote.errors == "", "\(command)")
            #expect(!local.output.isEmpty, "\(command)")
        }
        let check = try sandbox.run("backupfs check --read-data --remote offsite --store $S")
        #expect(check.exitCode == 0 && check.output.contains("Checked backups: 2"), "\(check.text)")
        try sandbox.sh("backupfs stats one --json --remote offsite --store $S | jq -e . >/dev/null")
        // Nothing of it changes the copy.
        let listing = "find $R/cloud -type f -printf '%p %s %T@\\n' | sort | sha256sum"
        let before = try sandbox.sh(listing)
        for verb in ["check", "ls one"] { try sandbox.sh("backupfs \(verb) --remote offsite --store $S >/dev/null") }
        #expect(try sandbox.sh(listing) == before)
    }

    @Test func `a backup is restored from a remote`() throws {
        let sandbox = try makeSandbox()
        let dump = "sqlite3 $S/app/database.sqlite \"SELECT value FROM app_metadata WHERE key = 'device_name'\""
        #expect(try sandbox.sh(dump) == "two")
        let preview = try sandbox.run("backupfs restore one --remote offsite --dry-run --store $S")
        #expect(preview.exitCode == 0 && preview.output.contains("Expenses"), "\(preview.text)")
        let result = try sandbox.run("backupfs restore one --remote offsite --yes --store $S")
        #expect(result.exitCode == 0, "\(result.text)")
        #expect(try sandbox.sh(dump) != "two")
        // It can be undone like any other.
        try sandbox.sh("backupfs undo --yes --store $S >/dev/null")
        #expect(try sandbox.sh(dump) == "two")
        let unknown = try sandbox.run("backupfs restore three --remote offsite --yes --store $S")
        #expect(unknown.exitCode == 1 && unknown.errors.contains("three"), "\(unknown.text)")
        #expect(try sandbox.sh(dump) == "two")
    }

    /// The day on which only the remote is left.
    @Test func `without the repository, the copy can still be read`() throws {
        let sandbox = try makeSandbox()
        let sums = try sandbox.sh(
            "backupfs restore two --target $R/local --store $S >/dev/null; cd $R/local; find . -type f | sort | xargs sha256sum")
        try sandbox.sh("rm -rf $S/repository $S/catalogs")
        #expect(try sandbox.run("backupfs snapshots --store $S").exitCode == 10)
        #expect(try sandbox.sh("backupfs snapshots --json --remote offsite --store $S | jq -r '.[].name'") == "one\ntwo")
        try sandbox.sh("backupfs restore two --remote offsite --target $R/back --store $S >/dev/null")
        #expect(try sandbox.sh("cd $R/back; find . -type f | sort | xargs sha256sum") == sums)
        let refused = try sandbox.run("backupfs restore two --remote offsite --yes --store $S")
        #expect(refused.exitCode == 10, "a restore needs a place for its safety backup: \(refused.text)")
    }

    @Test func `a damaged copy is not repaired from here, and says what to do`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("for pack in $R/cloud/packs/*/*; do truncate -s -1 $pack; done")
        let check = try sandbox.run("backupfs check --read-data --remote offsite --store $S")
        #expect(check.exitCode == 1 && check.errors.contains("backupfs sync"), "\(check.text)")
        #expect(!check.errors.contains("--repair"), "\(check.text)")
        let repair = try sandbox.run("backupfs check --repair --yes --remote offsite --store $S")
        #expect(repair.exitCode == 2 && repair.errors.contains("backupfs sync"), "\(repair.text)")
        try sandbox.sh("backupfs sync --store $S >/dev/null; backupfs check --read-data --remote offsite --store $S >/dev/null")
    }

    /// Whatever a remote says, the store's own repository stays its own.
    @Test func `a command that reads a remote keeps no identity`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --sample --store $R/foreign >/dev/null
            backupfs remote add offsite $R/other --store $R/foreign >/dev/null
            backupfs backup --label foreign --store $R/foreign >/dev/null
            rm -r $R/cloud; mv $R/other $R/cloud; rm $S/identity
            """)
        #expect(try sandbox.sh("backupfs snapshots --json --remote offsite --store $S | jq -r '.[].name'") == "foreign")
        #expect(try sandbox.run("test -e $S/identity").exitCode == 1)
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[].name'") == "one\ntwo")
        // Also after the path of the repository was changed.
        let before = try sandbox.sh("mv $S/repository $R/moved; cat $S/identity")
        try sandbox.sh("sed -i \"s|^repository:.*|repository: $R/moved|\" $S/store.yaml")
        _ = try sandbox.run("backupfs snapshots --remote offsite --store $S")
        #expect(try sandbox.sh("cat $S/identity") == before)
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[].name'") == "one\ntwo")
    }

    @Test func `a copy of an encrypted repository needs its password`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("echo horse > $R/password; echo wrong > $R/wrong; mkdir $R/cloud")
        sandbox.variables["BACKUPFS_PASSWORD_FILE"] = sandbox("password")
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --sample --encrypt --store $S >/dev/null
            backupfs remote add offsite $R/cloud --store $S >/dev/null
            backupfs backup --label one --store $S >/dev/null
            """)
        #expect(try sandbox.sh("backupfs snapshots --json --remote offsite --store $S | jq -r '.[].name'") == "one")
        try sandbox.sh(
            "backupfs restore one --remote offsite --target $R/back --store $S >/dev/null; test -s $R/back/export.json")
        let wrong = try sandbox.run("backupfs snapshots --remote offsite --store $S --password-file $R/wrong")
        #expect(wrong.exitCode == 12, "\(wrong.text)")
        // Neither the remote nor the cache has a readable byte of it.
        #expect(try sandbox.sh("grep -rlF iPhone $R/cloud $S/remotes $S/repository || true") == "")
    }

    @Test func `ERR-05: a remote that cannot be reached`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("sed -i 's/^    url:/    label: iCloud\\n    url:/' $S/store.yaml; mv $R/cloud $R/away")
        // What an upload has made known.
        let uploaded = try sandbox.run("backupfs snapshots --remote offsite --store $S")
        #expect(uploaded.exitCode == 0 && uploaded.output.contains("two"), "\(uploaded.text)")
        #expect(uploaded.errors.contains("What is shown was read before."), "\(uploaded.text)")
        try sandbox.sh("rm -r $S/remotes/offsite/cache")
        let message = "Cannot access iCloud. Check your internet connection."
        for command in ["snapshots", "check", "restore one --yes", "ls one"] {
            let result = try sandbox.run("backupfs \(command) --remote offsite --store $S")
            #expect(result.exitCode == 1 && result.output == "" && result.errors.contains(message), "\(command): \(result.text)")
        }
        // What was read before can be read.
        try sandbox.sh("mv $R/away $R/cloud; backupfs snapshots --remote offsite --store $S >/dev/null; mv $R/cloud $R/away")
        let known = try sandbox.run("backupfs snapshots --remote offsite --store $S")
        #expect(known.exitCode == 0 && known.output.contains("two"), "\(known.text)")
        #expect(known.errors.contains("warning: ") && known.errors.contains(message), "\(known.errors)")
        try sandbox.sh("mkdir $R/empty; sed -i \"s|$R/cloud|$R/empty|\" $S/store.yaml; rm -r $S/remotes/offsite/cache")
        let none = try sandbox.run("backupfs snapshots --remote offsite --store $S")
        #expect(none.exitCode == 10 && none.errors.contains("No backups found in iCloud."), "\(none.text)")
        let unknown = try sandbox.run("backupfs snapshots --remote offsit --store $S")
        #expect(unknown.exitCode == 1 && unknown.errors.contains("offsite"), "\(unknown.text)")
    }

    @Test func `what was read of one place is not shown for another one`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            "backupfs snapshots --remote offsite --store $S >/dev/null; sed -i \"s|$R/cloud|$R/elsewhere|\" $S/store.yaml")
        let result = try sandbox.run("backupfs snapshots --remote offsite --store $S")
        #expect(result.exitCode == 1 && result.output == "", "\(result.text)")
        #expect(result.errors.contains("Cannot access offsite. Check your internet connection."), "\(result.errors)")
    }

    @Test func `a copy of another repository is refused`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            mkdir $R/other; backupfs init --app ev-charging-tracker --sample --store $R/store2 >/dev/null
            backupfs remote add there $R/other --store $R/store2 >/dev/null
            backupfs backup --label foreign --store $R/store2 >/dev/null
            sed -i "s|$R/cloud|$R/other|" $S/store.yaml
            """)
        let result = try sandbox.run("backupfs snapshots --remote offsite --store $S")
        #expect(result.exitCode == 1 && result.output == "", "\(result.text)")
        #expect(result.errors.contains("not the repository that the store was made with"), "\(result.errors)")
    }

    /// A bit of the copy flips, on the server's disk.
    @Test func `damage in a remote is found, and not restored`() throws {
        let sandbox = try makeSandbox()
        let path = try Damage.largestPack(of: sandbox("cloud"))
        try Damage.flip(path, at: 60)
        let check = try sandbox.run("backupfs check --read-data --remote offsite --store $S")
        #expect(check.exitCode == 1 && check.text.contains("damaged"), "\(check.text)")
        // It names the place, not the cache, and what to do is right.
        #expect(check.text.contains(path) && !check.text.contains("/cache/"), "\(check.text)")
        #expect(check.errors.contains("Remove what is damaged there, and upload it again with: backupfs sync offsite"))
        #expect(try sandbox.sh("tail -n 1 $S/backupfs.log | jq -r '[.op, .remote] | @tsv'") == "check\toffsite")
        let restore = try sandbox.run("backupfs restore two --remote offsite --target $R/back --store $S")
        #expect(restore.exitCode != 0, "\(restore.text)")
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
        try sandbox.sh("rm \(path); backupfs sync --store $S >/dev/null")
        #expect(try sandbox.run("backupfs check --read-data --remote offsite --store $S").exitCode == 0)
    }

    @Test func `a copy on a server is listed with one request, once it is known`() throws {
        let server = try ObjectServer.shared()
        let proxy = try FaultProxy(targetPort: server.port)
        let bucket = try server.makeBucket()
        let sandbox = try Sandbox()
        sandbox.variables.merge(server.administrator.variables) { $1 }
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --sample --store $S >/dev/null
            backupfs remote add offsite s3:\(proxy.endpoint)/\(bucket)/cars --region \(server.region) --store $S >/dev/null
            backupfs backup --label one --store $S >/dev/null
            backupfs ls one --remote offsite --store $S > $R/first
            """)
        try proxy.reset()
        #expect(try sandbox.sh("backupfs ls one --remote offsite --store $S | diff - $R/first") == "")
        let requests = try proxy.requests()
        #expect(requests.map(\.method) == ["GET"] && requests.allSatisfy { $0.path.contains("list-type=2") }, "\(requests)")
        #expect(
            try sandbox.sh("backupfs export one --json -o - --remote offsite --store $S | sha256sum")
                == sandbox.sh("backupfs export one --json -o - --store $S | sha256sum"))
        let secret = server.administrator.secretKey
        #expect(try sandbox.sh("grep -rlF '\(secret)' $S || true") == "")
    }
}
