import TestSupport
import Testing

/// The cache of checksums: that it saves reading, and never hides a change.
struct ChecksumCacheTests {
    /// Two equal folders whose files changed long enough ago to be kept.
    static let folders = """
        mkdir -p $R/l/d; cd $R/l; for i in 1 2 3; do head -c 200000 /dev/urandom > d/$i; done; printf small > s; cp -a $R/l $R/r; wait_settled $R/l $R/r
        """
    /// How many bytes of the two folders a command reads.
    static func bytesRead(_ command: String) -> String {
        """
        rm -f $R/trace*; strace -ff -y -e trace=read,pread64,readv,preadv,mmap -o $R/trace \(command) > $R/out
        cat $R/trace* | awk -v r="$R/" 'index($0, "<" r "l/") || index($0, "<" r "r/") { if (/mmap/) m = "mapped "; s += $NF } END { print m s + 0 }'
        """
    }

    /// Requirement CHK-04.
    @Test func `the second comparison reads no content, until a file was touched, changed, or an hour has passed`() throws {
        let sandbox = try CopySandbox.make(Self.folders)
        let compare = Self.bytesRead("backupfs compare --checksum $R/l $R/r")
        #expect(try sandbox.sh(compare) == "1200010")
        #expect(try sandbox.sh(compare) == "0")
        #expect(
            try sandbox.sh("backupfs compare --checksum $R/l $R/r --json | jq -c .checksumCache")
                == #"{"hits":8,"misses":0,"bytesRead":0}"#)
        #expect(try sandbox.sh("stat -c %a $R/home/.cache/backupfs/checksums.sqlite") == "600")
        // The same bytes in a file that was touched: its checksum is computed again.
        #expect(try sandbox.sh("touch $R/l/d/1; wait_settled $R/l; \(compare)") == "200000")
        #expect(try sandbox.sh(compare) == "0")
        let later = try sandbox.sh("date -u -d '+3605 seconds' +%Y-%m-%dT%H:%M:%SZ")
        let soon = try sandbox.sh("date -u -d '+3000 seconds' +%Y-%m-%dT%H:%M:%SZ")
        let earlier = try sandbox.sh("date -u -d '-100 seconds' +%Y-%m-%dT%H:%M:%SZ")
        #expect(try sandbox.sh(compare, ["BACKUPFS_NOW": soon]) == "0")
        // A clock that was set back makes no checksum valid for longer.
        #expect(try sandbox.sh(compare, ["BACKUPFS_NOW": earlier]) == "1200010")
        #expect(
            try sandbox.sh(Self.bytesRead("backupfs compare --checksum --cache-age 2h $R/l $R/r"), ["BACKUPFS_NOW": later]) == "0"
        )
        #expect(try sandbox.sh(compare, ["BACKUPFS_NOW": later]) == "1200010")
        for flags in ["--no-cache --checksum", "--bytes"] {
            #expect(
                try sandbox.sh("backupfs compare \(flags) $R/l $R/r --json | jq -c '[.checksumCache.hits, .equal]'") == "[0,true]"
            )
        }
        #expect(try sandbox.sh(Self.bytesRead("backupfs compare --no-cache --checksum $R/l $R/r")) == "1200010")
    }

    @Test func `other bytes with the size and time of before are noticed, and so is another file of that name`() throws {
        let sandbox = try CopySandbox.make(Self.folders)
        try sandbox.sh("backupfs compare --checksum $R/l $R/r > $R/out; cp -a $R/l $R/kept")
        try sandbox.sh(
            """
            python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(1000); b = f.read(1)[0]; f.seek(1000); f.write(bytes([b ^ 1]))' $R/r/d/2
            touch -r $R/l/d/2 $R/r/d/2; [ $(stat -c %y $R/l/d/2 | tr -d ' ') = $(stat -c %y $R/r/d/2 | tr -d ' ') ]
            """)
        let result = try sandbox.run("backupfs compare --checksum $R/l $R/r")
        #expect(result.exitCode == 1)
        #expect(result.output.contains("d/2: the same size, another content"), "\(result.text)")
        // A rename keeps the inode's times but for the change time; two files exchange their names.
        try sandbox.sh("rm -r $R/r; cp -a $R/l $R/r; wait_settled $R/r; backupfs compare --checksum $R/l $R/r > $R/out")
        try sandbox.sh("cd $R/r/d; mv 1 t; mv 2 1; mv t 2; touch -r $R/l/d/1 1; touch -r $R/l/d/2 2")
        #expect(
            try sandbox.sh("backupfs compare --checksum $R/l $R/r --no-moves --json | jq -c '[.different[].path]' || true")
                == #"["d/1","d/2"]"#)
    }

    @Test func `a file that has just changed is not kept`() throws {
        let sandbox = try CopySandbox.make("mkdir $R/l; cp /dev/null $R/l/x")
        // Each write and its checksum follow each other at once, within one step of the file system's clock.
        let sums = try sandbox.sh(
            "for i in $(seq 20); do printf %03d $i > $R/l/x; touch -d '2026-01-01' $R/l/x; backupfs checksum $R/l/x | cut -c1-64; done | sort -u | wc -l"
        )
        #expect(sums == "20")
    }

    @Test func `a damaged cache is thrown away, whatever is damaged`() throws {
        let sandbox = try CopySandbox.make(Self.folders)
        sandbox.variables["C"] = sandbox("home/.cache/backupfs/checksums.sqlite")
        let sums = try sandbox.sh("cd $R/l; sha256sum d/* s")
        let run = "cd $R/l; backupfs checksum d/* s 2> $R/err"
        let damages = [
            "echo garbage > $C; rm -f $C-*", ": > $C; rm -f $C-*", "head -c 5000 $C > $R/cut; cp $R/cut $C; rm -f $C-*",
            "sqlite3 $C 'DROP TABLE checksums'", "sqlite3 $C 'PRAGMA user_version = 99'",
            "sqlite3 $C 'UPDATE checksums SET digest = zeroblob(32)'", "sqlite3 $C \"UPDATE checksums SET digest = 'x'\"",
            "sqlite3 $C 'UPDATE checksums SET stored_at = stored_at - 100'",
            "python3 -c 'import sys; f = open(sys.argv[1], \"r+b\"); b = bytearray(f.read()); b[4096:] = bytes(x ^ 255 for x in b[4096:]); f.seek(0); f.write(b)' $C",
        ]
        for damage in damages {
            #expect(try sandbox.sh(run) == sums)
            try sandbox.sh("sqlite3 $C 'PRAGMA wal_checkpoint(TRUNCATE)' > /dev/null; \(damage)")
            #expect(try sandbox.sh(run) == sums, "\(damage)")
            // It is whole again, and used.
            #expect(try sandbox.sh("backupfs checksum $R/l/s > $R/out; sqlite3 $C 'PRAGMA integrity_check'") == "ok", "\(damage)")
            #expect(try sandbox.sh(Self.bytesRead("backupfs checksum $R/l/s")) == "0", "\(damage)")
        }
        // Nothing else ends in an error, either.
        for damage in [
            "rm -f $C*; mkdir $C", "rm -rf $C*; ln -s /nowhere $C", "rm -f $C*; touch $C; chmod 666 $C",
            "rm -rf $(dirname $C); echo x > $(dirname $C)",
        ] {
            try sandbox.sh(damage)
            #expect(try sandbox.sh(run) == sums, "\(damage)")
            #expect(try sandbox.sh("cat $R/err").hasPrefix("warning: "), "\(damage)")
        }
    }

    @Test(.enabled(if: Machine.isRoot))
    func `a cache that another user could have written is not believed`() throws {
        let sandbox = try CopySandbox.make(Self.folders)
        try sandbox.sh("backupfs checksum $R/l/s > $R/out; chown -R 65534 $R/home/.cache")
        let result = try sandbox.run("backupfs checksum $R/l/s")
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("belongs to another user and is not used"), "\(result.text)")
    }

    @Test func `several processes use it at once`() throws {
        let sandbox = try CopySandbox.make(
            "mkdir $R/l; cd $R/l; for i in $(seq 300); do echo $i > $i; done; cp -a $R/l $R/r; wait_settled $R/l $R/r")
        #expect(
            try sandbox.sh(
                """
                for i in $(seq 8); do backupfs compare --checksum $R/l $R/r > $R/out$i 2> $R/err$i & done
                wait; cat $R/err*; tail -qn 1 $R/out? | sort | uniq -c | tr -s ' '
                """) == " 8 The two sides are equal.")
        #expect(try sandbox.sh("backupfs cache stats --json | jq -c '[.entries, .current_entries]'") == "[600,600]")
    }

    @Test func `it is shown and emptied`() throws {
        let sandbox = try CopySandbox.make(Self.folders)
        #expect(try sandbox.sh("backupfs cache stats --json | jq -c '[.entries, .size_bytes, .oldest]'") == "[0,0,null]")
        try sandbox.sh("backupfs checksum $R/l/d/* > $R/out")
        #expect(try sandbox.sh("backupfs cache stats").contains("Checksums: 3, of the last hour: 3"))
        let later = try sandbox.sh("date -u -d '+2 hours' +%Y-%m-%dT%H:%M:%SZ")
        #expect(
            try sandbox.sh("backupfs cache stats --json | jq -c '[.entries, .current_entries]'", ["BACKUPFS_NOW": later])
                == "[3,0]")
        // What is a month old goes when something is added.
        let month = try sandbox.sh("date -u -d '+31 days' +%Y-%m-%dT%H:%M:%SZ")
        try sandbox.sh("backupfs checksum $R/l/s > $R/out", ["BACKUPFS_NOW": month])
        #expect(try sandbox.sh("backupfs cache stats --json | jq -c .entries") == "1")
        #expect(
            try sandbox.sh("backupfs cache clear; backupfs cache clear --json | jq -c .removed") == "1 checksum was removed.\n0")
        #expect(
            try sandbox.sh("echo garbage > $R/home/.cache/backupfs/checksums.sqlite; backupfs cache clear")
                == "0 checksums were removed.")
    }
}
