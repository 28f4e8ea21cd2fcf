import TestSupport
import Testing

/// `backupfs compare` of two folders.
struct CompareTests {
    /// Equal trees `$R/l` and `$R/r`, with files, folders and links.
    static let twins = """
        mkdir -p $R/l/DCIM/100 $R/l/empty; cd $R/l; printf one > DCIM/one.txt; : > DCIM/nothing; head -c 300000 /dev/urandom > DCIM/100/clip.mov
        ln -s DCIM/one.txt link; ln -s /nowhere dangling; cp -a $R/l $R/r
        """

    /// Requirement COP-06.
    @Test func `the three sets are exact, hidden names are left out and counted`() throws {
        let sandbox = try CopySandbox.make(
            """
            mkdir -p $R/l/d $R/r/d $R/l/.git; cd $R; echo 1 > l/a; echo 1 > r/a; echo 2 > l/d/left; echo 3 > r/d/right; echo 4 > l/.hidden
            echo 5 > r/.other; echo 6 > r/d/.too; echo 7 > l/.git/x; touch -d '2026-01-02 03:04:05' l/a r/a
            """)
        let result = try sandbox.run("backupfs compare $R/l $R/r --json > $R/json; echo $?")
        #expect(result.trimmed == "1", "\(result.text)")
        #expect(
            try sandbox.sh("jq -c '[.onlyInSource, .onlyInDestination, .common, .hiddenInSource, .hiddenInDestination]' $R/json")
                == #"[["d/left"],["d/right"],["a"],2,2]"#)
        #expect(
            try sandbox.sh("jq -c '[.equal, .complete, .method, .sameCount, .version]' $R/json") == #"[false,true,"size",1,1]"#)
        try sandbox.sh("backupfs compare $R/l $R/r --hidden --json > $R/json || true")
        #expect(
            try sandbox.sh("jq -c '[.onlyInSource, .onlyInDestination, .foldersOnlyInSource]' $R/json")
                == #"[[".git/x",".hidden","d/left"],[".other","d/.too","d/right"],[".git"]]"#)
    }

    @Test func `equal trees are equal by each method, and the exit code says so`() throws {
        let sandbox = try CopySandbox.make(Self.twins)
        for method in ["", "--checksum", "--bytes", "--checksum --no-cache"] {
            let result = try sandbox.run("backupfs compare $R/l $R/r \(method); echo $?")
            #expect(result.lines.suffix(2) == ["The two sides are equal.", "0"], "\(method): \(result.text)")
        }
        #expect(
            try sandbox.sh("backupfs compare $R/l $R/r --bytes --json | jq -c '[.equal, .sameCount, .sameBytes, .common]'")
                == #"[true,5,300003,["DCIM/100/clip.mov","DCIM/nothing","DCIM/one.txt","dangling","link"]]"#)
    }

    /// The last byte, the first one, and one at the border of what is read at once.
    /// Requirement CHK-07.
    @Test(arguments: [0, 4095, 1_048_575, 1_048_576, 2_999_999])
    func `one other byte in files of the same size and time is found only with the flag`(offset: Int) throws {
        let sandbox = try CopySandbox.make(
            """
            mkdir $R/l $R/r; head -c 3000000 /dev/urandom > $R/l/x; cp -a $R/l/x $R/r
            python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(\(offset)); b = f.read(1)[0]; f.seek(\(offset)); f.write(bytes([b ^ 1]))' $R/r/x
            touch -r $R/l/x $R/r/x
            """)
        #expect(try sandbox.run("backupfs compare $R/l $R/r").exitCode == 0)
        let checksum = try sandbox.run("backupfs compare $R/l $R/r --checksum")
        #expect(checksum.exitCode == 1)
        #expect(checksum.output.contains("x: the same size, another content"), "\(checksum.text)")
        let bytes = try sandbox.run("backupfs compare $R/l $R/r --bytes")
        #expect(bytes.exitCode == 1)
        #expect(bytes.output.contains("x: another content from byte \(offset) on"), "\(bytes.text)")
    }

