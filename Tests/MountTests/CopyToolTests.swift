import TestSupport
import Testing

/// `cp`, `rsync`, `tar`, `find`, `du` and `diff` over a whole backup, as on a disk.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct CopyToolTests {
    @Test func `copies are whole, keep their times, and need no second look`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            try sandbox.sh("cp -r $M/snapshots/one $R/cp; diff -r $M/snapshots/one $R/cp")
            try sandbox.sh("cp -a $M/snapshots/one $R/cpa; diff -r $M/snapshots/one $R/cpa")
            let times = "find . -printf '%P %T@ %m\\n' | sort"
            #expect(try sandbox.sh("cd $R/cpa; \(times)") == sandbox.sh("cd $M/snapshots/one; \(times)"))
            try sandbox.sh("rsync -a $M/snapshots/one/ $R/rsync/; diff -r $M/snapshots/one $R/rsync")
            #expect(try sandbox.sh("rsync -ani $M/snapshots/one/ $R/rsync/") == "")
            #expect(try sandbox.sh("rsync -anic $M/snapshots/one/ $R/rsync/") == "")
            try sandbox.sh(
                """
                tar -C $M/snapshots -cf $R/one.tar one; mkdir $R/tar; tar -C $R/tar -xf $R/one.tar
                diff -r $M/snapshots/one $R/tar/one
                """
            )
            #expect(try sandbox.sh("tar -C $M/snapshots -df $R/one.tar") == "")
        }
    }

    @Test func `the whole mount can be copied`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("mkdir $M/snapshots/one; cp $R/old.json $M/restore/; mkdir $M/snapshots/two")
            try sandbox.sh("rsync -a $M/ $R/whole/; cp -a $M $R/whole-cp")
            try sandbox.sh(
                """
                diff -r $M/snapshots $R/whole/snapshots; diff -r $M/exports $R/whole-cp/exports
                diff -r $M/safety $R/whole/safety
                """
            )
            #expect(try sandbox.sh("readlink $R/whole/snapshots/latest") == "two")
        }
    }

    @Test func `du counts what files have, and find finds by size and time`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let total = try sandbox.sh("find $M/snapshots/one -type f -printf '%s\\n' | awk '{ sum += $1 } END { print sum }'")
            #expect(try sandbox.sh("du -sb --apparent-size $M/snapshots/one | cut -f1") == total)
            #expect(
                try sandbox.sh("find $M/snapshots/one -size +100k -name '*.json' -printf '%P\\n' | sort")
                    == "data/expenses.json\nexport.json")
            #expect(try sandbox.sh("find $M/snapshots/one -type f ! -newermt 2026-01-11T14:30:00Z | wc -l") == "14")
            #expect(try sandbox.sh("find $M/snapshots/one -type f -newermt 2026-01-11T14:29:59Z | wc -l") == "14")
        }
    }

    @Test func `readers of parts get the right parts`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/export.json $R/export.json")
            let file = "$M/snapshots/one/export.json"
            for command in [
                "head -c 1000", "tail -c 1000", "head -n 40", "tail -n 40", "wc", "tac", "sha256sum <", "sed -n 100,200p",
                "md5sum <",
            ] {
                #expect(
                    try sandbox.sh("\(command) \(file)")
                        == sandbox.sh("\(command) $R/export.json").replacing(
                            "\(sandbox.path)/export.json", with: "\(sandbox.mountpoint)/snapshots/one/export.json"))
            }
            try sandbox.sh(
                "python3 -c \"import mmap,os,sys; f=open(sys.argv[1],'rb'); m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ); "
                    + "assert m[:]==open(sys.argv[2],'rb').read()\" \(file) $R/export.json")
            // Eight concurrent readers, and the same file open while it is read to its end.
            try sandbox.sh(
                """
                all=; for i in 1 2 3 4 5 6 7 8; do cmp \(file) $R/export.json & all="$all $!"; done; for job in $all
                do wait $job; done
                """
            )
        }
    }

    @Test func `exports are the backups' exports under the app's own name`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let names = try sandbox.names("exports")
            #expect(names.count == 1)
            #expect(
                names.first?.wholeMatch(of: /ev_charging_tracker_backup_[0-9]{4}(-[0-9]{2}){2}_[0-9]{2}(-[0-9]{2}){2}\.json/)
                    != nil)
            try sandbox.sh("cmp $M/exports/* $M/snapshots/one/export.json; cp -p $M/exports/* $R/")
            #expect(
                try sandbox.sh("TZ=Asia/Almaty stat -c %Y $R/ev*; stat -c %Y $M/snapshots/one").split(separator: "\n").count == 2)
        }
    }

    @Test func `EXP-08: names follow the local time, in ordinary digits whatever the language`() throws {
        let zone = ["TZ": "Asia/Kolkata", "LC_ALL": "ar_EG.UTF-8"].merging(Sandbox.fixedClock) { $1 }
        try Sandbox.withMount("--sample", zone) { sandbox in
            try sandbox.sh("backupfs backup --store $S", zone)
            #expect(try sandbox.names("snapshots") == ["2026-01-11_20-00-00", "latest"])
            #expect(try sandbox.names("exports") == ["ev_charging_tracker_backup_2026-01-11_20-00-00.json"])
            #expect(try sandbox.sh("jq -r .metadata.createdAt $M/snapshots/latest/export.json") == "2026-01-11T14:30:00Z")
        }
    }
}
