import PhotoData
import SystemIO
import TestSupport
import Testing

/// Clips that were cut off or changed, in each coding. The helper may die of one, which costs that one alone.
@Suite(.rotating(oneIn: 3)) struct HostileClipTests {
    /// For each clip; a part of them in `make test`.
    private static let roundCount: UInt64 = 120
    private static let cutCount = 40
    private static let names = [
        "h264-baseline.mp4", "h264-high.mov", "h264-main-several-slices.mp4", "h264-interlaced.mp4", "hevc.mp4",
        "hevc-10-bit.mov",
        "mjpeg.mov", "mjpeg.avi",
    ]

    private enum Kind { case picture, none, unreadable, wrong }

    private func kind(_ path: String, _ helper: MediaHelper) throws -> Kind {
        switch try PhotoFixtures.thumbnail(of: path, helper) {
        case .found: .picture
        case .nothing: .none
        case .unreadable(.malformedAnswer), .helperMissing: .wrong
        case .unreadable: .unreadable
        }
    }

    @Test(arguments: names)
    func `a damaged clip costs its own picture`(name: String) throws {
        let folder = try TemporaryFolder(inMemory: true)
        defer { withExtendedLifetime(folder) {} }
        let good = "\(ClipThumbnailTests.clipFolder)/h264-right.mp4"
        let whole = try readFile("\(ClipThumbnailTests.clipFolder)/\(name)")
        let helper = try PhotoFixtures.helper()
        var counts: [Kind: Int] = [:]
        func read(_ bytes: [UInt8], _ note: String) throws {
            let kind = try kind(folder.write(bytes, to: "hostile"), helper)
            counts[kind, default: 0] += 1
            #expect(kind != .wrong, "\(name): \(note)")
        }
        for cut in 0..<Self.cutCount { try read(Array(whole[..<(whole.count * cut / Self.cutCount)]), "cut \(cut)") }
        for seed in Rounds.seeds(Self.roundCount, oneIn: 3) {
            var random = SeededGenerator(seed: seed)
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                if seed.isMultiple(of: 2) {
                    bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                } else {
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                }
            }
            try read(bytes, "seed \(seed)")
        }
        #expect(counts[.none, default: 0] + counts[.unreadable, default: 0] > 0, "the changes must reach the decoders: \(counts)")
        #expect(try kind(good, helper) == .picture)
    }
}
