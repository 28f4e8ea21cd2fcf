import TestSupport
import Testing

/// `versions/`, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct VersionSemanticsTests {
    @Test func `S92: each content of a file is there once, as the oldest backup has it`() throws {
        try Sandbox.withMount("--app smilepile --sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh(
                """
                cd $S/app/photos; mkdir sub
                echo one > 'sub/a b.jpg'; touch -d 2020-01-01T00:00:00Z 'sub/a b.jpg'; mkdir $M/snapshots/b1
                echo more > other.txt; mkdir $M/snapshots/b2
                echo two > 'sub/a b.jpg'; touch -d 2021-01-01T00:00:00Z 'sub/a b.jpg'; mkdir $M/snapshots/b3
                echo one > 'sub/a b.jpg'; ln -s other.txt link; mkdir $M/snapshots/b4
                rm 'sub/a b.jpg'; mkdir $M/snapshots/b5
                """)
            let folder = "$M/versions/media/sub/a\\ b.jpg"
            let versions = try sandbox.names("versions/media/sub/a b.jpg")
            #expect(versions == ["2026-01-11_14-30-00.jpg", "2026-01-11_14-30-00_3.jpg"])
            #expect(try sandbox.sh("cat \(folder)/*") == "one\ntwo")
            #expect(
                try sandbox.sh("stat -c '%y %s' \(folder)/* | cut -c1-19,36-")
                    == "2020-01-01 00:00:00 4\n2021-01-01 00:00:00 4")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.checksum.sha256 \(folder)/*_3.jpg")
                    == sandbox.sh("echo two | sha256sum | cut -d' ' -f1"))
            #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.backup \(folder)/*_3.jpg") == "b3")
            // Links are no files, and collections have versions as well.
            #expect(try sandbox.sh("test ! -e $M/versions/media/link; ls $M/versions/data/*.json | grep -c :") != "0")
            for collection in try sandbox.names("snapshots/b5/data") {
                #expect(
                    try sandbox.sh(
                        "cat $M/snapshots/*/data/\(collection) | sha256sum >/dev/null; "
                            + "for s in b1 b2 b3 b4 b5; do sha256sum < $M/snapshots/$s/data/\(collection); done | sort -u")
                        == sandbox.sh("for v in $M/versions/data/\(collection)/*; do sha256sum < $v; done | sort -u"))
            }
            // The kernel keeps nothing that is gone.
            try sandbox.sh("cat \(folder)/*_3.jpg >/dev/null; rmdir $M/snapshots/b3")
            #expect(try sandbox.names("versions/media/sub/a b.jpg") == ["2026-01-11_14-30-00.jpg"])
            try sandbox.fails("echo x > \(folder)/x", saying: "Read-only file system")
            // A file manager's way to restore a file, and a copy of everything.
            try sandbox.sh("cp -r $M/versions $R/copy; diff -r $M/versions $R/copy")
        }
    }

    @Test func `S93: operations have reports, however they end and whatever starts them`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                cd $M; mkdir 'snapshots/<script>alert(1)<'; backupfs backup --store $S --label by-command >/dev/null
                cp snapshots/by-command/export.json restore/; echo '{' > $R/bad.json; cp $R/bad.json restore/ 2>/dev/null || true
                backupfs check --store $S >/dev/null; backupfs verify by-command --store $S >/dev/null
                """)
            let kinds = "ls $M/reports | sed -E 's/^[0-9-]+_[0-9-]+_//; s/_[0-9]+\\././' | sort | uniq -c | tr -s ' ' | cut -c2-"
            #expect(
                try sandbox.sh(kinds) == """
                    2 backup.html
                    2 backup.json
                    2 backup.txt
                    1 check.html
                    1 check.json
                    1 check.txt
                    2 restore.html
                    2 restore.json
                    2 restore.txt
                    1 verify.html
                    1 verify.json
                    1 verify.txt
                    """)
            #expect(
                try sandbox.sh("jq -s -c 'sort_by(.startedAt) | map([.operation, .result, .error])[]' $M/reports/*.json | sort")
                    == """
                    ["backup","ok",null]
                    ["backup","ok",null]
                    ["check","ok",null]
                    ["restore","ok",null]
                    ["restore","refused","invalidContent"]
                    ["verify","ok",null]
                    """)
            // What was wrong with the file is in all forms, as in `last.txt`.
            try sandbox.sh(
                """
                cd $M; report=$(grep -l refused reports/*.json); report=${report%.json}
                head -n 1 restore/last.txt > $R/words; grep -qFf $R/words $report.txt; jq -e .text $report.json >/dev/null
                grep -q bad.json $report.html
                grep -q 'No damage was found.' reports/*_check.txt
                """)
            // A page in an earlier second may have a link of its own.
            let result = try sandbox.python(
                #"""
                import glob, html.parser, urllib.parse
                class Page(html.parser.HTMLParser):
                    def __init__(self, text):
                        super().__init__()
                        self.tags, self.links = set(), []
                        self.feed(text)
                    def handle_starttag(self, tag, attributes):
                        self.tags.add(tag)
                        if "href" in dict(attributes): self.links.append(dict(attributes)["href"])
                for name in glob.glob("reports/*.html"):
                    text = open(name, encoding="utf-8").read()
                    page = Page(text)
                    assert not page.tags & {"script", "img", "link", "iframe", "form", "base"}, name
                    assert "default-src 'none'" in text and os.stat(name).st_size == os.path.getsize(name) == len(text.encode()), name
                    for link in page.links:
                        path = urllib.parse.unquote(urllib.parse.urlsplit(link).path)
                        assert os.path.exists("reports/" + path), (name, link)
                print(code(opened(os.O_WRONLY), glob.glob("reports/*.txt")[0]), len(glob.glob("reports/*.html")))
                """#)
            #expect(result == "EROFS 6")
        }
    }
}
