import AppData
import BackupCore

/// Facts about the records at one instant.
struct RecordFacts: Sendable {
    /// The app's definition, in the wire format of the data.
    let definition: AppDefinition
    let counts: [RecordCount]
    let appVersion: String
    let deviceName: String
    /// Files that records name but that do not exist.
    let missingFiles: MissingFiles
    /// Data that is only in `database.sqlite`, and that a restore would lose.
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

    /// The total over all collections.
    var recordCount: Int { counts.reduce(0) { $0 + $1.count } }
}
