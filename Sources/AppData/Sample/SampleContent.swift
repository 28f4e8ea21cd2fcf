import BackupCore

/// The content that `init --sample` puts into a new store, so that an app can be tried in a minute: always the same records and files.
public struct SampleContent: Sendable {
    /// `nil` for an app whose records are its media files.
    public let records: (any RecordSource & Sendable)?
    /// For the media folder; empty for an app without one.
    public let photos: [SamplePhoto]

    /// - Parameter expenseCount: for the EV charging tracker; other apps have a fixed number.
    /// - Throws: `invalidArgument` for an app without sample data.
    public init(for definition: AppDefinition, expenseCount: Int) throws(BackupError) {
        switch definition.name {
        case "ev-charging-tracker":
            records = try SampleData(definition: definition, expenseCount: expenseCount)
            photos = []
        case "keeptrack":
            records = SampleIntakes(definition: definition)
            photos = []
        case "smilepile":
            let piles = SamplePiles(definition: definition)
            records = piles
            photos = piles.photos
        case "photo-library":
            records = nil
            photos = SamplePhoto.library
        default:
            throw BackupError(
                .invalidArgument, "there is no sample data for \(definition.title)",
                remedy: "Leave out --sample, or choose one of: \(AppDefinition.builtInNames.joined(separator: ", ")).")
        }
    }
}
