/// An app with photos, which exists only as a definition.
public enum PhotoDiary {
    /// The same app, whose records are identified by the columns in `identity`, with the file as a name in the media folder.
    public static func definition(identity: String) -> String {
        definition.replacing("key: id\n", with: "key: id\n    identity: [\(identity)]\n")
            .replacing("{name: file, column: file, type: text}", with: "{name: file, column: file, type: text, media: true}")
    }

    public static let definition = """
        format: "1"
        name: photo-diary
        title: Photo Diary
        schemaVersion: "1"
        minimumSchemaVersion: "1"
        fileNames:
          export: "photo_diary_export_{stamp}.json"
          backup: "photo_diary_backup_{stamp}.json"
          safety: "photo_diary_safety_{stamp}.zip"
        strategy: replace
        retention:
          keepLast: "5"
          safetyKeepLast: "3"
        envelope: [metadata, photos]
        metadata:
          name: metadata
          table: app_metadata
          fields:
            - {name: createdAt, source: creationTime, type: date}
            - {name: appVersion, key: app_version, type: text, default: "unknown"}
            - {name: schemaVersion, source: schemaVersion, key: schema_version, type: integer}
        collections:
          - name: photos
            table: photos
            key: id
            singular: photo
            plural: photos
            fields:
              - {name: id, column: id, type: integer}
              - {name: file, column: file, type: text}
              - {name: caption, column: caption, type: text, nullable: true}
        media:
          folder: photos
        migrations:
          - name: "1-initial"
            sql: |
              CREATE TABLE photos (id INTEGER PRIMARY KEY, file TEXT NOT NULL, caption TEXT);
              CREATE TABLE app_metadata (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
              INSERT INTO app_metadata (key, value) VALUES ('schema_version', '1');

        """
}
