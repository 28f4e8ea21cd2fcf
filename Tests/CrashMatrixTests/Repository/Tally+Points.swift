import Testing

extension Tally {
    /// After so many complaints the others would say the same.
    private static let complaintLimit = 5

    /// Tries points one after the other, and records what was found wrong.
    /// - Parameter body: gives what was found wrong; `nil` when the fault was not met.
    func tryAll(_ plans: [PlannedFault], _ description: String, _ body: (PlannedFault) throws -> [String]?) throws {
        var counts = Counts()
        var complaintCount = 0
        for plan in plans {
            guard let complaints = try body(plan) else {
                counts.missed += 1
                continue
            }
            counts.runs += 1
            for complaint in complaints { Issue.record("\(complaint)") }
            complaintCount += complaints.isEmpty ? 0 : 1
            if complaintCount == Self.complaintLimit { break }
        }
        add(counts, description)
    }
}
