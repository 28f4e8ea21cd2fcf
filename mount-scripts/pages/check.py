#!/usr/bin/env python3
"""Looks at the pages of a mounted store in Chromium: check.py BINARY [PICTURE-FOLDER]

Each page is opened through the mount and from a copy, light and dark, as wide as a desktop and as a telephone, in every
language. It must load nothing but itself, run nothing, stay within the width of the window, and pass all rules of axe-core.
With a folder, pictures for the documentation are written into it. `make test-pages` installs what this needs.
"""
import contextlib
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import urllib.parse
import zlib

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

LANGUAGES = ["en", "de", "ru", "tr", "kk"]
# What a page that shows names without care would run, or show as something else.
HOSTILE_NAMES = [
    "<script>document.title='run'<", '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "<h1>x", "a b%41?x#y",
    "&lt;b&gt;", "' onmouseover='alert(1)", "\u202egnp.exe", "Z\u0351\u036ba\u0334l\u0358go", "x" * 200,
]
# What a page that shows records without care would run, or take for its own end.
HOSTILE_TEXTS = [
    "</plaintext></script><script>document.title='run'</script>", "<!--<script>", "<img src=x onerror=\"document.title='run'\">",
    "javascript:alert(1)", "\x01\x1b[31m\t\r\n", "\u202e\u2028", "9" * 500,
]
WIDTHS = [1000, 360]