    @Test func `another size, time, kind and target of a link`() throws {
        let sandbox = try CopySandbox.make(
            """
            mkdir -p $R/l/folder/in $R/r; cd $R; printf 123 > l/size; printf 12345 > r/size; printf same > l/time; printf same > r/time
            touch -d '2026-01-02 03:04:05' l/time; touch -d '2026-01-02 03:04:09' r/time; printf x > l/folder/in/x; printf x > r/folder
            ln -s a l/link; ln -s b r/link; ln -s a l/kind; printf a > r/kind; mkfifo l/pipe r/pipe; mkfifo l/was; printf y > r/was
            """)
        try sandbox.sh("backupfs compare $R/l $R/r --json --no-moves > $R/json || [ $? = 1 ]")
        #expect(
            try sandbox.sh("jq -c '.different[] | [.path, .difference, .source, .destination]' $R/json")
                == """
                ["folder","kind","folder","file"]
                ["kind","kind","link","file"]
                ["link","target","a","b"]
                ["size","size",3,5]
                ["time","time","2026-01-02T03:04:05Z","2026-01-02T03:04:09Z"]
                ["was","kind","pipe","file"]
                """)
        #expect(
            try sandbox.sh(
                "jq -c '[.onlyInSource, .onlyInDestination, .foldersOnlyInSource, .common]' $R/json")
                == #"[["folder/in/x"],["folder"],["folder","folder/in"],["kind","link","pipe","size","time","was"]]"#)
        // With a content that was compared, the time alone does not count.
        let other = "mkdir $R/a $R/b; cp -a $R/l/time $R/a/t; cp -a $R/r/time $R/b/t; backupfs compare $R/a $R/b"
        #expect(try sandbox.run(other).exitCode == 1)
        for flags in ["--checksum", "--bytes", "--time-window 4"] {
            let result = try sandbox.run("backupfs compare $R/a $R/b \(flags)")
            #expect(result.exitCode == 0, "\(result.text)")
            #expect(result.output.contains("another time") == !flags.contains("window"), "\(result.text)")
        }
    }

    @Test func `moved and renamed files are found, and only files of a size that both sides have are read`() throws {
        let sandbox = try CopySandbox.make(
            """
            mkdir -p $R/l/old $R/r/new/deep; cd $R; printf 'the clip' > l/old/clip; printf 'the clip' > r/new/deep/other-name
            printf 'THE CLIP' > l/decoy; printf 'unique size' > l/unique; : > l/empty; : > r/empty-too; printf twice > l/1; printf twice > l/2
            printf twice > r/3; printf same > l/same; cp -a l/same r
            """)
        try sandbox.sh("strace -f -y -e trace=read,pread64 -o $R/trace backupfs compare $R/l $R/r --json > $R/json || [ $? = 1 ]")
        #expect(
            try sandbox.sh("jq -c '.moved[] | [.source, .destination, .size]' $R/json")
                == #"["1","3",5]"# + "\n" + #"["old/clip","new/deep/other-name",8]"#)
        let read = "grep -oE \"<$R/[lr]/[^>]*>\" $R/trace | tr -d '<>' | sort -u | sed \"s|$R/||\" | tr '\\n' ' '"
        #expect(try sandbox.sh(read) == "l/1 l/2 l/decoy l/old/clip r/3 r/new/deep/other-name ")
        #expect(
            try sandbox.sh("jq -c '[.onlyInSource, .onlyInDestination]' $R/json")
                == #"[["1","2","decoy","empty","old/clip","unique"],["3","empty-too","new/deep/other-name"]]"#)
        #expect(try sandbox.sh("backupfs compare $R/l $R/r --no-moves --json | jq -c .moved || true") == "[]")
        let text = try sandbox.run("backupfs compare $R/l $R/r")
        #expect(text.output.contains("  old/clip → new/deep/other-name"), "\(text.text)")
    }

    @Test func `lists for people are bounded and counted, those for programs are whole`() throws {
        let sandbox = try CopySandbox.make("mkdir $R/l $R/r; cd $R/l; for i in $(seq -w 250); do : > $i; done")
        let text = try sandbox.run("backupfs compare $R/l $R/r --limit 3")
        #expect(text.output.contains("Only in \(sandbox("l")) (250):\n  001\n  002\n  003\n  … and 247 more\n"), "\(text.text)")
        #expect(try sandbox.sh("backupfs compare $R/l $R/r --json | jq '.onlyInSource | length' || true") == "250")
    }

    @Test func `FBM-05: the help has the verbs for copying and comparing`() throws {
        let sandbox = try CopySandbox.make()
        #expect(try sandbox.sh("backupfs --help | grep -oE '^  (copy|compare) ' | sort | tr -d ' \n'") == "comparecopy")
    }

    @Test func `one folder under two names is refused, and so are a missing one and two methods`() throws {
        let sandbox = try CopySandbox.make("mkdir $R/l; ln -s l $R/r; printf 'some text\\n' > $R/text")
        try sandbox.fails("backupfs compare $R/l $R/r", saying: "both are the same folder", exitCode: 1)
        try sandbox.fails("backupfs compare $R/l $R/none", saying: "there is no such file or folder", exitCode: 1)
        try sandbox.fails("backupfs compare $R/l none", saying: "no store with backups", exitCode: 1)
        try sandbox.fails("backupfs compare $R/l $R/text", saying: "neither a folder nor a ZIP archive", exitCode: 1)
        try sandbox.fails("backupfs compare $R/l $R/l --bytes --checksum", saying: "Choose one of", exitCode: 2)
    }
}
