import PhotoData
import SystemIO
import TestSupport
import Testing

/// Photos that were cut off or changed, of each format. Whatever becomes of the helper, the next file is read.
@Suite(.rotating(oneIn: 3)) struct HostilePhotoTests {
    /// Of each format; a part of them in `make test`.
    private static let roundCount: UInt64 = 60

    @Test(arguments: PhotoFixtures.formats)
    func `a damaged photo costs itself alone`(format: String) throws {
        let folder = try TemporaryFolder(inMemory: true)
        defer { withExtendedLifetime(folder) {} }
        try PhotoFixtures.makeBases(in: folder.path)
        try PhotoFixtures.exifTool(
            [
                [
                    "-overwrite_original", "-Make=Acme", "-GPSLatitude=48", "-XMP:Title=Title", "-IPTC:Keywords=word",
                    "base.\(format)",
                ]
            ],
            in: folder.path)
        let whole = try readFile(folder("base.\(format)"))
        let helper = try PhotoFixtures.helper()
        var unreadable = 0
        for seed in Rounds.seeds(Self.roundCount, oneIn: 2) {
            var random = SeededGenerator(seed: seed)
            var bytes = whole
            switch seed % 3 {
            case 0: bytes = Array(bytes[..<Int.random(in: 0..<bytes.count, using: &random)])
            case 1:
                // Headers and tables are at the start.
                for _ in 0..<8 {
                    bytes[Int.random(in: 0..<min(600, bytes.count), using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
            default:
                for _ in 0..<20 {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
            }
            let path = try folder.write(bytes, to: "hostile")
            for outcome in [
                try isMissing(PhotoFixtures.metadata(of: path, helper)), try isMissing(PhotoFixtures.thumbnail(of: path, helper)),
            ] {
                #expect(outcome != .missing, "seed \(seed)")
                if outcome == .unreadable { unreadable += 1 }
            }
        }
        #expect(unreadable > 0, "the changes must reach the decoders")
        #expect(try PhotoFixtures.found(folder("base.\(format)"), helper).cameraMake == "Acme")
    }

    private enum Kind { case read, unreadable, missing }

    private func isMissing<Value>(_ outcome: MediaOutcome<Value>) -> Kind {
        switch outcome {
        case .found, .nothing: .read
        case .unreadable: .unreadable
        case .helperMissing: .missing
        }
    }

    /// `make fuzz-photos` found it: gexiv2 0.14 reports success after it has freed a text that we then read.
    @Test func `a photo whose table of previews is damaged`() throws {
        let path = "\(FileSystem.parentPath(#filePath))/Hostile/findings/damaged-previews.tif"
        let helper = try PhotoFixtures.helper()
        let first = try PhotoFixtures.found(path, helper)
        #expect(first.contentType == "image/tiff" && first.pixelWidth == 1024 && first.pixelHeight == 512)
        let process = helper.processID
        for _ in 0..<20 {
            #expect(try PhotoFixtures.found(path, helper) == first)
            _ = try PhotoFixtures.thumbnail(of: path, helper)
        }
        #expect(helper.processID == process, "it must not have crashed")
    }

    /// What libvips could load if it were not blocked, and what is no photo.
    @Test func `other formats reach no decoder`() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let texts = [
            "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>", "%PDF-1.4\n", "GIF89a\u{1}\0\u{1}\0\0\0\0;",
            "P1\n1 1\n0\n",
            "SIMPLE  =                    T", "", "x", "RIFF\0\0\0\0WAVE", "#?RADIANCE\n", "%!PS-Adobe-3.0 EPSF-3.0\n",
            "8BPS\0\u{1}",
        ]
        let helper = try PhotoFixtures.helper()
        for text in texts {
            let path = try folder.write(text, to: "other")
            guard case .nothing = try PhotoFixtures.metadata(of: path, helper),
                case .nothing = try PhotoFixtures.thumbnail(of: path, helper)
            else {
                Issue.record("\(text)")
                continue
            }
        }
    }
}
