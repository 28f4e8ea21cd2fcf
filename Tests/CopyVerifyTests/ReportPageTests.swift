import TestSupport
import Testing

/// The HTML of a report by html5lib, which refuses what the standard calls an error, and the PDF by poppler's tools.
struct ReportPageTests {
    /// Prints notices, headings and rows of a page, and fails for what it may not have.
    static let reader = #"""
        import base64, hashlib, html5lib, sys
        page = open(sys.argv[1], "rb").read()
        page.decode("utf-8", "strict")
        tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
        allowed = {
            "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(), "style": set(),
            "body": set(), "header": set(), "h1": set(), "h2": set(), "h3": set(), "p": {"class"}, "br": set(), "main": set(), "div": {"class"},
            "figure": set(), "img": {"src", "width", "height", "alt"}, "figcaption": set(), "bdi": set(), "table": {"class"}, "thead": set(),
            "tbody": set(), "tr": {"class"}, "th": {"scope", "class"}, "td": {"class"},
        }
        for element in tree.iter():
            assert set(element.keys()) <= allowed[element.tag], (element.tag, element.keys())
            for text in [element.text, element.tail, *element.attrib.values()]:
                assert not set(text or "") & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\0\x1b\u2028"), ascii(text)
        style = next(tree.iter("style")).text
        policy = [m.get("content") for m in tree.iter("meta") if m.get("http-equiv") == "Content-Security-Policy"]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert policy == [
            f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-{digest}'"], policy
        assert "url(" not in style and "@import" not in style
        for element in tree.iter():
            text = "".join(element.itertext())
            if element.tag in ("h1", "h2", "h3"): print(element.tag, ascii(text)[1:-1])
            if element.tag == "p" and element.get("class"): print(element.get("class"), ascii(text)[1:-1])
            if element.tag == "img": print("img", base64.b64decode(element.get("src").split(",", 1)[1], validate=True)[:3].hex(), ascii(element.get("alt")))
            if element.tag == "tr": print("  " + " | ".join(ascii("".join(c.itertext()))[1:-1] for c in element))
        """#

    static func read(_ file: String, in sandbox: Sandbox) throws -> String {
        try sandbox.write(reader, to: "reader.py")
        return try sandbox.sh("/usr/bin/python3 $R/reader.py \(file)")
    }

    /// The words of a PDF, with one blank between them.
    static func words(_ file: String, in sandbox: Sandbox) throws -> String {
        try sandbox.sh("pdftotext -layout \(file) - | tr -s ' \\f\\n' ' '")
    }

    @Test func `a page with names of every kind is strict HTML, and says first what is missing`() throws {
        let sandbox = try CopySandbox.make(
            ReportTests.names,
            "mkdir $R/a $R/b; echo other > '$R/b/=cmd|calc'".replacing("'$R/b/=cmd|calc'", with: "\"$R/b/=cmd|calc\""),
            isOnDisk: true)
        try sandbox.sh("backupfs copy --report html $R/card $R/a $R/b > $R/out 2>&1 || [ $? = 3 ]; \(ReportTests.job)")
        let page = try Self.read("$J/reports/report.html", in: sandbox).replacing(sandbox(""), with: "ROOT/")
        let lines = page.split(separator: "\n").map(String.init)
        #expect(lines.first == "h1 Transfer report: card")
        let headings = lines.filter { $0.hasPrefix("h2 ") }
        #expect(headings == ["h2 Not copied", "h2 Source", "h2 Destinations", "h2 Job", "h2 Files"])
        #expect(
            page.contains(
                "notice bad 1 copy is missing: do not erase the source.\nh2 Not copied\n  Status | File | Destination | Reason\n  name is taken | =cmd|calc | "
            ))
        for name in [
            "<script>alert(1)<&.txt", #"bad-\ufffd\ufffd.txt"#, #"line\ufffdfeed.MOV"#,
            #"\u041c\u043e\u0441\u043a\u0432\u0430 \U0001f600.mov"#, #"\u0645\u0631\u062d\u0628\u0627.mov"#,
        ] {
            #expect(lines.filter { $0.hasPrefix("  verified | \(name) | ") }.count == 2, "\(name)")
        }
        #expect(page.contains("  Camera | no camera recognised\n") && page.contains("  Copies verified | 95.0 %\n"), "\(page)")
    }

    @Test func `a complete job as a PDF: tagged, with the number of pages, and heads on each page`() throws {
        let sandbox = try CopySandbox.make(
            CopySandbox.source,
            "for i in $(seq 100); do echo $i > $R/card/MISC/more-$i.txt; done; cp $R/card/MISC/1.txt $R/card/شرق-Москва.txt")
        try sandbox.sh(
            "backupfs copy $R/card $R/a $R/b > $R/out; \(ReportTests.job); backupfs report $ID --format pdf --title 'Day 12' --client 'Клиент' --notes 'Second unit' > $R/out"
        )
        let text = try Self.words("$J/reports/report.pdf", in: sandbox)
        for part in [
            "Day 12", "Клиент", "Second unit", "Every byte arrived at each of 2 destinations.", "MISC/more-100.txt",
            "DCIM/large.mov",
            "Москва", "شرق",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        // A hyphen at the end of a line would be part of the digest.
        #expect(!text.contains(/[0-9a-f]{20}-/), "\(text)")
        let information = try sandbox.sh("pdfinfo $J/reports/report.pdf")
        #expect(
            information.contains(/Title: +Day 12/) && information.contains(/Tagged: +yes/)
                && information.contains(/JavaScript: +no/))
        let count = try #require(Int(try sandbox.sh("pdfinfo $J/reports/report.pdf | sed -n 's/^Pages: *//p'")))
        #expect((6...20).contains(count))
        #expect(
            try sandbox.sh(
                "for page in $(seq \(count)); do pdftotext -f $page -l $page -raw $J/reports/report.pdf - | tr -d '\\f' | grep -v '^$' | tail -n 1; done"
            )
                == (1...count).map { "\($0) / \(count)" }.joined(separator: "\n"))
        #expect(
            try sandbox.sh(
                "for page in $(seq 3 \(count)); do pdftotext -f $page -l $page -layout $J/reports/report.pdf - | grep -c 'Status.*File.*Destination.*Size.*SHA-256' || true; done | sort -u"
            ) == "1")
        #expect(try sandbox.sh("pdfinfo -struct $J/reports/report.pdf | grep -c '^ *TH'") != "0")
    }

    @Test(.enabled(if: Machine.isRoot))
    func `a destination that was pulled out, or lies in memory, is in the words of the report`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "mkdir $R/b $R/disk", isOnDisk: true)
        let result = try sandbox.runInNamespace(
            """
            set -e; mount -t tmpfs none $R/disk; mount --bind $R/disk $R/b
            touch $R/hold; BACKUPFS_FAULT=copy.source-read=pause:$R/hold backupfs copy --report json,html,pdf $R/card $R/a $R/b > $R/out 2> $R/err & process=$!
            wait_paused $R/hold $process; umount -l $R/b; rm $R/hold; code=0; wait $process || code=$?; echo "exit $code"; \(ReportTests.job)
            jq -r '.backupfs.verdict, .destinations[0].issues, .destinations[1].issues' $J/reports/report.json
            cp $J/reports/report.html $R/first.html; cp $J/reports/report.pdf $R/first.pdf
            mount --bind $R/disk $R/b; backupfs jobs resume $ID > $R/out; jq -r .backupfs.verdict $J/reports/report.json
            """)
        #expect(
            result.lines == ["exit 3", "incomplete", "0", "36", "every_byte_arrived"],
            "\(result.text)")
        let first = try Self.read("$R/first.html", in: sandbox)
        #expect(
            first.contains(
                "notice bad 36 copies are missing: do not erase the source.\nnotice bad Nothing more was copied to \(sandbox("b")): "
            ), "\(first)")
        #expect(
            try Self.words("$R/first.pdf", in: sandbox).contains(
                "36 copies are missing: do not erase the source. Nothing more was copied to"))
        let words = try Self.words("$J/reports/report.pdf", in: sandbox)
        #expect(words.contains("Every byte arrived at each of 2 destinations.") && words.contains("it has had 2 runs"))
        #expect(words.contains("its copies are gone when the machine stops"), "\(words)")
        #expect(words.contains("36 copies were read past the memory of the kernel (direct)."), "\(words)")
    }

    @Test func `what was read back in another way than directly is said`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "ln -s DCIM $R/card/link", isOnDisk: true)
        try sandbox.sh(
            """
            backupfs copy $R/card $R/a $R/b > $R/out; \(ReportTests.job); sed -i '/"destination":"[^"]*\\/b"/s/"direct"/"dropped"/' $J/results.jsonl
            backupfs report $ID --format html,json > $R/out
            """)
        let page = try sandbox.sh("cat $J/reports/report.html")
        for part in [
            "36 copies were read past the memory of the kernel (direct).",
            "36 copies were read after the kernel was asked to forget them (dropped)", "2 links were compared by their targets.",
        ] { #expect(page.contains(part), "\(part)") }
        #expect(
            try sandbox.sh("jq -c '.destinations[].readBack' $J/reports/report.json")
                == "{\"direct\":36,\"dropped\":0}\n{\"direct\":0,\"dropped\":36}")
    }

    @Test func `pictures of photos and a logo are on the pages, decoded by the helper`() throws {
        let sandbox = try CopySandbox.make(
            """
            mkdir $R/card; vips black $R/x.v 300 200; for i in 1 2 3; do vips copy $R/x.v $R/card/IMG_$i.jpg; done; vips copy $R/x.v $R/logo.png
            head -c 2000 /dev/urandom > $R/card/IMG_4.jpg; echo video > $R/card/C1.MP4
            """)
        try sandbox.sh(
            "backupfs copy $R/card $R/a > $R/out; \(ReportTests.job); backupfs report $ID --thumbnails --logo $R/logo.png --format html,pdf > $R/out"
        )
        let page = try Self.read("$J/reports/report.html", in: sandbox)
        #expect(page.split(separator: "\n").filter { $0.hasPrefix("img ffd8ff") }.count == 4, "\(page)")
        #expect(page.contains("h2 Pictures\n"))
        #expect(try sandbox.sh("pdfimages -list $J/reports/report.pdf | grep -c jpeg") == "4")
    }

    @Test func `the page has the language of the environment`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        try sandbox.sh("backupfs copy $R/card $R/a --report html > $R/out; \(ReportTests.job)", ["LC_ALL": "ru_RU.UTF-8"])
        #expect(try sandbox.sh("grep -o '<html lang=\"..\"' $J/reports/report.html") == "<html lang=\"ru\"")
    }
}
