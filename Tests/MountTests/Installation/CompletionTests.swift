import TestSupport
import Testing

/// Completions as the shells request them.
@Suite(
    .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct CompletionTests {
    /// Calls the function as bash does when the tab key is pressed after the last word.
    fileprivate static let press = """
        set +e
        source $I/share/bash-completion/completions/backupfs
        press() {
            COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
            _backupfs backupfs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}" | sort
        }
        cd $R/folder

        """

    private func withStore(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.withInstallation { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $S; backupfs backup --store $S --label monday; backupfs backup --store $S --label 'two words'
                mkdir -p $R/folder/place; touch $R/folder/file.json
                """)
            try body(sandbox)
        }
    }

    @Test func `bash offers verbs, options and what they take`() throws {
        try withStore { (sandbox) throws in
            #expect(
                try sandbox.sh(CompletionTests.press + "complete -p backupfs") == "complete -o filenames -F _backupfs backupfs")
            #expect(Set(try sandbox.offered("backupfs ''")).isSuperset(of: CommandTests.verbs))
            #expect(try sandbox.offered("backupfs pr") == ["prune"])
            #expect(
                Set(try sandbox.offered("backupfs app ''")).isSuperset(of: ["add", "check", "list", "migrate", "schema", "show"]))
            // Without the options for tests.
            #expect(try sandbox.offered("backupfs init --s") == ["--sample", "--store"])
            #expect(try sandbox.offered("backupfs restore --strategy ''") == ["merge", "replace", "skip"])
            #expect(try sandbox.offered("backupfs restore ''") == ["file.json", "place/"])
            try sandbox.sh("touch $R/folder/place/old.json $R/folder/place/.hidden")
            #expect(try sandbox.offered("backupfs restore place/") == ["place/old.json"])
            #expect(try sandbox.offered("backupfs restore place/.h") == ["place/.hidden"])
            for command in ["mount", "umount", "status --store", "restore --target"] {
                #expect(try sandbox.offered("backupfs \(command) ''") == ["place"], "\(command)")
            }
            #expect(try sandbox.offered("backupfs export -o f") == ["file.json"])
        }
    }

    @Test func `bash offers the names of backups, and never asks for a password`() throws {
        try withStore { sandbox in
            let names = ["latest", "monday", "two words"]
            for command in ["ls", "pin", "diff", "diff monday", "tag", "export", "verify"] {
                #expect(try sandbox.offered("backupfs \(command) --store $S ''") == names, "\(command)")
            }
            sandbox.variables["BACKUPFS_STORE"] = sandbox.storePath
            #expect(try sandbox.offered("backupfs ls ''") == names)
            #expect(try sandbox.offered("backupfs pin t") == ["two words"])
            sandbox.variables["BACKUPFS_STORE"] = "\(sandbox.path)/none"
            #expect(try sandbox.offered("backupfs ls ''") == [])
            try sandbox.sh("echo secret > $R/password; backupfs init --store $R/secret --encrypt --password-file $R/password")
            try sandbox.sh("backupfs backup --store $R/secret --label hidden --password-file $R/password")
            sandbox.variables["BACKUPFS_STORE"] = "\(sandbox.path)/secret"
            #expect(try sandbox.offered("backupfs ls ''") == [])
            sandbox.variables["BACKUPFS_PASSWORD_FILE"] = "\(sandbox.path)/password"
            #expect(try sandbox.offered("backupfs ls ''") == ["hidden", "latest"])
        }
    }

    @Test func `safety backups are offered wherever they are accepted`() throws {
        try withStore { sandbox in
            try sandbox.sh(
                "BACKUPFS_NOW=2026-01-11T14:30:00Z backupfs restore monday --yes --store $S >/dev/null; backupfs restore monday --yes --store $S >/dev/null"
            )
            let safety = try sandbox.sh("backupfs snapshots --safety --store $S | awk 'NR > 1 { print $1 }' | sort").split(
                separator: "\n"
            ).map(String.init)
            #expect(safety.count == 2)
            let names = (["latest", "monday", "two words"] + safety).sorted()
            for command in ["ls", "pin", "unpin", "diff", "diff monday", "tag", "export", "verify", "stats"] {
                #expect(try sandbox.offered("backupfs \(command) --store $S ''").sorted() == names, "\(command)")
            }
            #expect(
                try sandbox.offered("backupfs restore --store $S ''").sorted() == (names + ["file.json", "place/"]).sorted())
            // The offered names are accepted.
            for name in safety {
                try sandbox.sh(
                    "backupfs ls \(name) --store $S; backupfs verify \(name) --store $S; backupfs pin \(name) --store $S")
                try sandbox.sh("backupfs restore \(name) --dry-run --store $S; backupfs diff \(name) latest --store $S")
            }
        }
    }

    @Test func `T-A22: a key that is pressed finishes no restore and runs no command`() throws {
        try withStore { sandbox in
            // The state after a crash between a restore and its last command.
            try sandbox.sh(
                "backupfs config set after-restore \"touch $R/started\" --store $S; echo after-restore > $S/restore.hook")
            #expect(try sandbox.offered("backupfs ls --store $S ''") == ["latest", "monday", "two words"])
            try sandbox.sh("test ! -e $R/started; test -e $S/restore.hook")
            try sandbox.sh("backupfs snapshots --store $S >/dev/null; test -e $R/started; test ! -e $S/restore.hook")
        }
    }

    @Test func `zsh and fish take theirs`() throws {
        try withStore { sandbox in
            try sandbox.sh(
                "zsh -n $I/share/zsh/site-functions/_backupfs; fish -n $I/share/fish/vendor_completions.d/backupfs.fish")
            #expect(try sandbox.sh("head -1 $I/share/zsh/site-functions/_backupfs") == "#compdef backupfs")
            let fish = try sandbox.sh(
                """
                fish --no-config -c 'source $I/share/fish/vendor_completions.d/backupfs.fish
                complete -C "backupfs pr"; complete -C "backupfs restore --strategy "' | cut -f1
                """)
            #expect(fish == "prune\nreplace\nmerge\nskip")
        }
    }
}

extension Sandbox {
    /// What bash offers after these words, sorted.
    fileprivate func offered(_ words: String, at place: SourceLocation = #_sourceLocation) throws -> [String] {
        try sh(CompletionTests.press + "press \(words)", at: place).split(separator: "\n").map(String.init)
    }
}
