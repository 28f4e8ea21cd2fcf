import TestSupport
import Testing

/// Data that a later version of this program may have written into a repository: it is never treated as damage, none of it is
/// changed, and backups continue (issue 18, point 7; format.md, findings 1 and 2). An independent program forges it.
struct LaterVersionTests {
    private static let forger = "python3 -B \(Machine.projectPath)/Tests/BackupRepositoryTests/Fixtures/forge_repository.py"

    /// Two backups, a and b; b is pinned and then turned into one of a later version.
    private static func makeSandbox(_ forgery: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.db 'create table t(id integer primary key, x text)'; mkdir -p $R/media/folder
            backupfs init --store $S --database $R/app.db --media $R/media --repository $R/r
            backupfs backup --label a --store $S; echo photo > $R/media/folder/p.jpg
            backupfs backup --label b --store $S; backupfs pin b --store $S
            \(forger) \(forgery) $R/r b
            """)
        return sandbox
    }

    /// Everything that a repair or a prune might remove or replace.
    private static let files =
        "cd $R/r; find packs snapshots labels register -type f | sort | xargs sha256sum; ls damaged 2>/dev/null || true"

    @Test(
        arguments: Rounds.part(
            of: [
                "record-version", "record-kind", "element-kind", "directory-version", "entry-kind", "entry-flag", "pack-kind",
                "pack-version", "label-version", "label-flag",
            ], oneIn: 2))
    func `what a later version has written stays`(forgery: String) throws {
        let sandbox = try Self.makeSandbox(forgery)
        let before = try sandbox.sh(Self.files)
        for arguments in ["", "--read-data", "--repair --yes"] {
            let check = try sandbox.run("backupfs check \(arguments) --store $S")
            #expect(check.exitCode == 1 && check.errors.contains("of a later version of backupfs"), "\(check)")
            #expect(!check.output.contains("damaged") && !check.output.contains("repaired: "), "\(check)")
            #expect(!check.output.contains("Label of") && !check.output.contains("Rename the snapshot"), "\(check)")
        }
        for arguments in ["--now", "--now --forget-missing", "--max-unused 0"] {
            let prune = try sandbox.run("backupfs prune \(arguments) --store $S")
            // A label does not affect which data is needed.
            let isRefused =
                prune.errors.contains("nothing was pruned") && prune.errors.contains("newer version of backupfs")
            #expect(forgery.hasPrefix("label") ? prune.exitCode == 0 : prune.exitCode != 0 && isRefused, "\(prune)")
        }
        #expect(try sandbox.sh(Self.files) == before)
        // The newest backup is unreadable, but that does not prevent another one.
        try sandbox.sh(
            "echo more > $R/media/more.jpg; backupfs backup --label c --store $S; backupfs restore c --target $R/out --store $S")
        #expect(try sandbox.sh("diff -r $R/media $R/out/media && cat $R/out/media/more.jpg") == "more")
        let kept = try sandbox.sh("\(Self.files)").split(separator: "\n").filter { !$0.contains("register") }
        for line in before.split(separator: "\n") where !line.contains("register") { #expect(kept.contains(line)) }
        // The previous backup is unchanged.
        try sandbox.sh("backupfs restore a --target $R/a --store $S")
    }

    @Test(arguments: ["record-version", "record-kind"])
    func `a list of backups says that it lacks some`(forgery: String) throws {
        let sandbox = try Self.makeSandbox(forgery)
        let list = try sandbox.run("backupfs snapshots --store $S")
        #expect(list.exitCode == 0 && list.errors.contains("1 backup is not listed"), "\(list)")
        #expect(list.errors.contains("later version of backupfs"), "\(list)")
        try sandbox.sh("backupfs delete a --store $S --yes")
        let empty = try sandbox.run("backupfs snapshots --store $S")
        #expect(!empty.output.contains("No backups yet") && empty.errors.contains("1 backup is not listed"), "\(empty)")
    }

    @Test func `a label of a later version is not called damaged`() throws {
        let sandbox = try Self.makeSandbox("label-flag")
        let list = try sandbox.run("backupfs snapshots --json --store $S | jq -c 'map([.name, .pinned])'")
        #expect(list.output == #"[["a",false],["b",true]]"# + "\n", "\(list)")
        let rename = try sandbox.run("backupfs unpin b --store $S")
        #expect(rename.exitCode != 0 && rename.errors.contains("newer version"), "\(rename)")
    }

    /// A file's checksums (format.md, finding 6): only a faulty writer makes a single one differ, and then `sums/` would be wrong
    /// forever.
    @Test(arguments: [("crc32", "CRC-32"), ("md5", "MD5"), ("sha1", "SHA-1"), ("sha256", "SHA-256")])
    func `a wrong checksum of a file is found`(forgery: String, name: String) throws {
        let sandbox = try Self.makeSandbox(forgery)
        let verify = try sandbox.run("backupfs verify b --store $S")
        // An extraction compares the CRC-32 itself.
        let finding = forgery == "crc32" ? "is not what was backed up" : "its \(name) is not the recorded one"
        #expect(verify.exitCode != 0 && (verify.output + verify.errors).contains("changes.json: "), "\(verify)")
        #expect((verify.output + verify.errors).contains(finding), "\(verify)")
        let check = try sandbox.run("backupfs check --read-data --store $S")
        let isFound = check.output.contains("b/changes.json: the recorded CRC-32 is not that of the file's content")
        #expect(forgery == "crc32" ? check.exitCode == 1 && isFound : check.exitCode == 0, "\(check)")
    }
}
