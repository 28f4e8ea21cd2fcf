import TestSupport
import Testing

/// `index.html` of a backup, as promised in `Docs/reference/semantics.md`. A browser looks at it in `make test-pages`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct RecordsPageSemanticsTests {
    @Test(arguments: ["always", "live"])
    func `S97: the page of a backup is its own words and the export`(export: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $S --sample >/dev/null; backupfs config set export \(export) --store $S
                cat > $R/texts.sql <<'END'
                update expenses set notes = '</plaintext></script><script>alert(1)</script><!-- '' onerror="' || char(10, 13, 9, 1) where id < 9;
                update cars set name = '<img src=x onerror=alert(1)>' where id = 1;
                END
                sqlite3 $S/app/database.sqlite < $R/texts.sql
                """)
            try sandbox.mount()
            let result = try sandbox.python(
                #"""
                import base64, html.parser
                class Head(html.parser.HTMLParser):
                    def __init__(self, text):
                        super().__init__()
                        self.tags, self.links, self.policy, self.scripts, self.words, self.inside = [], [], "", [], [], None
                        self.feed(text)
                    def handle_starttag(self, tag, attributes):
                        values = dict(attributes)
                        self.tags.append(tag)
                        self.inside = tag
                        self.links += [values[name] for name in ("href", "src", "srcset", "action", "style") if name in values]
                        self.links += [name for name in values if name.startswith("on")]
                        if values.get("http-equiv") == "Content-Security-Policy": self.policy = values["content"]
                    def handle_data(self, data):
                        (self.scripts if self.inside == "script" else self.words).append(data)
                    def handle_endtag(self, tag): self.inside = None
                name = "<script>alert(1)<"
                os.mkdir("snapshots/" + name)
                def look(name):
                    path = "snapshots/" + name + "/index.html"
                    page, export = read(path), read("snapshots/" + name + "/export.json")
                    assert os.stat(path).st_size == len(page), (os.stat(path).st_size, len(page))
                    assert page.endswith(b"<plaintext>" + export) and page.count(b"<plaintext>") == 1
                    head = Head(page[:-len(export)].decode())
                    assert head.links == [] and head.tags.count("script") == 1 and head.tags[-1] == "plaintext", head.links
                    script = "".join(head.scripts)
                    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                    assert f"script-src 'sha256-{digest}'" in head.policy and head.policy.startswith("default-src 'none'"), head.policy
                    assert "unsafe" not in head.policy and "://" not in script
                    assert any(name in words for words in head.words), head.words
                    assert os.getxattr(path, "user.mime_type") == b"text/html"
                    assert os.getxattr(path, "user.checksum.sha256").decode() == hashlib.sha256(page).hexdigest()
                    return len(page)
                first = look(name)
                # It says how the backup is called now.
                os.rename("snapshots/" + name, "snapshots/renamed to something longer")
                second = look("renamed to something longer")
                print(second - first != 0, code(opened(os.O_WRONLY), "snapshots/latest/index.html"))
                """#)
            #expect(result == "True EROFS")
            try sandbox.sh(
                """
                ! grep -q index.html $M/snapshots/latest/SHA256SUMS; ! unzip -l $M/snapshots/latest/archive.zip | grep -q index.html
                backupfs config set language de --store $S
                """)
            try sandbox.remount()
            try sandbox.sh(
                """
                cd $M/snapshots/latest; grep -aq 'lang="de"' index.html; test $(stat -c %s index.html) = $(wc -c < index.html)
                """)
            try sandbox.unmount()
        }
    }

    @Test func `the page knows where the pictures of records are, and nothing else may be loaded`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write(PhotoDiary.definition(identity: "file"), to: "diary.yaml")
            try sandbox.sh(
                """
                backupfs init --store $S --app $R/diary.yaml; printf x > $S/app/photos/a.jpg
                sqlite3 $S/app/database.sqlite "insert into photos values (1, 'photos/a.jpg', 'first')"
                """)
            try sandbox.mount()
            let result = try sandbox.python(
                #"""
                import html, re
                os.mkdir("snapshots/one")
                page = read("snapshots/one/index.html").decode()
                print(re.search("img-src ([^;]*);", page).group(1))
                print(html.unescape(re.search('data-pictures="([^"]*)"', page).group(1)))
                """#)
            #expect(
                result == """
                    'self' file:
                    {"photos":{"field":"file","folder":"photos","isExact":false,"hasThumbnails":false,"unless":null}}
                    """)
            try sandbox.unmount()
        }
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.sh("mkdir $M/snapshots/one; grep -ao 'img-src [^;]*' $M/snapshots/one/index.html")
            #expect(result == "img-src data:")
        }
    }
}
