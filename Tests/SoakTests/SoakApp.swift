/// The app that is backed up: it writes to its database and its folder of photos all the time.
///
/// What it writes can be checked wherever it turns up: each note has an echo with the SHA-256 of the note's text, both written in
/// one transaction; each photo's name begins with the SHA-256 of its bytes. So a backup, an export or a restore that took half of
/// a transaction, or half a photo, shows.
enum SoakApp {
    static let definition = """
        format: "1"
        name: soak-diary
        title: Soak Diary
        schemaVersion: "1"
        minimumSchemaVersion: "1"
        fileNames:
          export: "soak_diary_export_{stamp}.json"
          backup: "soak_diary_backup_{stamp}.json"
          safety: "soak_diary_safety_{stamp}.zip"
        strategy: replace
        retention:
          keepLast: "8"
          safetyKeepLast: "3"
        envelope: [metadata, notes, echoes]
        metadata:
          name: metadata
          table: app_metadata
          fields:
            - {name: createdAt, source: creationTime, type: date}
            - {name: schemaVersion, source: schemaVersion, key: schema_version, type: integer}
        collections:
          - name: notes
            table: notes
            key: id
            identity: [token]
            singular: note
            plural: notes
            fields:
              - {name: id, column: id, type: integer}
              - {name: token, column: token, type: text}
              - {name: text, column: text, type: text}
              - {name: weight, column: weight, type: double}
              - {name: photo, column: photo, type: text, nullable: true}
          - name: echoes
            table: echoes
            key: id
            identity: [token]
            singular: echo
            plural: echoes
            fields:
              - {name: id, column: id, type: integer}
              - {name: token, column: token, type: text}
              - {name: digest, column: digest, type: text}
        media:
          folder: photos
        migrations:
          - name: "1-initial"
            sql: |
              CREATE TABLE notes (id INTEGER PRIMARY KEY, token TEXT NOT NULL, text TEXT NOT NULL, weight REAL NOT NULL, photo TEXT);
              CREATE TABLE echoes (id INTEGER PRIMARY KEY, token TEXT NOT NULL, digest TEXT NOT NULL);
              CREATE INDEX notes_token ON notes (token);
              CREATE INDEX echoes_token ON echoes (token);
              CREATE TABLE app_metadata (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
              INSERT INTO app_metadata (key, value) VALUES ('schema_version', '1');

        """

    /// The app: `app.py STORE-APP-FOLDER SEED`. Told to end by SIGTERM, it prints what it has done.
    static let program = #"""
        import hashlib, json, os, random, signal, sqlite3, sys, time

