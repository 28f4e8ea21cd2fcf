import BackupCore
import Foundation
import Testing

@testable import BackupRepository

@Suite struct ChunkerTests {
    private static let seed: UInt64 = 0x6261_636b_7570_6673

    private func lengths(_ bytes: [UInt8], _ policy: ChunkingPolicy, pieceBytes: Int) -> [Int] {
        var cutter = ChunkerParameters.standard.cutter(for: policy, gear: GearTable(seed: Self.seed))
        var lengths: [Int] = []
        var current = 0
        bytes.withUnsafeBytes { all in
            var start = 0
            while start < all.count {
                let end = min(all.count, start + pieceBytes)
                var rest = UnsafeRawBufferPointer(rebasing: all[start..<end])
                while !rest.isEmpty, let count = cutter.scan(rest) {
                    lengths.append(current + count)
                    current = 0
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
                current += rest.count
                start = end
            }
        }
        return current > 0 ? lengths + [current] : lengths
    }

    /// Published with the format: another table would make every repository store everything again.
    @Test func gearTableComesFromTheSeed() {
        let table = GearTable(seed: Self.seed)
        #expect(table.values[0] == 0x114f_5488_fa36_ce63)
        #expect(table.values[1] == 0xd69a_15fd_40e4_fa5b)
        #expect(table.values[255] == 0x81c3_34bf_4126_06ca)
    }

    /// The lengths come from Fixtures/read_repository.py.
    @Test(arguments: [1, 4095, 65536, 1 << 20]) func textIsCutAtKnownPlaces(pieceBytes: Int) {
        let bytes = TestData.random(200_000, seed: 1)
        #expect(
            lengths(bytes, .structuredText, pieceBytes: pieceBytes) == [
                11067, 9450, 8682, 8727, 4187, 11018, 12701, 8301, 10178, 8980, 6107, 9717,
                8242, 10164, 10595, 8252, 6274, 10244, 8751, 8384, 5452, 8246, 6281,
            ])
    }

    @Test(arguments: [65_537, 16 << 20]) func mediaIsCutAtKnownPlaces(pieceBytes: Int) {
        let bytes = TestData.random(10_000_000, seed: 2)
        #expect(
            lengths(bytes, .media, pieceBytes: pieceBytes) == [
                1117747, 1313841, 1700823, 1220114, 1918882, 650118, 1270994, 807481,
            ])
    }

    /// What never meets a boundary is cut at the maximum.
    @Test func zerosAreCutAtTheMaximum() {
        let bytes = [UInt8](repeating: 0, count: 150_000)
        #expect(lengths(bytes, .structuredText, pieceBytes: 1000) == [32_768, 32_768, 32_768, 32_768, 18_928])
    }

    @Test(arguments: [(512, 16384), (4096, 16384), (16384, 16384), (65536, 65536), (1000, 16000), (0, 16384)])
    func databasesAreCutAtPages(pageSizeBytes: Int, pieceBytes: Int) {
        let bytes = [UInt8](repeating: 7, count: pieceBytes * 2 + 512)
        let policy = ChunkingPolicy.database(pageSizeBytes: pageSizeBytes)
        #expect(lengths(bytes, policy, pieceBytes: 10_000) == [pieceBytes, pieceBytes, 512])
    }

    /// All cuts beyond the insertion are found again.
    @Test func anInsertionMovesTheCutsAlong() {
        let before = TestData.random(2_000_000, seed: 3)
        let after = [0x58] + before
        let old = lengths(before, .structuredText, pieceBytes: 65536)
        let new = lengths(after, .structuredText, pieceBytes: 65536)
        func ends(_ lengths: [Int]) -> Set<Int> {
            var total = 0
            return Set(
                lengths.map { length in
                    total += length
                    return total
                })
        }
        let shifted = Set(ends(old).map { $0 + 1 })
        #expect(shifted.subtracting(ends(new)).count <= 3)
    }

    @Test func theAverageIsAboutWhatItSays() {
        let count = lengths(TestData.random(8_000_000, seed: 4), .structuredText, pieceBytes: 1 << 20).count
        #expect((7_000...11_000).contains(8_000_000 / count))
    }
}
