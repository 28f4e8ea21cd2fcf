import BackupCore
import ObjectStorage
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// The storages of remotes, and remotes in folders.
@Suite struct RemoteStorageTests {
    private final class Requests: StorageRequestObserver {
        private let kinds = Mutex<[StorageRequest.Kind]>([])

        var probeCount: Int { kinds.withLock { $0.count { $0 == .probe } } }
        var count: Int { kinds.withLock { $0.count } }

        func storageRequestEnded(_ request: StorageRequest) { kinds.withLock { $0.append(request.kind) } }
    }

    private static let all: StorageCapabilities = [
        .conditionalCreate, .compareAndSwap, .conditionalRemove, .rangedReads, .removal,
    ]

    @Test func `what a server can do is tried out once for each place`() throws {
        let (sandbox, url) = try Sandbox.withRemoteServer()
        let paths = StorePaths(root: sandbox.storePath)
        var remote = try RemoteSettings(name: "off", url: "\(url)/a")
        remote.credentialsCommand = "cat \(sandbox("keys.json"))"
        var requests = Requests()
        #expect(try remote.open(in: paths, observer: requests).capabilities == Self.all)
        #expect(requests.probeCount > 5)
        requests = Requests()
        #expect(try remote.open(in: paths, observer: requests).capabilities == Self.all)
        #expect(requests.count == 0)
        // Another place, a file that is cut off, and one with an unknown word.
        remote.url = "\(url)/b"
        #expect(try remote.open(in: paths, observer: requests, isReadOnly: true).capabilities == [])
        #expect(requests.count == 0)
        for damage in [
            "true", "truncate -s -3 $S/remotes/off/capabilities", "sed -i 's/removal/magic/' $S/remotes/off/capabilities",
        ] {
            try sandbox.sh(damage)
            requests = Requests()
            #expect(try remote.open(in: paths, observer: requests).capabilities == Self.all)
            #expect(requests.probeCount > 5, "\(damage)")
        }
    }

    @Test func `without the permission for a trial nothing is taken for granted, and nothing is kept`() throws {
        let readOnly = try ObjectServer.shared().readOnly
        #expect(readOnly != nil)
        let (sandbox, url) = try Sandbox.withRemoteServer(readOnly)
        var remote = try RemoteSettings(name: "off", url: url)
        remote.credentialsCommand = "cat \(sandbox("keys.json"))"
        let storage = try remote.open(in: StorePaths(root: sandbox.storePath))
        #expect(storage.capabilities == [])
        #expect(try storage.list(prefix: "", after: nil).objects == [])
        #expect(try sandbox.sh("ls -d $S/remotes 2>/dev/null || echo none") == "none")
    }

