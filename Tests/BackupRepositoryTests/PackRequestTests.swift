import BackupCore
import SystemIO
import Testing

@testable import BackupRepository

/// What a restore requests of a server before it reads it.
@Suite struct PackRequestTests {
    private final class Requests {
        var list: [String] = []
    }

    private static let packs = [PackID(SHA256Hasher.hash([1])), PackID(SHA256Hasher.hash([2]))]

    /// - Parameter kibibytes: pack, offset and length of each chunk.
    private func requests(_ kibibytes: [(pack: Int, offset: UInt64, length: UInt32)], reaching indexes: [Int]) -> [[String]] {
        let chunks = kibibytes.map { chunk in
            StoredChunk(
                id: ChunkID(SHA256Hasher.hash([9])), pack: Self.packs[chunk.pack], packOffset: chunk.offset << 10,
                storedLength: chunk.length << 10, plainLength: chunk.length << 10, codec: .raw, plainCRC32: 0, storedCRC32: 0)
        }
        let found = Requests()
        var requests = PackRequests(chunks, overheadByteCount: 0) { pack, range in
            found.list.append("\(Self.packs.firstIndex(of: pack) ?? 9):\(range.lowerBound >> 10)-\(range.upperBound >> 10)")
        }
        return indexes.map { index in
            found.list = []
            requests.reach(index)
            return found.list
        }
    }

    @Test func `neighbours are one request, and the next one begins before it is needed`() {
        let chunks = (0..<6).map { (pack: 0, offset: UInt64($0) * 3_000, length: UInt32(3_000)) }
        // 8 MiB hold two of them.
        #expect(
            requests(chunks, reaching: [0, 1, 2, 3, 4, 5]) == [["0:0-6000", "0:6000-12000"], [], ["0:12000-18000"], [], [], []])
    }

    @Test func `a small gap is transferred with its neighbours, a large one is not`() {
        func requests(_ places: [(offset: UInt64, length: UInt32)]) -> [String] {
            self.requests(places.map { (pack: 0, offset: $0.offset, length: $0.length) }, reaching: [0])[0]
        }
        #expect(requests([(100, 100), (456, 100), (812, 100)]) == ["0:100-912"])
        #expect(requests([(100, 100), (457, 100), (813, 100)]) == ["0:457-913"])
        // A large one only where as much is wanted.
        #expect(requests([(0, 1_024), (2_048, 10), (3_000, 10)]) == ["0:0-2058", "0:3000-3010"])
        #expect(requests([(0, 1_100), (2_125, 10)]) == ["0:2125-2135"])
    }

    @Test func `another pack, an earlier place and a long chunk are requests of their own`() {
        let chunks = [(0, 500, 100), (1, 600, 100), (1, 400, 100), (1, 500, 9_000), (1, 9_500, 10)].map {
            (pack: $0, offset: UInt64($1), length: UInt32($2))
        }
        // The reader itself requests the first chunk.
        #expect(
            requests(chunks, reaching: [0, 1, 2, 3, 4])
                == [["1:600-700"], ["1:400-500"], ["1:500-9500"], ["1:9500-9510"], []])
    }

    @Test func `what is skipped is not requested one by one`() {
        let chunks = (0..<6).map { (pack: $0 % 2, offset: UInt64(0), length: UInt32(1)) }
        #expect(requests(chunks, reaching: [0, 4, 5]) == [["1:0-1"], ["0:0-1", "1:0-1"], []])
        #expect(requests([], reaching: [0]) == [[]])
    }
}
