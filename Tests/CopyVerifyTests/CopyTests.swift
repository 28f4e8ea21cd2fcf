import TestSupport
import Testing

/// `backupfs copy`, as users and scripts run it.
struct CopyTests {
    /// Requirements COP-01, COP-07, FBM-01, FBM-04.
    @Test func `everything arrives at three destinations, as it is in the source`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, CopySandbox.oddities)
        try sandbox.sh("backupfs copy $R/card $R/a $R/b $R/c > $R/out; \(CopySandbox.findJob)")
        for place in ["$R/a", "$R/b", "$R/c"] {
            #expect(try sandbox.sh(CopySandbox.differences(place)) == "")
            // Holes are kept: 20 MiB take a few blocks.
            #expect(
                try sandbox.sh(
                    "[ $(du -k \(place)/sparse | cut -f1) -lt 100 ]; [ $(du -k \(place)/hole | cut -f1) -eq 0 ]; echo yes")
                    == "yes")
            // Each name of a hard link is a file of its own.
            #expect(try sandbox.sh("stat -c %h \(place)/hard \(place)/DCIM/one.txt") == "1\n1")
            #expect(try sandbox.sh("find \(place) -name '*backupfs-part*'") == "")
        }
        #expect(try sandbox.sh("cat $J/state") == "completed")
        #expect(try sandbox.sh("jq length $J/results.json") == "135")
        #expect(try sandbox.sh("find $R/card '(' -type f -o -type l ')' -printf x | wc -c") == "45")
        #expect(try sandbox.sh("jq -r '.[].status' $J/results.json | sort | uniq -c | tr -s ' '") == " 135 verified")
        // The checksums are those of another program.
        try sandbox.sh(
            """
            jq -r '.[] | select(.sha256 and (.path | contains("\\n") | not) and .path_base64 == null) | "\\(.sha256)  \\(.path)"' $J/results.json > $R/sums
            cd $R/card; sha256sum --quiet -c $R/sums; [ $(wc -l < $R/sums) -eq 123 ]
            """)
        #expect(
            try sandbox.sh(
                "jq -r '[.[] | select(.path_base64) | .path_base64] | unique | .[]' $J/results.json | base64 -d | od -An -tx1 | tr -d ' '"
            ) == "6261642dfffe")
        #expect(
            try sandbox.sh("jq -r '[.[].read_back] | unique | map(. // \"null\") | join(\" \")' $J/results.json").contains("null")
        )
        #expect(try sandbox.sh("head -n 1 $J/errors.txt") == "Errors: 0")
        #expect(
            try sandbox.sh("jq -c '[.fileCount, .totalBytes, .byExtension.mov.count, .oldest]' $J/source_info.json")
                == "[45,\(try sandbox.sh("find $R/card -type f -printf '%s\\n' | awk '{ s += $1 } END { print s }'")),2,\"1969-12-31T23:59:58.500Z\"]"
        )
        let members = "averageBps bytesDone bytesTotal elapsedSeconds etaSeconds peakBps rollingBps"
        #expect(try sandbox.sh("jq -r 'keys | join(\" \")' $J/progress.json") == members)
    }

    /// Requirement COP-01.
    @Test func `the source is read once, for three destinations`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let size = try sandbox.sh("find $R/card -type f -printf '%s\\n' | awk '{ s += $1 } END { print s }'")
        try sandbox.sh(
            """
            wait_settled $R/card  # A file that has just changed is read twice.
            strace -ff -y -e trace=pread64,preadv2,read,io_submit -o $R/trace backupfs copy $R/card $R/a $R/b $R/c > $R/out
            cat $R/trace.* > $R/calls
            grep -v io_submit $R/calls | grep -F "<$R/card/" | grep -oE '= [0-9]+$' | cut -c 3- > $R/counts
            # Those that run at the same time read whole files.
            grep io_submit $R/calls | grep -oE "aio_fildes=[0-9]+<$R/card/[^>]*>" | sed 's/.*<//; s/>$//' > $R/files || true
            while read -r file; do stat -c %s "$file" >> $R/counts; done < $R/files
            """)
        #expect(try sandbox.sh("awk '{ s += $1 } END { print s }' $R/counts") == size)
    }

    @Test(arguments: ["quick", "standard", "thorough", "paranoid"])
    func `each mode has its digests`(mode: String) throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        try sandbox.sh("backupfs copy --verify \(mode) $R/card $R/a > $R/out; \(CopySandbox.findJob)")
        #expect(try sandbox.sh(CopySandbox.differences("$R/a")) == "")
        let row = "jq -r '.[] | select(.path == \"DCIM/100/clip.mov\")' $J/results.json | jq -r"
        let sums = try ["sha256", "md5", "sha1"].map { try sandbox.sh("\($0)sum $R/card/DCIM/100/clip.mov | cut -d ' ' -f 1") }
        let expected: [String] =
            switch mode {
            case "quick": ["null", "null", "null"]
            case "standard": [sums[0], "null", "null"]
            case "thorough": [sums[0], sums[1], "null"]
            default: sums
            }
        #expect(try ["sha256", "md5", "sha1"].map { try sandbox.sh("\(row) .\($0)") } == expected)
        #expect(try sandbox.sh("\(row) .status") == (mode == "quick" ? "copied" : "verified"))
    }

    /// Requirement COP-07.
    @Test func `hidden names are left out unless they are asked for; pipes always`() throws {
        let sandbox = try CopySandbox.make(
            "mkdir -p $R/card/.Trashes $R/card/d; cd $R/card; echo 1 > .hidden; echo 2 > d/.also; echo 3 > d/seen; echo 4 > .Trashes/x; mkfifo pipe"
        )
        let first = try sandbox.run("backupfs copy $R/card $R/a; \(CopySandbox.findJob)")
        #expect(first.output.contains("3 names that begin with a dot were left out"))
        #expect(first.errors.contains("pipe: not copied, since it is a device or a pipe"))
        #expect(try sandbox.sh("cd $R/a; find . | sort | tr '\\n' ' '") == ". ./d ./d/seen ")
        #expect(try sandbox.sh("sed -n 2p $J/errors.txt") == "Warnings: 1")
        try sandbox.sh("backupfs copy --hidden $R/card $R/b > $R/out 2>&1")
        #expect(try sandbox.sh("cd $R/b; find . -type f | sort | tr '\\n' ' '") == "./.Trashes/x ./.hidden ./d/.also ./d/seen ")
    }

    @Test func `an equal file is proved to be equal, a different one is never overwritten`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        // The same size and time, and other bytes at the end, at the start, and another size.
        try sandbox.sh(
            """
            mkdir $R/a; cp -a $R/card/. $R/a; cd $R/a; printf XXXX | dd of=DCIM/large.mov bs=1 seek=8999996 conv=notrunc status=none
            touch -r $R/card/DCIM/large.mov DCIM/large.mov; printf two > DCIM/one.txt; printf longer > MISC/7.txt; rm MISC/8.txt; rm -r empty
            cp -a $R/a $R/before
            """)
        let refused = try sandbox.run("backupfs copy $R/card $R/a; echo $?; \(CopySandbox.findJob)")
        #expect(refused.lines.last == "3")
        #expect(refused.errors.contains("DCIM/large.mov: conflict: another file has the name in the destination"))
        #expect(
            try sandbox.sh("jq -r '.[] | select(.status == \"conflict\") | .path' $J/results.json | sort")
                == "DCIM/large.mov\nDCIM/one.txt\nMISC/7.txt")
        #expect(try sandbox.sh("jq -r '[.[] | select(.status == \"present\")] | length' $J/results.json") == "32")
        #expect(
            try sandbox.sh("cat $R/a/MISC/8.txt; rm $R/a/MISC/8.txt; rmdir $R/a/empty; diff -r $R/a $R/before && echo same")
                == "8same")
        #expect(try sandbox.sh("cat $J/state; head -n 1 $J/errors.txt") == "failed\nErrors: 3")

        for _ in 0..<2 {
            try sandbox.sh("backupfs copy --on-conflict rename $R/card $R/a > $R/out; \(CopySandbox.findJob)")
            #expect(
                try sandbox.sh("cd $R/a; find . -name '*-[0-9].*' | sort | tr '\\n' ' '")
                    == "./DCIM/large-2.mov ./DCIM/one-2.txt ./MISC/7-2.txt ")
            #expect(
                try sandbox.sh(
                    "cd $R/card; for f in DCIM/large.mov DCIM/one.txt MISC/7.txt; do cmp $f $R/a/${f%.*}-2.${f##*.}; done; echo ok"
                ) == "ok")
        }
        // The second time, all of them were there.
        #expect(try sandbox.sh("jq -r '[.[].status] | unique | join(\" \")' $J/results.json") == "present")
        #expect(try sandbox.sh("jq -r '.[] | select(.path == \"DCIM/one.txt\") | .target' $J/results.json") == "DCIM/one-2.txt")
    }

    @Test func `a file or a link in the way of a folder is not followed or replaced`() throws {
        let sandbox = try CopySandbox.make(
            "mkdir -p $R/card/sub $R/a $R/outside; echo 1 > $R/card/sub/x; echo 2 > $R/card/y; ln -s $R/outside $R/a/sub")
        let result = try sandbox.run("backupfs copy $R/card $R/a; echo $?")
        #expect(result.lines.last == "3")
        #expect(try sandbox.sh("ls $R/outside; cat $R/a/y; readlink $R/a/sub") == "2\n\(sandbox("outside"))")
    }

    /// Requirement COP-08.
    @Test func `after 1,000 files as many files are open as before`() throws {
        let sandbox = try CopySandbox.make("mkdir $R/card; cd $R/card; for i in $(seq 1000); do echo $i > $i; done; printf x > z")
        let count = try sandbox.sh(
            """
            touch $R/hold; BACKUPFS_FAULT=copy.rows-written=pause:$R/hold backupfs copy $R/card $R/a > $R/out & process=$!
            wait_paused $R/hold $process; ls /proc/$process/fd | wc -l; rm $R/hold; wait $process
            """)
        #expect(try #require(Int(count)) < 40)
    }
}
