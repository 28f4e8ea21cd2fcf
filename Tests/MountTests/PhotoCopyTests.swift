import Glibc
import SystemIO
import TestSupport
import Testing

/// Photos that are copied or moved into `photos/starred/`.
@Suite(.enabled(if: !Machine.skipsMountedTests), .rotating(oneIn: 3)) struct PhotoCopyTests {
    /// Four photos, of which two have the same name in different folders, and a file that is none. `$B` is a bucket.
    static func makeLibrary(in sandbox: Sandbox) throws {
        try sandbox.sh(
            """
            mkdir -p $R/Photos/trip; cd $R/Photos
            photo() { printf '\\377\\330\\377\\340'; head -c $1 /dev/urandom; }
            for i in 1 2 3; do photo 299996 > IMG_$i.jpg; done; photo 4996 > trip/IMG_1.jpg
            printf 'no photo' > notes.txt; touch -d '2025-01-02 03:04:05 UTC' *.jpg trip/*.jpg
            cp -rp $R/Photos $R/originals
            backupfs init --store $S --app photo-library --media $R/Photos >/dev/null
            """)
    }

    static func addBucket(_ sandbox: Sandbox) throws {
        try sandbox.sh("mkdir $R/bucket; backupfs remote add pictures $R/bucket --kind photos --store $S >/dev/null")
    }

    /// The names in the folder with what they are, and what the store keeps: `f IMG_1.jpg`, `1 kept`.
    static let state = """
        find $M/photos/starred -mindepth 1 -printf '%y %P\\n' | LC_ALL=C sort
        echo "$(ls -A $S/photos/copies 2>/dev/null | wc -l) kept"
        """
    static let stars = "backupfs star --list --store $S --json | jq -r '.[].path'"
    /// Later than the time in which every copy stays.
    static let later = "BACKUPFS_NOW=$(date -u -d '20 minutes' +%FT%TZ)"

    @Test func `STR-13: a copy of something else fails, and nothing is left`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("head -c 300000 /dev/urandom > $R/other.jpg; cp $R/other.jpg $R/moved.jpg")
            for command in [
                "cp $R/Photos/notes.txt $M/photos/starred/", "cp $R/other.jpg $M/photos/starred/IMG_1.jpg",
                "head -c 200000 $R/Photos/IMG_1.jpg | cp /dev/stdin $M/photos/starred/IMG_1.jpg",
                "dd if=$R/Photos/IMG_1.jpg of=$M/photos/starred/IMG_1.jpg bs=64 seek=1 status=none",
                "mv $R/moved.jpg $M/photos/starred/", "rsync -a $R/other.jpg $M/photos/starred/",
            ] {
                let code: Int32 = command.hasPrefix("rsync") ? 11 : 1
                try sandbox.fails(command, saying: "Invalid argument", exitCode: code)
                try sandbox.sh("wait_until '[ \"$(ls -A $M/photos/starred $S/photos/copies | wc -l)\" = 3 ]'")
            }
            #expect(try sandbox.sh("cmp $R/moved.jpg $R/other.jpg; \(Self.stars)") == "")
            #expect(try sandbox.sh("grep -c 'no photo in the app.s media folder has these bytes' $S/mount.log") == "6")
            // Some programs create a file before they write to it.
            try sandbox.sh("touch $M/photos/starred/empty.jpg; wait_until '! [ -e $M/photos/starred/empty.jpg ]'")
            try sandbox.fails("mkdir $M/photos/starred/folder", saying: "Read-only file system", exitCode: 1)
            try sandbox.unmount()
        }
    }

    @Test func `a starred name can be copied over with the same bytes alone`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("cd $R/Photos; cp IMG_1.jpg $M/photos/starred/")
            let before = try sandbox.sh("cat $S/photos/queue/*.json")
            try sandbox.sh("cd $R/Photos; cp IMG_1.jpg $M/photos/starred/; cp -f IMG_1.jpg $M/photos/starred/")
            for command in [
                "cp $R/Photos/IMG_2.jpg $M/photos/starred/IMG_1.jpg", "cp $R/Photos/trip/IMG_1.jpg $M/photos/starred/",
                "cp /dev/null $M/photos/starred/IMG_1.jpg",
            ] { try sandbox.fails(command, saying: "File exists", exitCode: 1) }
            #expect(try sandbox.sh("cat $S/photos/queue/*.json") == before)
            #expect(
                try sandbox.sh("\(Self.state); cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg") == "f IMG_1.jpg\n1 kept")
            // After a move, too.
            try sandbox.sh("mv $R/Photos/IMG_1.jpg $M/photos/starred/; cp $R/originals/IMG_1.jpg $M/photos/starred/")
            #expect(
                try sandbox.sh("\(Self.state); cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg") == "f IMG_1.jpg\n1 kept")
            try sandbox.fails("mv $R/Photos/trip/IMG_1.jpg $M/photos/starred/", saying: "Operation not permitted", exitCode: 1)
            #expect(try sandbox.sh("cmp $R/Photos/trip/IMG_1.jpg $R/originals/trip/IMG_1.jpg; \(Self.stars)") == "IMG_1.jpg")
            // Under a name of its own; the star has that of its photo.
            try sandbox.sh("mv $R/Photos/trip/IMG_1.jpg $M/photos/starred/mine.jpg")
            #expect(
                try sandbox.sh("\(Self.state); \(Self.stars)")
                    == "f IMG_1 (2).jpg\nf IMG_1.jpg\n2 kept\nIMG_1.jpg\ntrip/IMG_1.jpg")
            try sandbox.unmount()
        }
    }

    @Test(arguments: [
        "rsync -a FILE TO", "rsync -a --remove-source-files FILE TO", "rsync --inplace FILE TO", "cat FILE > TO",
        "install -m 600 FILE TO",
        "python3 -c 'import shutil, sys; shutil.copy2(*sys.argv[1:])' FILE TO",
        "python3 -c 'import shutil, sys; shutil.move(*sys.argv[1:])' FILE TO", "gio copy FILE TO", "gio move FILE TO",
        "cp -a FILE TO", "cp --sparse=always FILE TO", "dd if=FILE of=TO bs=1M conv=fsync status=none",
        "cp FILE TO.part && mv TO.part TO",
    ]) func `programs that copy and move`(script: String) throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            let command = script.replacing("FILE", with: "$R/Photos/IMG_1.jpg").replacing(
                "TO", with: "$M/photos/starred/IMG_1.jpg")
            try sandbox.sh(command)
            #expect(try sandbox.sh("\(Self.state); \(Self.stars)") == "f IMG_1.jpg\n1 kept\nIMG_1.jpg")
            try sandbox.sh("cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg")
            try sandbox.unmount()
        }
    }

    @Test func `the only copy is not removed`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh(
                "mkdir $M/snapshots/one; cd $R/Photos; mv IMG_1.jpg IMG_2.jpg $M/photos/starred/; cp IMG_3.jpg $M/photos/starred/"
            )
            for command in [
                "rm IMG_1.jpg", "setfattr -x user.backupfs.starred IMG_1.jpg", "setfattr -n user.backupfs.starred -v 0 IMG_1.jpg",
            ] {
                try sandbox.fails("cd $M/photos/starred; \(command)", saying: "Operation not permitted", exitCode: 1)
            }
            try sandbox.sh("cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg; rm $M/photos/starred/IMG_3.jpg")
            // The command accepts the backup, but not for a photo that is nowhere else.
            try sandbox.sh("backupfs unstar $R/Photos/IMG_1.jpg --store $S")
            #expect(try sandbox.sh(Self.stars) == "IMG_2.jpg")
            try sandbox.sh("backupfs snapshots --store $S >/dev/null; rmdir $M/snapshots/one; mkdir $M/snapshots/two")
            let refused = try sandbox.run("backupfs unstar $R/Photos/IMG_2.jpg --store $S")
            #expect(refused.exitCode != 0 && refused.errors.contains("the store keeps the only copy of this photo"), "\(refused)")
            // Another file of that name in the media folder is not that photo.
            try sandbox.sh("cp $R/Photos/notes.txt $R/Photos/IMG_2.jpg")
            try sandbox.fails("rm $M/photos/starred/IMG_2.jpg", saying: "Operation not permitted", exitCode: 1)
            // What was starred is uploaded, and not what is there now.
            try Self.addBucket(sandbox)
            try sandbox.sh("wait_until 'backupfs star --list --store $S --json | jq -e \".[0].stage == \\\"uploaded\\\"\"'")
            try sandbox.sh("cmp $R/bucket/photos/*/*/*.jpg $R/originals/IMG_2.jpg")
            // What another bucket has is no proof.
            try sandbox.sh("backupfs remote remove pictures --store $S >/dev/null")
            #expect(
                try sandbox.run("backupfs unstar $R/Photos/IMG_2.jpg --store $S").errors.contains("the store keeps the only copy")
            )
            try sandbox.sh("backupfs remote add pictures $R/bucket --kind photos --store $S >/dev/null")
            try sandbox.sh("wait_until rm $M/photos/starred/IMG_2.jpg")
            try sandbox.unmount()
        }
    }

    @Test func `a name that is removed or replaced during the copy`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.write(
                """
                import errno, os, shutil, sys
                folder, photo = sys.argv[1:]
                content = open(photo, 'rb').read()
                changes = (lambda: os.unlink(folder + '/a.jpg'),
                               lambda: (open(folder + '/.b', 'w').close(), os.rename(folder + '/.b', folder + '/a.jpg')),
                               lambda: os.unlink(folder + '/IMG_1.jpg'))
                for change in changes:
                    name = '/IMG_1.jpg' if os.path.exists(folder + '/IMG_1.jpg') else '/a.jpg'
                    file = os.open(folder + name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                    os.write(file, content)
                    change()
                    try:
                        os.close(file)
                        print('closed')
                    except OSError as error:
                        print(errno.errorcode[error.errno])
                    # The last round writes over a star.
                    if name == '/a.jpg' and not os.path.exists(folder + '/a.jpg') and change is changes[1]: shutil.copy(photo, folder)
                """, to: "close.py")
            #expect(
                try sandbox.sh("python3 $R/close.py $M/photos/starred $R/Photos/IMG_1.jpg; \(Self.stars)")
                    == "EBUSY\nEBUSY\nEBUSY")
            // The star that was written over leaves its own copy, until a backup has it.
            try sandbox.sh("wait_until '[ $(ls -A $S/photos/copies | wc -l) = 1 ]'")
            try sandbox.unmount()
        }
    }

    @Test func `both parts of a Live Photo are moved, and their stars removed once the bucket has them`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.sh(
                "cd $R/Photos; mv IMG_1.jpg IMG_1.HEIC; mv IMG_2.jpg IMG_1.MOV; cp -p IMG_1.* $R/originals/; mv IMG_3.jpg IMG_3.HEIC; cp -p trip/IMG_1.jpg IMG_3.MOV"
            )
            try sandbox.mount()
            try sandbox.sh("cd $R/Photos; mv IMG_1.HEIC IMG_1.MOV $M/photos/starred/; cp IMG_3.* $M/photos/starred/")
            #expect(try sandbox.sh(Self.state) == "f IMG_1.HEIC\nf IMG_1.MOV\nf IMG_3.HEIC\nf IMG_3.MOV\n4 kept")
            try sandbox.sh("cd $M/photos/starred; for f in HEIC MOV; do cmp IMG_1.$f $R/originals/IMG_1.$f; done")
            for part in ["HEIC", "MOV"] {
                try sandbox.fails("rm $M/photos/starred/IMG_1.\(part)", saying: "Operation not permitted", exitCode: 1)
            }
            try sandbox.sh("rm $M/photos/starred/IMG_3.MOV")
            #expect(try sandbox.sh(Self.stars) == "IMG_1.HEIC\nIMG_1.MOV")
            try Self.addBucket(sandbox)
            try sandbox.sh("wait_until '[ $(jq -s length $R/bucket/catalog/catalog.jsonl) = 2 ]'")
            #expect(
                try sandbox.sh("jq -r '.live_photo_pair' $R/bucket/catalog/catalog.jsonl | sort")
                    == sandbox.sh("md5sum $R/originals/IMG_1.HEIC $R/originals/IMG_1.MOV | cut -c1-32 | sort"))
            // A part that was moved away keeps its star: `mv` of the other one removes what it writes over.
            try sandbox.sh("wait_until rm $M/photos/starred/IMG_1.MOV")
            #expect(try sandbox.sh(Self.stars) == "IMG_1.HEIC")
            try sandbox.sh("wait_until rm $M/photos/starred/IMG_1.HEIC")
            #expect(try sandbox.sh(Self.stars) == "")
            try sandbox.unmount()
        }
    }

    @Test func `a child that writes after its parent has closed the file loses nothing`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.write(
                """
                import os, subprocess, sys
                target, source = sys.argv[1:]
                file = open(target, 'wb')
                child = subprocess.Popen(['cat', source], stdout=file)
                file.close()
                if child.wait() == 0: os.remove(source)
                """, to: "child.py")
            try sandbox.sh("python3 $R/child.py $M/photos/starred/IMG_1.jpg $R/Photos/IMG_1.jpg; [ ! -e $R/Photos/IMG_1.jpg ]")
            try sandbox.sh("cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg")
            #expect(try sandbox.sh("\(Self.state); \(Self.stars)") == "f IMG_1.jpg\n1 kept\nIMG_1.jpg")
            // Two children, of which each writes a part.
            try sandbox.sh(
                "cd $R/Photos; (head -c 100000 IMG_2.jpg; tail -c +100001 IMG_2.jpg; true) > $M/photos/starred/IMG_2.jpg")
            try sandbox.sh("cmp $M/photos/starred/IMG_2.jpg $R/originals/IMG_2.jpg")
            // No program learns that no photo has these bytes: they are set aside, and stay.
            try sandbox.sh(
                """
                head -c 300000 /dev/urandom > $R/other.jpg; cp $R/other.jpg $R/moved.jpg
                python3 $R/child.py $M/photos/starred/moved.jpg $R/moved.jpg; [ ! -e $R/moved.jpg ]
                wait_until '[ -e $S/photos/copies/*.unclaimed ]'; cmp $S/photos/copies/*.unclaimed $R/other.jpg
                wait_until "grep -qF $(ls $S/photos/copies/*.unclaimed) $S/mount.log"; wait_until '[ ! -e $M/photos/starred/moved.jpg ]'
                """)
            try sandbox.unmount()
            try sandbox.mount()
            try sandbox.sh("cmp $S/photos/copies/*.unclaimed $R/other.jpg")
            try sandbox.unmount()
        }
    }

    @Test(arguments: ["star.copied", "star.kept", "star.made"])
    func `a mount that is killed while a photo is moved loses nothing`(point: String) throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount(["BACKUPFS_FAULT": point])
            try sandbox.fails("mv $R/Photos/IMG_1.jpg $M/photos/starred/", saying: "", exitCode: 1)
            try sandbox.sh("cmp $R/Photos/IMG_1.jpg $R/originals/IMG_1.jpg; wait_until fusermount3 -u $M")
            #expect(try sandbox.sh("ls $S/photos/copies | grep -c draft || true") == (point == "star.copied" ? "1" : "0"))
            try sandbox.mount()
            #expect(try sandbox.sh("ls $S/photos/copies | grep -c draft || true") == "0")
            try sandbox.sh("mv $R/Photos/IMG_1.jpg $M/photos/starred/; cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg")
            #expect(try sandbox.sh("\(Self.state); \(Self.stars)") == "f IMG_1.jpg\n1 kept\nIMG_1.jpg")
            try sandbox.unmount()
        }
    }

    @Test func `a star that fails leaves no copy that nothing shows`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount(["BACKUPFS_FAULT": "star.kept=fail"])
            try sandbox.fails("cp $R/Photos/IMG_1.jpg $M/photos/starred/", saying: "Input/output error", exitCode: 1)
            #expect(try sandbox.sh("\(Self.state); \(Self.stars)") == "0 kept")
            try sandbox.sh("cp $R/Photos/IMG_1.jpg $M/photos/starred/")
            #expect(try sandbox.sh("\(Self.state); \(Self.stars)") == "f IMG_1.jpg\n1 kept\nIMG_1.jpg")
            try sandbox.unmount()
        }
    }

    @Test func `many programs copy to one name at once`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            // Some may find the name in use; what one of them has reported as written is there.
            try sandbox.sh(
                """
                for i in $(seq 8); do { cp $R/Photos/IMG_1.jpg $M/photos/starred/ 2>> $R/errors && touch $R/copied; } & done; wait
                if [ -e $R/copied ]; then cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg; fi
                wait_until cp $R/Photos/IMG_1.jpg $M/photos/starred/; cmp $M/photos/starred/IMG_1.jpg $R/originals/IMG_1.jpg
                """)
            #expect(try sandbox.sh("\(Self.state); \(Self.stars)") == "f IMG_1.jpg\n1 kept\nIMG_1.jpg")
            try sandbox.unmount()
        }
    }

    @Test func `many programs copy the same photo at once`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh(
                """
                for i in $(seq 8); do cp $R/Photos/IMG_1.jpg $M/photos/starred/copy$i.jpg & jobs="${jobs:-} $!"; done
                for job in $jobs; do wait $job; done
                """)
            #expect(try sandbox.sh("\(Self.state); \(Self.stars)") == "f IMG_1.jpg\n1 kept\nIMG_1.jpg")
            try sandbox.unmount()
        }
    }

    @Test func `a damaged copy is not shown as the photo, and the photo is, if it is still there`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh(
                """
                cd $R/Photos; cp -p IMG_1.jpg $M/photos/starred/; mv IMG_2.jpg $M/photos/starred/
                [ -z "$(rsync -ani --no-p --no-g --no-o IMG_1.jpg $M/photos/starred/)" ]
                cd $M/photos/starred; cat IMG_1.jpg IMG_2.jpg > /dev/null
                for f in $S/photos/copies/*; do printf xxxx | dd of=$f conv=notrunc bs=1 seek=1000 status=none; done
                cmp IMG_1.jpg $R/originals/IMG_1.jpg
                """)
            try sandbox.fails("cat $M/photos/starred/IMG_2.jpg", saying: "Bad message", exitCode: 1)
            // It keeps no star, and is put right by the same bytes.
            try sandbox.sh("cp $R/originals/IMG_2.jpg $M/photos/starred/; cmp $M/photos/starred/IMG_2.jpg $R/originals/IMG_2.jpg")
            // Cut off, its size is not that of the photo.
            try sandbox.sh(
                """
                for f in $S/photos/copies/*; do : > $f; done
                wait_until '[ "$(stat -c %s $M/photos/starred/IMG_1.jpg)" = 0 ]'
                cat $M/photos/starred/IMG_1.jpg | cmp - $R/originals/IMG_1.jpg
                """)
            try sandbox.sh("rm $M/photos/starred/IMG_*")
            #expect(try sandbox.sh(Self.stars) == "")
            try sandbox.unmount()
        }
    }

    @Test func `storage of the store that stalls does not hang the rest of the mount`() throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                sandbox.variables["S"] = "\(disk.path)/store"
                try Self.makeLibrary(in: sandbox)
                try sandbox.mount()
                try sandbox.sh(
                    "ls $M $M/live; mv $R/Photos/IMG_1.jpg $M/photos/starred/; cat $M/photos/starred/IMG_1.jpg >/dev/null")
                disk.stall()
                // More of them than the mount has threads for all requests.
                let readers = try (0..<60).map { _ in try sandbox.start("cat $M/photos/starred/IMG_1.jpg | sha256sum") }
                try sandbox.sh(
                    "timeout 20 stat -c %F $M $M/photos $M/README.txt $M/snapshots >/dev/null; timeout 20 cat $M/README.txt >/dev/null"
                )
                disk.goOn()
                let expected = try sandbox.sh("sha256sum < $R/originals/IMG_1.jpg")
                for reader in readers { #expect(try reader.wait(limitSeconds: 60).output == expected + "\n") }
                try sandbox.unmountStore()
            }
        }
    }

    @Test func `copies that are closed while the storage of the store stalls do not hang the rest of the mount`() throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                sandbox.variables["S"] = "\(disk.path)/store"
                try Self.makeLibrary(in: sandbox)
                try sandbox.mount()
                try sandbox.write(
                    """
                    import os, sys, threading, time
                    folder, photo, root = sys.argv[1:]
                    content = open(photo, 'rb').read()
                    files = [os.open(f'{folder}/copy{i}.jpg', os.O_WRONLY | os.O_CREAT, 0o600) for i in range(60)]
                    for file in files: os.write(file, content)
                    open(root + '/written', 'w').close()
                    while not os.path.exists(root + '/stalled'): time.sleep(0.01)
                    threads = [threading.Thread(target=os.close, args=(file,)) for file in files]
                    for thread in threads: thread.start()
                    open(root + '/closing', 'w').close()
                    for thread in threads: thread.join()
                    """, to: "close.py")
                let writer = try sandbox.start(
                    "ls $M $M/live >/dev/null; python3 $R/close.py $M/photos/starred $R/Photos/IMG_1.jpg $R")
                try sandbox.sh("wait_until '[ -e $R/written ]'")
                disk.stall()
                try sandbox.sh(
                    """
                    touch $R/stalled; wait_until '[ -e $R/closing ]'
                    timeout 20 stat -c %F $M $M/photos $M/README.txt $M/snapshots >/dev/null; timeout 20 cat $M/README.txt >/dev/null
                    """)
                disk.goOn()
                #expect(try writer.wait(limitSeconds: 60).exitCode == 0)
                #expect(try sandbox.sh(Self.state) == "f IMG_1.jpg\n1 kept")
                try sandbox.unmountStore()
            }
        }
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: a full disk needs root to mount a small one"))
    func `a full disk refuses a copy, and nothing of it is left`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("mkdir $R/disk; mount -t tmpfs -o size=8m tmpfs $R/disk")
            sandbox.variables["S"] = "\(sandbox.path)/disk/store"
            try Self.makeLibrary(in: sandbox)
            try sandbox.mount()
            try sandbox.sh("head -c 100M /dev/zero > $R/disk/ballast 2>/dev/null || true; truncate -s -100K $R/disk/ballast")
            try sandbox.fails("cp $R/Photos/IMG_1.jpg $M/photos/starred/", saying: "No space left on device", exitCode: 1)
            try sandbox.fails("mv $R/Photos/IMG_2.jpg $M/photos/starred/", saying: "No space left on device", exitCode: 1)
            try sandbox.sh(
                "wait_until '[ $(ls -A $M/photos/starred $S/photos/copies | wc -l) = 3 ]'; cmp $R/Photos/IMG_2.jpg $R/originals/IMG_2.jpg"
            )
            try sandbox.sh(
                "rm $R/disk/ballast; mv $R/Photos/IMG_2.jpg $M/photos/starred/; cmp $M/photos/starred/IMG_2.jpg $R/originals/IMG_2.jpg"
            )
            try sandbox.unmountStore()
            try sandbox.sh("wait_until umount $R/disk")
        }
    }

    @Test func `a large video takes little memory`() throws {
        try Sandbox.use { sandbox in
            try Self.makeLibrary(in: sandbox)
            try sandbox.sh("(printf '\\377\\330\\377\\340'; head -c 150M /dev/urandom) > $R/Photos/large.jpg")
            try sandbox.mount()
            let daemon = try #require(sandbox.daemons.first)
            let peak = "grep VmHWM /proc/\(daemon)/status | tr -dc 0-9"
            try sandbox.sh("cp $R/Photos/IMG_1.jpg $M/photos/starred/")
            let before = try #require(Int(try sandbox.sh(peak)))
            try sandbox.sh("cp $R/Photos/large.jpg $M/photos/starred/; cmp $R/Photos/large.jpg $M/photos/starred/large.jpg")
            let after = try #require(Int(try sandbox.sh(peak)))
            #expect(after - before < 64 << 10)
            try sandbox.unmount()
        }
    }
}