        folder, seed = sys.argv[1], int(sys.argv[2])
        chance = random.Random(seed)
        photos = folder + "/photos"
        connection = sqlite3.connect(folder + "/database.sqlite", timeout=60, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        counts = {"added": 0, "changed": 0, "removed": 0, "photos": 0, "locked": 0}
        is_ending = False

        def end(*_):
            global is_ending
            is_ending = True

        signal.signal(signal.SIGTERM, end)

        def sha(text): return hashlib.sha256(text.encode()).hexdigest()

        def new_text():
            words = ["snow", "sun", "sea", "Café", "Лиф", "量子", "\"quoted\"", "line\nbreak", "🚗"]
            return " ".join(chance.choice(words) for _ in range(chance.randrange(3, 120)))

        def write_photo():
            content = chance.randbytes(chance.randrange(500, 60_000)) + b"\0" * chance.randrange(0, 20_000)
            name = f"{chance.choice(['2024', '2025/summer', '2026'])}/{hashlib.sha256(content).hexdigest()[:32]}.jpg"
            os.makedirs(os.path.dirname(f"{photos}/{name}"), exist_ok=True)
            with open(folder + "/draft", "wb") as file: file.write(content)
            os.rename(folder + "/draft", f"{photos}/{name}")
            counts["photos"] += 1
            return name

        def transaction(*statements):
            connection.execute("BEGIN IMMEDIATE")
            try:
                for sql, values in statements: connection.execute(sql, values)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise

        def add():
            token = "%032x" % chance.getrandbits(128)
            text = new_text()
            photo = write_photo() if chance.random() < 0.2 else None
            transaction(
                ("INSERT INTO notes (token, text, weight, photo) VALUES (?,?,?,?)", (token, text, chance.random() * 1e6, photo)),
                ("INSERT INTO echoes (token, digest) VALUES (?,?)", (token, sha(text))))
            counts["added"] += 1

        def note_count(): return connection.execute("SELECT count(*) FROM notes").fetchone()[0]

        def any_token():
            place = chance.randrange(max(1, note_count()))
            row = connection.execute("SELECT token FROM notes ORDER BY id LIMIT 1 OFFSET ?", (place,)).fetchone()
            return row and row[0]

        def change():
            token, text = any_token(), new_text()
            if not token: return
            transaction(
                ("UPDATE notes SET text = ?, weight = ? WHERE token = ?", (text, chance.random(), token)),
                ("UPDATE echoes SET digest = ? WHERE token = ?", (sha(text), token)))
            counts["changed"] += 1

        def remove():
            # What it grows to is bounded, so that memory may not grow either: merges bring back what was removed.
            for _ in range(1 + max(0, note_count() - 1000)):
                if not (token := any_token()): break
                transaction(("DELETE FROM notes WHERE token = ?", (token,)), ("DELETE FROM echoes WHERE token = ?", (token,)))
                counts["removed"] += 1
            found = sorted((os.stat(path).st_mtime_ns, path) for top, _, names in os.walk(photos) for path in (f"{top}/{name}" for name in names))
            for _, path in found[:max(0, len(found) - 150)]: os.unlink(path)

        while not is_ending:
            try:
                chance.choices([add, change, remove], [6, 5, 1])[0]()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error): raise
                counts["locked"] += 1
            except FileNotFoundError:
                # A restore has exchanged the folder of photos meanwhile.
                pass
            time.sleep(chance.random() * 0.05)
        connection.close()
        print(json.dumps(counts))

        """#

    /// `verify.py FOLDER…`: a line for everything that is wrong in a backup's folder, or in `live/`.
    static let verifier = #"""
        import hashlib, json, os, sqlite3, sys

        def verify(folder):
            with open(folder + "/export.json") as file: export = json.load(file)
            notes, echoes = export["notes"], export["echoes"]
            # Each open file there is one state of the data, but two of them need not be the same.
            is_live = os.path.basename(folder) == "live"
            for name in () if is_live else ("notes", "echoes"):
                with open(f"{folder}/data/{name}.json") as file:
                    if json.load(file) != export[name]: yield f"data/{name}.json is not what export.json has"
            digests = {each["token"]: each["digest"] for each in echoes}
            texts = {each["token"]: each["text"] for each in notes}
            if len(digests) != len(echoes) or len(texts) != len(notes): yield "a token stands twice"
            if digests.keys() != texts.keys(): yield f"half transactions: {len(digests.keys() ^ texts.keys())}"
            wrong = [token for token in texts.keys() & digests.keys() if hashlib.sha256(texts[token].encode()).hexdigest() != digests[token]]
            if wrong: yield f"{len(wrong)} notes are not what their echoes say: {wrong[:3]}"
            if is_live: return
            connection = sqlite3.connect(f"file:{folder}/database.sqlite?mode=ro&immutable=1", uri=True)
            if (told := connection.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]: yield f"integrity_check: {told[:3]}"
            for name, columns in ("notes", ("id", "token", "text", "weight", "photo")), ("echoes", ("id", "token", "digest")):
                rows = connection.execute(f"SELECT {', '.join(columns)} FROM {name} ORDER BY id")
                stored = [{column: value for column, value in zip(columns, row) if value is not None} for row in rows]
                if stored != sorted(export[name], key=lambda each: each["id"]):
                    yield f"the database's {name} ({len(stored)}) are not those of export.json ({len(export[name])})"
            connection.close()
            for top, _, names in os.walk(folder + "/media"):
                for name in names:
                    with open(f"{top}/{name}", "rb") as file: digest = hashlib.file_digest(file, "sha256").hexdigest()
                    if digest[:32] + ".jpg" != name: yield f"{top}/{name} has other bytes: {digest}"

        status = 0
        for folder in sys.argv[1:]:
            for problem in verify(folder):
                print(f"WRONG {os.path.basename(folder)}: {problem}")
                status = 1
        sys.exit(status)

        """#
}
