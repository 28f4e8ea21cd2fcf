import BackupCore
import ObjectStorage
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Reading the remotes of a `store.yaml`.
@Suite struct RemoteSettingsTests {
    static let head = "formatVersion: \"1\"\napp: \"a\"\ndatabase: \"d\"\nrepository: \"r\"\n"
    static let end = "# End of settings\n"

    private static func read(_ remotes: String) throws(BackupError) -> [RemoteSettings] {
        try StoreSettings(SettingsText(head + remotes + end, path: "/s/store.yaml")).remotes
    }

    @Test func `a store without remotes`() throws {
        #expect(try Self.read("") == [])
        #expect(try Self.read("remotes:\n") == [])
        #expect(try Self.read("remotes:\n  # offsite:\n  #   url: \"/x\"\n") == [])
    }

    @Test func `all settings, in the order of the file`() throws {
        let remotes = try Self.read(
            """
            remotes:
              offsite:
                url: "s3:https://s3.example.org/bucket/cars"
                after-backup: "no"
                label: "Example Cloud"
                region: "eu-1"
                addressing: "virtual-host"
                plain-http: "yes"
                profile: "p"
                credentials-command: "pass show 'x y'"
                certificate-file: "ca.pem"
                storage-class: "STANDARD_IA"
                encryption: "kms:arn:aws:kms:1"
                object-lock: "compliance:30d"
                upload-limit: "1.5 MiB"
                download-limit: "20 kB/s"
                parallel-requests: "64"
                quota: "10 GB"
              Disk_2.x:
                url: ../copy

            """)
        var offsite = try RemoteSettings(name: "offsite", url: "s3:https://s3.example.org/bucket/cars")
        offsite.isAutomatic = false
        offsite.label = "Example Cloud"
        offsite.region = "eu-1"
        offsite.addressingStyle = .virtualHost
        offsite.permitsPlainHTTP = true
        offsite.profile = "p"
        offsite.credentialsCommand = "pass show 'x y'"
        offsite.certificateFile = "ca.pem"
        offsite.storageClass = "STANDARD_IA"
        offsite.serverSideEncryption = .keyService(keyID: "arn:aws:kms:1")
        offsite.objectLock = S3Options.ObjectLock(mode: .compliance, days: 30)
        offsite.uploadBytesPerSecond = 1_572_864
        offsite.downloadBytesPerSecond = 20_000
        offsite.parallelRequests = 64
        offsite.quotaBytes = 10_000_000_000
        #expect(try remotes == [offsite, RemoteSettings(name: "Disk_2.x", url: "../copy")])
        #expect(remotes.map(\.shownLabel) == ["Example Cloud", "Disk_2.x"])
        #expect(remotes.map(\.isAutomatic) == [false, true])
        #expect(remotes.map(\.parallelRequests) == [64, 8])
    }

    private static let url = "    url: \"/copy\"\n"

