import BackupCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Operations

/// R-A5, T-A3, U-A4: the places of data and backups must not overlap, except for a database among the media.
struct PlacesTests {
    private static let prepare = """
        mkdir -p $R/data/sub $R/elsewhere $R/repo
        sqlite3 $R/data/app.db 'create table t(id integer primary key, a text); insert into t values (1, 1)'; cp $R/data/app.db $R/app.db
        printf photo > $R/data/photo.jpg; printf deep > $R/data/sub/deep.jpg
        """

    @Test(arguments: [
        "--store $R/data/store --database $R/app.db --media $R/data",
        "--store $R/store --database $R/app.db --media $R/data --repository $R/data/repo",
        "--store $R/store --database $R/app.db --media $R/data --repository $R/data",
        "--store $R/data/sub/store --database $R/app.db --media $R/data",
        "--store $R/link/store --database $R/app.db --media $R/data",
        "--store $R/repo/store --database $R/app.db --repository $R/repo",
        "--store $R/store --database $R/app.db --media $R/repo/in --repository $R/repo",
        "--store $R/store --database $R/repo/x.db --repository $R/repo",
    ])
    func `R-A5: init refuses what lies in one another, and makes nothing`(options: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh("\(Self.prepare); ln -s data $R/link; mkdir -p $R/repo/in; cp $R/app.db $R/repo/x.db")
        let before = try sandbox.sh("cd $R; find . ! -path './.jobs*' | sort")
        let result = try sandbox.run("backupfs init \(options)")
        #expect(result.exitCode == 1, "\(result)")
        #expect(result.errors.contains("is inside") || result.errors.contains("are one folder"), "\(result.errors)")
        #expect(result.errors.contains("use folders that are not inside one another"))
        #expect(try sandbox.sh("cd $R; find . ! -path './.jobs*' | sort") == before)
    }

    @Test(arguments: [
        "--store $R/line$'\\n'feed", "--store $R/line$'\\n'feed/store", "--store $R/store --repository $R/line$'\\n'feed",
    ])
    func `a path with a line feed is refused before anything is made there`(options: String) throws {
        let sandbox = try Sandbox()
        let result = try sandbox.run("backupfs init \(options)")
        #expect(result.exitCode == 2 && result.errors.contains("this path has a line feed in it"), "\(result)")
        #expect(try sandbox.sh("ls $R") == "bin")
        try sandbox.sh("backupfs init --store $S")
        let changed = try sandbox.run("backupfs config set repository $R/line$'\\n'feed --store $S")
        #expect(changed.exitCode == 2, "\(changed)")
        try sandbox.sh("backupfs backup --store $S")
    }

