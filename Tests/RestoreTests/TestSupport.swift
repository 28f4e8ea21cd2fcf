import AppData
import BackupCore
import Foundation
import SystemIO
import Testing

@testable import Restore

/// A folder that is removed with the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "backupfs-restore-" + RandomToken.make()
        try FileSystem.makeDirectories(path)
    }

    deinit { try? FileSystem.removeTree(path) }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Runs a bash script in the folder and gives what it prints, without the last line feed.
    @discardableResult
    func sh(_ script: String, at place: SourceLocation = #_sourceLocation) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", "set -euo pipefail\n" + script]
        process.currentDirectoryURL = URL(fileURLWithPath: path)
        let pipe = Foundation.Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)", sourceLocation: place)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    func write(_ bytes: [UInt8], to name: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: self(name))) }
    func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }
    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: self(name)))) }
}

/// The error that `body` throws; `nil` when it throws none.
func failure(_ body: () throws(BackupError) -> Void) -> BackupError? {
    do {
        try body()
        return nil
    } catch {
        return error
    }
}

/// An app with photos.
enum Diary {
    static func definition() throws -> AppDefinition {
        try AppDefinition.load(
            yaml: """
                format: "1"
                name: photo-diary
                title: Photo Diary
                schemaVersion: "1"
                minimumSchemaVersion: "1"
                fileNames:
                  export: "export_{stamp}.json"
                  backup: "backup_{stamp}.json"
                  safety: "safety_{stamp}.json"
                strategy: replace
                retention:
                  safetyKeepLast: "3"
                envelope: [metadata, photos]
                metadata:
                  name: metadata
                  table: app_metadata
                  fields:
                    - {name: createdAt, source: creationTime, type: date}
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
                media:
                  folder: photos
                migrations:
                  - name: "1-initial"
                    sql: |
                      CREATE TABLE photos (id INTEGER PRIMARY KEY, file TEXT NOT NULL);
                      CREATE TABLE app_metadata (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
                      INSERT INTO app_metadata (key, value) VALUES ('schema_version', '1');
                      INSERT INTO photos VALUES (1, 'old.jpg');

                """)
    }

    /// An export with one photo.
    static func export(_ file: String = "new.jpg") -> String {
        """
        {"metadata": {"createdAt": "2026-01-11T14:30:00Z", "schemaVersion": 1}, "photos": [{"id": 5, "file": "\(file)"}]}

        """
    }

    /// `app/database.sqlite` with one record and `app/photos` with `old.jpg`; `work` for the operation.
    static func database(in folder: TemporaryFolder) throws -> AppDatabase {
        try folder.sh("mkdir -p app/photos work; printf old > app/photos/old.jpg")
        return try AppDatabase.create(at: folder("app/database.sqlite"), definition: definition())
    }
}
