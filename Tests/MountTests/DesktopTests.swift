import TestSupport
import Testing

/// What the menus of file managers run, without a desktop: questions and answers go over a terminal, and the program that shows
/// a folder is one that notes its path. `make test-desktop` tries it in the file managers themselves.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct DesktopTests {
    /// `desktop` runs the command, `shown` prints the folder that it had shown since the last time, `answer` types an answer.
    private static let words = #"""
        unset DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS
        mkdir -p $R/tools; printf '#!/bin/sh\nprintf "%%s\\n" "$1" >> %s/shown\n' "$R" > $R/tools/xdg-open; chmod 755 $R/tools/xdg-open
        export PATH=$R/tools:$PATH
        desktop() { backupfs desktop "$@"; }
        shown() { wait_until "test -s $R/shown"; cat $R/shown; rm $R/shown; }
        answer() { local word=$1; shift; printf '%s\n' "$word" | script -qec "backupfs desktop $*" /dev/null; }

        """#

    @Test func `a menu shows the folder, and the versions of a file of the mount or of the app`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.sh(
                Self.words + """
                    media=$S/app/photos; mkdir -p $media/2024; printf one > "$media/2024/a b.jpg"; printf x > $media/new.jpg
                    mkdir $M/snapshots/first; printf three > "$media/2024/a b.jpg"; mkdir $M/snapshots/second
                    desktop open $M; shown
                    desktop open $M/snapshots/latest; shown
                    for path in live/media snapshots/first/media versions/media; do desktop versions "$M/$path/2024/a b.jpg"; shown; done
                    desktop versions "$media/2024/a b.jpg"; shown
                    desktop versions "$(ls -d "$M/versions/media/2024/a b.jpg/"*.jpg | head -n 1)"; shown
                    desktop versions $M/snapshots/first/data/photos.json; shown
                    desktop versions $media; shown
                    """
            ).replacing(sandbox.mountpoint, with: "MOUNT")
            #expect(
                result == """
                    MOUNT/
                    MOUNT/snapshots/second
                    MOUNT/versions/media/2024/a b.jpg
                    MOUNT/versions/media/2024/a b.jpg
                    MOUNT/versions/media/2024/a b.jpg
                    MOUNT/versions/media/2024/a b.jpg
                    MOUNT/versions/media/2024/a b.jpg
                    MOUNT/versions/data/photos.json
                    MOUNT/versions/media
                    """)
            for (path, reason) in [
                ("$M/README.txt", "has no versions"), ("/etc/passwd", "is not in a folder that backupfs is mounted on"),
                ("$M/none", "there is no such file or folder"),
            ] {
                try sandbox.fails(Self.words + "desktop versions \(path)", saying: reason)
            }
            try sandbox.sh("printf x > $S/app/photos/newer.jpg")
            try sandbox.fails(Self.words + "desktop versions $S/app/photos/newer.jpg", saying: "no backup has this file yet")
        }
    }

    @Test func `a menu makes a backup and says how it went`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            let result = try sandbox.sh(
                Self.words
                    + "desktop back-up $M; ls $M/snapshots; getfattr --only-values -n user.backupfs.state $M/control/backup")
            #expect(
                result == """
                    The backup 2026-01-11_14-30-00 was made.
                    2026-01-11_14-30-00
                    latest
                    ended
                    """)
            // The reason is in the message.
            try sandbox.sh("mv $S/app/database.sqlite $S/app/away")
            try sandbox.fails(Self.words + "desktop back-up $M", saying: "the database does not exist")
        }
    }

    @Test func `a photo is put back, and never replaces another`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.sh(
                Self.words + #"""
                    media=$S/app/photos; mkdir -p $media/trip; printf one > $media/trip/a.jpg; touch -d '2024-06-30 12:00:00.5' $media/trip/a.jpg
                    chmod 750 $media/trip; mkdir $M/snapshots/first
                    put_back() { answer Restore restore "$1" | tr -d '\r' | sed 's/.*0m: //'; }
                    put_back $M/snapshots/first/media/trip/a.jpg | tail -n 1
                    rm $media/trip/a.jpg; put_back $M/snapshots/first/media/trip/a.jpg | tail -n 1
                    stat -c '%n %a %y' $media/trip/* | sed "s|$media/||"; cat $media/trip/a.jpg; echo
                    printf other > $media/trip/a.jpg; put_back $M/snapshots/first/media/trip/a.jpg | tail -n 1
                    put_back $M/versions/media/trip/a.jpg/*.jpg | tail -n 1
                    put_back $M/snapshots/first/media/trip/a.jpg | tail -n 1
                    cat $media/trip/a.jpg; echo; ls $media/trip | sed 's/[0-9]\{4\}-[-0-9_]*/TIME/'; ls -A $media/trip | grep -c staging || true
                    """#)
            #expect(
                result == """
                    The same file is there already.
                    Put back: a.jpg
                    trip/a.jpg 640 2024-06-30 12:00:00.500000000 +0000
                    one
                    Another file has this name. The one of the backup is beside it as a (first).jpg
                    \(result.split(separator: "\n").dropFirst(5).first ?? "")
                    The same file is there already.
                    other
                    a (TIME).jpg
                    a (first).jpg
                    a.jpg
                    0
                    """)
            #expect(result.contains("is beside it as a (20"))
            // Without a yes, nothing happens; a folder is none of its business.
            try sandbox.sh("rm -r $S/app/photos/trip")
            try sandbox.fails(
                Self.words + "answer Cancel restore $M/snapshots/first/media/trip/a.jpg", saying: "nothing was changed",
                exitCode: 130)
            try sandbox.fails(
                Self.words + "desktop restore $M/snapshots/first/media/trip/a.jpg </dev/null", saying: "no terminal to confirm")
            try sandbox.fails(
                Self.words + "answer Restore restore $M/snapshots/first/media/trip", saying: "only a file can be put back")
            for path in ["$M/live/media", "$M/README.txt", "$M/snapshots", "$M/restore/README.txt"] {
                try sandbox.fails(Self.words + "answer Restore restore \(path)", saying: "cannot be restored")
            }
            #expect(try sandbox.sh("find $S/app/photos -name 'a*'").isEmpty)
            // Text that stands for a name which is none must not lead to another file.
            try sandbox.sh(
                "cd $S/app/photos; printf one > $'bad\\xff.jpg'; printf two > $'bad\\ufffd.jpg'; mkdir $M/snapshots/odd; rm bad*")
            try sandbox.fails(
                Self.words + "answer Restore restore $M/snapshots/odd/media/$'bad\\xff.jpg'", saying: "there is no such file")
            #expect(try sandbox.sh("find $S/app/photos -name 'bad*'").isEmpty)
        }
    }

    @Test(arguments: ["no", "yes"]) func `backups and records come back after a question`(confirms: String) throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.sh(
                Self.words + #"""
                    backupfs config set confirm-restores \#(confirms) --store $S
                    sql() { sqlite3 $S/app/database.sqlite "$1"; }
                    mkdir $M/snapshots/first; sql "update cars set name = 'changed'; delete from expenses where id > 10"; mkdir $M/snapshots/second
                    wait_until 'test -e $M/snapshots/second'
                    answer Restore restore $M/snapshots/first >/dev/null; sql "select count(*), (select count(*) from cars where name = 'changed') from expenses"
                    sql "delete from expenses; update cars set name = 'again'"
                    answer Restore restore $M/history/expenses/7/*.json >/dev/null; sql "select count(*), min(id) from expenses"
                    answer Restore restore $M/snapshots/first/data/expenses.json >/dev/null
                    sql "select count(*), (select count(*) from cars where name = 'again') > 0 from expenses"
                    answer Restore restore $M/snapshots/first/export.json >/dev/null; sql "select count(*) from cars where name = 'again'"
                    ls $M/restore | grep -c CONFIRM || true
                    printf '{' > $R/bad.json; sql "select count(*) from expenses"
                    """#)
            #expect(
                result == """
                    1200|0
                    1|7
                    1200|1
                    0
                    0
                    1200
                    """)
        }
    }

    @Test func `a backup is deleted after a question, and pinned ones stay`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                Self.words + #"""
                    mkdir $M/snapshots/first $M/snapshots/second; answer Delete delete $M/snapshots/first > $R/said
                    grep -q 'first: deleted' $R/said; test ! -e $M/snapshots/first
                    echo first > $M/control/undelete; test -e $M/snapshots/first/manifest.json; echo first > $M/control/pin
                    """#)
            try sandbox.fails(Self.words + "answer Delete delete $M/snapshots/first", saying: "first")
            try sandbox.fails(
                Self.words + "answer Cancel delete $M/snapshots/second", saying: "nothing was changed", exitCode: 130)
            for path in ["$M/snapshots", "$M/snapshots/first/media", "$M/live", "$S/app"] {
                try sandbox.fails(Self.words + "answer Delete delete \(path)", saying: "")
            }
            #expect(try sandbox.names("snapshots") == ["first", "latest", "second"])
        }
    }

    @Test func `on a desktop, a new store asks before a file in restore replaces all data`() throws {
        try Sandbox.use { sandbox in
            let result = try sandbox.sh(
                """
                unset DISPLAY WAYLAND_DISPLAY
                make() {
                    n=$((n + 1)); "$@" backupfs init --store $R/store-$n ${app:---app keeptrack} | grep -c CONFIRM || true
                    backupfs config get confirm-restores --store $R/store-$n
                }
                make env; make env DISPLAY=:9; make env WAYLAND_DISPLAY=wayland-0
                app=--sample make env DISPLAY=:9
                """)
            #expect(result.split(separator: "\n") == ["0", "no", "1", "yes", "1", "yes", "0", "no"], "\(result)")
        }
    }

    @Test func `a photo comes back into a folder that is a link, and beside a name of full length`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.sh(
                Self.words + #"""
                    media=$S/app/photos; mv $media $S/app/real; ln -s real $media; chmod 700 $S/app/real
                    long=$(printf 'ä%.0s' $(seq 124)).jpeg; printf one > $media/$long; printf one > $media/short.jpg; mkdir $M/snapshots/first
                    rm $media/short.jpg; printf other > $media/$long
                    for name in short.jpg $long; do answer Restore restore $M/snapshots/first/media/$name > /dev/null; done
                    stat -c %a $S/app/real/short.jpg; cat $media/$long; echo
                    other="${long:0:121} (first).jpeg"; cat "$media/$other"; echo; ls -A $media | grep -c -e staging -e first
                    """#)
            #expect(result == "600\nother\none\n1")
        }
    }

    /// close(2) waits for a second only.
    @Test func `a backup that fails later fails the command`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample >/dev/null; touch $R/pause")
            try sandbox.mount(["BACKUPFS_FAULT": "backup.pack-written=pause:\(sandbox.path)/pause"])
            let result = try sandbox.run(
                Self.words + """
                    backupfs desktop back-up $M & command=$!
                    wait_until '[ -e $R/pause.reached ]'; wait_until "grep -qx -e .*nanosleep.* -e 0 /proc/$command/wchan"
                    echo > $M/control/cancel; rm $R/pause; wait $command; echo "ended with $?"
                    getfattr --only-values -n user.backupfs.state $M/control/backup; ls $M/snapshots
                    """)
            #expect(
                result.output.hasSuffix("ended with 130\nfailed") || result.output.hasSuffix("ended with 1\nfailed"),
                "\(result.text)")
            try sandbox.unmount()
        }
    }
}