    @Test(arguments: [
        ("remotes: x\n", "line 5: remotes must have lines below it"),
        ("remotes: [x]\n", "line 5: remotes must have lines below it"),
        ("remotes:\n  a: x\n", "line 6: remotes.a must have lines below it"),
        ("remotes:\n  a:\n    url: [x]\n", "line 7: every setting of a remote is a name and a text"),
        ("remotes:\n  a:\n    ? [x]\n    : y\n", "line 6: remotes.a must have lines below it"),
        ("remotes:\n  a:\n\(url)  a:\n\(url)", "the settings are not valid YAML"),
        ("remotes:\n  1:\n\(url)  \"1\":\n    url: x\n", "the settings are not valid YAML"),
        ("remotes:\n  a:\n\(url)remotes:\n  b:\n\(url)", "the settings are not valid YAML"),
        ("remotes:\n  a:\n    label: \"x\"\n", "line 6: remotes.a: it has no url"),
        ("remotes:\n  a:\n\(url)    lable: \"x\"\n", "line 8: remotes.a.lable: a remote has no such setting"),
        ("remotes:\n  -a:\n\(url)", "line 6: remotes.-a: “-a” cannot be the name of a remote"),
        ("remotes:\n  .a:\n\(url)", "line 6: remotes..a: “.a” cannot be the name of a remote"),
        ("remotes:\n  a/b:\n\(url)", "line 6: remotes.a/b: “a/b” cannot be the name of a remote"),
        ("remotes:\n  ä:\n\(url)", "line 6: remotes.ä: “ä” cannot be the name of a remote"),
        ("remotes:\n  a:\n\(url)  b:\n\(url)", "line 8: remotes.b: it has the url of the remote a"),
        ("remotes:\n  a:\n\(url)  b:\n    url: //copy/./\n", "line 8: remotes.b: it has the url of the remote a"),
        (
            "remotes:\n  a:\n    url: s3:https://h/bucket/x\n  b:\n    url: s3:https://H:443/bucket/x/\n",
            "line 8: remotes.b: it has the url of the remote a"
        ),
        ("remotes:\n  a:\n    url: s3:http://h.example/bucket\n", "line 7: remotes.a.url: http: sends everything readable"),
        ("remotes:\n  a:\n    url: s3:https://h\n", "line 7: remotes.a.url: the location has no valid bucket name"),
        ("remotes:\n  a:\n    url: https://h/bucket\n", "line 7: remotes.a.url: this is neither the location of an S3 server"),
        ("remotes:\n  a:\n    url: sftp:u:pw@h\n", "line 7: remotes.a.url: this is neither the location of an S3 server"),
        ("remotes:\n  a:\n    url: ~/copy\n", "line 7: remotes.a.url: this is no path of a folder"),
        ("remotes:\n  a:\n    url: \"a\\nb\"\n", "line 7: remotes.a.url: it cannot be"),
        ("remotes:\n  a:\n    url: \"a\\0b\"\n", "line 7: remotes.a.url: it cannot be"),
        ("remotes:\n  a:\n    url:\n", "line 7: remotes.a.url: it cannot be “”"),
        ("remotes:\n  a:\n\(url)    region: x\n", "line 7: remotes.a.url: region is for servers, and this remote is a folder"),
        ("remotes:\n  a:\n\(url)    region: \"x\\r\\nHost: y\"\n", "line 8: remotes.a.region: it cannot be"),
        ("remotes:\n  a:\n\(url)    label: \"\\uFEFFx\\L\"\n", "line 8: remotes.a.label: it cannot be"),
        ("remotes:\n  a:\n\(url)    addressing: virtual\n", "line 8: remotes.a.addressing: it cannot be “virtual”"),
        ("remotes:\n  a:\n\(url)    encryption: \"kms:\"\n", "line 8: remotes.a.encryption: it cannot be “kms:”"),
        ("remotes:\n  a:\n\(url)    object-lock: \"governance:0d\"\n", "line 8: remotes.a.object-lock: it cannot be"),
        ("remotes:\n  a:\n\(url)    object-lock: \"legal:3d\"\n", "line 8: remotes.a.object-lock: it cannot be"),
        ("remotes:\n  a:\n\(url)    upload-limit: \"10 bananas\"\n", "line 8: remotes.a.upload-limit: it cannot be “10 bananas”"),
        ("remotes:\n  a:\n\(url)    upload-limit: \"999\"\n", "line 8: remotes.a.upload-limit: it cannot be “999”"),
        ("remotes:\n  a:\n\(url)    quota: \"0\"\n", "line 8: remotes.a.quota: it cannot be “0”"),
        ("remotes:\n  a:\n\(url)    quota: \"99999999999 TB\"\n", "line 8: remotes.a.quota: it cannot be"),
        ("remotes:\n  a:\n\(url)    parallel-requests: \"65\"\n", "line 8: remotes.a.parallel-requests: it cannot be “65”"),
        ("remotes:\n  a:\n\(url)    credentials-command: \"\"\n", "line 8: remotes.a.credentials-command: it cannot be “”"),
    ])
    func `remotes that cannot be read say where and why`(remotes: String, message: String) throws {
        let error = failure { _ = try Self.read(remotes) }
        #expect(error?.code == .invalidContent)
        #expect(error?.message.english.hasPrefix(message) == true, "\(error?.message.english ?? "no error")")
        #expect(error?.path == "/s/store.yaml")
    }

