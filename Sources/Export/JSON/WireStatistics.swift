/// Statistics of a written export.
public struct WireStatistics: Sendable, Equatable {
    /// Number of records for each collection of the definition.
    public var recordCounts: [Int]
    /// The first 100 values that do not fit their field ("expenses 12: cost is a number"). They are written as in the database, so that nothing is lost,
    /// but a restore of this export would refuse them.
    public var anomalies: [String] = []
    public var anomalyCount = 0
}
