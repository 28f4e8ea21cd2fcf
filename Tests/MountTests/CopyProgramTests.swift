import Glibc
import TestSupport
import Testing

/// What a user sees for each way to copy a file into `restore/`: with a good file, a rejected one, and a copy that stops halfway.
/// It generates the table of them in `Docs/reference/restore.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct CopyProgramTests {
    /// `FILE` is the file to copy, `TO` the path in `restore/`.
    struct Program: Sendable {
        let name: String
        let script: String
        /// Whether the program notices a rejection; `nil` where that depends on its version.
        var isTold: Bool? = true
    }

    static let programs: [Program] = [
        Program(name: "`cp`", script: "cp FILE TO"), Program(name: "`cp -p`", script: "cp -p FILE TO"),
        Program(name: "`cp -a`", script: "cp -a FILE TO"), Program(name: "`install`", script: "install -m 600 FILE TO"),
        Program(name: "`mv` from another disk", script: "cp FILE $R/moved; mv $R/moved TO"),
        Program(name: "`rsync -a`", script: "rsync -a FILE TO"),
        Program(name: "`rsync --inplace`", script: "rsync --inplace FILE TO", isTold: nil),
        Program(name: "`rsync --partial`", script: "rsync --partial FILE TO"), Program(name: "`cat >`", script: "cat FILE > TO"),
        Program(name: "`tee`", script: "cat FILE | tee TO > $R/tee.out"),
        Program(name: "`dd bs=7`", script: "dd if=FILE of=TO bs=7 status=none"),
        Program(name: "`dd conv=notrunc`", script: "dd if=FILE of=TO bs=999 conv=notrunc status=none"),
        Program(name: "`dd conv=fsync`", script: "dd if=FILE of=TO conv=fsync status=none"),
        Program(name: "Python's `shutil.copyfile`", script: "python3 -c \"import shutil; shutil.copyfile('FILE', 'TO')\""),
        Program(
            name: "Python's `open(…).write`",
            script: "python3 -c \"f = open('TO', 'wb'); f.write(open('FILE', 'rb').read()); f.close()\""),
        Program(name: "`tar -x` into the folder", script: "cp FILE $R/x.json; tar -C $R -cf - x.json | tar -C $M/restore -xf -"),
        Program(name: "`gio copy`, as file managers do", script: "gio copy FILE TO"),
        Program(
            name: "a browser's download", script: "cat FILE > TO.crdownload; touch TO.crdownload; mv TO.crdownload TO"),
        Program(name: "`curl -o`", script: "curl -sS -o TO file://FILE"),
        Program(
            name: "`sftp` and `scp` to this machine",
            script: "echo \"put FILE TO\" | sftp -q -b - -D $SFTP"),
        Program(
            name: "a shell's own `printf`", script: "printf '%s\\n' \"$(cat FILE)\" > TO", isTold: false),
    ]

    private static let sftpServer = "/usr/lib/openssh/sftp-server"

    private func canRun(_ program: Program) -> Bool {
        let tool = program.script.contains("sftp") ? "sftp" : String(program.script.prefix { $0 != " " })
        // A server that speaks the protocol without a network comes with openssh.
        if tool == "sftp" { return Machine.hasTool("sftp") && access(Self.sftpServer, X_OK) == 0 }
        return Machine.hasTool(tool) || tool == "printf"
    }

    private func script(_ program: Program, _ file: String) -> String {
        program.script.replacing("FILE", with: "$R/\(file)").replacing("TO", with: "$M/restore/x.json")
    }

    private func reset(_ sandbox: Sandbox) throws {
        try sandbox.write(SampleDocument.variant("before"), to: "other.json")
        try sandbox.sh("rm -f $M/restore/x.json; cp $R/other.json $M/restore/other.json; rm $M/restore/other.json")
    }

    @Test func `each restores a good file and gets an error for a bad one`() throws {
        try Sandbox.withMount { sandbox in
            sandbox.variables["SFTP"] = Self.sftpServer
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.write(SampleDocument.replacing("\"carId\": 1\n", "\"carId\": 99\n"), to: "bad.json")
            var rows: [[String]] = []
            for program in Self.programs {
                guard canRun(program) else {
                    Issue.record("\(program.name) cannot be run here: see install-dependencies.sh")
                    continue
                }
                try reset(sandbox)
                let good = try sandbox.run("set -e -o pipefail; \(script(program, "old.json"))")
                #expect(good.exitCode == 0, "\(program.name): \(good.text)")
                let hasRestored = try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Tesla Model 3"
                #expect(hasRestored, "\(program.name) restored nothing")
                try reset(sandbox)
                let before = try sandbox.state()
                let bad = try sandbox.run("set -e -o pipefail; \(script(program, "bad.json"))")
                #expect(
                    (bad.exitCode != 0) == program.isTold ?? (bad.exitCode != 0), "\(program.name): \(bad.exitCode) \(bad.text)")
                #expect(try sandbox.state() == before, "\(program.name)")
                #expect(try sandbox.report(".result") == "refused", "\(program.name)")
                #expect(try sandbox.sh("cat $M/restore/last.txt").contains("expense 1 refers to unknown car 99"))
                let told =
                    switch program.isTold {
                    case true?: Self.words(bad)
                    case false?: "says nothing: see `restore/last.txt`"
                    case nil: "older versions say nothing: see `restore/last.txt`"
                    }
                rows.append([program.name, "restored", told])
            }
            try DocumentTable.check(
                "Docs/reference/restore.md", "copy-programs",
                DocumentTable.text(["way", "a good file", "a file that is refused"], rows, isMarkdown: true))
        }
    }

    /// Those words of the program's messages that explain the reason to a user. The rest depends on its version.
    private static let knownWords = [
        "Invalid argument", "to a subdirectory of itself", "Bad message", "Failed writing body", "Exiting with failure status",
    ]

    private static func words(_ result: Job.Result) -> String {
        let words = knownWords.first { result.text.contains($0) } ?? "says nothing that a person understands"
        return "exit code \(result.exitCode), “\(words)”"
    }

    @Test func `a name with spaces and emoji, and the same name twice`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.write(SampleDocument.variant("before"), to: "other.json")
            for name in ["my backup (2).json", "Резервная копия 🚗⚡.json", "-rf", "a'b\"c$d.json", "новый\tфайл.json"] {
                let path = "$M/restore/" + "'" + name.replacing("'", with: "'\\''") + "'"
                try sandbox.sh("cp $R/other.json $M/restore/other.json; cp -- $R/old.json \(path)")
                #expect(try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Tesla Model 3", "\(name)")
                #expect(try sandbox.report(".file") == name)
                // The same name, the same content: a second copy is a second restore.
                try sandbox.sh("sqlite3 $S/app/database.sqlite \"update cars set name = 'x'\"; cp -- $R/old.json \(path)")
                #expect(try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Tesla Model 3", "\(name) again")
            }
        }
    }

    @Test func `of two files at once one is restored, and the other one is restored too or gets EBUSY`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.variant("one", expenses: 3_000), to: "one.json")
            try sandbox.write(SampleDocument.variant("two", expenses: 3_000), to: "two.json")
            let result = try sandbox.sh(
                """
                cp $R/one.json $M/restore/ 2>$R/one.err & one=$!; cp $R/two.json $M/restore/ 2>$R/two.err & two=$!
                a=0; wait $one || a=$?; b=0; wait $two || b=$?; echo $a $b
                """)
            #expect(["0 0", "0 1", "1 0"].contains(result))
            let names = try sandbox.sh("jq -r '[.cars[].name] | unique | join(\" \")' $M/live/export.json")
            #expect(names == "one" || names == "two")
            let failed = try sandbox.sh("cat $R/one.err $R/two.err")
            #expect(failed == "" || failed.contains("Device or resource busy"), "\(failed)")
            if result == "1 0" { #expect(names == "two") }
            if result == "0 1" { #expect(names == "one") }
            #expect(try sandbox.sh("jq '.expenses | length' $M/live/export.json") == "3000")
        }
    }

    @Test(arguments: ["INT", "TERM", "KILL"])
    func `a copy that is stopped half way changes nothing, and can be made again`(signal: String) throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            let before = try sandbox.state()
            try sandbox.sh(
                """
                mkfifo $R/slow; (head -c 900 $R/old.json; sleep 30) > $R/slow & feeder=$!
                env --default-signal=INT cat $R/slow > $M/restore/x.json & cat=$!
                wait_until '[ "$(stat -c %s $M/restore/x.json)" = 900 ]'
                kill -\(signal) $cat; wait $cat || true; kill $feeder; wait $feeder 2>/dev/null || true
                """)
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            try sandbox.sh("cp $R/old.json $M/restore/x.json")
            #expect(try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Tesla Model 3")
        }
    }
}
