import TestSupport
import Testing

/// `--hash`, and the lists of checksums that `backupfs copy --manifest` writes, as the programs of others read them.
struct ListWritingTests {
    private static let oddNames = #"""
        cd $R/card; printf 1 > $'line\nfeed'; printf 2 > 'back\slash'; printf 3 > $'return\r'; printf 4 > 'a b  c'; printf 5 > '*star'
        printf 6 > 'uml-äöü'; printf 7 > 'amp&<less>"quote'
        """#

    @Test func `each algorithm computes what other programs do, for small, large and sparse files`() throws {
        let sandbox = try ListTools.sandbox("truncate -s 20M $R/card/sparse; printf end >> $R/card/sparse")
        try sandbox.sh(
            """
            . $R/tools; backupfs copy --verify quick --hash md5 --hash sha1 --hash sha256 --hash xxh128 --hash c4 --hash xxh64 --hash xxh3 $R/card $R/a > $R/out
            \(CopySandbox.findJob)
            for file in DCIM/nothing DCIM/one.txt DCIM/100/edge DCIM/100/over DCIM/large.mov sparse; do
                for algorithm in md5 sha1 sha256 xxh128 c4 xxh64 xxh3; do
                    found=$(jq -r --arg f $file '.[] | select(.path == $f) | .'$algorithm $J/results.json)
                    [ "$found" = "$(hash_of $algorithm $R/card/$file)" ] || { echo "$file $algorithm $found" >&2; exit 1; }
                done
            done
            """)
        #expect(try sandbox.sh("jq -r '.hash | join(\" \")' $J/job.json") == "c4 md5 sha1 sha256 xxh128 xxh3 xxh64")
        // The empty file, by the text of SMPTE ST 2114.
        #expect(
            try sandbox.sh("jq -r '.[] | select(.path == \"DCIM/nothing\") | .c4' $J/results.json")
                == "c459dsjfscH38cYeXXYogktxf4Cd9ibshE3BHUo6a58hBXmRQdZrAkZzsWcbWtDg5oQstpDuni4Hirj75GEmTc1sFT")
        try sandbox.sh("rm -r $R/a; backupfs copy --hash xxh128 $R/card $R/a > $R/out; \(CopySandbox.findJob)")
        #expect(
            try sandbox.sh("jq -r '[.[] | [.sha256, .xxh128, .md5, .c4] | map(. != null)] | unique | tostring' $J/results.json")
                == "[[true,true,false,false]]")
    }

    @Test func `sha256sum accepts the list, refuses a flipped byte, and no other list is overwritten`() throws {
        let sandbox = try ListTools.sandbox(Self.oddNames, #"cd $R/card; printf 8 > $'bad-\xff'; ln -s DCIM link"#)
        try sandbox.sh("backupfs copy --manifest sha256sums $R/card $R/a $R/b > $R/out")
        for place in ["$R/a", "$R/b"] {
            try sandbox.sh("cd \(place); sha256sum --quiet -c SHA256SUMS")
            #expect(
                try sandbox.sh("wc -l < \(place)/SHA256SUMS; find $R/card -type f -printf x | wc -c") == "44\n44")
            #expect(try sandbox.sh("stat -c %a \(place)/SHA256SUMS") == "644")
        }
        try sandbox.sh(". $R/tools; flip $R/b/DCIM/large.mov 4000000; cd $R/b; ! sha256sum --status -c SHA256SUMS")

        // The same copy once more has the same list.
        try sandbox.sh("cp $R/a/SHA256SUMS $R/before; backupfs copy --manifest sha256sums $R/card $R/a > $R/out 2>&1")
        #expect(try sandbox.sh("cmp $R/before $R/a/SHA256SUMS; ls $R/a | grep -c SHA256SUMS") == "1")

        // Another card into the same folder gets another one.
        let second = try sandbox.run(
            "mkdir $R/other; printf x > $R/other/new; backupfs copy --manifest sha256sums $R/other $R/a; \(CopySandbox.findJob)")
        #expect(second.exitCode == 0 && second.errors.contains("the list of checksums is SHA256SUMS-2"), "\(second.text)")
        #expect(
            try sandbox.sh("cmp $R/before $R/a/SHA256SUMS; cd $R/a; sha256sum --quiet -c SHA256SUMS-2; wc -l < SHA256SUMS-2")
                == "1"
        )
    }

    @Test func `bagit accepts the bag, and refuses a flipped byte`() throws {
        let sandbox = try ListTools.sandbox(Self.oddNames)
        try sandbox.sh(". $R/tools; backupfs copy --manifest bagit $R/card $R/a $R/b > $R/out; bag_check $R/a; bag_check $R/b")
        #expect(try sandbox.sh(CopySandbox.differences("$R/a/data")) == "")
        let size = try sandbox.sh("find $R/card -type f -printf '%s\\n' | awk '{ s += $1; n++ } END { print s \".\" n }'")
        #expect(
            try sandbox.sh("cat $R/a/bagit.txt; grep Oxum $R/a/bag-info.txt; ls $R/a")
                == """
                BagIt-Version: 1.0
                Tag-File-Character-Encoding: UTF-8
                Payload-Oxum: \(size)
                bag-info.txt
                bagit.txt
                data
                manifest-sha256.txt
                tagmanifest-sha256.txt
                """)
        try sandbox.sh(". $R/tools; flip $R/b/data/DCIM/100/clip.mov 1000; ! bag_check $R/b 2> $R/err")
        // The same copy once more changes nothing; another one is refused.
        try sandbox.sh(
            ". $R/tools; cp -a $R/a $R/before; backupfs copy --manifest bagit $R/card $R/a > $R/out; diff -r $R/a $R/before")
        try sandbox.fails(
            "mkdir $R/other; printf x > $R/other/new; backupfs copy --manifest bagit $R/other $R/a",
            saying: "the destination is a bag already, and it lacks files of the source", exitCode: 1)
        #expect(try sandbox.sh("diff -r $R/a $R/before") == "")
        // A file under the next name is no copy that the bag knows.
        try sandbox.fails(
            "mkdir $R/more $R/more/DCIM; printf longer > $R/more/DCIM/one.txt; printf 123456 > $R/a/data/DCIM/one-2.txt; backupfs copy --manifest bagit --on-conflict rename $R/more $R/a",
            saying: "the destination is a bag already, and it lacks files of the source", exitCode: 1)
        try sandbox.sh("rm $R/a/data/DCIM/one-2.txt")
        // The bag has a file of the name and the size; a copy under another name would not be in its list.
        try sandbox.fails(
            "rm $R/other/new; mkdir $R/other/DCIM; printf two > $R/other/DCIM/one.txt; backupfs copy --manifest bagit --on-conflict rename $R/other $R/a",
            saying: "another file has the name in the destination", exitCode: 1)
        #expect(
            try sandbox.run("backupfs copy --manifest bagit $R/other $R/a").text.contains(
                "and the list of the bag has that file: copy into another folder"))
        #expect(try sandbox.sh("diff -r $R/a $R/before") == "")
        // A file that comes after the check.
        let late = try sandbox.run(
            """
            rm -r $R/other; cp -a $R/card $R/other; touch $R/hold
            BACKUPFS_FAULT=copy.source-read:1=pause:$R/hold backupfs copy --manifest bagit $R/other $R/a > $R/late 2>&1 & process=$!
            wait_paused $R/hold $process; echo late > $R/other/DCIM/zlate; echo late > $R/other/zlate; mkdir -p $R/other/ZZ; echo late > $R/other/ZZ/late
            rm $R/hold; code=0; wait $process || code=$?; echo $code; grep -c 'the bag that is there lacks this file' $R/late
            find $R/a -name '*late' | wc -l; . $R/tools; bag_check $R/a && echo valid
            """)
        #expect(late.lines.first == "3" && late.lines.suffix(2) == ["0", "valid"], "\(late.text)")
        try sandbox.sh("rm -rf $R/a; cp -a $R/before $R/a; rm -r $R/other; mkdir -p $R/other/DCIM")
        // Nothing is added, and yet the bag has more than the source.
        try sandbox.fails(
            "rm -r $R/other/DCIM; mkdir $R/other/MISC; cp -p $R/a/data/MISC/1.txt $R/other/MISC/; backupfs copy --manifest bagit $R/other $R/a",
            saying: "the folder of a bag has a file that is not of this job", exitCode: 3)
    }

    @Test func `nothing is copied into the payload of a bag that is there, and the bag stays valid`() throws {
        let sandbox = try ListTools.sandbox(
            """
            backupfs copy --manifest bagit $R/card $R/bag > $R/out; mkdir $R/other; printf x > $R/other/new; ln -s bag/data/MISC $R/link
            cp -a $R/bag $R/before; mkdir -p $R/data/sub $R/b/data; printf x > $R/b/bagit.txt.old
            """)
        for place in ["$R/bag/data", "$R/bag/data/DCIM", "$R/bag/data/folder", "$R/link", "$R/link/folder"] {
            for options in ["", "--manifest sha256sums", "--label prefix", "--on-conflict rename"] {
                try sandbox.fails(
                    "backupfs copy \(options) $R/other $R/c \(place)", saying: "With --manifest bagit, a new folder", exitCode: 2)
            }
        }
        // A bag in a bag.
        try sandbox.fails(
            "backupfs copy --manifest bagit $R/other $R/bag/data", saying: "in the payload of the bag \(sandbox("bag"))",
            exitCode: 2)
        #expect(try sandbox.sh("diff -r $R/bag $R/before; [ ! -e $R/c ]; . $R/tools; bag_check $R/bag") == "")
        // Beside the payload, a bag may have other files. Without a declaration, there is no bag.
        try sandbox.sh(
            """
            . $R/tools; backupfs copy $R/other $R/bag/notes > $R/out; backupfs copy $R/other $R/data/sub $R/b/data >> $R/out
            bag_check $R/bag; cmp $R/other/new $R/bag/notes/new; cmp $R/other/new $R/data/sub/new; cmp $R/other/new $R/b/data/new
            """)
        // A job whose destination has become a bag since then.
        try sandbox.sh("mkdir $R/later; backupfs copy $R/other $R/later/data > $R/out; \(CopySandbox.findJob)")
        try sandbox.fails(
            "cp $R/bag/bagit.txt $R/later/; printf y > $R/other/y; backupfs copy --resume $(basename $(readlink $R/job))",
            saying: "in the payload of the bag", exitCode: 2)
    }

    @Test func `files that are copied into a folder with an ASC MHL history are in its next generation`() throws {
        let sandbox = try ListTools.sandbox(
            "backupfs copy --manifest ascmhl $R/card $R/a > $R/out; mkdir $R/other; printf x > $R/other/new")
        try sandbox.sh(
            """
            . $R/tools; mhl verify $R/a > $R/mhl.out; backupfs copy $R/other $R/a/DCIM > $R/out 2> $R/err; [ ! -s $R/err ]
            ! mhl verify $R/a > $R/mhl.out 2>&1; grep -q 'found new file DCIM/new' $R/mhl.out; ! grep -q mismatch $R/mhl.out
            mhl create -h xxh128 $R/a > $R/mhl.out; mhl verify $R/a > $R/mhl.out; mhl diff $R/a > $R/mhl.out; grep -q DCIM/new $R/a/ascmhl/0002*
            """)
    }

    @Test func `a name with a percent sign is encoded as RFC 8493 says; links and foreign names are refused`() throws {
        let sandbox = try ListTools.sandbox("printf x > $R/card/100%25")
        try sandbox.sh("backupfs copy --manifest bagit $R/card $R/a > $R/out")
        #expect(try sandbox.sh("grep -o 'data/100.*' $R/a/manifest-sha256.txt; cat $R/a/data/100%25") == "data/100%2525\nx")
        try sandbox.fails(
            "ln -s DCIM $R/card/link; backupfs copy --manifest bagit $R/card $R/b", saying: "a bag cannot hold links", exitCode: 3
        )
        #expect(try sandbox.sh("ls $R/b") == "data")
        try sandbox.fails(
            #"rm $R/card/link; printf x > $R/card/$'bad-\xff'; backupfs copy --manifest bagit $R/card $R/c"#,
            saying: "its name is not UTF-8", exitCode: 3)
        try sandbox.fails(
            "backupfs copy --manifest bagit --manifest ascmhl $R/card $R/d", saying: "cannot be combined", exitCode: 2)
    }

    @Test func `a copy that is not complete gets no list`() throws {
        let sandbox = try ListTools.sandbox("mkdir -p $R/a/DCIM; printf other > $R/a/DCIM/one.txt")
        let result = try sandbox.run(
            "backupfs copy --manifest sha256sums --manifest ascmhl $R/card $R/a $R/b; echo $?; \(CopySandbox.findJob)")
        #expect(
            result.lines.last == "3" && result.errors.contains("was written, since not everything was copied"), "\(result.text)")
        #expect(try sandbox.sh("ls $R/a $R/b | tr '\\n' ' '").hasSuffix("/b: DCIM MISC SHA256SUMS ascmhl empty "))
        #expect(try sandbox.sh("ls $R/a | tr '\\n' ' '") == "DCIM MISC empty ")
        try sandbox.sh(
            "rm $R/a/DCIM/one.txt; backupfs copy --resume $(readlink $J) > $R/out; cd $R/a; sha256sum --quiet -c SHA256SUMS")
        #expect(try sandbox.sh("cat $J/state; ls $R/a/ascmhl | wc -l") == "completed\n2")
    }

    @Test(arguments: ["bagit", "ascmhl"])
    func `reports do not go where a list would lack them, and a copy that was not read back gets no list`(kind: String) throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let result = try sandbox.run("backupfs copy --manifest \(kind) --report csv --report-in-destination $R/card $R/a")
        #expect(result.exitCode == 0 && result.text.contains("would lack them"), "\(result.text)")
        #expect(try sandbox.sh("\(CopySandbox.findJob); find $R/a -name Reports; ls $J/reports") == "report.csv")
        try sandbox.fails("backupfs copy --manifest \(kind) --verify quick $R/card $R/c", saying: "were read back", exitCode: 2)
    }
}
