import BackupCore
import Testing

@testable import Operations

/// The source documents' texts, character for character.
struct RemoteMessagesTests {
    private static let messages = RemoteMessages(label: "iCloud", location: "s3:https://host/bucket")

    private func error(_ code: BackupError.Code) -> BackupError {
        BackupError(code, "the server said so", path: "s3:https://host/bucket/packs/00", remedy: "Look at it.")
    }

    @Test(arguments: [
        (BackupError.Code.accessDenied, "You must be signed into iCloud to use automatic backups."),
        (.offline, "No internet connection. Backup requires network access."),
        (.noSpace, "iCloud storage is full. Please free up space or upgrade your plan."),
    ])
    func `REM-04, REM-05, REM-06: uploads`(code: BackupError.Code, text: String) {
        let shown = Self.messages.uploading(error(code))
        #expect(shown.code == code && shown.message.english == text)
        #expect(shown.remedy?.english == "The reason: the server said so. Look at it.")
        #expect(shown.description == "s3:https://host/bucket: \(text) The reason: the server said so. Look at it.")
    }

    @Test func `ERR-05: reading`() {
        #expect(
            Self.messages.reading(error(.offline)).message.english == "Cannot access iCloud. Check your internet connection.")
        #expect(Self.messages.reading(error(.noRepository)).message.english == "No backups found in iCloud.")
        #expect(Self.messages.noBackups.code == .noRepository)
        #expect(
            Self.messages.reading(error(.accessDenied)).message.english
                == "You must be signed into iCloud to use automatic backups.")
    }

    @Test func `other errors stay as they are, and other labels are named`() {
        #expect(Self.messages.uploading(error(.conflict)).description == error(.conflict).description)
        #expect(Self.messages.reading(error(.damagedContent)).description == error(.damagedContent).description)
        let other = RemoteMessages(label: "Example Cloud").uploading(BackupError(.noSpace, "Full."))
        #expect(
            other.description
                == "Example Cloud storage is full. Please free up space or upgrade your plan. The reason: Full.")
    }
}
