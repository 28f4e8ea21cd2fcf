"""What a person does who has a file manager and a browser: check.sh starts it. Each step is checked, and leaves a picture."""
import contextlib
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

import pyatspi

MOUNT = pathlib.Path("/mnt/backups")
WORK = pathlib.Path(os.environ["BACKUPFS_FILM"])
PICTURES = pathlib.Path(os.environ["BACKUPFS_FILM_PICTURES"])
MEDIA = WORK / "store/app/photos"
DATABASE = WORK / "store/app/database.sqlite"
LIMIT_SECONDS = 60


def wait(what, found):
    """Returns the first true result of a function."""
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            if result := found():
                return result
        time.sleep(0.1)
    picture("failed")
    sys.exit(f"{what}: not after {LIMIT_SECONDS} s")


def picture(name):
    if PICTURES.parent.exists():
        PICTURES.mkdir(exist_ok=True)
        subprocess.run(
            ["import", "-window", "root", "+dither", "-colors", "128", "-strip", f"png8:{PICTURES / name}.png"], check=True)


def xdotool(*arguments):
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


def press(button):
    """Presses a button of the message that is shown."""
    (WORK / "wanted").write_text(button, encoding="utf-8")
    wait("a message", message_count)
    picture(f"message-{button.lower()}")
    subprocess.run(["dunstctl", "context"], check=True)


def message_count():
    return int(subprocess.check_output(["dunstctl", "count", "displayed"]))


def close_message():
    """Closes the message with the result, as one that is not answered."""
    wait("the message with the result", message_count)
    picture("message-result")
    subprocess.run(["dunstctl", "close-all"], check=True)
    wait("no message", lambda: message_count() == 0)


def sql(text):
    with contextlib.closing(sqlite3.connect(DATABASE)) as database:
        rows = database.execute(text).fetchall()
        database.commit()
    return rows


def shown():
    """The folder or file that was shown in the desktop's program for it."""
    lines = wait("something is shown", (WORK / "shown").read_text).splitlines()
    (WORK / "shown").unlink()
    return lines[-1]


