import AppData
import BackupCore
import BackupRepository
import Foundation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Creating and opening stores: a store is complete or absent, and never in another party's folder.
struct StoreTests {
    @Test func `SEC-02: a new store holds everything itself, for its owner only`() throws {
        let sandbox = try Sandbox()
        let store = try StoreCreation().create(at: sandbox.storePath)
        #expect(store.definition.name == "ev-charging-tracker")
        #expect(store.mediaPath == nil)
        #expect(
            store.settings
                == StoreSettings(
                    app: "ev-charging-tracker", databasePath: "app/database.sqlite", mediaPath: nil, repositoryPath: "repository")
        )
        #expect(try sandbox.sh("ls -A $S | tr '\\n' ' '") == "app identity last-backup repository restore spool store.yaml ")
        #expect(try sandbox.sh("find $S -type d ! -perm 700 -o -type f ! -perm 600 ! -name '*-wal' ! -name '*-shm'") == "")
        #expect(try sandbox.sh("ls -A $R") == "bin\nstore" || sandbox.sh("ls $R") == "bin\nstore")
        #expect(try store.database.counts().map(\.count) == [0, 0, 0, 0])
        #expect(failure { _ = try StoreCreation().create(at: sandbox.storePath) }?.code == .alreadyExists)
    }

    @Test func `the spool is marked as a cache, and nothing else is`() throws {
        let sandbox = try Sandbox()
        _ = try StoreCreation().create(at: sandbox.storePath)
        let tags = "find $S -name 'CACHEDIR.TAG*'"
        #expect(try sandbox.sh(tags) == "\(sandbox.storePath)/spool/CACHEDIR.TAG")
        // As <https://bford.info/cachedir/> defines it and tar interprets it: the folder is kept, its content is not.
        #expect(try sandbox.sh("head -c 43 $S/spool/CACHEDIR.TAG") == "Signature: 8a477f597d28d172789f06886806bc55")
        #expect(
            try sandbox.sh(
                "touch $S/spool/work; tar -C $S --exclude-caches -cf $R/s.tar . 2>/dev/null; tar -tf $R/s.tar | grep ^./spool")
                == "./spool/\n./spool/CACHEDIR.TAG")
        #expect(
            try sandbox.sh("tar -tf $R/s.tar | grep -c -e ^./repository/ -e ^./app/database.sqlite$ -e ^./store.yaml$") != "0")
        try sandbox.sh("rm $S/spool/work; backupfs backup --store $S")
        #expect(try sandbox.sh(tags) == "\(sandbox.storePath)/spool/CACHEDIR.TAG")
        // A store of an older version gets one, a user's own file is kept, and a store that has no place for it opens.
        try sandbox.sh("rm $S/spool/CACHEDIR.TAG; backupfs status --store $S; test -s $S/spool/CACHEDIR.TAG")
        try sandbox.sh("echo mine > $S/spool/CACHEDIR.TAG; backupfs status --store $S")
        #expect(try sandbox.sh("cat $S/spool/CACHEDIR.TAG") == "mine")
        try sandbox.sh("rm $S/spool/CACHEDIR.TAG; ln -s /nowhere/at/all $S/spool/CACHEDIR.TAG; backupfs status --store $S")
    }

    @Test func `a folder of another user is left as it is`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $S; echo mine > $S/file")
        let error = failure { _ = try StoreCreation().create(at: sandbox.storePath) }
        #expect(error?.code == .alreadyExists)
        #expect(
            error?.description == "\(sandbox.storePath): something else is here already. Choose an empty folder for the store.")
        #expect(
            try sandbox.sh("cd $R; find . -mindepth 1 ! -path './bin*' ! -path './.jobs*' | sort | tr '\\n' ' '")
                == "./store ./store/file ")
        try sandbox.sh("rm -r $S; echo mine > $S")
        #expect(failure { _ = try StoreCreation().create(at: sandbox.storePath) }?.code == .alreadyExists)
        #expect(try sandbox.sh("cat $S; ls $R") == "mine\nbin\nstore")
    }

    @Test func `an empty folder becomes the store, also by a name with a slash at its end`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "mkdir $S; backupfs init --store $S/ >/dev/null; backupfs status --store $S/ >/dev/null; backupfs backup --store $S >/dev/null"
        )
        #expect(try sandbox.sh("ls $R") == "bin\nstore")
        #expect(try Store.open(sandbox.storePath).repository.snapshots().count == 1)
    }

    @Test func `an error on the way leaves nothing`() throws {
        let sandbox = try Sandbox()
        var creation = StoreCreation()
        creation.databasePath = sandbox("none.sqlite")
        #expect(failure { _ = try creation.create(at: sandbox.storePath) }?.code == .notFound)
        try sandbox.sh("sqlite3 $R/foreign.sqlite 'create table t (x)'")
        creation.databasePath = sandbox("foreign.sqlite")
        #expect(failure { _ = try creation.create(at: sandbox.storePath) }?.code == .invalidContent)
        creation = StoreCreation()
        creation.mediaPath = sandbox.path
        #expect(failure { _ = try creation.create(at: sandbox.storePath) }?.code == .usage)
        #expect(failure { _ = try StoreCreation(app: "no-such-app").create(at: sandbox.storePath) } != nil)
        #expect(failure { _ = try StoreCreation(app: sandbox("none.yaml")).create(at: sandbox.storePath) }?.code == .notFound)
        #expect(try sandbox.sh("ls $R") == "bin\nforeign.sqlite")
    }

    @Test func `the app's own files are adopted where they lie`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("mkdir $R/theirs; mv $S/app/* $R/theirs/; rm -r $S; sha256sum $R/theirs/database.sqlite > $R/sum")
        var creation = StoreCreation(app: sandbox("diary.yaml"))
        creation.databasePath = sandbox("theirs/database.sqlite")
        // Found beside the database, where the definition says.
        let store = try creation.create(at: sandbox.storePath)
        #expect(store.mediaPath == sandbox("theirs/photos"))
        #expect(
            try sandbox.sh("sha256sum --quiet -c $R/sum; ls -A $S | tr '\\n' ' '")
                == "app.yaml identity last-backup repository restore spool store.yaml "
        )
        #expect(
            try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil).snapshot.record.root.totals.fileCount
                == 9)

        try sandbox.sh("rm -r $S; mv $R/theirs/photos $R/elsewhere")
        #expect(failure { _ = try creation.create(at: sandbox.storePath) }?.code == .notFound)
        creation.mediaPath = sandbox("elsewhere") + "/"
        #expect(try creation.create(at: sandbox.storePath).mediaPath == sandbox("elsewhere"))
        // A restore replaces the folder in place.
        try sandbox.sh(
            "backupfs backup --label a --store $S; rm $R/elsewhere/one.jpg; backupfs restore a --yes --store $S; cat $R/elsewhere/one.jpg | grep -x one"
        )
    }

    /// A store keeps its definition under this same name.
    @Test(arguments: ["app.yaml", "./app.yaml", "diary.yaml"])
    func `a definition may have any name and lie in the current folder`(path: String) throws {
        let sandbox = try Sandbox()
        try sandbox.write(PhotoDiary.definition, to: "app.yaml")
        try sandbox.sh("cd $R; cp app.yaml diary.yaml; backupfs init --store $S --app \(path)")
        try sandbox.sh("cmp $R/app.yaml $S/app.yaml; backupfs backup --store $S")
    }

    @Test func `an existing repository is gone on with`() throws {
        let sandbox = try Sandbox()
        var creation = StoreCreation()
        creation.repositoryPath = sandbox("backups")
        let first = try creation.create(at: sandbox.storePath)
        _ = try BackupOperation(store: first).run(label: "old", tag: nil, progress: nil)
        let second = try creation.create(at: sandbox("second"))
        #expect(second.repository.id == first.repository.id)
        #expect(second.repository.snapshots().map(\.name) == ["old"])
        try sandbox.sh("mkdir $R/foreign; echo x > $R/foreign/file")
        creation.repositoryPath = sandbox("foreign")
        #expect(failure { _ = try creation.create(at: sandbox("third")) }?.code == .notEmpty)
        #expect(try sandbox.sh("ls $R/foreign; ls $R") == "file\nbackups\nbin\nforeign\nsecond\nstore")
    }

    @Test(arguments: [
        ("", BackupError.Code.invalidContent, "the settings are empty"),
        ("a: [", .invalidContent, "the settings are not valid YAML"),
        ("- 1", .invalidContent, "the settings are empty"),
        ("formatVersion: \"1\"\napp: x\ndatabase: d\n", .invalidContent, "the setting repository is missing"),
        ("app: x\ndatabase: d\nrepository: r\n", .invalidContent, "the setting formatVersion is missing"),
        (
            "formatVersion: \"1\"\napp: x\ndatabase: d\nrepository: r\ncolour: red\n", .invalidContent,
            "the setting colour is not known"
        ),
        ("formatVersion: \"1\"\napp: [x]\ndatabase: d\nrepository: r\n", .invalidContent, "every setting is a name and a text"),
        ("formatVersion: \"2\"\napp: x\n", .unsupportedVersion, "the store has format version 2; this program reads 1"),
    ])
    func `settings that cannot be read say why`(text: String, code: BackupError.Code, message: String) throws {
        let sandbox = try Sandbox()
        try sandbox.write(text, to: "store.yaml")
        let error = failure { _ = try StoreSettings.read(sandbox("store.yaml")) }
        #expect(error?.code == code)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
        #expect(error?.path == sandbox("store.yaml"))
    }

    @Test(arguments: [
        "plain", "with \"quotes\"", "back\\slash", "# no comment", "ä: b", "new\nline", "tab\there", " spaces ", "%x", "{y}",
    ])
    func `paths survive the settings file`(path: String) throws {
        let sandbox = try Sandbox()
        let settings = StoreSettings(app: "x", databasePath: path, mediaPath: path + "/m", repositoryPath: "/" + path)
        try sandbox.write(settings.yaml, to: "store.yaml")
        #expect(try StoreSettings.read(sandbox("store.yaml")) == settings)
    }

    @Test func `a store that is not there`() throws {
        let sandbox = try Sandbox()
        let result = try sandbox.run("backupfs status --store $R/none")
        #expect(result.exitCode == 10)
        #expect(
            result.errors.contains(
                "\(sandbox.path)/none: there is no backupfs store here. Make one with: backupfs init --store \(sandbox.path)/none"
            ))
    }

    @Test func `where the store is looked for`() throws {
        let sandbox = try Sandbox()
        let make = "backupfs init >/dev/null"
        try sandbox.sh(make)
        try sandbox.sh(make, ["XDG_DATA_HOME": sandbox("data")])
        try sandbox.sh(make, ["BACKUPFS_STORE": sandbox("named"), "XDG_DATA_HOME": sandbox("data")])
        try sandbox.sh("cd $R; backupfs init --store relative >/dev/null", ["BACKUPFS_STORE": sandbox("named")])
        #expect(
            try sandbox.sh("cd $R; find . -name store.yaml | sort")
                == "./.local/share/backupfs/store.yaml\n./data/backupfs/store.yaml\n./named/store.yaml\n./relative/store.yaml")
        #expect(try sandbox.run("backupfs status", ["HOME": ""]).exitCode == 2)
    }

    @Test func `ARC-07: what a crash left is swept, what another process works on is not`() throws {
        let sandbox = try Sandbox()
        let store = try StoreCreation().create(at: sandbox.storePath)
        // Names in the program's own form, with 32 digits, are its own; the rest belongs to the user.
        try sandbox.sh(
            """
            token() { printf "$1%.0s" $(seq 32); }
            cd $S/spool; mkdir -p work-$(token a)/x work-$(token b) work-mine; touch work-$(token a).lock work-$(token c).lock drop-1
            """)
        try store.withWorkFolder { (folder) throws(BackupError) in
            _ = try Store.open(sandbox.storePath)
            #expect(try FileSystem.exists(folder))
            #expect((try? sandbox.sh("ls -I CACHEDIR.TAG $S/spool | grep -c work-")) == "3")
        }
        #expect(try sandbox.sh("ls -I CACHEDIR.TAG $S/spool") == "drop-1\nwork-mine")
    }

    @Test func `sweeping and working at the same time do each other no harm`() throws {
        let sandbox = try Sandbox()
        let spool = sandbox("spool")
        try FileSystem.makeDirectories(spool)
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { worker in
            for _ in 0..<150 {
                do {
                    if worker == 0 {
                        try WorkFolder.sweep(spool)
                    } else {
                        let folder = try WorkFolder(in: spool)
                        try FileSystem.writeForReaders(folder.path + "/file", [1])
                        if try !FileSystem.exists(folder.path + "/file") { failures.withLock { $0.append("gone") } }
                        folder.remove()
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try sandbox.sh("ls -A $R/spool") == "")
    }
}
