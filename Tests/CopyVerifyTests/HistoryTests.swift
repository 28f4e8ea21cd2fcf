import TestSupport
import Testing

/// ASC MHL histories: those that `backupfs copy` begins and those that it goes on with, as the reference program of the ASC reads
/// them.
struct HistoryTests {
    @Test func `the ASC's program accepts a new history, by its files and by its folders, and refuses a flipped byte`() throws {
        let sandbox = try ListTools.sandbox(
            "mkdir $R/card/empty/inner; printf x > $R/card/'amp&<less> ä'; printf y > $R/card/.DS_Store")
        try sandbox.sh(
            """
            . $R/tools; backupfs copy --hidden --manifest ascmhl --manifest sha256sums --hash c4 --hash md5 --hash xxh128 $R/card $R/a $R/b > $R/out
            for place in $R/a $R/b; do
                mhl_check $place; mhl verify $place; mhl verify -dh $place; mhl diff $place; mhl info $place
                ls $place/ascmhl | grep -xE '0001_[ab]_20[0-9-]{8}_[0-9]{6}Z.mhl' > $R/name; [ $(wc -l < $R/name) = 1 ]
            done > $R/mhl.out
            """)
        // The hashes of the folders are those that the ASC's program computes.
        try sandbox.sh(
            """
            . $R/tools; cp -r $R/a $R/again; rm -r $R/again/ascmhl; mhl create -h c4 -h md5 -h xxh128 $R/again > $R/mhl.out
            for place in a again; do
                sed -n '/<roothash>/,/<\\/roothash>/p' $R/$place/ascmhl/*.mhl | sed -E 's/ hashdate=[^>]*//; s/^ *//' > $R/root-$place
                grep -h -A10 '<directoryhash>' $R/$place/ascmhl/*.mhl | grep -oE '<(path|c4|md5|xxh128)[^>]*>[^<]*' | sed 's/ [^>]*//' | sort > $R/folders-$place
            done
            cmp $R/root-a $R/root-again; cmp $R/folders-a $R/folders-again; [ $(wc -l < $R/root-a) = 12 ]; [ $(grep -c path $R/folders-a) = 5 ]
            """)
        try sandbox.sh(
            ". $R/tools; flip $R/b/DCIM/large.mov 8999999; ! mhl verify $R/b > $R/mhl.out 2>&1; grep -q 'hash mismatch' $R/mhl.out"
        )
    }