    @Test func `a misspelled setting has a suggestion, and all problems are reported at once`() throws {
        let error = failure {
            _ = try Self.read("remotes:\n  a:\n    url: /copy\n    lable: x\n  b:\n    region: y\n")
        }
        #expect(error?.remedy?.english == "Did you mean label?")
        #expect(
            error?.findings.map(\.english) == [
                "line 8: remotes.a.lable: a remote has no such setting", "line 9: remotes.b: it has no url",
            ])
        let top = failure { _ = try Self.read("remote:\n") }
        #expect(top?.remedy?.english == "Did you mean remotes?")
    }

    @Test func `a password in a url is in no message`() throws {
        for url in ["sftp://u:CANARY@h/x", "s3:https://u:CANARY@h/bucket", "https://CANARY:x@h/bucket"] {
            let error = failure { _ = try Self.read("remotes:\n  a:\n    url: \(url)\n") }
            #expect(error != nil && error?.description.contains("CANARY") == false, "\(error?.description ?? "")")
        }
    }

    @Test(
        arguments: [
            ("0", nil), ("1", 1), ("4096", 4_096), ("5 B", 5), ("1 kB", 1_000), ("1KB", 1_000), ("1 KiB", 1_024),
            ("10 MB", 10_000_000),
            ("1.5 GiB", 1_610_612_736), ("0.000001 MB", 1), ("2 TiB", 2_199_023_255_552),
            ("16777215 TiB", 18_446_742_974_197_923_840),
            ("16777216 TiB", nil), ("18446744073709551615", 18_446_744_073_709_551_615), ("18446744073709551616", nil),
            ("1.5", nil),
            ("1.5 B", nil), ("1.0000001 MB", nil), ("1.", nil), (".5 MB", nil), ("1..2 MB", nil), ("-1", nil), ("+1", nil),
            ("", nil),
            ("MB", nil), ("10 M", nil), ("1 MB 2", nil), ("1e3", nil), ("١ MB", nil),
            ("16777215.999999 TiB", 18_446_744_073_708_452_104),
        ] as [(String, UInt64?)])
    func `sizes`(text: String, bytes: UInt64?) {
        #expect((try? ByteSize.parse(text, least: 1)) == bytes)
    }

    @Test(
        arguments: [
            (1, "1 B"), (1_000, "1 kB"), (1_024, "1 KiB"), (10_000_000, "10 MB"), (1_536 << 20, "1536 MiB"), (1_001, "1001 B"),
        ] as [(UInt64, String)])
    func `sizes as text`(bytes: UInt64, text: String) throws {
        #expect(ByteSize.text(bytes) == text)
        #expect(try ByteSize.parse(text, least: 1) == bytes)
    }

    @Test func `a new store has an example, which is valid`() throws {
        let sandbox = try Sandbox()
        _ = try StoreCreation().create(at: sandbox.storePath)
        let text = try sandbox.sh("cat $S/store.yaml")
        #expect(text.contains("\n# remotes:\n#   offsite:\n#     url: \"s3:https://s3.example.org/bucket/cars\"\n"))
        #expect(text.split(separator: "\n").last?.hasPrefix("# End of settings") == true)
        try sandbox.sh("sed -i '/^# remotes:/,/^#     quota/s/^# //' $S/store.yaml")
        let remotes = try StoreSettings.read(sandbox("store/store.yaml")).remotes
        #expect(remotes.map(\.label) == ["Example Cloud"])
        #expect(remotes.map(\.quotaBytes) == [100_000_000_000])
    }

    @Test func `a running store takes up remotes`() throws {
        let sandbox = try Sandbox()
        let store = try StoreCreation().create(at: sandbox.storePath)
        #expect(store.settings.remotes == [])
        let remote = try RemoteSettings(name: "disk", url: sandbox("copy"))
        try SettingsFile(storeAt: sandbox.storePath).setRemote(remote)
        store.reloadSettings()
        #expect(store.settings.remotes == [remote])
    }

    @Test func `config goes on with remotes in the file, and leaves them as they are`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S >/dev/null; mkdir $R/copy
            printf 'remotes:   # mine\\n  disk:\\n    url: "%s"  # a disk\\n' $R/copy | sed -i '/^# remotes:/r /dev/stdin' $S/store.yaml
            sed -n '/^remotes:/,/a disk/p' $S/store.yaml > $R/before
            backupfs config set schedule daily --store $S; backupfs config set keep-last 3 --store $S
            backupfs config unset keep-last --store $S; backupfs config check --store $S
            sed -n '/^remotes:/,/a disk/p' $S/store.yaml | cmp $R/before -; test -s $R/before
            """)
        #expect(try sandbox.sh("backupfs config get schedule --store $S") == "daily")
        for word in ["get remotes", "set remotes x", "unset remotes"] {
            let result = try sandbox.run("backupfs config \(word) --store $S")
            #expect(result.exitCode == 2 && result.errors.contains("remotes have commands of their own"), "\(result)")
        }
        #expect(try sandbox.sh("backupfs config get --json --store $S | jq -r 'keys[]' | grep -c remotes || true") == "0")
    }

    @Test func `config check names what a remote lacks`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --media $R/none >/dev/null 2>&1 || backupfs init --store $S >/dev/null
            printf 'remotes:\\n  a:\\n    url: s3:https://h.example/bucket\\n    certificate-file: "ca.pem"\\n  b:\\n    url: none\\n  c:\\n    url: repository/copy\\n  d:\\n    url: .\\n  e:\\n    url: spool/x\\n' >> $S/store.yaml
            """)
        let lines = try sandbox.sh("backupfs config check --json --store $S | jq -r '.problems[]' || true")
        #expect(lines.contains("/store/ca.pem: remotes.a.certificate-file: there is no file"))
        #expect(lines.contains("/store/none: remotes.b.url: there is no folder"))
        #expect(
            lines.contains(
                "/store/repository/copy: remotes.c.url: this folder cannot have a copy of the backups: it is in the repository"))
        #expect(lines.contains("/store/.: remotes.d.url: this folder cannot have a copy of the backups: the repository is in it"))
        #expect(
            lines.contains(
                "/store/spool/x: remotes.e.url: this folder cannot have a copy of the backups: it is among the store's own files")
        )
    }

    @Test func `a store that adopts backups does not run the commands of remotes`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample --repository $R/repository >/dev/null
            printf 'remotes:\\n  a:\\n    url: s3:https://h.example/bucket\\n    credentials-command: "touch %s"\\n' $R/ran | sed -i '/^# remotes:/r /dev/stdin' $S/store.yaml
            backupfs backup --no-sync --store $S >/dev/null 2>&1
            cp -r $R/repository $R/copy; mv $S $R/old
            backupfs init --store $R/new --repository $R/copy --adopt $(ls $R/copy/sources | head -c 8) > $R/output 2>&1
            """)
        #expect(try sandbox.sh("grep -A3 '^# remotes:$' $R/new/store.yaml | tail -n +2 | head -1") == "# remotes:")
        #expect(try sandbox.sh("grep -c '^#     credentials-command: \"touch' $R/new/store.yaml") == "1")
        #expect(try SettingsFile(storeAt: sandbox("new")).remotes() == [])
        #expect(try sandbox.sh("grep -o remotes $R/output | head -1") == "remotes")
        try sandbox.sh("backupfs backup --store $R/new >/dev/null; ! test -e $R/ran")
    }
}
