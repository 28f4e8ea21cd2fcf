import TestSupport
import Testing

/// A mount continues to serve while another process removes backups and rewrites packs.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct PruneTests {
    @Test func `reading goes on while prune runs`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/first
                sqlite3 $S/app/database.sqlite "update expenses set notes = 'kept ' || id where id % 3 = 0"
                mkdir $M/snapshots/kept
                cp -r $M/snapshots/kept $R/copy; cp $M/snapshots/kept/archive.zip $R/kept.zip
                """)
            // One reader reopens files all the time and makes the kernel drop its cache; one keeps a file open; one reads the
            // archive.
            let reader = try sandbox.start(
                """
                exec 7< $M/snapshots/kept/export.json
                for round in $(seq 1 400); do
                    [ -e $R/stop ] && break
                    (cd $M/snapshots/kept && sha256sum --quiet --strict -c SHA256SUMS) || exit 1
                    python3 -c '
                import os, sys
                os.posix_fadvise(7, 0, 0, os.POSIX_FADV_DONTNEED)
                size = os.fstat(7).st_size
                data = b"".join(os.pread(7, 1 << 20, offset) for offset in range(0, size, 1 << 20))
                sys.exit(data != open(sys.argv[1], "rb").read())
                ' $R/copy/export.json || exit 2
                    cmp $M/snapshots/kept/archive.zip $R/kept.zip || exit 3
                    for file in $(find $M/snapshots/kept -type f); do dd if=$file iflag=nocache count=0 status=none; done
                done
                echo $round
                """)
            try sandbox.sh(
                """
                backupfs forget first --yes --store $S; backupfs prune --now --max-unused 0% --store $S
                for turn in 1 2 3 4 5; do
                    sqlite3 $S/app/database.sqlite "update expenses set notes = 'turn $turn ' || id where id % 5 = $turn % 5"
                    backupfs backup --label turn$turn --store $S
                    [ $turn -gt 1 ] && backupfs forget turn$((turn - 1)) --yes --prune --store $S
                    backupfs prune --now --max-unused 0% --store $S
                done
                touch $R/stop
                """)
            let result = try reader.wait()
            #expect(result.exitCode == 0, "\(result.text)")
            #expect(try sandbox.names("snapshots") == ["kept", "latest", "turn5"])
            try sandbox.sh("backupfs check --read-data --store $S; diff -r $M/snapshots/kept $R/copy")
        }
    }

    @Test func `what is damaged is EIO and nothing else is`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/first; cp -r $M/snapshots/first $R/copy")
            try sandbox.unmount()
            // The largest pack loses 64 bytes in its middle; the catalog is removed.
            try sandbox.sh(
                #"""
                pack=$(find $S/repository/packs -name '*.pack' -printf '%s %p\n' | sort -n | tail -1 | cut -d' ' -f2)
                size=$(stat -c %s $pack); head -c 64 /dev/zero | dd of=$pack bs=1 seek=$((size / 3)) conv=notrunc status=none
                rm $S/repository/catalog.sqlite*
                """#)
            let check = try sandbox.run("backupfs check --read-data --json --store $S > $R/findings")
            #expect(check.exitCode == 1)
            let hurt = try sandbox.sh("jq -r 'select(.message_type == \"damaged\") | .path' $R/findings | sort")
            #expect(!hurt.isEmpty)
            try sandbox.mount()
            let unreadable = try sandbox.sh(
                """
                cd $R/copy; for file in $(find . -type f | sed 's|^./||' | sort); do
                    case $file in archive.tar|archive.zip|index.html|MD5SUMS|SHA256SUMS) continue;; esac
                    if cat $M/snapshots/first/$file > $R/read 2> $R/why; then cmp -s $R/read $file || echo "$file differs"
                    else grep -q 'Input/output error' $R/why && echo $file; fi
                done
                """)
            #expect(unreadable == hurt)
        }
    }
}
