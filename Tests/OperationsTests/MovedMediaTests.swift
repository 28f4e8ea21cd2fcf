import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Renames and moves in the media folder while a backup walks it.
struct MovedMediaTests {
    /// Makes the backup `one`, and runs a script when the backup pauses.
    private static func backUp(at point: String = "backup.media-listed", _ script: String) -> String {
        """
        touch $R/pause; rm -f $R/pause.reached
        BACKUPFS_FAULT="\(point)=pause:$R/pause" backupfs backup --label one --store $S >$R/told 2>$R/complaint & backup=$!
        wait_paused $R/pause $backup
        \(script)
        rm $R/pause; wait $backup
        """
    }

    /// The paths of files in the backup, and a check of their bytes.
    private static let files = """
        rm -rf $R/out; backupfs restore one --target $R/out --store $S >/dev/null
        cd $R/out/media; find . -type f | sort | xargs; cat 2>/dev/null $(find . -type f | sort)
        """

    /// When the backup pauses, it has listed the media folder itself, but nothing inside.
    @Test(arguments: [
        ("mv 2024 Summer", "./Summer/summer/three.jpg ./Summer/two.jpg ./one.jpg", "threetwoone"),
        ("mv one.jpg uno.jpg", "./2024/summer/three.jpg ./2024/two.jpg ./uno.jpg", "threetwoone"),
        ("mv 2024/two.jpg a.jpg", "./2024/summer/three.jpg ./a.jpg ./one.jpg", "threetwoone"),
        ("mv 2024/summer .", "./2024/two.jpg ./one.jpg ./summer/three.jpg", "twoonethree"),
        ("mv 2024 x; mkdir 2024; mv x 2024", "./2024/x/summer/three.jpg ./2024/x/two.jpg ./one.jpg", "threetwoone"),
        ("rm -r 2024/summer", "./2024/two.jpg ./one.jpg", "twoone"),
    ])
    func `what is moved is in the backup where it went`(move: String, paths: String, content: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(Self.backUp("cd $S/app/photos; \(move)"))
        #expect(try sandbox.sh("cat $R/complaint") == "")
        #expect(try sandbox.sh(Self.files).components(separatedBy: "\n") == [paths, content])
    }

    /// Logs of databases come and go, and no folder is walked again because of them. These here are ordinary files. When the
    /// backup pauses, it has listed both folders, and one of them is stored or being stored.
    @Test(arguments: ["journal", "wal", "shm"], [["d1", "d2"], ["d2", "d1"]])
    func `a file with the name of a log that is moved to another folder is in the backup where it went`(
        suffix: String, folders: [String]
    ) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let name = "notes-\(suffix)"
        try sandbox.sh(
            """
            cd $S/app/photos; rm -r 2024 one.jpg; mkdir d1 d2; printf 1 > d1/notes; printf 2 > d2/notes
            printf 'a travel journal' > \(folders[0])/\(name)
            """)
        let move = "mv $S/app/photos/\(folders[0])/\(name) $S/app/photos/\(folders[1])"
        try sandbox.sh(Self.backUp(at: "backup.media-listed:3", move))
        #expect(try sandbox.sh("cat $R/complaint") == "")
        let paths = ["./d1/notes", "./d2/notes", "./\(folders[1])/\(name)"].sorted().joined(separator: " ")
        let content = folders[1] == "d1" ? "1a travel journal2" : "12a travel journal"
        #expect(try sandbox.sh(Self.files).components(separatedBy: "\n") == [paths, content])
    }

    /// An app creates and deletes files all the time; a folder is renamed in the end, and the backup has it under the old name.
    @Test(arguments: [true, false])
    func `a folder that never stands still is no reason to warn, but what is moved in it is`(moves: Bool) throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.write(
            """
            import os, sys
            number = 0
            while not os.path.exists(sys.argv[1] + "/end"):
                name = f"{sys.argv[2]}/cache{number}"
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY)); os.unlink(name); number += 1
            """, to: "churn.py")
        let move = moves ? "mv $S/app/photos/2024 $S/app/photos/Summer" : ":"
        try sandbox.sh(
            """
            cd $S/app/photos; for i in $(seq 2000); do : > old$i; done
            touch -d 2024-01-01 old*; python3 $R/churn.py $R $S/app/photos & churn=$!
            # On a busy machine nothing may have changed between two looks: then the backup does not get to its third.
            for attempt in $(seq 20); do
                touch $R/pause
                BACKUPFS_FAULT="backup.media-stored:3=pause:$R/pause" backupfs backup --label try$attempt --store $S >$R/told 2>$R/complaint & backup=$!
                wait_until "[ -e $R/pause.reached ] || ! kill -0 $backup"
                if [ -e $R/pause.reached ]; then break; fi
                wait $backup; [ ! -s $R/complaint ]
            done
            [ -e $R/pause.reached ]; \(move); rm $R/pause; wait $backup
            touch $R/end; wait $churn
            """)
        let warning =
            "files were moved in the media folder while the backup was made, and it lacks them where they are now: Summer. "
            + "Back up again when nothing is being moved."
        let removal = "no old backups were removed: files were moved while the backup was made"
        #expect(try sandbox.sh("cat $R/complaint") == (moves ? "warning: \(warning)\nwarning: \(removal)" : ""))
        let status = try sandbox.sh("backupfs status --store $S")
        #expect(status.contains(warning) == moves)
        let log = try sandbox.sh("grep -c '\"warning\":\"moved\"' $S/backupfs.log || true")
        #expect(log == (moves ? "1" : "0"))
        // When moves have stopped, everything is there again, without a warning.
        let next = try BackupOperation(store: store).run(label: "two", tag: nil, progress: nil)
        #expect(next.warnings.isEmpty)
    }

    /// The unreadable file is in a folder that is walked twice.
    @Test func `what cannot be read is reported once, however often it was tried`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("mkfifo $S/app/photos/pipe $S/app/photos/2024/pipe")
        let result = try sandbox.run(Self.backUp("mv $S/app/photos/one.jpg $S/app/photos/uno.jpg"))
        #expect(result.exitCode == 3)
        let lines = try sandbox.sh("grep -c 'is neither a file nor a folder' $R/complaint")
        #expect(lines == "2")
        #expect(try sandbox.sh("backupfs ls one:media --store $S | awk '{print $NF}' | xargs").hasSuffix("media/uno.jpg"))
    }

    /// The safety backup of a restore is made while a folder is renamed: it contains the folder, so nothing needs to be kept
    /// aside.
    @Test func `a restore's safety backup has what is moved meanwhile`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --label old --store $S; printf new > $S/app/photos/2024/new.jpg")
        try sandbox.sh(
            """
            touch $R/pause
            BACKUPFS_FAULT="backup.media-listed=pause:$R/pause" backupfs restore old --yes --store $S >$R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore
            mv $S/app/photos/2024 $S/app/photos/Summer; rm $R/pause; wait $restore
            """)
        #expect(try sandbox.sh("ls $S/app | xargs") == "database.sqlite photos")
        #expect(
            try sandbox.sh("cd $S/app/photos; find . -type f | sort | xargs")
                == "./2024/summer/three.jpg ./2024/two.jpg ./one.jpg")
    }
}
