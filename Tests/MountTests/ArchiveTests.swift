import TestSupport
import Testing

/// `archive.zip`, opened by every available program.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ArchiveTests {
    private static let readers = [
        ("unzip", "unzip -tqq"), ("7z", "7z t -bso0 -bsp0"), ("bsdtar", "bsdtar -tf"), ("jar", "jar tf"), ("zip", "zip -Tq"),
        ("python3", "python3 -c 'import sys, zipfile; sys.exit(zipfile.ZipFile(sys.argv[1]).testzip() is not None)'"),
    ]

    @Test func `ZIP-01: every program at hand accepts the archive, straight from the mount`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            for archive in ["$M/snapshots/one/archive.zip", "$M/live/archive.zip"] {
                for (tool, command) in Self.readers where Machine.hasTool(tool) {
                    // zip -T creates its temporary file beside the archive.
                    let path = tool == "zip" ? "$R/tmp/copy.zip" : archive
                    try sandbox.sh("\(tool == "zip" ? "cp \(archive) \(path); " : "")\(command) \(path)")
                }
            }
        }
    }

    @Test(arguments: ["unzip -qq", "bsdtar -xf", "7z x -bso0 -bsp0", "jar xf"])
    func `unpacked it is the backup`(command: String) throws {
        let tool = String(command.prefix { $0 != " " })
        guard Machine.hasTool(tool) else { return }
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one $R/unpacked; cd $R/unpacked; \(command) $M/snapshots/one/archive.zip")
            try sandbox.sh("diff -r -x 'archive.*' -x index.html -x SHA256SUMS -x MD5SUMS $M/snapshots/one $R/unpacked")
            // The listings cover the same files, so where they are part of the archive they are identical.
            try sandbox.sh(
                """
                cd $R/unpacked; [ ! -e SHA256SUMS ] || cmp SHA256SUMS $M/snapshots/one/SHA256SUMS
                sha256sum -c $M/snapshots/one/SHA256SUMS
                """
            )
            #expect(
                try sandbox.sh("find $R/unpacked -type f | wc -l")
                    == sandbox.sh("unzip -Z1 $M/snapshots/one/archive.zip | grep -vc /$")
            )
        }
    }

    @Test func `its bytes are the same for each reader, however often, and in whatever order`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/archive.zip $R/first.zip")
            let told = try sandbox.sh("stat -c %s $M/snapshots/one/archive.zip")
            #expect(try sandbox.sh("stat -c %s $R/first.zip") == told)
            try sandbox.remount()
            try sandbox.sh("cmp $R/first.zip $M/snapshots/one/archive.zip")
            try sandbox.expectSameBytes("snapshots/one/archive.zip", as: "first.zip")
            for size in [1, 7, 1000, 131_072] {
                try sandbox.sh(
                    "cmp <(dd if=$M/snapshots/one/archive.zip bs=\(size) skip=3 count=50 status=none) "
                        + "<(dd if=$R/first.zip bs=\(size) skip=3 count=50 status=none)")
            }
            try sandbox.sh("cmp <(tail -c 1000 $M/snapshots/one/archive.zip) <(tail -c 1000 $R/first.zip)")
        }
    }

    @Test func `entries carry the backup's time and are in a fixed order`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one $M/snapshots/two")
            let list = "unzip -Z1 $M/snapshots/one/archive.zip"
            #expect(try sandbox.sh("\(list) | sort | uniq -d") == "")
            #expect(
                try sandbox.sh("zipinfo -T -l $M/snapshots/one/archive.zip | grep -c 20260111.143000")
                    == sandbox.sh("\(list) | wc -l"))
            #expect(try sandbox.sh(list) == sandbox.sh("unzip -Z1 $M/snapshots/two/archive.zip"))
        }
    }

    @Test func `an export written by a command is the same archive`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; backupfs export one --zip -o $R/out.zip --store $S
                cmp $R/out.zip $M/snapshots/one/archive.zip
                """
            )
        }
    }

    /// The bytes that the mounting process reads from anywhere, including packs, show what a program's access to an archive
    /// costs.
    @Test func `one file out of an archive, or its list, costs little more than that`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                head -c 64000000 /dev/urandom > $P/large.raw; printf needle > $P/needle.txt; mkdir $M/snapshots/one
                for name in archive.zip archive.tar; do [ $(stat -c %s $M/snapshots/one/$name) -gt 64000000 ]; done
                """)
            for look in [
                "[ \"$(unzip -p $A.zip media/needle.txt)\" = needle ]", "python3 -m zipfile -l $A.zip | grep -c media/needle.txt",
                "7z l $A.zip | grep -c needle", "bsdtar -tf $A.zip | grep -c needle",
                "tail -c 1000000 $A.zip | wc -c",
                "dd if=$A.zip skip=30000000 count=5000 bs=1 iflag=skip_bytes status=none | wc -c",
                #"python3 -c "import tarfile,sys; t=tarfile.open(sys.argv[1]+'.tar'); print(len(t.getnames()))" $A"#,
            ] {
                try sandbox.remount()
                let daemon = try #require(sandbox.daemons.first)
                let read = try sandbox.sh(
                    """
                    A=$M/snapshots/one/archive; count() { awk '/^rchar/ { print $2 }' /proc/\(daemon)/io; }
                    before=$(count); \(look) >/dev/null; echo $(($(count) - before))
                    """)
                #expect(try #require(Int(read)) < 16_000_000, "\(look)")
            }
        }
    }
}
