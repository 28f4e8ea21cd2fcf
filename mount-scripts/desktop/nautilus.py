"""Entries in the menu of Nautilus: versions of a file, restore from a backup, back up now. It needs python3-nautilus."""
import os
import subprocess

from gi.repository import GObject, Nautilus

PROGRAM = "@BINDIR@/backupfs"
TEXTS = {
    "versions": {
        "en": "Versions in backups", "de": "Versionen in Sicherungen", "ru": "Версии в резервных копиях",
        "tr": "Yedeklerdeki sürümler", "kk": "Сақтық көшірмелердегі нұсқалар",
    },
    "restore": {
        "en": "Restore from backup", "de": "Aus Sicherung wiederherstellen", "ru": "Восстановить из резервной копии",
        "tr": "Yedekten geri yükle", "kk": "Сақтық көшірмеден қалпына келтіру",
    },
    "delete": {
        "en": "Delete backup", "de": "Sicherung löschen", "ru": "Удалить резервную копию", "tr": "Yedeği sil",
        "kk": "Сақтық көшірмені жою",
    },
    "back-up": {
        "en": "Back up now", "de": "Jetzt sichern", "ru": "Создать копию сейчас", "tr": "Şimdi yedekle",
        "kk": "Қазір сақтау",
    },
}


def mountpoints():
    """The folders that backupfs is mounted on. Reading the list asks none of them."""
    with open("/proc/self/mountinfo", "rb") as table:
        fields = [line.split(b" ") for line in table]
    return [os.fsdecode(each[4].decode("unicode_escape").encode("latin-1")) for each in fields
            if b"-" in each[6:] and each[each.index(b"-", 6) + 1] == b"fuse.backupfs"]


def label(action):
    """In the language of the desktop."""
    names = [os.environ.get(name, "") for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")]
    language = next((name for name in names if name), "en")[:2]
    return TEXTS[action].get(language, TEXTS[action]["en"])


class BackupsMenu(GObject.GObject, Nautilus.MenuProvider):
    """Files in a mount can be restored; any file may have versions while a store is mounted."""

    def _item(self, action, path):
        item = Nautilus.MenuItem(name=f"Backups::{action}", label=label(action))
        item.connect("activate", lambda _: subprocess.Popen([PROGRAM, "desktop", action, path], start_new_session=True))
        return item

    def get_file_items(self, *arguments):
        files = arguments[-1]
        location = files[0].get_location() if len(files) == 1 else None
        path = location.get_path() if location else None
        mounts = mountpoints()
        if not path or not mounts:
            return []
        actions = ["versions"]
        if any(path.startswith(mount + "/") for mount in mounts):
            actions.append("restore")
        if any(os.path.dirname(path) == mount + "/snapshots" for mount in mounts):
            actions.append("delete")
        return [self._item(action, path) for action in actions]

    def get_background_items(self, *arguments):
        location = arguments[-1].get_location()
        path = location.get_path() if location else None
        if not path or not any((path + "/").startswith(mount + "/") for mount in mountpoints()):
            return []
        return [self._item("back-up", path)]