    @Test func `a second copy adds a generation that says verified`() throws {
        let sandbox = try ListTools.sandbox()
        try sandbox.sh(". $R/tools; backupfs copy --manifest ascmhl $R/card $R/a > $R/out; printf new > $R/card/new.txt")
        try sandbox.sh(
            ". $R/tools; backupfs copy --manifest ascmhl --hash md5 $R/card $R/a > $R/out; mhl verify $R/a > $R/mhl.out; mhl verify -dh $R/a > $R/mhl.out; mhl_check $R/a"
        )
        #expect(
            try sandbox.sh("grep -ohE 'action=\"[a-z]*\"' $R/a/ascmhl/0002*.mhl | sort | uniq -c | tr -s ' '")
                == " 2 action=\"original\"\n 72 action=\"verified\"")
        #expect(try sandbox.sh("grep -c sequencenr $R/a/ascmhl/ascmhl_chain.xml; ls $R/a/ascmhl | wc -l") == "2\n3")
        // Resumed, it has nothing to add.
        try sandbox.sh(
            "\(CopySandbox.findJob); cp -a $R/a/ascmhl $R/before; backupfs copy --resume $(readlink $J) > $R/out; diff -r $R/before $R/a/ascmhl"
        )
    }

    @Test(arguments: Rounds.part(of: ["xxh64", "md5", "sha1", "c4", "xxh3", "xxh128"], oneIn: 6))
    func `the history of a source goes on in its copies`(algorithm: String) throws {
        let sandbox = try ListTools.sandbox("mhl create -h \(algorithm) $R/card > $R/mhl.out; cp -a $R/card/ascmhl $R/before")
        try sandbox.sh(
            """
            . $R/tools; backupfs copy --manifest ascmhl $R/card $R/a $R/b > $R/out 2> $R/err; [ ! -s $R/err ]; \(CopySandbox.findJob)
            diff -r $R/before $R/card/ascmhl
            for place in $R/a $R/b; do
                mhl verify $place; mhl verify -dh $place; mhl diff $place; mhl_check $place; cmp $place/ascmhl/0001* $R/before/0001*
                [ $(ls $place/ascmhl/0002*.mhl | wc -l) = 1 ]; ! grep -q original $place/ascmhl/0002*
                [ $(grep -c '<\(algorithm) action="verified"' $place/ascmhl/0002*) = 36 ]
            done > $R/mhl.out
            """)
        #expect(try sandbox.sh("jq -r '[.[].status] | unique | join(\" \")' $J/results.json") == "verified")
        // And in a copy of the copy, which the program of the ASC goes on with.
        try sandbox.sh(
            """
            . $R/tools; backupfs copy --manifest ascmhl $R/a $R/c > $R/out; mhl verify $R/c > $R/mhl.out; ls $R/c/ascmhl | wc -l | grep -qx 4
            mhl create -h \(algorithm) $R/c > $R/mhl.out; mhl verify $R/c > $R/mhl.out
            """)
        // Without --manifest, the history is copied as it is.
        try sandbox.sh(". $R/tools; backupfs copy $R/card $R/d > $R/out; diff -r $R/card $R/d; mhl verify $R/d > $R/mhl.out")
    }

    @Test func `a damaged file of the source is copied, named, and recorded as failed`() throws {
        let sandbox = try ListTools.sandbox("mhl create -h xxh64 $R/card > $R/mhl.out; flip $R/card/DCIM/100/clip.mov 2000000")
        let result = try sandbox.run(
            "backupfs copy --manifest ascmhl --manifest sha256sums $R/card $R/a $R/b; echo $?; \(CopySandbox.findJob)")
        #expect(result.lines.last == "3", "\(result.text)")
        #expect(
            try sandbox.sh(
                "jq -r '.[] | select(.status != \"verified\") | \"\\(.path) \\(.destination) \\(.status)\"' $J/results.json | sort"
            )
                == ["a", "b"].map { "DCIM/100/clip.mov \(sandbox($0)) sourceMismatch" }.joined(separator: "\n"))
        #expect(result.errors.contains("the source is not what its list of checksums says"))
        #expect(
            try sandbox.sh("cmp $R/card/DCIM/100/clip.mov $R/a/DCIM/100/clip.mov; cat $J/state; ls $R/a")
                == "failed\nDCIM\nMISC\nascmhl\nempty")
        #expect(
            try sandbox.sh("grep -B1 -A1 failed $R/a/ascmhl/0002* | grep -o 'path.*clip.mov\\|xxh64 action=.failed\\|xxh128' ")
                .contains(
                    "xxh64 action=\"failed"))
        #expect(try sandbox.sh("grep -c failed $R/a/ascmhl/0002*") == "1")
        try sandbox.sh(
            ". $R/tools; mhl_check $R/a; ! mhl verify $R/a > $R/mhl.out 2>&1; grep -q 'hash mismatch.*clip.mov' $R/mhl.out")
        // Repaired and resumed, all is well.
        try sandbox.sh(
            """
            . $R/tools; flip $R/card/DCIM/100/clip.mov 2000000; rm $R/[ab]/DCIM/100/clip.mov
            backupfs copy --resume $(readlink $J) > $R/out; mhl verify $R/a > $R/mhl.out; cat $J/state | grep -qx completed; ls $R/a/ascmhl/0003*
            """)
    }

    @Test(arguments: ["copy.ascmhl-begun", "copy.ascmhl-written"])
    func `a job that is killed while it adds a generation adds it once`(point: String) throws {
        let sandbox = try ListTools.sandbox("mhl create -h xxh64 $R/card > $R/mhl.out")
        let killed = try sandbox.run("backupfs copy --manifest ascmhl $R/card $R/a", ["BACKUPFS_FAULT": point])
        #expect(killed.exitCode == 137, "\(killed.text)")
        try sandbox.sh(
            ". $R/tools; \(CopySandbox.findJob); backupfs copy --resume $(readlink $J) > $R/out; mhl verify $R/a > $R/mhl.out; mhl_check $R/a"
        )
        #expect(
            try sandbox.sh("ls $R/a/ascmhl | wc -l; grep -c sequencenr $R/a/ascmhl/ascmhl_chain.xml; find $R/a -name '*part*'")
                == "3\n2")
    }

    @Test func `links are left out, other files are named, and a history of another card is refused`() throws {
        let sandbox = try ListTools.sandbox("ln -s DCIM/one.txt $R/card/MISC/'link [1]'; mkdir $R/a; printf x > $R/a/other")
        let result = try sandbox.run("backupfs copy --manifest ascmhl $R/card $R/a $R/b; \(CopySandbox.findJob)")
        #expect(result.exitCode == 0 && result.errors.contains("1 file is not of this job"), "\(result.text)")
        // The program of the ASC looks at the pattern of a link only there.
        try sandbox.sh(
            """
            . $R/tools; mhl diff $R/b > $R/mhl.out; mhl_check $R/a; mhl_check $R/b; grep -F '<pattern>/MISC/link \\[1\\]</pattern>' $R/b/ascmhl/*.mhl
            sed -n '/<roothash>/,/<\\/roothash>/p' $R/a/ascmhl/*.mhl > $R/root; ! grep -q xxh128 $R/root; ! mhl verify $R/a > $R/mhl.out 2>&1
            rm $R/a/other $R/a/MISC/link*; mhl verify $R/a > $R/mhl.out; mhl verify -dh -h xxh128 $R/a > $R/mhl.out
            """)
        try sandbox.fails(
            ". $R/tools; rm $R/card/MISC/link*; mhl create -h md5 $R/card > $R/mhl.out; backupfs copy --manifest ascmhl $R/card $R/a",
            saying: "the ASC MHL history of the destination is not that of the source", exitCode: 3)
        // It is looked at all the same.
        try sandbox.sh(
            ". $R/tools; rm -r $R/card/ascmhl; mhl create -h md5 $R/card/DCIM > $R/mhl.out; backupfs copy $R/card $R/c > $R/out")
        try sandbox.fails(
            "backupfs copy --manifest ascmhl $R/card $R/d", saying: "a folder in the copy has an ASC MHL history of its own",
            exitCode: 3)
        try sandbox.fails(
            ". $R/tools; flip $R/card/DCIM/large.mov 7; backupfs copy $R/card $R/e",
            saying: "DCIM/large.mov: sourceMismatch", exitCode: 3)
    }

    @Test func `patterns of names are those that the ASC's program leaves out`() throws {
        // The program of the ASC compares patterns with the whole path, also with the part above the card.
        let sandbox = try ListTools.sandbox(
            """
            mkdir -p $R/card/cache/in $R/card/MISC/cache $R/card/sub/deep; cd $R/card; touch a.1-left-out MISC/b.1-left-out MISC/top.bin top.bin cache/in/x
            touch MISC/cache/y sub/one.log sub/deep/two.log zz.x cz.x az.x 'esc*ape' escXape ü1 12 name.only MISC/name.only sub/name.only
            mhl create -h md5 -i '*.1-left-out' -i /top.bin -i cache/ -i 'sub/*.log' -i '[!a-c]?.x' -i 'esc\\*ape' -i 'ü?' -i MISC/name.only . > $R/mhl.out
            """)
        let files = "grep -hoE '<path[^>]*>[^<]*' FILES | sed 's/.*>//' | sort"
        try sandbox.sh(
            """
            backupfs copy --manifest ascmhl $R/card $R/a > $R/out 2> $R/err
            for n in 1 2; do
                sed -n '/<content>/,/<\\/structure>/p' $R/a/ascmhl/000${n}* | grep '<md5' | grep -o '>[0-9a-f]*<' | sort > $R/folders-$n
            done
            [ -s $R/folders-1 ]; diff $R/folders-1 $R/folders-2; \(files.replacing("FILES", with: "$R/a/ascmhl/0001*")) > $R/theirs
            \(files.replacing("FILES", with: "$R/a/ascmhl/0002*")) > $R/ours; diff $R/theirs $R/ours
            """)
        #expect(
            try sandbox.sh("grep -xE 'top.bin|MISC/top.bin|.*name.only|.*x|esc.*|.*log|ü1|.*left-out|cache.*|[a-c]z.x' $R/ours")
                == "MISC/top.bin\naz.x\ncz.x\nescXape\nname.only\nsub/deep/two.log\nsub/name.only")
    }

    /// Each would be read and noted again.
    @Test func `a chain that lists a generation twice is refused`() throws {
        let sandbox = try ListTools.sandbox("mhl create -h md5 $R/card > $R/mhl.out")
        try sandbox.sh(
            """
            cd $R/card/ascmhl; sed -n '/<hashlist/,/<\\/hashlist>/p' ascmhl_chain.xml > $R/entry
            sed -i "/<\\/ascmhldirectory>/e cat $R/entry" ascmhl_chain.xml; [ $(grep -c '<path>' ascmhl_chain.xml) = 2 ]
            """)
        try sandbox.fails("backupfs copy $R/card $R/a", saying: "generation 2 is listed twice", exitCode: 1)
    }

    /// The patterns of a history can be any, and each name is compared with each of them.
    @Test func `a hostile pattern takes no longer than others, and too many are refused`() throws {
        let sandbox = try ListTools.sandbox(
            """
            mhl create -h md5 -i "$(printf '*a%.0s' $(seq 60))*b" -i "/$(printf '*a%.0s' $(seq 60))*b/c" $R/card > $R/mhl.out
            name=$(printf 'a%.0s' $(seq 255)); printf x > $R/card/$name; mkdir -p $R/card/DCIM/$name; printf y > $R/card/DCIM/$name/c
            """)
        try sandbox.sh(
            """
            backupfs copy --manifest ascmhl $R/card $R/a > $R/out 2> $R/err; grep -cE 'path.*>(DCIM/)?a{255}(/c)?</path' $R/a/ascmhl/0002* | grep -qx 3
            """)
        // As a stranger's program would write it.
        let patterns = "seq 300 | sed 's|.*|      <pattern>*&</pattern>|'"
        let long = "for i in 1 2 3 4 5; do printf '<pattern>%s</pattern>' \"$(head -c 60000 /dev/zero | tr '\\0' '*')\"; done"
        for (lines, message, code) in [
            (patterns, "its history leaves out more than 256 patterns with wildcards", Int32(3)),
            ("for j in $(seq 20); do \(long); done", "it has too many patterns of names that are left out", 1),
            (
                "printf '<pattern>*[%s>a]b</pattern>' \"$(printf '<%.0s' $(seq 9000) | sed 's/</b/g')\"",
                "it has too many patterns of names", 3
            ),
        ] {
            try sandbox.fails(
                """
                . $R/tools; rm -rf $R/card/ascmhl $R/b; mhl create -h md5 $R/card/MISC > $R/mhl.out; cd $R/card/MISC/ascmhl
                { sed '/<ignore>/q' 0001*; \(lines); sed '1,/<ignore>/d' 0001*; } > $R/new; cat $R/new > 0001*
                c4=$(mhl_hash c4 $(ls 0001*)); sed -i "s|<c4>.*</c4>|<c4>$c4</c4>|" ascmhl_chain.xml
                cd $R; backupfs copy --manifest ascmhl $R/card/MISC $R/b
                """, saying: message, exitCode: code)
            try sandbox.sh("rm -r $R/card/MISC/ascmhl")
        }
    }
}
