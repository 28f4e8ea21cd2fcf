"""The data that is backed up to a server: photos, a large file, small files and a database, 2 GB at full scale."""

import random
import shutil
import sqlite3

import corpora

# Of corpus (a), in which there are 4 GB.
PHOTO_SCALE = 0.43
ENTRY_COUNT = 300_000
DOCUMENT_COUNT = 5_000


class Album(corpora.Photos):
    name = "album"
    title = "photos of 0.5 to 8 MB, a large file, small JSON files and a database"
    changed_title = (
        "1% of the photos replaced, 1% of the large file overwritten in place, a field in 1% of the small files, 0.1% of the rows")

    @property
    def photo_count(self) -> int:
        return self.count(700 * PHOTO_SCALE)

    @property
    def block_count(self) -> int:
        return self.count(1024 * PHOTO_SCALE)

    @property
    def document_count(self) -> int:
        return self.count(DOCUMENT_COUNT)

    def changed_photos(self) -> list:
        return random.Random("changed photos").sample(range(self.photo_count), self.count(7 * PHOTO_SCALE))

    def changed_blocks(self) -> list:
        return random.Random("changed blocks").sample(range(self.block_count), self.count(10 * PHOTO_SCALE))

    def write_document(self, number: int, version: int):
        path = self.media / "documents" / f"{number // 100:04}" / f"{number:06}.json"
        corpora.Documents.write_document_at(path, number, version)

    def state(self, version: int):
        """The database in one of its states, beside the corpus."""
        return self.folder.parent / f"{self.name}-{version}.sqlite"

    def create(self):
        super().create()
        for number in range(0, self.document_count, 100):
            (self.media / "documents" / f"{number // 100:04}").mkdir(parents=True)
        for number in range(self.document_count):
            self.write_document(number, 0)
        shutil.copyfile(self.database, self.state(0))
        shutil.copyfile(self.database, self.state(1))
        count = self.count(ENTRY_COUNT)
        with sqlite3.connect(self.state(1)) as connection:
            generator = random.Random("updated entries")
            connection.executemany(
                "UPDATE entries SET title = ? WHERE id = ?",
                ((self.entry_title(generator), number) for number in generator.sample(range(1, count + 1), max(1, count // 1000))))
        connection.close()

    @staticmethod
    def entry_title(generator) -> str:
        return " ".join(generator.choices(corpora.WORDS, k=generator.randrange(4, 24)))

    def create_media_database(self, count: int):
        super().create_media_database(0)
        with sqlite3.connect(self.database) as connection:
            generator = random.Random("entries")
            connection.executemany(
                "INSERT INTO entries VALUES (?, ?)",
                ((number, self.entry_title(generator)) for number in range(1, self.count(ENTRY_COUNT) + 1)))
        connection.close()

    def write_changed(self, version: int):
        # In place, as an app changes its database.
        shutil.copyfile(self.state(version), self.database)
        for number in random.Random("changed documents").sample(range(self.document_count), max(1, self.document_count // 100)):
            self.write_document(number, version)
        super().write_changed(version)
