import SystemIO
import TestSupport
import Testing

/// `export --html-gallery`, read by html5lib, which refuses what the standard calls an error.
struct GalleryTests {
    /// Prints what the page shows, and fails for what it may not have.
    private static let reader = #"""
        import base64, hashlib, html5lib, json, os, sys
        page = open(sys.argv[1], "rb").read()
        page.decode("utf-8", "strict")
        tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
        allowed = {
            "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(), "style": set(),
            "body": set(), "header": set(), "h1": set(), "h2": set(), "h3": set(), "p": set(), "nav": set(), "ul": set(),
            "li": set(), "a": {"href"}, "main": set(), "section": {"id"}, "div": {"class"}, "figure": set(),
            "img": {"src", "width", "height", "alt", "loading"}, "figcaption": set(), "bdi": {"class"}, "time": {"datetime"},
        }
        ids = [e.get("id") for e in tree.iter() if e.get("id")]
        assert len(ids) == len(set(ids)), ids
        for element in tree.iter():
            assert set(element.keys()) <= allowed[element.tag], (element.tag, element.keys())
            if element.tag == "a": assert element.get("href")[1:] in ids and element.get("href")[0] == "#"
            for text in [element.text, element.tail, *element.attrib.values()]:
                assert not set(text or "") & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\0\x1b\u2028"), ascii(text)
        style = next(tree.iter("style")).text
        policy = [m.get("content") for m in tree.iter("meta") if m.get("http-equiv") == "Content-Security-Policy"]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert policy == [
            f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-{digest}'"], policy
        assert "url(" not in style and "@import" not in style
        root = tree if tree.tag == "html" else next(tree.iter("html"))
        print("lang", root.get("lang"))
        # Each picture, byte for byte, against the files of the backup.
        thumbnails = {}
        if len(sys.argv) > 2:
            for folder, _, names in os.walk(os.fsencode(sys.argv[2]) + b"/thumbnails"):
                for name in names:
                    data = open(folder + b"/" + name, "rb").read()
                    thumbnails[hashlib.md5(data).hexdigest()] = name.decode("utf-8", "replace")
        for element in tree.iter():
            if element.tag in ("h1", "h2", "h3"): print(element.tag, element.text)
            if element.tag != "figure": continue
            picture = element[0]
            if picture.tag == "img":
                kind, data = picture.get("src").split(",", 1)
                assert kind == "data:image/jpeg;base64" and picture.get("loading") == "lazy" and picture.get("alt")
                shown = "of " + ascii(thumbnails.pop(hashlib.md5(base64.b64decode(data, validate=True)).hexdigest(), None))
                shown += f" {picture.get('width')}x{picture.get('height')}"
            else:
                shown = "none: " + "".join(picture.itertext())
            lines = [e.get("datetime") or e.text for e in element.find("figcaption")]
            print("  " + " | ".join(ascii(line)[1:-1] for line in lines), "|", shown)
        assert not thumbnails, thumbnails
        """#

    private static func read(_ file: String, _ arguments: String = "", in sandbox: Sandbox) throws -> String {
        try sandbox.write(reader, to: "reader.py")
        return try sandbox.sh("/usr/bin/python3 $R/reader.py \(file) \(arguments)")
    }

    private static let expected = #"""
        lang en
        h1 Photo Library: photos
        h2 2024
        h3 June 2024
          <script>alert(1)< | </figure><script>alert(2)</script> | 2024-06-30T23:59:00 | 300 \xd7 200 | \u2605\u2605\u2605\u2605\u2606 | of '<script>alert(1)<.jpg' 256x171
          a"b\'c&amp;.jpg | 2024-06-30T10:00:00+09:00 | 301 \xd7 201 | Canon EOS <R5> | of 'a"b\'c&amp;.jpg.jpg' 256x171
        h3 May 2024
          clip.mov | 2024-05-06T07:08:09+00:00 | 1920 \xd7 1080 | none: video/quicktime
        h3 January 2024
          invalid \ufffd\ufffd.jpg | " onload="alert(3) second line | 2024-01-02T03:04:05 | 302 \xd7 202 | of 'invalid \ufffd\ufffd.jpg.jpg' 256x171
        h2 2023
        h3 December 2023
          evil\ufffdgpj.exe.jpg | Ufer | \u0634\u0631\u0642 | 2023-12-31T23:59:59 | 303 \xd7 203 | of 'evil\u202egpj.exe.jpg.jpg' 256x172
          two\ufffdlines.jpg | 2023-12-31T00:00:00 | 304 \xd7 204 | starred | of 'two\nlines.jpg.jpg' 256x172
        h2 1969
        h3 July 1969
          \u0391\u03b8\u03ae\u03bd\u03b1 \u041c\u043e\u0441\u043a\u0432\u0430 \u0645\u0631\u062d\u0628\u0627.jpg | 1969-07-20T20:17:40 | 305 \xd7 205 | of '\u0391\u03b8\u03ae\u03bd\u03b1 \u041c\u043e\u0441\u043a\u0432\u0430 \u0645\u0631\u062d\u0628\u0627.jpg.jpg' 256x172
        h2 without a date
          broken.jpg | none: JPG
          undated.jpg | 306 \xd7 206 | of 'undated.jpg.jpg' 256x172
        """#

    @Test func `EXP-01: one page with the photos of a backup, whatever their names and texts are`() throws {
        let sandbox = try PageLibrary.make()
        #expect(try sandbox.sh("backupfs export one --html-gallery -o $R/g.html --store $S") == sandbox("g.html"))
        #expect(try Self.read("$R/g.html", "$R/one", in: sandbox) == Self.expected)
        #expect(try sandbox.sh("stat -c %a $R/g.html; grep -ci '<script' $R/g.html || true") == "600\n0")
        // Into a pipe, and into a device.
        try sandbox.sh("backupfs export one --html-gallery -o - --store $S | cmp - $R/g.html")
        try sandbox.sh(
            "mkfifo $R/pipe; cmp $R/pipe $R/g.html & backupfs export one --html-gallery -o $R/pipe --store $S; wait $!")
        let full = try sandbox.run("backupfs export one --html-gallery -o /dev/full --store $S")
        #expect(full.exitCode == 1 && full.errors.contains("No space left on device"))
    }

    @Test func `the live photos, with the pictures of the newest backup, in the user's language`() throws {
        let sandbox = try PageLibrary.make()
        try sandbox.sh(
            """
            vips black $R/new.v 40 30; vips copy $R/new.v $P/new.jpg
            exiftool -q -overwrite_original -DateTimeOriginal='2025:03:04 05:06:07' $P/new.jpg
            rm $P/broken.jpg
            mkdir $R/here; cd $R/here; backupfs export --html-gallery --store $S
            """, ["LC_ALL": "de_DE.UTF-8", "TZ": "UTC", "BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
        #expect(try sandbox.sh("ls $R/here") == "photo_library_2026-01-11_14-30-00.html")
        let page = try Self.read("$R/here/*.html", in: sandbox)
        #expect(page.hasPrefix("lang de\nh1 Photo Library: Fotos\nh2 2025\nh3 März 2025\n  new.jpg | 2025-03-04T05:06:07"))
        #expect(page.contains("new.jpg | 2025-03-04T05:06:07 | 40 \\xd7 30 | none: image/jpeg\n"))
        #expect(page.contains("\nh2 ohne Datum\n  undated.jpg | 306 \\xd7 206 | of None 256x172"))
        #expect(!page.contains("broken.jpg") && page.contains("h3 Dezember 2023"))
    }

    @Test func `there is a whole page or none`() throws {
        let sandbox = try PageLibrary.make()
        try sandbox.sh("echo old > $R/old.html; ls $R > $R/before")
        let limited = try sandbox.run("ulimit -f 8; backupfs export one --html-gallery -o $R/old.html --store $S")
        #expect(limited.exitCode == 1 && limited.errors.contains("File too large"), "\(limited.errors)")
        try sandbox.fails(
            "backupfs export none --html-gallery -o $R/x.html --store $S", saying: "there is no such backup", exitCode: 1)
        try sandbox.fails("backupfs export --html-gallery -o $P/x.html --store $S", saying: "media folder", exitCode: 2)
        try sandbox.fails("backupfs export --html-gallery --zip --store $S", saying: "Choose one of", exitCode: 2)
        #expect(try sandbox.sh("cat $R/old.html; ls $R | diff $R/before -") == "old")
    }

    @Test func `an app without photos, and a backup without a list of them, are refused`() throws {
        let sandbox = try PageLibrary.emptySandbox()
        try sandbox.sh(
            "backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null; ls $R > $R/b")
        let live = try sandbox.run("backupfs export --html-gallery -o $R/x.html --store $S")
        #expect(live.exitCode == 1 && live.errors.contains("has no photos to show"), "\(live.errors)")
        let backup = try sandbox.run("backupfs export one --html-gallery -o $R/x.html --store $S")
        #expect(backup.exitCode == 1 && backup.errors.contains("this backup has no list of photos"), "\(backup.errors)")
        #expect(try sandbox.sh("ls $R | diff $R/b -") == "")
    }
}
