import TestSupport
import Testing

/// `backupfs compare` with an archive, a list of checksums, a backup and a mount on one side.
struct CompareSourceTests {
    static let card = #"""
        mkdir -p $R/l/DCIM/100 $R/l/MISC; cd $R/l; printf one > DCIM/one.txt; head -c 700000 /dev/urandom > DCIM/100/clip.mov; seq 20000 > MISC/numbers; : > MISC/empty
        printf s > 'a b'; printf t > $'line\nfeed'; printf u > 'back\slash'; printf v > a.txt; mkdir a; printf w > a/x; find . -type f -exec touch -d '2026-01-02 03:04:06' {} +
        """#

    @Test(arguments: ["SHA256SUMS", "MD5SUMS", "SHA1SUMS", "tagged"])
    func `a list of checksums of coreutils`(kind: String) throws {
        let sandbox = try CopySandbox.make(Self.card)
        let program =
            ["SHA256SUMS": "sha256sum", "MD5SUMS": "md5sum", "SHA1SUMS": "sha1sum", "tagged": "sha256sum --tag"][kind] ?? ""
        // In the folder itself, which does not list itself; by find, so in no order.
        try sandbox.sh("cd $R/l; find . -type f ! -name '*SUMS' -exec \(program) {} + > $R/sums; cp $R/sums SUMS")
        for sums in ["$R/sums", "$R/l/SUMS"] {
            let flags = sums == "$R/sums" ? "--no-moves" : ""
            if sums == "$R/sums" { try sandbox.sh("mv $R/l/SUMS $R/aside") } else { try sandbox.sh("mv $R/aside $R/l/SUMS") }
            let result = try sandbox.run("backupfs compare $R/l \(sums) --checksum \(flags); echo $?")
            #expect(result.lines.suffix(2) == ["The two sides are equal.", "0"], "\(result.text)")
        }
        let names = try sandbox.run("backupfs compare $R/l $R/l/SUMS")
        #expect(names.exitCode == 0)
        #expect(names.output.contains("Of 9 files only the names were compared"), "\(names.text)")
        try sandbox.sh(
            """
            cd $R/l; python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(5); f.write(b"!!!!")' DCIM/100/clip.mov; mv MISC/numbers MISC/renamed; rm a.txt; echo new > new
            backupfs compare $R/l SUMS --checksum --json > $R/json || [ $? = 1 ]
            """)
        #expect(
            try sandbox.sh(
                "jq -c '[.onlyInSource, .onlyInDestination, [.different[].path], [.moved[] | [.source, .destination]]]' $R/json")
                == #"[["MISC/renamed","new"],["MISC/numbers","a.txt"],["DCIM/100/clip.mov"],[["MISC/renamed","MISC/numbers"]]]"#)
        try sandbox.fails("backupfs compare $R/l $R/l/SUMS --bytes", saying: "a manifest has checksums and no bytes", exitCode: 1)
    }

    @Test(arguments: [
        "../x", "/etc/passwd", "a/../../x", "",
    ])
    func `a list that leads out of the folder is refused`(path: String) throws {
        let sandbox = try CopySandbox.make("mkdir $R/l")
        let sum = String(repeating: "0", count: 64)
        try sandbox.write("\(sum)  good\n\(sum)  \(path)\n", to: "SUMS")
        try sandbox.fails(
            "backupfs compare $R/l $R/SUMS --checksum", saying: "line 2: it names a file outside of its folder", exitCode: 1)
    }

    @Test func `a list that contradicts itself is refused, one with an escaped path, CRLF and comments is read`() throws {
        let sandbox = try CopySandbox.make(
            "mkdir -p $R/l/d; cd $R/l; printf abc > x; printf abc > d/y; printf abc > $'new\\nline'")
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        try sandbox.write(
            "# a comment\r\n\r\n\(sum.uppercased()) *./x\r\n\(sum)  x\r\n\(sum)  d//y\r\n\\\(sum)  new\\nline", to: "SUMS")
        #expect(try sandbox.run("backupfs compare $R/l $R/SUMS --checksum").lines.last == "The two sides are equal.")
        let other = String(repeating: "0", count: 64)
        try sandbox.write("\(sum)  x\n\(other)  ./x\n", to: "SUMS")
        try sandbox.fails("backupfs compare $R/l $R/SUMS", saying: "has a file twice, with two checksums", exitCode: 1)
        try sandbox.write("\(sum)  x\n\(sum)  x/y\n", to: "SUMS")
        try sandbox.fails("backupfs compare $R/l $R/SUMS", saying: "is a file in the list", exitCode: 1)
        try sandbox.write("\(sum)  x\n\(sum.dropLast())  y\n", to: "SUMS")
        try sandbox.fails("backupfs compare $R/l $R/SUMS", saying: "line 2: a line is no checksum of a file", exitCode: 1)
    }

    @Test(arguments: ["md5", "c4", "xxh128", "sha1"])
    func `an ASC MHL history of the ASC's own program, and each of its generations`(algorithm: String) throws {
        let sandbox = try ListTools.sandbox(
            "find $R/card -type l -delete; mhl create -h \(algorithm) $R/card > $R/mhl.out; cp -a $R/card $R/copy; mhl create -h \(algorithm) $R/copy > $R/mhl.out"
        )
        for list in ["$R/card/ascmhl", "$R/copy/ascmhl", "$R/card/ascmhl/0001*.mhl", "$R/copy/ascmhl/0002*.mhl"] {
            let result = try sandbox.run("backupfs compare $R/copy \(list) --checksum; echo $?")
            #expect(result.lines.suffix(2) == ["The two sides are equal.", "0"], "\(list): \(result.text)")
        }
        try sandbox.sh(
            """
            cd $R/copy; python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(9); b = f.read(1)[0]; f.seek(9); f.write(bytes([b ^ 1]))' DCIM/100/clip.mov
            mv MISC/7.txt MISC/moved.txt; rm MISC/8.txt; backupfs compare $R/copy ascmhl --checksum --json > $R/json || [ $? = 1 ]
            """)
        #expect(
            try sandbox.sh(
                "jq -c '[.onlyInSource, .onlyInDestination, [.different[].path], [.moved[] | [.source, .destination]]]' $R/json")
                == #"[["MISC/moved.txt"],["MISC/7.txt","MISC/8.txt"],["DCIM/100/clip.mov"],[["MISC/moved.txt","MISC/7.txt"]]]"#)
        // A history that was changed proves nothing.
        try sandbox.sh("printf x >> $(ls $R/copy/ascmhl/0001*.mhl)")
        try sandbox.fails(
            "backupfs compare $R/card $R/copy/ascmhl --checksum", saying: "it has changed since it was written", exitCode: 1)
    }

    @Test func `the list of a bag is about its payload`() throws {
        let sandbox = try ListTools.sandbox(
            "find $R/card -type l -delete; backupfs copy --manifest bagit $R/card $R/bag > $R/out; bag_check $R/bag")
        for folder in ["$R/card", "$R/bag/data"] {
            let result = try sandbox.run("backupfs compare \(folder) $R/bag/manifest-sha256.txt --checksum; echo $?")
            #expect(result.lines.suffix(2) == ["The two sides are equal.", "0"], "\(result.text)")
        }
        try sandbox.sh(
            "printf X > $R/card/DCIM/one.txt; backupfs compare $R/card $R/bag/manifest-sha256.txt --checksum > $R/out || [ $? = 1 ]"
        )
        #expect(try sandbox.sh("cat $R/out").contains("DCIM/one.txt: the same size, another content"))
    }

    @Test func `a ZIP archive, stored and deflated`() throws {
        let sandbox = try CopySandbox.make(
            Self.card, "cd $R/l; ln -s one.txt DCIM/link; rm $'line\\nfeed'; zip -qry $R/a.zip .; zip -qry0 $R/b.zip .")
        for zip in ["$R/a.zip", "$R/b.zip"] {
            for flags in ["", "--checksum", "--bytes"] {
                let result = try sandbox.run("backupfs compare $R/l \(zip) \(flags); echo $?")
                #expect(result.lines.suffix(2) == ["The two sides are equal.", "0"], "\(result.text)")
            }
        }
        for flags in ["", "--checksum", "--bytes"] {
            #expect(try sandbox.run("backupfs compare $R/a.zip $R/b.zip \(flags)").exitCode == 0)
        }
        // The same sizes and times, and another byte: an archive knows it, a folder has to be read.
        try sandbox.sh(
            """
            cp -a $R/l $R/r; cd $R/r; python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(600000); b = f.read(1)[0]; f.seek(600000); f.write(bytes([b ^ 1]))' DCIM/100/clip.mov
            touch -r $R/l/DCIM/100/clip.mov DCIM/100/clip.mov; zip -qry $R/c.zip .
            """)
        for (pair, flags, code) in [
            ("$R/r $R/a.zip", "", 0), ("$R/r $R/a.zip", "--checksum", 1), ("$R/r $R/a.zip", "--bytes", 1),
            ("$R/a.zip $R/c.zip", "", 1),
            ("$R/a.zip $R/c.zip", "--bytes", 1), ("$R/a.zip $R/c.zip", "--checksum", 1),
        ] {
            let result = try sandbox.run("backupfs compare \(pair) \(flags)")
            #expect(result.exitCode == Int32(code), "\(pair) \(flags): \(result.text)")
            if code == 1 { #expect(result.output.contains("DCIM/100/clip.mov: "), "\(result.text)") }
        }
        // An archive that is damaged, or is none, ends in an error and not in a difference.
        try sandbox.sh("python3 -c 'import sys; f = open(sys.argv[1], \"r+b\"); f.seek(300000); f.write(b\"damage\")' $R/a.zip")
        #expect(try sandbox.run("backupfs compare $R/l $R/a.zip --checksum").exitCode == 3)
        try sandbox.sh("head -c 100000 $R/b.zip > $R/cut.zip")
        try sandbox.fails("backupfs compare $R/l $R/cut.zip", saying: "the ZIP archive cannot be compared", exitCode: 1)
    }

    @Test func `a backup by its name, whose checksums cost no reading`() throws {
        let sandbox = try CopySandbox.make(
            Self.card,
            """
            backupfs init --store $S --app photo-library --media $R/l > /dev/null; wait_settled $R/l; backupfs backup --store $S --label first > /dev/null
            cp -a $R/l $R/r; cp -a $R/l $R/changed; cd $R/changed; printf ONE > DCIM/one.txt; touch -r $R/l/DCIM/one.txt DCIM/one.txt; rm MISC/empty; mv a.txt b.txt
            """)
        for flags in ["", "--checksum", "--bytes"] {
            let result = try sandbox.run("backupfs compare --store $S $R/r latest \(flags); echo $?")
            #expect(result.lines.suffix(2) == ["The two sides are equal.", "0"], "\(result.text)")
        }
        for flags in ["--checksum", "--bytes"] {
            try sandbox.sh("backupfs compare --store $S first $R/changed \(flags) --json > $R/json || [ $? = 1 ]")
            #expect(
                try sandbox.sh(
                    "jq -c '[.onlyInSource, .onlyInDestination, [.different[].path], [.moved[] | [.source, .destination]]]' $R/json"
                )
                    == #"[["MISC/empty","a.txt"],["b.txt"],["DCIM/one.txt"],[["a.txt","b.txt"]]]"#)
        }
        // No pack is opened for its checksums; those of the folders are in packs of their own kind, which are small.
        try sandbox.sh(
            "backupfs backup --store $S --label second > /dev/null; strace -f -y -e trace=pread64,read,mmap -o $R/trace backupfs compare --store $S first second --checksum > $R/out"
        )
        #expect(
            try #require(
                Int(
                    sandbox.sh(
                        "grep -F \"<$S/\" $R/trace | grep -E 'pack' | grep -oE '= [0-9]+$' | awk '{ s += $2 } END { print s + 0 }'"
                    )))
                < 300_000)
        try sandbox.fails("backupfs compare --store $S $R/l third", saying: "there is no such backup", exitCode: 1)
    }

    @Test func `a mounted backup says its checksums, and no content is read through the mount`() throws {
        try Machine.requireFUSE()
        let sandbox = try CopySandbox.make(
            Self.card,
            """
            backupfs init --store $S --app photo-library --media $R/l > /dev/null; wait_settled $R/l; backupfs backup --store $S --label first > /dev/null
            mkdir $M; cp -a $R/l $R/r
            """)
        let mounted = try sandbox.sh("backupfs mount --store $S $M > $R/mounted; echo ok")
        #expect(mounted == "ok")
        defer { _ = try? sandbox.run("fusermount3 -u $M || fusermount3 -uz $M") }
        let media = "$M/snapshots/first/media"
        #expect(try sandbox.run("backupfs compare $R/r \(media) --bytes").exitCode == 0)
        #expect(
            try sandbox.sh(
                """
                strace -ff -y -e trace=read,pread64 -o $R/trace backupfs compare $R/r \(media) --checksum > $R/out; tail -n 1 $R/out
                cat $R/trace.* | awk -v m="<$M/" 'index($0, m) { s += $NF } END { print s + 0 }'
                """) == "The two sides are equal.\n0")
        try sandbox.sh("printf ONE > $R/r/DCIM/one.txt; touch -r $R/l/DCIM/one.txt $R/r/DCIM/one.txt")
        #expect(
            try sandbox.run("backupfs compare $R/r \(media) --checksum").output.contains(
                "DCIM/one.txt: the same size, another content"))
        // Attributes of that name on another file system say nothing.
        try sandbox.sh("cp -a $R/l $R/x; printf ONE > $R/x/DCIM/one.txt; touch -r $R/l/DCIM/one.txt $R/x/DCIM/one.txt")
        try sandbox.sh("setfattr -n user.checksum.sha256 -v $(sha256sum < $R/l/DCIM/one.txt | cut -c1-64) $R/x/DCIM/one.txt")
        #expect(try sandbox.run("backupfs compare $R/l $R/x --checksum").exitCode == 1)
    }
}
