import TestSupport
import Testing

/// Disks that change bytes, that cannot be read or written any more, and that keep less than Linux does.
struct CopyDamageTests {
    private static let card = """
        mkdir -p $R/card/DCIM; cd $R/card; for i in 1 2 3 4 5 6; do head -c 60000 /dev/urandom > DCIM/$i.jpg; done
        head -c 5000000 /dev/urandom > DCIM/clip.mov; printf small > DCIM/note.txt
        """

    /// The statuses of a destination, each with its number.
    private static func statuses(_ destination: String) -> String {
        """
        jq -r --arg d $R/\(destination) '[.[] | select(.destination == $d)] | group_by(.status) | map("\\(.[0].status) \\(length)") | join(" ")' \
        $J/results.json
        """
    }

    private static func layer(_ sandbox: Sandbox, _ folder: String, _ plan: String) throws -> [String: String] {
        try FaultLayer.environment(folder: sandbox(folder), logPath: sandbox("calls"), plan: plan)
    }

    /// The bit is changed on its way to the disk, after it was hashed.
    /// Requirement CHK-03.
    @Test(arguments: [("standard", 1), ("standard", 5), ("thorough", 3), ("paranoid", 2), ("paranoid", 10)])
    func `a bit that a disk changes is found, and the file has no name there`(mode: String, write: Int) throws {
        let sandbox = try CopySandbox.make(Self.card)
        let result = try sandbox.run(
            "backupfs copy --verify \(mode) $R/card $R/a $R/b", Self.layer(sandbox, "b", "flip@\(write)"))
        #expect(result.exitCode == 3, "\(result.text)")
        try sandbox.sh(CopySandbox.findJob)
        #expect(try sandbox.sh("\(Self.statuses("a")); \(Self.statuses("b"))") == "verified 8\nchecksumMismatch 1 verified 7")
        #expect(
            try sandbox.sh(
                "diff -r $R/card $R/a && echo same; (diff -rq $R/card $R/b || true) | sed 's/:.*//' | sort | uniq -c | tr -s ' '")
                == "same\n 1 Only in \(sandbox("card/DCIM"))")
        #expect(try sandbox.sh("cat $J/state; find $R/b -name '*part'") == "failed")
        let name = try sandbox.sh("jq -r '.[] | select(.status == \"checksumMismatch\") | .path' $J/results.json")
        #expect(try sandbox.sh("grep -c '^error: \(sandbox("b"))/\(name): checksumMismatch' $J/errors.txt") == "1")
        try sandbox.sh("backupfs copy --resume $(basename $(readlink $J)) > $R/out; diff -r $R/card $R/b")
        #expect(try sandbox.sh("cat $J/state; \(Self.statuses("b"))") == "completed\nverified 8")
    }

    /// What the size alone proves.
    @Test func `quick does not find it, and says copied and not verified`() throws {
        let sandbox = try CopySandbox.make(Self.card)
        let result = try sandbox.run("backupfs copy --verify quick $R/card $R/b", Self.layer(sandbox, "b", "flip@3"))
        try sandbox.sh(CopySandbox.findJob)
        #expect(result.exitCode == 0 && !result.text.contains("verified"), "\(result.text)")
        #expect(try sandbox.sh("\(Self.statuses("b")); (diff -rq $R/card $R/b || true) | wc -l") == "copied 8\n1")
    }

    @Test(arguments: ["broken@4", "broken@30", "broken-once@7", "broken@1 syncfs .", "broken-once@1 fsync DCIM"])
    func `a destination with input and output errors fails alone; what it has is whole, and resume does the rest`(
        plan: String
    ) throws {
        let sandbox = try CopySandbox.make(Self.card, "mkdir $R/b")
        let result = try sandbox.run("backupfs copy $R/card $R/a $R/b", Self.layer(sandbox, "b", plan))
        try sandbox.sh(CopySandbox.findJob)
        #expect(try sandbox.sh("wc -l < $R/calls") != "0", "\(plan) hit nothing")
        #expect(result.exitCode == 3, "\(plan): \(result.text)")
        #expect(try sandbox.sh("\(Self.statuses("a")); diff -r $R/card $R/a && echo same") == "verified 8\nsame", "\(plan)")
        #expect(try sandbox.sh("cat $J/state; head -c 6 $J/errors.txt") == "failed\nErrors", "\(plan)")
        // Each file that has its name has its bytes.
        try sandbox.sh("cd $R/b; find . -type f ! -name '*part' -exec cmp {} $R/card/{} \\;")
        try sandbox.sh("backupfs copy --resume $(basename $(readlink $J)) > $R/out; diff -r $R/card $R/b")
        #expect(try sandbox.sh("cat $J/state; find $R/b -name '*part'; jq length $J/results.json") == "completed\n16", "\(plan)")
    }

    @Test(arguments: [("DCIM/clip.mov", 1), ("DCIM/clip.mov", 4), ("DCIM/3.jpg", 1), ("DCIM/note.txt", 1)])
    func `a source with sectors that cannot be read: the file is named, and the others are copied`(
        path: String, read: Int
    ) throws {
        let sandbox = try CopySandbox.make(Self.card)
        let result = try sandbox.run(
            "backupfs copy $R/card $R/a $R/b", Self.layer(sandbox, "card", "unreadable@\(read) pread \(path)"))
        try sandbox.sh(CopySandbox.findJob)
        #expect(result.exitCode == 3, "\(result.text)")
        #expect(try sandbox.sh("\(Self.statuses("a")); \(Self.statuses("b"))") == "failed 1 verified 7\nfailed 1 verified 7")
        #expect(
            try sandbox.sh("jq -r '.[] | select(.status == \"failed\") | .path' $J/results.json | uniq") == path)
        #expect(try sandbox.sh("grep -c 'Input/output error' $J/errors.txt; [ -e $R/a/\(path) ] || echo none") == "2\nnone")
        try sandbox.sh("backupfs copy --resume $(basename $(readlink $J)) > $R/out; diff -r $R/card $R/a; diff -r $R/card $R/b")
    }

    @Test(.enabled(if: Machine.isRoot))
    func `a destination that becomes read-only in the middle fails alone`() throws {
        let sandbox = try CopySandbox.make(Self.card, "mkdir $R/b")
        let result = try sandbox.runInNamespace(
            """
            set -e; mount -t tmpfs none $R/b
            touch $R/hold; BACKUPFS_FAULT=copy.source-read:2=pause:$R/hold backupfs copy $R/card $R/a $R/b > $R/out 2> $R/err & process=$!
            wait_paused $R/hold $process; wait_until 'mount -o remount,ro $R/b 2>/dev/null'
            rm $R/hold; code=0; wait $process || code=$?; echo "exit $code"; \(CopySandbox.findJob)
            diff -r $R/card $R/a && echo same; cat $J/state; \(Self.statuses("a"))
            jq -r --arg b $R/b '[.[] | select(.destination == $b) | .status] | unique | map(select(. != "verified")) | join(" ")' $J/results.json
            mount -o remount,rw $R/b; backupfs copy --resume $(basename $(readlink $J)) > $R/out
            diff -r $R/card $R/b && echo same; cat $J/state; find $R/b -name '*part' | wc -l
            """)
        #expect(
            result.lines == ["exit 3", "same", "failed", "verified 8", "fileAccessDenied", "same", "completed", "0"],
            "\(result.text)")
    }

    /// By FUSE, since not each kernel has exFAT.
    @Test(.enabled(if: Machine.isRoot && !Machine.skipsMountedTests))
    func `COP-03: exFAT: names that it cannot hold are refused before the copy, and what it does not keep is a warning`() throws {
        let sandbox = try CopySandbox.make(
            Self.card,
            """
            cd $R/card; echo 1 > DCIM/a.txt; echo 2 > DCIM/A.TXT; echo 3 > 'DCIM/why?.txt'; ln -s note.txt DCIM/link; mkdir $R/disk
            chmod 640 DCIM/note.txt; touch -d '2021-03-04 05:06:07.125' DCIM/note.txt; truncate -s 3M DCIM/hole
            truncate -s 64M $R/image; mkfs.exfat $R/image > /dev/null
            """)
        let result = try sandbox.runInNamespace(
            """
            set -e; loop=$(losetup -f --show $R/image); trap 'umount $R/disk; losetup -d $loop' EXIT; mount.exfat-fuse $loop $R/disk > /dev/null 2>&1
            code=0; backupfs copy $R/card $R/disk/one 2> $R/refused || code=$?; echo "exit $code"; ls -A $R/disk
            rm $R/card/DCIM/A.TXT $R/card/DCIM/why* $R/card/DCIM/link; code=0; backupfs copy $R/card $R/disk/one > $R/out 2> $R/warned || code=$?
            echo "exit $code"; diff -r $R/card $R/disk/one && echo same; stat -c %y $R/disk/one/DCIM/note.txt | cut -c 1-19
            backupfs copy $R/card $R/disk/one > $R/again; grep -c 'present 10' $R/again
            """)
        #expect(result.lines == ["exit 1", "exit 0", "same", "2021-03-04 05:06:07", "1"], "\(result.text)")
        let refused = try sandbox.sh("cat $R/refused")
        #expect(refused.contains("3 problems") && refused.contains("A.TXT") && refused.contains("why?.txt"), "\(refused)")
        let warned = try sandbox.sh("cat $R/warned")
        #expect(warned.contains("modes are not kept") && warned.contains("times are kept less exactly"), "\(warned)")
    }
}