    @Test func `T-A3: a mountpoint in the media folder is refused, and one that hides the store`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("\(Self.prepare); backupfs init --store $S --database $R/app.db --media $R/data")
        for mountpoint in ["$R/data/sub/mnt", "$R/data"] {
            let result = try sandbox.run("mkdir -p $R/data/sub/mnt; backupfs --store $S -o nonempty \(mountpoint)")
            #expect(result.exitCode == 1 && result.errors.contains("the mountpoint"), "\(result)")
            #expect(try sandbox.run("findmnt -n \(mountpoint)").output == "")
        }
        let result = try sandbox.run("backupfs --store $S -o nonempty $R")
        #expect(result.exitCode == 1 && result.errors.contains("is inside the mountpoint"), "\(result)")
    }

    @Test func `R-A5: a restore refuses a store that has come to lie in the media folder`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            \(Self.prepare); backupfs init --store $S --database $R/app.db --media $R/data; backupfs backup --label one --store $S
            mkdir $R/data/moved; mv $S $R/data/moved/store
            """)
        let result = try sandbox.run("backupfs restore one --yes --store $R/data/moved/store")
        #expect(result.exitCode == 1 && result.errors.contains("the store is inside the media folder"), "\(result)")
        #expect(try sandbox.sh("cat $R/data/photo.jpg; ls $R/data/moved/store/repository/snapshots | wc -l") == "photo1")
    }

    /// As in Calibre and Vaultwarden.
    @Test func `U-A4: a database in the media folder is backed up and restored through SQLite, and the media around it`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            \(Self.prepare); sqlite3 $R/data/app.db 'pragma journal_mode = wal' >/dev/null
            backupfs init --store $S --database $R/data/app.db --media $R/data
            """)
        // The app keeps its database open, with a log, throughout.
        let script = """
            mkfifo $R/in; sqlite3 -cmd '.timeout 10000' $R/data/app.db < $R/in > $R/out & app=$!; exec 3> $R/in
            echo "insert into t values (2, 'two');" >&3
            wait_until 'sqlite3 -readonly $R/data/app.db "select a from t" | grep -q two'
            backupfs backup --label one --store $S; echo "backup $?"
            backupfs find '*' --store $S 2>/dev/null | grep -c app.db; backupfs ls one:media --store $S | grep -c app.db; find $R/data -name '.backupfs*'
            inode=$(stat -c %i $R/data/app.db)
            echo "insert into t values (3, 'three');" >&3; printf more > $R/data/more.jpg; rm $R/data/photo.jpg
            wait_until 'sqlite3 -readonly $R/data/app.db "select a from t" | grep -q three'
            backupfs restore one --yes --store $S >/dev/null; echo "restore $?"
            echo "insert into t values (4, 'four');" >&3
            wait_until 'sqlite3 -readonly $R/data/app.db "select a from t" | grep -q four'
            [ $inode = $(stat -c %i $R/data/app.db) ] && echo same file
            sqlite3 -readonly $R/data/app.db 'select id from t' | tr '\\n' ' '; ls $R/data | tr '\\n' ' '
            exec 3>&-; wait $app
            """
        let result = try sandbox.run(script)
        #expect(
            result.output == """
                one
                backup 0
                0
                0
                restore 0
                same file
                1 2 4 app.db app.db-shm app.db-wal photo.jpg sub 
                """, "\(result.errors)")
        #expect(
            try sandbox.sh(
                "backupfs export one --zip -o $R/x.zip --store $S >/dev/null; unzip -Z1 $R/x.zip | grep -c 'app.db' || true")
                == "0")
        #expect(try sandbox.sh("backupfs diff one --store $S --json | tail -1 | grep -c app.db || true") == "0")
    }

    @Test func `U-A4: an archive of before with the database among its media leaves the app's where it is`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            \(Self.prepare); backupfs init --store $S --database $R/data/app.db --media $R/data; backupfs backup --label one --store $S
            backupfs export one --zip -o $R/x.zip --store $S; cd $R; mkdir old; cd old; unzip -q ../x.zip; rm SHA256SUMS
            folder=$(ls -d media data 2>/dev/null | head -1); printf torn > media/app.db; printf torn > media/app.db-wal
            rm ../x.zip; zip -qr ../x.zip .; sqlite3 $R/data/app.db "insert into t values (9, 9)"
            backupfs restore $R/x.zip --yes --store $S
            """)
        #expect(
            try sandbox.sh("sqlite3 $R/data/app.db 'select id from t'; ls $R/data | tr '\\n' ' '") == "1\napp.db photo.jpg sub ")
    }

    @Test func `U-A4: a database that was moved to another disk and linked back stays where it is, and the link too`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            \(Self.prepare); mkdir $R/data/lib $R/ssd; mv $R/data/app.db $R/data/lib/app.db; printf cover > $R/data/lib/cover.jpg
            backupfs init --store $S --database $R/data/lib/app.db --media $R/data; backupfs backup --label one --store $S
            mv $R/data/lib/app.db $R/ssd/app.db; ln -s ../hop.db $R/data/lib/app.db; ln -s ../ssd/app.db $R/data/hop.db
            sqlite3 $R/data/lib/app.db "insert into t values (9, 9)"; rm $R/data/lib/cover.jpg
            backupfs restore one --yes --store $S
            """)
        #expect(
            try sandbox.sh(
                "sqlite3 $R/data/lib/app.db 'select id from t'; readlink $R/data/lib/app.db $R/data/hop.db; cd $R/data; find . | sort | tr '\\n' ' '; ls $R/ssd"
            )
                == "1\n../hop.db\n../ssd/app.db\n. ./hop.db ./lib ./lib/app.db ./lib/cover.jpg ./photo.jpg ./sub ./sub/deep.jpg app.db"
        )
        try sandbox.sh("backupfs backup --store $S; backupfs restore latest --yes --store $S")
        #expect(try sandbox.sh("backupfs find '*' --store $S 2>/dev/null | grep -c -e app.db -e hop.db || true") == "0")
    }

    @Test func `U-A4: a folder with the database that was moved and linked back refuses archives with files in it`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            \(Self.prepare); mkdir $R/data/lib $R/ssd; mv $R/data/app.db $R/data/lib/app.db; printf cover > $R/data/lib/cover.jpg
            backupfs init --store $S --database $R/data/lib/app.db --media $R/data; backupfs backup --label one --store $S
            mv $R/data/lib $R/ssd/lib; ln -s ../ssd/lib $R/data/lib; sqlite3 $R/data/lib/app.db "insert into t values (9, 9)"
            """)
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("--target"), "\(result)")
        #expect(
            try sandbox.sh("sqlite3 $R/data/lib/app.db 'select id from t'; readlink $R/data/lib; cat $R/data/lib/cover.jpg")
                == "1\n9\n../ssd/lib\ncover")
        try sandbox.sh("backupfs backup --label two --store $S; backupfs restore two --yes --store $S")
        #expect(try sandbox.sh("readlink $R/data/lib; cat $R/data/lib/cover.jpg") == "../ssd/lib\ncover")
    }
}
