import BackupCore
import Fuzzing
import SystemIO
import TestSupport
import Testing

/// Inputs that a fuzzer found worth keeping, or that once went wrong, as the fuzzer itself feeds them.
@Suite(.rotating(oneIn: 3)) struct CorpusTests {
    /// `Tests/Fuzz`.
    private static let folder = FileSystem.parentPath(FileSystem.parentPath(#filePath))

    private static func inputs(_ kind: String, _ target: FuzzTarget) throws -> [String] {
        let path = "\(folder)/\(kind)/\(target.rawValue)"
        guard try FileSystem.exists(path) else { return [] }
        return try DirectoryHandle(path: path).names().map(\.description).filter { !$0.hasPrefix(".") }.sorted()
            .map { "\(path)/\($0)" }
    }

    @Test(arguments: FuzzTarget.allCases)
    func `every input that was kept is answered as it must be`(target: FuzzTarget) throws {
        let folder = try TemporaryFolder(inMemory: true)
        let ground = try FuzzGround(folder: folder.path)
        var outcomes: Set<FuzzOutcome> = []
        for path in try Self.inputs("Corpora", target) + Self.inputs("Findings", target) {
            do {
                outcomes.insert(try target.run(readFile(path), on: ground))
            } catch {
                Issue.record(error, "\(path)")
            }
        }
        // A corpus in which nothing is accepted tries the first look at a file only.
        #expect(outcomes.contains(.accepted))
        // A catalog is rebuilt, whatever it holds.
        #expect(outcomes.count >= 2 || target == .catalog)
    }

    @Test(arguments: FuzzTarget.allCases)
    func `nothing at all is refused`(target: FuzzTarget) throws {
        let folder = try TemporaryFolder(inMemory: true)
        let outcome = try target.run([], on: FuzzGround(folder: folder.path))
        // A description without entries is an empty archive, and an empty catalog is rebuilt.
        #expect(outcome != .accepted || [.craftedZIP, .craftedTAR, .catalog].contains(target))
    }
}
