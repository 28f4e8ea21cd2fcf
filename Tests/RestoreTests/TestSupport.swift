import AppData
import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Restore

extension TemporaryFolder {
    /// Runs a bash script in the folder and gives what it prints, without the last line feed.
    @discardableResult
    func sh(_ script: String, at place: SourceLocation = #_sourceLocation) throws -> String {
        let result = try run(["bash", "-c", "set -euo pipefail\n" + script], in: path)
        #expect(result.status == 0, "\(result.output)", sourceLocation: place)
        return result.output.hasSuffix("\n") ? String(result.output.dropLast()) : result.output
    }
}

/// The app with photos, with one photo from the beginning.
enum Diary {
    static func definition() throws -> AppDefinition {
        try AppDefinition.load(
            yaml: PhotoDiary.definition + "      INSERT INTO photos (id, file) VALUES (1, 'old.jpg');\n")
    }

    /// An export with one photo.
    static func export(_ file: String = "new.jpg") -> String {
        """
        {"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1.0", "schemaVersion": 1}, "photos": [{"id": 5, "file": "\(file)"}]}

        """
    }

    /// `app/database.sqlite` with one record and `app/photos` with `old.jpg`; `work` for the operation.
    static func database(in folder: TemporaryFolder) throws -> AppDatabase {
        try folder.sh("mkdir -p app/photos work; printf old > app/photos/old.jpg")
        return try AppDatabase.create(at: folder("app/database.sqlite"), definition: definition())
    }
}

extension RestoreOperation {
    func check(
        _ path: String, origin: ImportOrigin = .foreign, strategy: ImportStrategy = .replace
    ) throws(BackupError) -> CheckedImport {
        try check(ImportSource(file: path, origin: origin), strategy: strategy)
    }
}
