import Testing

/// Prints the total when a suite has ended.
struct TallyTrait: SuiteTrait, TestScoping {
    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await function()
        Tally.shared.printTotal()
    }
}

extension Trait where Self == TallyTrait {
    static var tallied: Self { Self() }
}