class Store:
    """A mounted store with sample data, whose state the pages show."""

    def __init__(self, binary, folder, *options):
        self.binary, self.path, self.mount = binary, folder / "store", folder / "mount"
        self.environment = {**os.environ, "HOME": str(folder), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        self.run("init", *(options or ["--sample"]), "--store", self.path)
        self.mount.mkdir()

    def run(self, *arguments, fails=False):
        done = subprocess.run(
            [self.binary, *map(str, arguments)], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        if (done.returncode != 0) != fails:
            sys.exit(f"backupfs {arguments} ended with {done.returncode}: {done.stderr}")

    @contextlib.contextmanager
    def mounted(self):
        self.run("mount", "--store", self.path, self.mount)
        try:
            yield
        finally:
            self.run("umount", self.mount)

    def fill(self):
        """Backups with odd names and changes, a restore, one that is refused, a check and a verification."""
        with self.mounted():
            for name in ["before-upgrade", "monday", *HOSTILE_NAMES]:
                (self.mount / "snapshots" / name).mkdir()
            shutil.copyfile(self.mount / "snapshots/monday/export.json", self.mount / "restore/old.json")
            # Records with hostile keys that come, change and go.
            with contextlib.closing(sqlite3.connect(self.path / "app/database.sqlite")) as database:
                for sql in [
                    "insert into delayed_notifications select ?, title, body, scheduled_date from delayed_notifications limit 1",
                    "update delayed_notifications set body = ? || id", "delete from delayed_notifications where id = ?",
                ]:
                    for name in HOSTILE_NAMES:
                        database.execute(sql, [name])
                    database.execute("update expenses set notes = ? where id < 30", [sql])
                    for number, text in enumerate(HOSTILE_TEXTS):
                        database.execute("update expenses set notes = ? where id = ?", [text, 100 + number])
                    database.commit()
                    (self.mount / "snapshots" / sql.split()[0]).mkdir()
            refused = subprocess.run(
                ["sh", "-c", 'printf "{" > "$1"', "sh", str(self.mount / "restore/<b>bad.json")], stderr=subprocess.DEVNULL,
                check=False)
            del refused  # A shell does not tell; the report does.
        self.run("check", "--store", self.path)
        self.run("verify", "latest", "--store", self.path)

    def records_pages(self):
        """The page of a backup whose records have hostile keys and texts."""
        return [self.mount / "snapshots/update/index.html"]

    def pages(self):
        """The page of the store, and the report of one operation of each kind and result."""
        chosen = {}
        for report in sorted((self.mount / "reports").glob("*.html")):
            text = report.with_suffix(".txt").read_text(encoding="utf-8")
            result = next(line.split(":")[1].strip() for line in text.splitlines() if "(" in line or "ok" in line)
            chosen[report.stem.split("_")[2], result] = report
        return [self.mount / "index.html", *chosen.values()]


class Browser:
    """Chromium without a network."""

    def __init__(self, playwright):
        executable = shutil.which("chromium") or sys.exit("There is no Chromium.")
        # As root, it has no sandbox; the pages are ours.
        self.chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        self.axe = Axe()

    def look_at_records(self, path, count):
        """Returns what is wrong with the tables of a page with the sample's records."""
        context = self.chromium.new_context(viewport={"width": 1000, "height": 800}, offline=True)
        page = context.new_page()
        found = []
        page.on("pageerror", lambda error: found.append(f"error: {error}"))
        page.goto(pathlib.Path(path).as_uri())
        options = page.locator("#collection option").all_inner_texts()
        if f"expenses ({count})" not in options:
            found.append(f"the collections are {options}")
        page.select_option("#collection", label=f"expenses ({count})")
        column = page.locator("th").all_inner_texts().index("id") + 1

        def keys():
            return [int(text) for text in page.locator(f"#rows td:nth-child({column})").all_inner_texts()]

        first = keys()
        if len(first) != 100 or first != sorted(first):
            found.append(f"the first rows are {first}")
        page.locator("#next").click()
        if keys()[0] != first[-1] + 1:
            found.append(f"the second page begins with {keys()[:3]}")
        for direction in ["ascending", "descending"]:
            page.locator(f"th:nth-child({column}) button").click()
            if page.locator(f"th:nth-child({column})").get_attribute("aria-sort") != direction:
                found.append(f"it is not sorted {direction}")
        if keys()[0] != max(keys()) or keys()[0] < count:
            found.append(f"sorted down, it begins with {keys()[:3]}")
        page.fill("#search", HOSTILE_TEXTS[0].upper())
        expect(page.locator("#rows tr")).to_have_count(1)
        if keys() != [100] or HOSTILE_TEXTS[0] not in page.locator("#rows").inner_text():
            found.append(f"the search finds {keys()}")
        page.fill("#search", "there is no such text")
        expect(page.locator("#rows tr")).to_have_count(0)
        if page.title().startswith("run") or page.locator("#rows script, #rows img").count():
            found.append("a text of a record was run")
        context.close()
        return found

    def look_at_pictures(self, path, names):
        """Returns what is wrong with the pictures of a page whose records are photos of these names, and a file that is none."""
        context = self.chromium.new_context(viewport={"width": 1000, "height": 3000}, offline=True)
        page = context.new_page()
        found, requests = [], []
        page.on("pageerror", lambda error: found.append(f"error: {error}"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(pathlib.Path(path).as_uri())
        page.wait_for_function(
            "count => [...document.images].filter(image => image.naturalWidth > 0).length === count", arg=len(names))
        folder = pathlib.Path(path).parent
        links = page.locator("#pictures a").evaluate_all("links => links.map(link => link.href)")
        targets = sorted(urllib.parse.unquote(urllib.parse.urlsplit(link).path) for link in links)
        wanted = sorted(str(folder / "media" / name) for name in [*names, "summer/note.txt"])
        if targets != wanted:
            found.append(f"the links lead to {targets}, not to {wanted}")
        outside = [url for url in requests if not url.startswith(folder.as_uri() + "/")]
        if outside or page.title().startswith("run"):
            found.append(f"it loads {outside}")
        for scheme in ["light", "dark"]:
            # A file that is no photo has no thumbnail.
            found += [
                problem for problem in self.look(path, 360, scheme, script_count=1, has_pictures=True)
                if "ERR_FILE_NOT_FOUND" not in problem
            ]
        page.locator("#view").click()
        expect(page.locator("#rows tr")).to_have_count(len(names) + 1)
        if page.locator("#pictures img").count():
            found.append("the pictures stay")
        page.fill("#search", "note")
        page.locator("#view").click()
        expect(page.locator("#pictures li")).to_have_count(1)
        context.close()
        return found

    def look_at_new_pictures(self, path, count):
        """Returns what is wrong with the page of a store whose newest backups added photos."""
        context = self.chromium.new_context(viewport={"width": 1000, "height": 3000}, offline=True)
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function(
            "count => [...document.images].filter(image => image.naturalWidth > 0).length === count", arg=count)
        found = [] if page.evaluate("document.images.length") == count else ["it has other pictures"]
        context.close()
        for width, scheme in [(width, scheme) for width in WIDTHS for scheme in ["light", "dark"]]:
            found += self.look(path, width, scheme, has_pictures=True)
        return found

    def look(self, path, width, scheme, picture=None, script_count=0, has_pictures=False):
        """Returns what is wrong with a page."""
        context = self.chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True, device_scale_factor=1)
        page = context.new_page()
        found, requests = [], []
        page.on("console", lambda message: found.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: found.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (found.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        address = pathlib.Path(path).as_uri()
        page.goto(address)
        if not has_pictures and requests != [address]:
            found.append(f"it loads {requests}")
        if page.title().startswith("run"):
            found.append("a name of a backup was run")
        if page.evaluate("document.scripts.length") != script_count:
            found.append("it has another script")
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            found.append("it is wider than the window")
        if picture:
            page.screenshot(path=picture)
        # The keyboard reaches the links.
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            found.append("the keyboard reaches nothing")
        # The page's own policy forbids scripts, axe-core is one: a context that is told to ignore it, with the same page.
        context.close()
        context = self.chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True, bypass_csp=True)
        page = context.new_page()
        page.goto(address)
        result = self.axe.run(page)
        for violation in result.response["violations"]:
            found.append(f"axe: {violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:200]}")
        context.close()
        return found


def main():
    binary = os.path.abspath(sys.argv[1])
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    failures = count = 0
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = pathlib.Path(name)
        store = Store(binary, folder)
        store.fill()
        browser = Browser(playwright)
        for language in LANGUAGES:
            store.run("config", "set", "language", language, "--store", store.path)
            with store.mounted():
                pages = store.pages()
                if len(pages) < 5:
                    sys.exit(f"there are only {len(pages)} pages")
                # A copy of the whole page works like the page.
                copy = folder / f"copy-{language}.html"
                shutil.copyfile(pages[0], copy)
                for page in [*pages, copy]:
                    for width, scheme in [(width, scheme) for width in WIDTHS for scheme in ["light", "dark"]]:
                        count += 1
                        for problem in browser.look(page, width, scheme):
                            failures += 1
                            print(f"{page.relative_to(folder)} ({language}, {width} pixels, {scheme}): {problem}")
                records = store.records_pages()
                copy = folder / f"records-{language}.html"
                shutil.copyfile(records[0], copy)
                for page in [*records, copy]:
                    for width, scheme in [(width, scheme) for width in WIDTHS for scheme in ["light", "dark"]]:
                        count += 1
                        for problem in browser.look(page, width, scheme, script_count=1):
                            failures += 1
                            print(f"{page.relative_to(folder)} ({language}, {width} pixels, {scheme}): {problem}")
                    for problem in browser.look_at_records(page, 1200):
                        failures += 1
                        print(f"{page.relative_to(folder)} ({language}): {problem}")
        for problem in look_at_gallery(binary, folder / "gallery", browser):
            failures += 1
            print(f"the page with pictures: {problem}")
        measure(binary, folder / "large", browser)
        browser.chromium.close()
        if pictures:
            photograph(binary, folder / "picture", Browser(playwright), pictures)
    if failures:
        sys.exit(f"{failures} problems")
    print(f"{count} views of pages: nothing is wrong.")


def png(color):
    """A picture of one color."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = (b"\0" + bytes(color) * 64) * 64
    head = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def look_at_gallery(binary, folder, browser):
    """Returns what is wrong with the page of a backup of photos, in the mount and in a copy of its folder."""
    folder.mkdir()
    store = Store(binary, folder, "--app", "photo-library")
    names = ["summer/a.png", *(f"{name}.png" for name in HOSTILE_NAMES if "/" not in name)]
    (store.path / "app/photos/summer").mkdir()
    for number, name in enumerate(names):
        (store.path / "app/photos" / name).write_bytes(png((number * 20, 100, 200)))
    (store.path / "app/photos/summer/note.txt").write_text("no picture", encoding="utf-8")
    with store.mounted():
        (store.mount / "snapshots/one").mkdir()
        copy = folder / "a copy #1"
        shutil.copytree(store.mount / "snapshots/one", copy, symlinks=True)
        found = [
            problem for page in [store.mount / "snapshots/one/index.html", copy / "index.html"]
            for problem in browser.look_at_pictures(page, names)
        ]
        # The page of the store has the new ones, with the thumbnails that the backup has.
        for name in ["summer/new.png", "javascript:2.png"]:
            (store.path / "app/photos" / name).write_bytes(png((250, 250, 0)))
        (store.mount / "snapshots/two <img src=x>").mkdir()
        return found + browser.look_at_new_pictures(store.mount / "index.html", 2)


def measure(binary, folder, browser):
    """Says how long a page with 100,000 records takes."""
    folder.mkdir()
    store = Store(binary, folder)
    with contextlib.closing(sqlite3.connect(store.path / "app/database.sqlite")) as database:
        columns = [row[1] for row in database.execute("pragma table_info(expenses)")]
        rest = ", ".join(columns[1:])
        database.execute(
            f"insert into expenses ({', '.join(columns)}) with recursive n(i) as (select 1 union all select i + 1 from n where i < 83) "
            f"select i * 10000 + id, {rest} from expenses, n")
        database.commit()
    with store.mounted():
        (store.mount / "snapshots/large").mkdir()
        path = store.mount / "snapshots/large/index.html"
        path.read_bytes()
        context = browser.chromium.new_context(offline=True)
        page = context.new_page()
        page.goto(path.as_uri(), wait_until="commit")
        page.locator("#rows tr").first.wait_for()
        times = page.evaluate(
            "() => { const t = performance.getEntriesByType('navigation')[0]; "
            "return [t.responseEnd, t.domInteractive, t.domContentLoadedEventEnd]; }")
        page.select_option("#collection", index=1)
        page.locator("#next").click()
        print(f"100,800 records, {path.stat().st_size} bytes: read {times[0]:.0f} ms, parsed {times[1]:.0f}, shown {times[2]:.0f}")
        context.close()


def photograph(binary, folder, browser, pictures):
    """A store as a person may have it."""
    folder.mkdir()
    store = Store(binary, folder)
    with store.mounted():
        for name in ["before-upgrade", "monday", "tuesday"]:
            (store.mount / "snapshots" / name).mkdir()
        shutil.copyfile(store.mount / "snapshots/monday/export.json", store.mount / "restore/old.json")
        browser.look(store.mount / "index.html", 1000, "light", pictures / "index-html.png")
    browser.chromium.close()


main()
