import AppData
import BackupCore

/// What is told of the records of one instant.
struct RecordFacts: Sendable {
    /// The app's, in the wire format that the data is written in.
    let definition: AppDefinition
    let counts: [RecordCount]
    let appVersion: String
    let deviceName: String
    /// What records name, and is not there.
    let missingFiles: MissingFiles
    /// What is in `database.sqlite` alone, and would be lost by a restore.
    let unexported: UnexportedData?
    /// Why no restore could write to the database; `nil` when one could.
    let triggerProblem: Message?

    init(of snapshot: DatabaseSnapshot) throws(BackupError) {
        definition = snapshot.definition
        counts = try snapshot.counts()
        missingFiles = try snapshot.missingFiles()
        unexported = try snapshot.unexportedData()
        triggerProblem = try snapshot.triggerProblem()
        appVersion = try snapshot.metadataText("appVersion") ?? "unknown"
        deviceName = try snapshot.metadataText("deviceName") ?? "unknown"
    }

    /// Of all collections together.
    var recordCount: Int { counts.reduce(0) { $0 + $1.count } }
}
