import SystemIO
import TestSupport
import Testing

/// `export --pdf-catalog`, read by poppler's tools.
struct CatalogueTests {
    /// The text without blanks and line ends, since names are wrapped, and without the marks that pdftotext adds around scripts
    /// that run from right to left.
    private static let reader = #"""
        import subprocess, sys, unicodedata
        text = subprocess.run(["pdftotext", "-raw", sys.argv[1], "-"], check=True, capture_output=True).stdout.decode()
        marks = set(range(0x202A, 0x202F)) | set(range(0x2066, 0x206A)) | {0x200E, 0x200F}
        text = "".join(c for c in unicodedata.normalize("NFKC", text) if not c.isspace() and ord(c) not in marks)
        for wanted in sys.argv[2:]:
            wanted = "".join(c for c in unicodedata.normalize("NFKC", wanted) if not c.isspace())
            if wanted not in text: print("missing:", wanted)
        """#

    private static func missing(_ texts: [String], in file: String, _ sandbox: Sandbox) throws -> String {
        try sandbox.write(reader, to: "reader.py")
        let result = try sandbox.run(["/usr/bin/python3", sandbox("reader.py"), sandbox(file)] + texts)
        try #require(result.exitCode == 0, "\(result.text)")
        return result.output
    }

    @Test func `EXP-01: a PDF with the photos of a backup, whatever their names and texts are`() throws {
        let sandbox = try PageLibrary.make()
        #expect(
            try sandbox.sh("backupfs export one --pdf-catalog -o $R/album.pdf --store $S", ["TZ": "UTC"])
                == sandbox("album.pdf"))
        let names = [
            "<script>alert(1)<", "</figure><script>alert(2)</script>", "a\"b'c&amp;.jpg", "Canon EOS <R5>", "clip.mov",
            "video/quicktime", "invalid \u{FFFD}\u{FFFD}.jpg", "\" onload=\"alert(3) second line", "evil\u{FFFD}gpj.exe.jpg",
            "Ufer", "شرق", "two\u{FFFD}lines.jpg", "starred", "Αθήνα Москва", "مرحبا", "undated.jpg", "306 × 206", "★★★★☆",
            "Photo Library: photos", "June 2024", "December 2023", "July 1969", "without a date",
            "2024-06-30 10:00:00 +09:00",
        ]
        #expect(try Self.missing(names, in: "album.pdf", sandbox) == "")
        let information = try sandbox.sh("pdfinfo $R/album.pdf")
        for line in [/Title: +Photo Library: photos/, /Creator: +backupfs/, /Page size: +595\.\d+ x 841\.\d+ pts \(A4\)/] {
            #expect(information.contains(line), "\(information)")
        }
        #expect(information.contains(/Tagged: +yes/) && information.contains(/JavaScript: +no/), "\(information)")
        // The pictures are the very bytes of the thumbnails.
        #expect(
            try sandbox.sh(
                """
                mkdir $R/pictures; cd $R/pictures; pdfimages -j $R/album.pdf p; ls | wc -l
                md5sum * | cut -c1-32 | sort > $R/in-pdf; find $R/one/thumbnails -type f -exec md5sum {} + | tr -d '\\\\' | cut -c1-32 | sort | diff $R/in-pdf -
                """) == "7")
        // The outline has years and months.
        try sandbox.sh("pdftohtml -xml -i $R/album.pdf $R/outline >/dev/null")
        #expect(
            try sandbox.sh("sed -n '/<outline>/,$p' $R/outline.xml | grep -o '>[^<]*</item>' | tr -d '>' | sed 's,</item,,'")
                == """
                2024
                June 2024
                May 2024
                January 2024
                2023
                December 2023
                1969
                July 1969
                without a date
                """)
        #expect(try sandbox.sh("stat -c %a $R/album.pdf") == "600")
        try sandbox.sh("backupfs export one --pdf-catalog -o - --store $S | cmp - $R/album.pdf", ["TZ": "UTC"])
    }

    @Test func `many photos are on several pages, with their numbers`() throws {
        let sandbox = try PageLibrary.make()
        try sandbox.sh(
            """
            for i in $(seq 60); do cp $P/trip/undated.jpg $P/copy-$i.jpg; done; wait_settled $P
            backupfs backup --label two --store $S >/dev/null; backupfs export two --pdf-catalog -o $R/album.pdf --store $S
            """)
        let count = try #require(Int(try sandbox.sh("pdfinfo $R/album.pdf | sed -n 's/^Pages: *//p'")))
        #expect((4...8).contains(count), "\(count) pages")
        #expect(
            try sandbox.sh(
                "for page in $(seq \(count)); do pdftotext -f $page -l $page -raw $R/album.pdf - | tr -d '\\f' | grep -v '^$' | tail -n 1; done"
            )
                == (1...count).map(String.init).joined(separator: "\n"))
        #expect(try Self.missing((1...60).map { "copy-\($0).jpg" }, in: "album.pdf", sandbox) == "")
        #expect(try sandbox.sh("pdfimages -list $R/album.pdf | grep -c jpeg") == "67")
    }

    @Test func `without the helper, or when it fails, there is no file, and the reason`() throws {
        let sandbox = try PageLibrary.make()
        try sandbox.sh("mkdir $R/alone $R/out; cp \(try Machine.binaryPath()) $R/alone/backupfs; echo old > $R/out/old.pdf")
        let export = "$R/alone/backupfs export one --pdf-catalog -o $R/out/old.pdf --store $S"
        try sandbox.fails(export, saying: "backupfs-media is not installed", exitCode: 1)
        for (script, message) in [
            ("exit 0", "has ended too early"), ("kill -9 $$", "has ended too early"), ("exit 127", "does not start"),
            ("echo 'backupfs-media pages: no kernel' >&2; exit 10", "(no kernel)"),
            ("cat >/dev/null; echo 'backupfs-media pages: 28' >&2; exit 12", "No space left on device"),
            ("cat >/dev/null; head -c 100000 /dev/zero >&2; exit 13", "could not be drawn"),
        ] {
            try sandbox.write("#!/bin/sh\n\(script)\n", to: "alone/backupfs-media")
            try sandbox.sh("chmod 755 $R/alone/backupfs-media")
            try sandbox.fails(export, saying: message, exitCode: 1)
        }
        let helper = try PhotoFixture.helper()
        try sandbox.sh("rm $R/alone/backupfs-media; cp \(helper) $R/alone/backupfs-media")
        let limited = try sandbox.run("ulimit -f 8; \(export)")
        #expect(limited.exitCode == 1 && limited.errors.contains("File too large"), "\(limited.errors)")
        let full = try sandbox.run("$R/alone/backupfs export one --pdf-catalog -o /dev/full --store $S")
        #expect(full.exitCode == 1 && full.errors.contains("No space left on device"), "\(full.errors)")
        let pipe = try sandbox.run("$R/alone/backupfs export one --pdf-catalog -o - --store $S | true; exit ${PIPESTATUS[0]}")
        #expect(pipe.exitCode == 1 && pipe.errors.contains("Broken pipe"), "\(pipe.errors)")
        #expect(try sandbox.sh("cd $R/out; ls; cat old.pdf") == "old.pdf\nold")
    }
}
