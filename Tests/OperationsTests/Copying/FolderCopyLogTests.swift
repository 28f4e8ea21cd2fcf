import TestSupport
import Testing

/// What `backupfs copy` leaves in the log of a store, and which notices come.
struct FolderCopyLogTests {
    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox()
        try sandbox.sh("mkdir -p $R/card/DCIM; for i in 1 2 3; do echo $i > $R/card/DCIM/$i.jpg; done")
    }

    private static let phases =
        "jq -r 'select(.event == \"phase\" or .event == \"begin\" or .event == \"end\") | .phase // .event'"

    @Test func `LOG-01, PRG-14: a copy is in the log, and its phases are in its job, in order`() throws {
        try sandbox.sh("backupfs init --store $S >/dev/null; backupfs config set log-level debug --store $S")
        try sandbox.sh("rm -f $S/backupfs.log; backupfs copy --store $S --report json $R/card $R/a $R/b >/dev/null")
        #expect(
            try sandbox.sh("jq -c '[.op, .phase, .result, .level, .files, .fileSize]' $S/backupfs.log")
                == #"["copy","begun",null,"debug",null,null]"# + "\n" + #"["copy","ended","ok","info",3,6]"#)
        #expect(
            try sandbox.sh("\(Self.phases) $S/jobs/*/runs.jsonl; cat $S/jobs/*/state")
                == "begin\ncopying\nverifying\nfolders\nresults\nend\nreports\ncompleted")
        // Names are not in the log.
        #expect(try sandbox.sh("grep -cE 'card|jpg' $S/backupfs.log || true") == "0")
        try sandbox.sh("rm $S/backupfs.log; echo other > $R/b/DCIM/4.jpg; echo 4 > $R/card/DCIM/4.jpg")
        #expect(try sandbox.run("backupfs copy --store $S --manifest sha256sums $R/card $R/a $R/b").exitCode == 3)
        #expect(try sandbox.run("backupfs copy --store $S $R/none $R/c").exitCode == 1)
        #expect(
            try sandbox.sh("jq -r 'select(.phase == \"ended\") | [.op, .result, .error] | @tsv' $S/backupfs.log")
                == "copy\tfailed\t\ncopy\tfailed\tnotFound")
        #expect(
            try sandbox.sh("\(Self.phases) $S/jobs/$(ls -t $S/jobs | head -n 1)/runs.jsonl")
                == "begin\ncopying\nverifying\nlists\nfolders\nresults\nend")
    }

    @Test func `--log-file, --log-level and -v have an effect, also without a store`() throws {
        let result = try sandbox.run("backupfs copy -v --log-file $R/log --log-level debug $R/card $R/a")
        #expect(result.exitCode == 0, "\(result.text)")
        #expect(result.errors.contains("Copying...\nVerifying the last copies...\n"), "\(result.errors)")
        #expect(try sandbox.sh("jq -c '[.phase, .result, .app]' $R/log") == "[\"begun\",null,null]\n[\"ended\",\"ok\",null]")
        #expect(try sandbox.run("backupfs copy $R/card $R/b").errors.contains("Copying...") == false)
        try sandbox.sh("backupfs init --store $S --sample >/dev/null")
        try sandbox.fails(
            "backupfs copy --store $S --log-file $S/app/database.sqlite $R/card $R/c", saying: "a file of the app's database",
            exitCode: 2)
    }

    @Test func `PRG-13: notify runs when a copy has ended`() throws {
        try sandbox.sh(
            #"""
            backupfs init --store $S >/dev/null; backupfs config set notifications on --store $S
            backupfs config set notify "echo \"\$BACKUPFS_OPERATION \$BACKUPFS_RESULT \$BACKUPFS_NAME: \$BACKUPFS_MESSAGE\" >> $R/notices" --store $S
            backupfs copy --store $S $R/card $R/a >/dev/null; echo other > $R/a/DCIM/4.jpg; echo 4 > $R/card/DCIM/4.jpg
            ! backupfs copy --store $S $R/card $R/a >/dev/null 2>&1
            """#)
        let card = sandbox("card")
        let lines = try sandbox.sh("cat $R/notices").split(separator: "\n").map(String.init)
        #expect(lines.count == 2 && lines[0] == "copy success \(card): Everything was copied from \(card).", "\(lines)")
        #expect(
            lines.last?.hasPrefix("copy failed \(card): Not everything was copied from \(card): see the errors in ") == true,
            "\(lines)")
    }

    @Test func `a log in the source or in a destination is refused`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $R/card $R/a; echo one > $R/card/1; ln -s $R/card $R/link")
        for file in ["$R/card/1", "$R/card/new", "$R/link/1", "$R/a/log"] {
            try sandbox.fails(
                "backupfs copy --log-file \(file) $R/card $R/a", saying: "the log would be in a folder", exitCode: 2)
        }
        #expect(try sandbox.sh("cat $R/card/1; ls $R/card; ls $R/a") == "one\n1")
    }

    @Test(arguments: ["copy --resume", "jobs resume"])
    func `a log in the source or in a destination of the job that is resumed is refused`(verb: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S >/dev/null; mkdir $R/card; echo one > $R/card/1; ln -s $R/card $R/link
            backupfs copy --store $S $R/card $R/a $R/b >/dev/null; ls $S/jobs > $R/first
            backupfs copy --store $S --manifest bagit $R/card $R/bag >/dev/null; ls $S/jobs | grep -vxFf $R/first > $R/second
            """)
        for file in ["$R/card/1", "$R/card/new", "$R/link/1", "$R/a/log", "$R/b/1", "$R/b/sub/log"] {
            try sandbox.fails(
                "backupfs \(verb) $(cat $R/first) --store $S --log-file \(file)", saying: "the log would be in a folder",
                exitCode: 2)
        }
        try sandbox.fails(
            "backupfs \(verb) $(cat $R/second) --store $S --log-file $R/bag/log", saying: "the log would be in a folder",
            exitCode: 2)
        #expect(
            try sandbox.sh("find $R/card $R/a $R/b $R/bag -name '*log*' -o -name new | wc -l; cat $R/a/1 $R/b/1") == "0\none\none"
        )
        try sandbox.sh("backupfs \(verb) $(cat $R/first) --store $S --log-file $R/log; grep -c ended $R/log")
    }
}
