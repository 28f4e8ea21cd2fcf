import TestSupport
import Testing

/// `index.html`, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct DashboardSemanticsTests {
    /// What a browser would make of the page: its tags, attributes and links.
    private static let reader = #"""
        import html.parser, urllib.parse
        class Page(html.parser.HTMLParser):
            def __init__(self, text):
                super().__init__()
                self.tags, self.attributes, self.links, self.words, self.policy = set(), set(), [], [], ""
                self.feed(text)
            def handle_starttag(self, tag, attributes):
                self.tags.add(tag)
                self.attributes |= {name for name, _ in attributes}
                values = dict(attributes)
                if "href" in values: self.links.append(values["href"])
                if values.get("http-equiv") == "Content-Security-Policy": self.policy = values["content"]
            def handle_data(self, data): self.words.append(data)
        page = Page(open("index.html", encoding="utf-8").read())
        """#

    @Test func `S91: index.html loads nothing, and leads into the tree, whatever the names are`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                Self.reader + #"""

                    names = ["plain", "<script>alert(1)<", '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "a b%41?x#y",
                        "na\u00efve", "&lt;", "' onmouseover='alert(1)"]
                    for name in names: os.mkdir("snapshots/" + name)
                    # Records with such keys are added and removed.
                    import sqlite3
                    database = sqlite3.connect(os.environ["S"] + "/app/database.sqlite")
                    keys = names + ["..", "a/b", "", ".hidden", "100%", "line\nfeed"]
                    for sql in ("insert into delayed_notifications select ?, title, body, scheduled_date from delayed_notifications limit 1",
                                "delete from delayed_notifications where id = ?"):
                        for key in keys: database.execute(sql, [key])
                        database.commit()
                        os.mkdir("snapshots/" + sql.split()[0])
                    page = Page(open("index.html", encoding="utf-8").read())
                    print(sorted(page.tags & {"script", "img", "link", "iframe", "object", "embed", "form", "base", "a", "svg"}))
                    print([name for name in page.attributes if name.startswith("on") or name in ("src", "style", "srcset", "action")])
                    print(page.policy.split(";")[0], "script" in page.policy, "unsafe" in page.policy)
                    here = "file:///mount/index.html"
                    links = [urllib.parse.urlsplit(urllib.parse.urljoin(here, link)) for link in page.links]
                    print({(link.scheme, link.query, link.fragment) for link in links})
                    paths = {urllib.parse.unquote(link.path)[len("/mount/"):] for link in links}
                    print([path for path in sorted(paths) if not os.path.exists(path)])
                    print([name for name in names if "snapshots/" + name + "/" not in paths])
                    print(len([path for path in paths if path.startswith("history/delayedNotifications/")]))
                    print(sorted(path for path in paths if not path.startswith(("snapshots/", "reports/2", "history/d"))))
                    print(os.stat("index.html").st_size == len(open("index.html", "rb").read()))
                    print(code(opened(os.O_WRONLY), "index.html"), os.getxattr("index.html", "user.mime_type").decode())
                    """#)
            #expect(
                result == """
                    ['a', 'svg']
                    []
                    default-src 'none' False False
                    {('file', '', '')}
                    []
                    []
                    10
                    ['control/', 'exports/', 'history/', 'live/', 'reports/', 'restore/', 'safety/', 'status.json', 'versions/']
                    True
                    EROFS text/html
                    """)
        }
    }

    @Test func `the page says how the store is, in its language`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            let words = "print(' '.join(' '.join(page.words).split()))"
            let empty = try sandbox.python("\(Self.reader)\n\(words)")
            for text in ["No backups yet. Make one with: backupfs backup", "Expenses: 1200", "Nothing is running."] {
                #expect(empty.contains(text), "\(empty)")
            }
            try sandbox.sh("mkdir $M/snapshots/one $M/snapshots/two")
            try sandbox.unmount()
            try sandbox.sh("backupfs config set language de --store $S")
            try sandbox.mount(Sandbox.fixedClock)
            let made = try sandbox.python("\(Self.reader)\n\(words)")
            for text in [
                "14:30:00", "Größe jeder Sicherung", "Neue Daten jeder Sicherung", "one", "two", "Sicherungen: 2",
            ] {
                #expect(made.contains(text), "\(made)")
            }
            #expect(try sandbox.sh("grep -o '<html lang=\"[a-z]*\">' $M/index.html") == "<html lang=\"de\">")
        }
    }

    @Test func `the page shows the photos that the newest backups added, and no other file`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                #"""
                mkdir "$M/snapshots/a b%"; printf x > "$P/2024/\"><img src=x>.PNG"; printf x > $P/note.txt; printf y > $P/one.jpg
                mkdir "$M/snapshots/second"; rm $P/2024/two.jpg; printf z > $P/javascript:alert.webp; mkdir $M/snapshots/third
                """#)
            let result = try sandbox.python(
                Self.reader + #"""

                    import re
                    text = open("index.html", encoding="utf-8").read()
                    print(re.search("img-src ([^;]*);", text).group(1), "script" in page.policy)
                    for source in re.findall('<img src="([^"]*)"', text):
                        path = urllib.parse.unquote(urllib.parse.urlsplit(urllib.parse.urljoin("file:///", source)).path)[1:]
                        print(path, os.path.exists(path))
                    """#)
            #expect(
                result == #"""
                    'self' file: False
                    snapshots/third/media/javascript:alert.webp True
                    snapshots/second/media/2024/"><img src=x>.PNG True
                    snapshots/second/media/one.jpg True
                    """#)
        }
    }

    @Test func `the numbers of records are plotted, in all and for each collection`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; sqlite3 $S/app/database.sqlite 'delete from expenses where id > 700'; mkdir $M/snapshots/two
                """)
            let result = try sandbox.python(
                #"""
                import html, re
                text = open("index.html", encoding="utf-8").read()
                def plot(heading, level):
                    part = text.split(f"<h{level}>{heading}</h{level}>")[1].split("</svg>")[0]
                    return [html.unescape(title).split(": ")[1] for title in re.findall("<title>(.*?)</title>", part)]
                print(plot("Records in each backup", 2), plot("<bdi>Expenses</bdi>", 3), plot("<bdi>Cars</bdi>", 3))
                """#)
            let cars = try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from cars'")
            let sum = try sandbox.sh(
                "jq .recordCount $M/snapshots/one/manifest.json $M/snapshots/two/manifest.json | sed \"s/.*/'&'/\" | paste -sd,")
            #expect(result == "[\(sum.replacing(",", with: ", "))] ['1200', '700'] ['\(cars)', '\(cars)']")
        }
    }

    @Test func `a backup from the future does not pass as a recent one`() throws {
        try Sandbox.withMount("--sample", ["BACKUPFS_NOW": "2030-01-01T00:00:00Z"]) { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            try sandbox.unmount()
            try sandbox.mount(Sandbox.fixedClock)
            #expect(try sandbox.sh("grep -c 'more than a day ahead of the clock' $M/index.html") == "1")
            #expect(try sandbox.sh("grep -c 'notice good' $M/index.html || true") == "0")
        }
    }
}