    @Test func `a server that does not answer is offline`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null")
        var remote = try RemoteSettings(name: "off", url: "s3:http://127.0.0.1:1/bucket")
        remote.credentialsCommand = "echo '{\"Version\": 1, \"AccessKeyId\": \"a\", \"SecretAccessKey\": \"b\"}'"
        #expect(failure { _ = try remote.open(in: StorePaths(root: sandbox.storePath)) }?.code == .offline)
    }

    @Test func `a folder that is not there is offline, unless it is to be made`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null")
        let paths = StorePaths(root: sandbox.storePath)
        for url in [sandbox("copy"), "copy"] {
            let remote = try RemoteSettings(name: "disk", url: url)
            #expect(failure { _ = try remote.open(in: paths) }?.code == .offline)
            #expect(try remote.open(in: paths, creatingFolder: true).location == (url == "copy" ? sandbox("store/copy") : url))
            #expect(try remote.open(in: paths).capabilities.contains(.removal))
        }
        for url in [
            "repository", "repository/x", ".", "spool/x", "remotes/x", sandbox("store/app"), "../store/repository/../repository",
        ] {
            let error = failure { _ = try RemoteSettings(name: "disk", url: url).open(in: paths, creatingFolder: true) }
            #expect(error?.code == .usage && error?.message.english.hasPrefix("this folder cannot have a copy") == true, "\(url)")
        }
        try sandbox.sh("ln -s $S/repository $R/link")
        #expect(failure { _ = try RemoteSettings(name: "disk", url: sandbox("link")).open(in: paths) }?.code == .usage)
    }

    @Test func `a folder is added, listed, tried and removed`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null; mkdir $R/disk")
        let added = try sandbox.run("cd $R/disk; backupfs remote add disk ./copy --no-after-backup --store $S")
        #expect(added.exitCode == 0, "\(added)")
        #expect(
            added.output == """
                yes: a file has the bytes that were stored
                yes: a file does not replace another one
                yes: a listing has what was stored just now
                yes: a file that is replaced has another version
                yes: of several programs that store one name, one succeeds
                disk can be used. There is no copy of this repository yet.
                Added the remote disk: \(sandbox("disk/copy"))
                Copy the backups there with: backupfs sync disk --store \(sandbox.storePath)

                """)
        #expect(added.errors == "This folder is on the disk of the repository. A copy there is lost together with it.\n")
        #expect(try sandbox.sh("ls -A $R/disk/copy") == ".backupfs-storage")
        #expect(
            try sandbox.sh(
                "backupfs remote list --json --store $S | jq -c '.[] | [.name, .url, .label, .after_backup, .capabilities]'")
                == #"["disk","\#(sandbox("disk/copy"))","disk",false,null]"#)
        try RemoteCommandTests.upload(sandbox, "disk")
        #expect(
            try sandbox.run("backupfs remote test disk --store $S").output.hasSuffix(
                "It has a copy of this repository already.\n"))
        #expect(
            try sandbox.sh("backupfs remote remove disk --store $S >/dev/null; ls $R/disk/copy/config")
                == sandbox("disk/copy/config"))
        #expect(try sandbox.run("cd $R/disk; backupfs remote fetch ./copy ../fetched").exitCode == 0)
        #expect(
            try sandbox.sh("python3 -c 'print(open(\"'$R'/fetched/config\").read() == open(\"'$S'/repository/config\").read())'")
                == "True")
        // The same place again, with its copy.
        #expect(
            try sandbox.run("backupfs remote add disk $R/disk/copy --store $S").output.contains(
                "It has a copy of this repository already."))
        try sandbox.sh("mv $R/disk/copy $R/disk/away")
        let gone = try sandbox.run("backupfs remote test disk --store $S")
        #expect(gone.exitCode == 1 && gone.errors.contains("the folder of the storage is not there"), "\(gone)")
        #expect(try sandbox.sh("ls $R/disk") == "away")
    }

    @Test func `a disk that is mounted in the store can be a remote`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; mkdir $S/disk")
        let added = try sandbox.runInNamespace(
            "mount -t tmpfs -o size=10m none $S/disk && backupfs remote add disk $S/disk/copy --store $S")
        #expect(added.exitCode == 0, "\(added.text)")
    }

    @Test func `a remote gets its rules with the options that forget has`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        let refused = try sandbox.run("backupfs remote add disk $R/disk --keep-last none --store $S")
        #expect(refused.exitCode == 2 && refused.errors.contains("--keep-last takes a number from 1 on"), "\(refused.text)")
        try sandbox.sh("! test -e $R/disk")
        let rules =
            "--keep-last 1 --keep-hourly 2 --keep-daily 3 --keep-weekly 4 --keep-monthly 5 --keep-yearly unlimited --keep-within 1h"
        try sandbox.sh("backupfs remote add disk $R/disk \(rules) --store $S >/dev/null")
        #expect(
            try sandbox.sh("sed -n '/^  disk:/,$ { s/^    //p }' $S/store.yaml") == """
                url: "\(sandbox("disk"))"
                keep-last: "1"
                keep-hourly: "2"
                keep-daily: "3"
                keep-weekly: "4"
                keep-monthly: "5"
                keep-yearly: "unlimited"
                keep-within: "1h"
                """)
        // A sync goes by them.
        try sandbox.sh(
            """
            backupfs remote remove disk --store $S >/dev/null; backupfs remote add disk $R/disk --keep-last 1 --store $S >/dev/null
            backupfs config set retention off --store $S; backupfs config set retention-counts all --store $S
            for name in one two; do
                sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = '$name' WHERE key = 'device_name'"
                backupfs backup --label $name --no-sync --store $S >/dev/null
            done
            backupfs sync --store $S >/dev/null
            """)
        #expect(try sandbox.sh("backupfs snapshots --json --remote disk --store $S | jq -r '.[].name'") == "two")
    }

    @Test func `config check names a remote of device-sync that is not there`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; backupfs config set device-sync shared --store $S")
        let problem = try sandbox.run("backupfs config check --store $S")
        #expect(problem.exitCode == 1 && problem.errors.contains("device-sync: there is no remote “shared”"), "\(problem.text)")
        try sandbox.sh("backupfs remote add shared $R/shared --store $S >/dev/null; backupfs config check --store $S")
    }

    @Test func `folders that cannot be a remote are left as they are`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S >/dev/null; mkdir $R/foreign $R/like; echo x > $R/foreign/file; cp $S/repository/config $R/like/config
            sed -i 's/^id: ..../id: 0000/' $R/like/config; echo x > $R/plain; cp $S/store.yaml $R/before
            """)
        for (folder, message, code) in [
            ("$R/foreign", "there is something else: “file”", 1), ("$R/plain", "a file is in the way of a folder", 1),
            ("$R/none/none", "there is no folder here", 1),
            ("$S/repository", "it is in the repository", 2), ("$R", "the repository is in it", 2),
            ("$S/spool/x", "it is among the store's own files", 2), ("$S/copy", "it is in the store", 2),
            ("$R/like", "this is a copy of another repository, 0000", 1),
            ("sftp:host/x", "this is neither the location of an S3 server nor a folder", 2),
        ] as [(String, String, Int32)] {
            let result = try sandbox.run("backupfs remote add disk \(folder) --store $S")
            #expect(result.exitCode == code && result.errors.contains(message), "\(folder): \(result)")
            #expect(result.output == "")
        }
        #expect(
            try sandbox.sh(
                "cmp $S/store.yaml $R/before; ls -d $R/none 2>/dev/null || true; find $R/foreign $R/like | sort | xargs -n1 basename | tr '\\n' ' '"
            ) == "foreign file like config ")
        let words = try sandbox.run("backupfs remote fetch nowhere $R/fetched --store $S")
        #expect(words.exitCode == 1 && words.errors.contains("there is no remote “nowhere”"), "\(words)")
    }
}
