import AppData
import BackupCore

/// What is told of the records of one instant.
struct RecordFacts: Sendable {
    let counts: [RecordCount]
    let appVersion: String
    let deviceName: String

    init(of snapshot: DatabaseSnapshot) throws(BackupError) {
        counts = try snapshot.counts()
        appVersion = try snapshot.metadataText("appVersion") ?? "unknown"
        deviceName = try snapshot.metadataText("deviceName") ?? "unknown"
    }

    /// Of all collections together.
    var recordCount: Int { counts.reduce(0) { $0 + $1.count } }
}
