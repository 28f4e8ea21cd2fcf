import BackupRepository
import ObjectStorage
import SystemIO
import TestSupport
import Testing

@testable import Operations

extension Sandbox {
    /// A store with one backup, and the keys of a server in a file for `--credentials-command`.
    static func withRemoteServer(_ keys: ObjectServer.Keys? = nil, usesTLS: Bool = false) throws -> (Sandbox, url: String) {
        let server = try ObjectServer.shared(usesTLS: usesTLS)
        let sandbox = try Sandbox()
        try sandbox.writeKeys(keys ?? server.administrator)
        try sandbox.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null")
        return (sandbox, "s3:\(server.endpoint)/\(try server.makeBucket())")
    }

    func writeKeys(_ keys: ObjectServer.Keys) throws {
        try write(
            #"{"Version": 1, "AccessKeyId": "\#(keys.accessKey)", "SecretAccessKey": "\#(keys.secretKey)"}"#, to: "keys.json")
    }

    /// For the command line.
    var credentials: String { "--credentials-command 'cat \(self("keys.json"))'" }
}

/// `backupfs remote` with a real server.
@Suite struct RemoteCommandTests {
    @Test func `a remote on a server is added after a trial, listed, tried again and removed`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer()
        let added = try sandbox.run(
            "backupfs remote add off \(url)/cars --label 'Example Cloud' --upload-limit '10 MB' --quota 5GB \(sandbox.credentials) --store $S"
        )
        #expect(added.exitCode == 0, "\(added)")
        #expect(added.output.hasPrefix("yes: a range of an object is sent alone\nyes: a listing has what was stored just now\n"))
        #expect(added.output.contains("\nyes: of several clients that create one object, one succeeds\n"))
        #expect(added.output.contains("\nExample Cloud can be used. There is no copy of this repository yet.\n"))
        #expect(added.output.contains("backupfs sync off --store"))
        #expect(
            try sandbox.sh("sed -n '/^remotes:/,/^# End/p' $S/store.yaml | head -n -1") == """
                remotes:
                  off:
                    url: "\(url)/cars"
                    label: "Example Cloud"
                    credentials-command: "cat \(sandbox("keys.json"))"
                    upload-limit: "10 MB"
                    quota: "5 GB"
                """)
        // The trial has left nothing.
        let server = try ObjectServer.shared()
        let bucket = String(url.split(separator: "/").last ?? "")
        #expect(try !server.curl(["\(server.endpoint)/\(bucket)?list-type=2"]).output.contains("<Key>"))
        let listed = try sandbox.sh(
            "backupfs remote list --json --store $S | jq -c '.[] | [.name, .url, .label, .after_backup, .capabilities]'")
        #expect(
            listed
                == #"["off","\#(url)/cars","Example Cloud",true,["conditional-create","compare-and-swap","conditional-remove","ranged-reads","removal"]]"#
        )
        #expect(
            try sandbox.sh("backupfs remote list --store $S | tail -1 | tr -s ' '") == "off Example Cloud yes all \(url)/cars")
        #expect(
            try sandbox.sh(
                "backupfs remote test off --json --store $S | jq -c '[.message_type, .name, .has_copy, .leftovers, (.findings | length)]'"
            )
                == #"["remote_tested","off",false,0,9]"#)
        #expect(
            try sandbox.sh("cat $S/remotes/off/capabilities") == """
                url: \(url)/cars
                capabilities: conditional-create compare-and-swap conditional-remove ranged-reads removal
                """)
        let removed = try sandbox.run("backupfs remote remove off --store $S")
        #expect(removed.exitCode == 0)
        #expect(
            removed.output
                == "Removed the remote off from the store. The copies of the backups there stay.\nThey are at \(url)/cars\n")
        #expect(try sandbox.sh("grep -c '^remotes' $S/store.yaml || true; ls $S/remotes") == "0")
        #expect(
            try sandbox.sh("backupfs remote list --store $S; backupfs remote list --json --store $S | jq length").hasSuffix("\n0")
        )
        #expect(try sandbox.run("backupfs remote remove off --store $S").exitCode == 1)
    }

    @Test func `a copy is fetched with its name and with its url, and a store made on it`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer()
        try sandbox.sh("backupfs remote add off \(url)/cars --no-test \(sandbox.credentials) --store $S")
        let early = try sandbox.run("backupfs remote fetch off $R/fetched --store $S")
        #expect(early.exitCode == 10 && early.errors.contains("\(url)/cars: there is no copy of a repository here"), "\(early)")
        #expect(try sandbox.sh("ls $R | grep -c fetched || true") == "0")
        try Self.upload(sandbox, "off")
        #expect(try sandbox.sh("backupfs remote test off --json --store $S | jq .has_copy") == "true")

        let named = try sandbox.run("backupfs remote fetch off $R/named --store $S")
        #expect(
            named.exitCode == 0 && named.output.hasPrefix("Fetched the repository \(sandbox("named")) with 1 backup."), "\(named)"
        )
        #expect(named.output.hasSuffix("\nMake a store on it with: backupfs init --repository \(sandbox("named"))\n"))
        // Without any store, from this folder.
        let placed = try sandbox.run(
            "mv $S $R/lost; cd $R; backupfs remote fetch \(url)/cars/ 'a folder' \(sandbox.credentials) --json | tail -1 > summary"
        )
        #expect(placed.exitCode == 0, "\(placed)")
        #expect(
            try sandbox.sh("jq -c '[.message_type, .repository, .from, .snapshots, .damaged]' $R/summary")
                == #"["summary","\#(sandbox("a folder"))","\#(url)/cars",1,[]]"#)
        #expect(
            try sandbox.sh(
                "cd $R; diff -r -x '*lock*' -x 'catalog*' -x register -x tmp -x removed lost/repository 'a folder' && echo same")
                == "same")
        try sandbox.sh(
            """
            cp $R/lost/app/database.sqlite $R/db; sqlite3 $R/db .dump > $R/before; rm -r $R/lost
            backupfs init --store $S --repository $R/named --database $R/db --adopt $(ls $R/named/sources | head -c 8) >/dev/null
            sqlite3 $R/db 'delete from expenses'; backupfs restore one --yes --store $S >/dev/null
            sqlite3 $R/db .dump | diff - $R/before >/dev/null; backupfs verify one --store $S >/dev/null
            """)
        let again = try sandbox.run("backupfs remote fetch \(url)/cars $R/named \(sandbox.credentials)")
        #expect(again.exitCode == 1 && again.errors.contains("there is a repository here already"), "\(again)")
    }

    @Test func `a damaged object is named, the rest is fetched, and the exit code says so`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer()
        try sandbox.sh("backupfs remote add off \(url) --no-test \(sandbox.credentials) --store $S")
        try Self.upload(sandbox, "off")
        let pack = try sandbox.sh("cd $S/repository; find packs -name '*.pack' | sort | head -1")
        try sandbox.write("garbage", to: "garbage")
        _ = try ObjectServer.shared().curl(["--upload-file", sandbox("garbage"), "\(url.dropFirst(3))/\(pack)"])
        let result = try sandbox.run("backupfs remote fetch off $R/fetched --store $S")
        #expect(result.exitCode == 3, "\(result)")
        #expect(result.errors.contains("backupfs: \(url)/\(pack): "))
        #expect(result.errors.contains("1 object of the copy is damaged or missing, and was not fetched."))
        #expect(try sandbox.sh("cd $R/fetched; ls config \(pack) 2>/dev/null || true") == "config")
        let json = try sandbox.run("backupfs remote fetch off $R/second --store $S --json")
        #expect(json.exitCode == 3)
        try sandbox.write(json.output, to: "lines")
        #expect(try sandbox.sh("tail -1 $R/lines | jq -r '.damaged[].path'") == "\(url)/\(pack)")
        try sandbox.write(json.errors, to: "error")
        #expect(try sandbox.sh("jq -c '[.message_type, .code, .error]' $R/error") == #"["exit_error",3,"sourceUnreadable"]"#)
    }

    @Test func `a place that cannot be used is not added, and the error says why`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer()
        let server = try ObjectServer.shared()
        let before = try sandbox.sh("cat $S/store.yaml")
        func expectRefused(_ arguments: String, _ message: String, code: Int32 = 1, _ extra: [String: String] = [:]) throws {
            let result = try sandbox.run("backupfs remote add off \(arguments) --store $S", extra)
            #expect(result.exitCode == code && result.errors.contains(message) && result.output == "", "\(arguments): \(result)")
            #expect(try sandbox.sh("cat $S/store.yaml") == before)
            #expect(try sandbox.sh("ls $S | grep -cx remotes || true") == "0")
        }
        let none: String = url.replacing("/bucket-", with: "/other-")
        try expectRefused("\(none) \(sandbox.credentials)", "there is no bucket other-")
        try expectRefused("s3:http://127.0.0.1:1/bucket/cars \(sandbox.credentials)", "no connection to 127.0.0.1:1")
        try expectRefused("s3:http://h.example/bucket \(sandbox.credentials)", "http: sends everything readable", code: 2)
        try expectRefused("\(url) --credentials-command false", "command")
        try expectRefused(url, "credentials")
        let keys = ["AWS_ACCESS_KEY_ID": server.administrator.accessKey]
        try expectRefused(
            url, "the server refuses the signature", keys.merging(["AWS_SECRET_ACCESS_KEY": "CANARYwrong"]) { $1 })
        try expectRefused(
            url, "the server does not know the access key",
            ["AWS_ACCESS_KEY_ID": "UNKNOWN", "AWS_SECRET_ACCESS_KEY": "CANARYwrong"])
        if let readOnly = server.readOnly {
            try sandbox.writeKeys(readOnly)
            try expectRefused("\(url) \(sandbox.credentials)", "\(url)/backupfs-probe/")
            try sandbox.writeKeys(server.administrator)
        }
        try expectRefused("\(url) --upload-limit 7 \(sandbox.credentials)", "--upload-limit: it cannot be “7”", code: 2)
        try expectRefused("\(url) --certificate-file $R/none.pem \(sandbox.credentials)", "none.pem")
        // Something else is there, and stays as it is.
        try sandbox.write("mine", to: "mine")
        _ = try server.curl(["--upload-file", sandbox("mine"), "\(url.dropFirst(3))/photos/mine"])
        try expectRefused("\(url) \(sandbox.credentials)", "there is something else: “photos/mine”")
        #expect(try sandbox.run("backupfs remote add off \(url)/cars \(sandbox.credentials) --store $S").exitCode == 0)
        let twice = try sandbox.run("backupfs remote add off2 \(url)/cars/ \(sandbox.credentials) --store $S")
        #expect(twice.exitCode == 1 && twice.errors.contains("the remote off has this place"), "\(twice)")
        let named = try sandbox.run("backupfs remote add off \(url)/other \(sandbox.credentials) --store $S")
        #expect(named.exitCode == 1 && named.errors.contains("there is a remote “off”"), "\(named)")
        // A remote that was fine, and a server that is gone.
        try sandbox.sh("sed -i 's#url: \"s3:http://127.0.0.1:[0-9]*#url: \"s3:http://127.0.0.1:1#' $S/store.yaml")
        let gone = try sandbox.run("backupfs remote test off --json --store $S")
        #expect(gone.exitCode == 1 && gone.errors.contains(#""error":"offline""#), "\(gone)")
        #expect(try sandbox.sh("backupfs remote list --json --store $S | jq -c '.[].capabilities'") == "null")
    }

    @Test func `a copy of another repository is left alone`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer()
        try sandbox.sh(
            "backupfs remote add off \(url) --no-test \(sandbox.credentials) --store $S; backupfs init --store $R/other >/dev/null"
        )
        try Self.upload(sandbox, "off")
        let result = try sandbox.run("backupfs remote add off \(url) \(sandbox.credentials) --store $R/other")
        #expect(result.exitCode == 1 && result.errors.contains("this is a copy of another repository, "), "\(result)")
        #expect(try sandbox.sh("grep -c '^remotes' $R/other/store.yaml || true") == "0")
    }

    /// A trial stores objects that such credentials cannot remove. They must not count as something else.
    @Test func `credentials that may only add`() throws {
        let server = try ObjectServer.shared()
        let (sandbox, url) = try Sandbox.withRemoteServer(server.appendOnly)
        #expect(server.appendOnly != nil)
        let added = try sandbox.run("backupfs remote add off \(url)/cars \(sandbox.credentials) --store $S")
        #expect(added.exitCode == 0, "\(added)")
        #expect(added.output.contains("NO:  the credentials permit removing objects; "))
        #expect(added.output.contains(" of this trial stay there: the credentials cannot remove them."))
        #expect(
            try sandbox.sh("backupfs remote list --json --store $S | jq -c '[.[].capabilities[] | select(. == \"removal\")]'")
                == "[]")
        #expect(try sandbox.run("backupfs remote test off --store $S").exitCode == 0)
        try Self.upload(sandbox, "off")
        #expect(try sandbox.run("backupfs remote fetch off $R/fetched --store $S").exitCode == 0)
        if let readOnly = server.readOnly {
            try sandbox.writeKeys(readOnly)
            #expect(try sandbox.run("backupfs remote fetch off $R/fetched-2 --store $S").exitCode == 0)
        }
    }

    @Test func `secrets are in no argument, output, setting or log`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer()
        let secret = try ObjectServer.shared().administrator.secretKey
        // The command sees the command lines of the program and of its own shell.
        try sandbox.write("cat /proc/$PPID/cmdline /proc/$$/cmdline >> $R/lines; cat $R/keys.json\n", to: "secrets.sh")
        try sandbox.sh(
            """
            add() { backupfs remote add $1 \(url)/$1 --credentials-command "R=$R; . $R/secrets.sh" --verbose --log-level trace --store $S; }
            { add one; backupfs remote list --json --store $S; backupfs remote test one --json --verbose --store $S; } > $R/output 2>&1
            echo '{"Version": 1, "AccessKeyId": "x", "SecretAccessKey": "\(secret) with a space"}' > $R/keys.json
            ! backupfs remote test one --store $S >> $R/output 2>&1; ! backupfs remote test one --json --store $S >> $R/output 2>&1
            echo '{"Version": 1, "AccessKeyId": "x", "SecretAccessKey": "\(secret)"}' > $R/keys.json
            ! backupfs remote fetch one $R/f --store $S >> $R/output 2>&1; backupfs config check --store $S >> $R/output 2>&1
            """)
        let environment = [
            "AWS_ACCESS_KEY_ID": try ObjectServer.shared().administrator.accessKey, "AWS_SECRET_ACCESS_KEY": secret,
        ]
        try sandbox.sh("backupfs remote add two \(url)/two --store $S >> $R/output 2>&1", environment)
        #expect(try sandbox.sh("tr '\\0' ' ' < $R/lines | grep -c 'remote add one'") != "0")
        #expect(try sandbox.sh("grep -rlF -e '\(secret)' $S $R/output $R/lines || echo none") == "none")
        #expect(try sandbox.sh("grep -c 'remotes' $R/output || true; ls $S/remotes | wc -l").hasSuffix("2"))
    }

    @Test func `a server with a certificate of its own`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer(usesTLS: true)
        let certificate = try #require(ObjectServer.shared(usesTLS: true).certificatePath)
        let untrusted = try sandbox.run("backupfs remote add off \(url) \(sandbox.credentials) --store $S")
        #expect(untrusted.exitCode == 1 && untrusted.errors.contains("certificate"), "\(untrusted)")
        try sandbox.sh(
            "mkdir $R/here; cp \(certificate) $R/here/ca.pem; cd $R/here; backupfs remote add off \(url) --certificate-file ca.pem \(sandbox.credentials) --store $S >/dev/null"
        )
        #expect(
            try sandbox.sh("grep -o 'certificate-file.*ca.pem\"$' $S/store.yaml | tail -1")
                == "certificate-file: \"\(sandbox("here/ca.pem"))\"")
        try sandbox.sh("sed -i '/^  off:/,$s#certificate-file: .*#certificate-file: ca.pem#' $S/store.yaml; mv $R/here/ca.pem $S")
        #expect(try sandbox.run("backupfs remote test off --store $S").exitCode == 0)
    }

    /// As a backup does it.
    static func upload(_ sandbox: Sandbox, _ name: String) throws {
        let store = try Store.open(sandbox.storePath)
        let remote = try SettingsFile(storeAt: sandbox.storePath).remote(named: name)
        var state = MirrorState()
        _ = try RepositoryMirror(of: store.repository, in: remote.open(in: StorePaths(root: sandbox.storePath))).update(&state)
    }
}
