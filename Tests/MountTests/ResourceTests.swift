import TestSupport
import Testing

/// The resources that the mounting process holds: descriptors and memory.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ResourceTests {
    @Test func `CON-04, CON-05: descriptors are given back`() throws {
        try PhotoDiary.withMount { sandbox in
            let daemon = try #require(sandbox.daemons.first)
            let work = """
                find $M -type f -print0 | xargs -0 cat >/dev/null; find $M >/dev/null; getfattr -d -m - -R $M >/dev/null 2>&1
                mkdir $M/snapshots/$NAME; cp $M/snapshots/$NAME/archive.zip $M/restore/
                cp $M/snapshots/$NAME/export.json $M/restore/preview/
                echo bad > $M/restore/bad.json || true; (echo '{'; echo x) > $M/restore/bad.json || true
                touch $M/restore/empty; rm $M/restore/empty
                rmdir $M/snapshots/$NAME; rm -f $M/restore/*.json $M/restore/*.zip $M/restore/preview/*.json 2>/dev/null || true
                """
            // Packs and the kernel's queue are kept open, in bounded numbers; nothing else
            // is. The previous live view is released at the first access two seconds later.
            let count =
                "sleep 2.2; stat $M/live/export.json >/dev/null; ls -l /proc/\(daemon)/fd | grep -v -e /packs/ -e /dev/fuse | wc -l"
            try sandbox.sh("set +e; \(work); true", ["NAME": "warm-up"])
            let before = try sandbox.sh(count)
            for number in 1...5 { try sandbox.sh("set +e; \(work); true", ["NAME": "turn-\(number)"]) }
            try sandbox.sh(
                """
                mkdir $M/snapshots/last; for i in $(seq 1 200); do cat $M/snapshots/last/archive.zip > /dev/null; done
                rmdir $M/snapshots/last
                """
            )
            // Opened but not read, and partly read.
            try sandbox.sh(
                """
                for i in $(seq 1 50); do exec 5<$M/README.txt 6<$M/live/export.json; head -c 10 <&6 >/dev/null; exec 5<&- 6<&-
                done
                """
            )
            let now = try sandbox.sh("ls -l /proc/\(daemon)/fd")
            #expect(try Int(sandbox.sh(count)) ?? 0 <= (Int(before) ?? 0) + 2, "\(before) before; now: \(now)")
            #expect(now.split(separator: "\n").count < 200)
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
        }
    }

    @Test func `a hundred files open at once are all served`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let result = try sandbox.sh(
                """
                python3 - <<'END'
                import hashlib, os, threading
                path = os.environ["M"] + "/snapshots/one/"
                files = [open(path + name, "rb") for name in ["export.json", "archive.zip", "database.sqlite", "SHA256SUMS"] * 25]
                digests = [None] * 100
                def read(number): digests[number] = hashlib.sha256(files[number].read()).hexdigest()
                threads = [threading.Thread(target=read, args=(number,)) for number in range(100)]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
                print(len(set(digests)))
                END
                """)
            #expect(result == "4")
        }
    }

    /// 100,000 expenses in a release build; a debug build, which is far slower, gets fewer unless configured otherwise.
    private static let expenseCount = Int(Machine.environment("BACKUPFS_LARGE_TEST_EXPENSES") ?? "") ?? 100_000

    /// Requirements PER-09, PER-11, PER-13.
    @Test func `a hundred thousand expenses are backed up, listed, exported and restored in little memory`() throws {
        try Sandbox.use { sandbox in
            let count = Self.expenseCount
            try sandbox.sh("backupfs init --store $S --sample --sample-expenses \(count)", limitSeconds: 300)
            try sandbox.mount()
            let daemon = try #require(sandbox.daemons.first)
            try sandbox.sh("mkdir $M/snapshots/one", limitSeconds: 300)
            #expect(try sandbox.sh("jq '.records.expenses' $M/snapshots/one/manifest.json") == "\(count)")
            try sandbox.sh(
                """
                ls -lR $M >/dev/null; cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS; unzip -tqq archive.zip
                cp export.json $R/export.json
                """,
                limitSeconds: 300)
            #expect(
                try sandbox.sh("sqlite3 $M/snapshots/one/database.sqlite 'pragma quick_check; select count(*) from expenses'")
                    == "ok\n\(count)")
            try sandbox.sh(
                """
                cat $M/live/archive.zip >/dev/null
                sqlite3 $S/app/database.sqlite "update expenses set notes = 'changed' where id % 100 = 0"
                """
            )
            try sandbox.sh("mkdir $M/snapshots/two; cp $R/export.json $M/restore/", limitSeconds: 300)
            #expect(try sandbox.report("[.result, .counts.expenses] | @json") == "[\"success\",\(count)]")
            try sandbox.sh("cmp <(sed 3d $R/export.json) <(sed 3d $M/live/export.json)", limitSeconds: 300)
            try sandbox.sh("cp $M/snapshots/two/archive.zip $M/restore/", limitSeconds: 300)
            #expect(try sandbox.sh("jq -r '.records.expenses.changed' $M/snapshots/two/changes.json") == "\(count / 100)")
            let peak = try sandbox.sh("awk '/VmHWM/ { print $2 }' /proc/\(daemon)/status")
            #expect(try #require(Int(peak)) < 150 * 1024, "the mounting process took \(peak) KiB")
            try sandbox.unmount()
        }
    }
}
