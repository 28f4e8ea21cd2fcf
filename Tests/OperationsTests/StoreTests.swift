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
        let room = try Room()
        let store = try StoreCreation().create(at: room.storePath)
        #expect(store.definition.name == "ev-charging-tracker")
        #expect(store.mediaPath == nil)
        #expect(
            store.settings
                == StoreSettings(
                    app: "ev-charging-tracker", databasePath: "app/database.sqlite", mediaPath: nil, repositoryPath: "repository")
        )
        #expect(try room.sh("ls -A $S | tr '\\n' ' '") == "app identity last-backup repository restore spool store.yaml ")
        #expect(try room.sh("find $S -type d ! -perm 700 -o -type f ! -perm 600 ! -name '*-wal' ! -name '*-shm'") == "")
        #expect(try room.sh("ls -A $R") == "bin\nstore" || room.sh("ls $R") == "bin\nstore")
        #expect(try store.database.counts().map(\.count) == [0, 0, 0, 0])
        #expect(failure { _ = try StoreCreation().create(at: room.storePath) }?.code == .alreadyExists)
    }

    @Test func `the spool is marked as a cache, and nothing else is`() throws {
        let room = try Room()
        _ = try StoreCreation().create(at: room.storePath)
        let tags = "find $S -name 'CACHEDIR.TAG*'"
        #expect(try room.sh(tags) == "\(room.storePath)/spool/CACHEDIR.TAG")
        // As <https://bford.info/cachedir/> defines it and tar interprets it: the folder is kept, its content is not.
        #expect(try room.sh("head -c 43 $S/spool/CACHEDIR.TAG") == "Signature: 8a477f597d28d172789f06886806bc55")
        #expect(
            try room.sh(
                "touch $S/spool/work; tar -C $S --exclude-caches -cf $R/s.tar . 2>/dev/null; tar -tf $R/s.tar | grep ^./spool")
                == "./spool/\n./spool/CACHEDIR.TAG")
        #expect(try room.sh("tar -tf $R/s.tar | grep -c -e ^./repository/ -e ^./app/database.sqlite$ -e ^./store.yaml$") != "0")
        try room.sh("rm $S/spool/work; backupfs backup --store $S")
        #expect(try room.sh(tags) == "\(room.storePath)/spool/CACHEDIR.TAG")
        // A store of an older version gets one, a user's own file is kept, and a store that has no place for it opens.
        try room.sh("rm $S/spool/CACHEDIR.TAG; backupfs status --store $S; test -s $S/spool/CACHEDIR.TAG")
        try room.sh("echo mine > $S/spool/CACHEDIR.TAG; backupfs status --store $S")
        #expect(try room.sh("cat $S/spool/CACHEDIR.TAG") == "mine")
        try room.sh("rm $S/spool/CACHEDIR.TAG; ln -s /nowhere/at/all $S/spool/CACHEDIR.TAG; backupfs status --store $S")
    }

    @Test func `a folder of another user is left as it is`() throws {
        let room = try Room()
        try room.sh("mkdir $S; echo mine > $S/file")
        let error = failure { _ = try StoreCreation().create(at: room.storePath) }
        #expect(error?.code == .alreadyExists)
        #expect(error?.description == "\(room.storePath): something else is here already. Choose an empty folder for the store.")
        #expect(try room.sh("cd $R; find . -mindepth 1 ! -path './bin*' | sort | tr '\\n' ' '") == "./store ./store/file ")
        try room.sh("rm -r $S; echo mine > $S")
        #expect(failure { _ = try StoreCreation().create(at: room.storePath) }?.code == .alreadyExists)
        #expect(try room.sh("cat $S; ls $R") == "mine\nbin\nstore")
    }

    @Test func `an empty folder becomes the store, also by a name with a slash at its end`() throws {
        let room = try Room()
        try room.sh(
            "mkdir $S; backupfs init --store $S/ >/dev/null; backupfs status --store $S/ >/dev/null; backupfs backup --store $S >/dev/null"
        )
        #expect(try room.sh("ls $R") == "bin\nstore")
        #expect(try Store.open(room.storePath).repository.snapshots().count == 1)
    }

    @Test func `an error on the way leaves nothing`() throws {
        let room = try Room()
        var creation = StoreCreation()
        creation.databasePath = room("none.sqlite")
        #expect(failure { _ = try creation.create(at: room.storePath) }?.code == .notFound)
        try room.sh("sqlite3 $R/foreign.sqlite 'create table t (x)'")
        creation.databasePath = room("foreign.sqlite")
        #expect(failure { _ = try creation.create(at: room.storePath) }?.code == .invalidContent)
        creation = StoreCreation()
        creation.mediaPath = room.path
        #expect(failure { _ = try creation.create(at: room.storePath) }?.code == .usage)
        #expect(failure { _ = try StoreCreation(app: "no-such-app").create(at: room.storePath) } != nil)
        #expect(failure { _ = try StoreCreation(app: room("none.yaml")).create(at: room.storePath) }?.code == .notFound)
        #expect(try room.sh("ls $R") == "bin\nforeign.sqlite")
    }

    @Test func `the app's own files are adopted where they lie`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh("mkdir $R/theirs; mv $S/app/* $R/theirs/; rm -r $S; sha256sum $R/theirs/database.sqlite > $R/sum")
        var creation = StoreCreation(app: room("diary.yaml"))
        creation.databasePath = room("theirs/database.sqlite")
        // Found beside the database, where the definition says.
        let store = try creation.create(at: room.storePath)
        #expect(store.mediaPath == room("theirs/photos"))
        #expect(
            try room.sh("sha256sum --quiet -c $R/sum; ls -A $S | tr '\\n' ' '")
                == "app.yaml identity last-backup repository restore spool store.yaml "
        )
        #expect(
            try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil).snapshot.record.root.totals.fileCount
                == 9)

        try room.sh("rm -r $S; mv $R/theirs/photos $R/elsewhere")
        #expect(failure { _ = try creation.create(at: room.storePath) }?.code == .notFound)
        creation.mediaPath = room("elsewhere") + "/"
        #expect(try creation.create(at: room.storePath).mediaPath == room("elsewhere"))
        // A restore replaces the folder in place.
        try room.sh(
            "backupfs backup --label a --store $S; rm $R/elsewhere/one.jpg; backupfs restore a --yes --store $S; cat $R/elsewhere/one.jpg | grep -x one"
        )
    }

    /// A store keeps its definition under this same name.
    @Test(arguments: ["app.yaml", "./app.yaml", "diary.yaml"])
    func `a definition may have any name and lie in the current folder`(path: String) throws {
        let room = try Room()
        try room.write(PhotoDiary.definition, to: "app.yaml")
        try room.sh("cd $R; cp app.yaml diary.yaml; backupfs init --store $S --app \(path)")
        try room.sh("cmp $R/app.yaml $S/app.yaml; backupfs backup --store $S")
    }

    @Test func `an existing repository is gone on with`() throws {
        let room = try Room()
        var creation = StoreCreation()
        creation.repositoryPath = room("backups")
        let first = try creation.create(at: room.storePath)
        _ = try BackupOperation(store: first).run(label: "old", tag: nil, progress: nil)
        let second = try creation.create(at: room("second"))
        #expect(second.repository.id == first.repository.id)
        #expect(second.repository.snapshots().map(\.name) == ["old"])
        try room.sh("mkdir $R/foreign; echo x > $R/foreign/file")
        creation.repositoryPath = room("foreign")
        #expect(failure { _ = try creation.create(at: room("third")) }?.code == .notEmpty)
        #expect(try room.sh("ls $R/foreign; ls $R") == "file\nbackups\nbin\nforeign\nsecond\nstore")
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
        let room = try Room()
        try room.write(text, to: "store.yaml")
        let error = failure { _ = try StoreSettings.read(room("store.yaml")) }
        #expect(error?.code == code)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
        #expect(error?.path == room("store.yaml"))
    }

    @Test(arguments: [
        "plain", "with \"quotes\"", "back\\slash", "# no comment", "ä: b", "new\nline", "tab\there", " spaces ", "%x", "{y}",
    ])
    func `paths survive the settings file`(path: String) throws {
        let room = try Room()
        let settings = StoreSettings(app: "x", databasePath: path, mediaPath: path + "/m", repositoryPath: "/" + path)
        try room.write(settings.yaml, to: "store.yaml")
        #expect(try StoreSettings.read(room("store.yaml")) == settings)
    }

    @Test func `a store that is not there`() throws {
        let room = try Room()
        let result = try room.run("backupfs status --store $R/none")
        #expect(result.status == 10)
        #expect(
            result.complaint.contains(
                "\(room.path)/none: there is no backupfs store here. Make one with: backupfs init --store \(room.path)/none"))
    }

    @Test func `where the store is looked for`() throws {
        let room = try Room()
        let make = "backupfs init >/dev/null"
        try room.sh(make)
        try room.sh(make, ["XDG_DATA_HOME": room("data")])
        try room.sh(make, ["BACKUPFS_STORE": room("named"), "XDG_DATA_HOME": room("data")])
        try room.sh("cd $R; backupfs init --store relative >/dev/null", ["BACKUPFS_STORE": room("named")])
        #expect(
            try room.sh("cd $R; find . -name store.yaml | sort")
                == "./.local/share/backupfs/store.yaml\n./data/backupfs/store.yaml\n./named/store.yaml\n./relative/store.yaml")
        #expect(try room.run("backupfs status", ["HOME": ""]).status == 2)
    }

    @Test func `ARC-07: what a crash left is swept, what another process works on is not`() throws {
        let room = try Room()
        let store = try StoreCreation().create(at: room.storePath)
        // Names in the program's own form, with 32 digits, are its own; the rest belongs to the user.
        try room.sh(
            """
            token() { printf "$1%.0s" $(seq 32); }
            cd $S/spool; mkdir -p work-$(token a)/x work-$(token b) work-mine; touch work-$(token a).lock work-$(token c).lock drop-1
            """)
        try store.withWorkFolder { (folder) throws(BackupError) in
            _ = try Store.open(room.storePath)
            #expect(try FileSystem.exists(folder))
            #expect((try? room.sh("ls -I CACHEDIR.TAG $S/spool | grep -c work-")) == "3")
        }
        #expect(try room.sh("ls -I CACHEDIR.TAG $S/spool") == "drop-1\nwork-mine")
    }

    @Test func `sweeping and working at the same time do each other no harm`() throws {
        let room = try Room()
        let spool = room("spool")
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
        #expect(try room.sh("ls -A $R/spool") == "")
    }
}