class Manager:
    """A file manager that shows one folder."""

    def __init__(self, name, folder):
        self.name = name
        self.program = subprocess.Popen([name, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.title = pathlib.Path(folder).name
        self.window = wait(
            f"a window of {name}",
            lambda: subprocess.check_output(
                ["xdotool", "search", "--onlyvisible", "--class", name], text=True).split()[-1])
        xdotool("windowmove", self.window, 0, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.kill()
        self.program.wait()
        # One that serves several windows may go on.
        subprocess.run(["pkill", "-x", self.name], check=False)
        wait(f"the end of {self.name}", lambda: subprocess.run(["pgrep", "-x", self.name], stdout=subprocess.DEVNULL).returncode)

    def parts(self):
        desktop = pyatspi.Registry.getDesktop(0)
        for index in range(desktop.childCount):
            application = desktop.getChildAtIndex(index)
            if application is not None and self.name in (application.name or "").lower():
                yield from self.below(application)

    def below(self, part):
        yield part
        for index in range(min(part.childCount, 400)):
            if (child := part.getChildAtIndex(index)) is not None:
                yield from self.below(child)

    def part(self, name, role):
        return wait(
            f"{role} {name} of {self.name}",
            lambda: next(part for part in self.parts() if part.getRoleName() == role and part.name == name))

    def click(self, name, role="menu item"):
        """Presses what has this name."""
        self.part(name, role).queryAction().doAction(0)

    def menu_of(self, file):
        """Opens the menu of a file, by its name in a list."""
        def place():
            part = next(part for part in self.parts() if part.getRoleName() == "table cell" and part.name == file)
            box = part.queryComponent().getExtents(pyatspi.DESKTOP_COORDS)
            return (box.x + 30, box.y + box.height // 2) if box.width > 0 and box.x >= 0 else None

        x, y = wait(f"{file} in {self.name}", place)
        xdotool("mousemove", x, y, "click", 3)


class Browser:
    """Chromium with a page that has its title in the window."""

    def __init__(self, page):
        # Its own sandbox needs rights that this user does not have; the page is ours.
        self.program = subprocess.Popen(
            ["chromium", "--no-sandbox", "--test-type", "--no-first-run", f"--user-data-dir={WORK}/chromium", "--window-size=1000,700",
             "--disable-background-networking", f"--app={page.as_uri()}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        window = wait(
            "the page in Chromium",
            lambda: subprocess.check_output(["xdotool", "search", "--onlyvisible", "--name", "backupfs"], text=True).split()[-1])
        xdotool("windowmove", window, 0, 0, "windowfocus", window)
        wait_still()

    def __exit__(self, *_):
        os.killpg(self.program.pid, 9)
        self.program.wait()


def back_up_and_look():
    """A new folder in snapshots/ is a backup; the page shows it."""
    with Manager("thunar", MOUNT / "snapshots") as thunar:
        for name in ["monday", "tuesday"]:
            xdotool("key", "ctrl+shift+n")
            wait("the question for a name", lambda: thunar.part("Create New Folder", "dialog"))
            xdotool("type", name)
            xdotool("key", "Return")
            wait(f"the backup {name}", (MOUNT / "snapshots" / name / "manifest.json").exists)
            sql("update photos set name = 'changed' where id = 1")
            photo = sorted(MEDIA.rglob("*.*"))[0]
            photo.write_bytes(photo.read_bytes() + b"changed")
        thunar.part("tuesday", "table cell")
        picture("backups")
    page = MOUNT / "index.html"
    if "tuesday" not in page.read_text(encoding="utf-8"):
        sys.exit("the page does not have the backups")
    with Browser(page):
        picture("page")
        # The search for words scrolls to them.
        xdotool("key", "ctrl+f")
        wait_still()
        xdotool("type", "Records in each backup")
        xdotool("key", "Return")
        wait_still()
        xdotool("key", "Escape")
        wait_still()
        picture("plots")


def versions_in_each_manager():
    """The earlier version of a photo comes back from the menu of each file manager."""
    photo = sorted(MEDIA.rglob("*.*"))[0]
    path = photo.relative_to(MEDIA)
    with Manager("thunar", MOUNT / "live/media" / path.parent) as thunar:
        thunar.menu_of(path.name)
        thunar.click("Send To", "menu")
        thunar.click("Versions in backups")
        folder = MOUNT / "versions/media" / path
        if shown() != str(folder):
            sys.exit("the versions are not shown")
    first = sorted(folder.iterdir())[0]
    wanted = photo.with_name(f"{photo.stem} ({first.stem}){photo.suffix}")
    # The first file stands there.
    places = {"nautilus": (337, 124), "dolphin": (309, 117)}
    for name in ["thunar", "nautilus", "dolphin"]:
        with Manager(name, folder) as manager:
            if name == "thunar":
                manager.menu_of(first.name)
                manager.click("Send To", "menu")
            else:
                wait_for_picture(*places[name])
                xdotool("mousemove", *places[name], "click", 3)
            if name == "dolphin":
                # Its menus are in no accessible tree. The last but one entry has ours.
                wait_still()
                xdotool("key", "Up", "Up", "Right", "Down", "Down")
                wait_still()
                picture("menu-dolphin")
                xdotool("key", "Return")
            else:
                manager.part("Restore from backup", "menu item")
                picture(f"menu-{name}")
                manager.click("Restore from backup")
            press("Restore")
            wait(f"{wanted.name} by {name}", wanted.exists)
            if wanted.read_bytes() != first.read_bytes() or photo.read_bytes() == first.read_bytes():
                sys.exit(f"{name}: the photo is another one")
            close_message()
        wanted.unlink()


def wait_for_picture(x, y):
    """Waits until there is a picture of many colors around a place."""
    def colors():
        words = ["import", "-window", "root", "-crop", f"60x60+{x - 30}+{y - 30}", "txt:-"]
        return len({line.split()[2] for line in subprocess.check_output(words, text=True).splitlines()[1:]})

    wait(f"a picture at {x}, {y}", lambda: colors() > 20)
    wait_still()


def wait_still():
    """Waits until the screen stays the same."""
    def look():
        return subprocess.check_output(["import", "-window", "root", "ppm:-"])

    def is_still():
        before = look()
        time.sleep(0.5)
        return look() == before

    wait("a screen that stays", is_still)


def record_and_undo():
    """One record comes back from its history, and the button takes that back."""
    folder = MOUNT / "history/photos/1"
    first = sorted(file for file in folder.iterdir() if file.suffix == ".json")[0]
    before = sql("select name from photos where id = 1")
    with Manager("thunar", folder) as thunar:
        thunar.menu_of(first.name)
        thunar.click("Send To", "menu")
        thunar.click("Restore from backup")
        press("Restore")
        wait("the record", lambda: sql("select name from photos where id = 1") != before)
        wait("the result", lambda: (MOUNT / "restore/LAST RESULT - RESTORED.txt").exists())
        press("Undo")
        wait("the undo", lambda: sql("select name from photos where id = 1") == before)
        close_message()


def delete_and_bring_back():
    """A backup is deleted by the menu of its folder, and the button brings it back."""
    with Manager("thunar", MOUNT / "snapshots") as thunar:
        thunar.menu_of("monday")
        thunar.click("Send To", "menu")
        thunar.click("Delete backup")
        press("Delete")
        wait("the backup is gone", lambda: not (MOUNT / "snapshots/monday").exists())
        press("Undo")
        wait("the backup is back", (MOUNT / "snapshots/monday/manifest.json").exists)
        close_message()
        picture("brought-back")


def main():
    subprocess.Popen(["dunst"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait("the notification server", lambda: subprocess.run(["dunstctl", "count"], stdout=subprocess.DEVNULL).returncode == 0)
    for step in [back_up_and_look, versions_in_each_manager, record_and_undo, delete_and_bring_back]:
        step()
        print(f"{step.__name__}: right")


main()
