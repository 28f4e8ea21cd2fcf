import BackupCore
import CopyVerify
import SystemIO
import TestSupport
import Testing

/// What recorded a card, by real folders of 60 made-up cards.
struct CardDetectionTests {
    private func inspect(_ fixture: CardFixture, _ rename: (String) -> String = { $0 }) throws -> CameraCard {
        let folder = try TemporaryFolder(inMemory: true)
        return try CardInspection.inspect(fixture.make(in: folder, rename))
    }

    /// Requirement COP-05.
    @Test(arguments: CardFixture.all)
    func `what a camera writes on a card identifies it`(fixture: CardFixture) throws {
        let card = try inspect(fixture)
        #expect(card.type == fixture.type, "\(card.evidence)")
        #expect(card.confidence == fixture.confidence, "\(card.evidence), \(card.otherTypes)")
        #expect(card.model == fixture.model)
        #expect(card.serial == fixture.serial)
        #expect(card.reel == fixture.reel)
        #expect(card.clipCount == fixture.clips)
        #expect(card.photoCount == fixture.photos)
        #expect(card.spans.map { "\($0.clip) \($0.note.rawValue)" } == fixture.spans)
        #expect(card.type == .generic || !card.evidence.isEmpty)
        #expect(!card.isPartlyRead)
    }

    @Test(arguments: CardFixture.all)
    func `names in lower case are the same`(fixture: CardFixture) throws {
        let card = try inspect(fixture) { $0.lowercased() }
        #expect(card.type == fixture.type)
        #expect(card.model == fixture.model)
        #expect(card.reel == fixture.reel)
        #expect(card.clipCount == fixture.clips)
    }

    @Test func `the folder of a card can be named, or one that holds it`() throws {
        let folder = try TemporaryFolder(inMemory: true)
        let path = try CardFixture.all[0].make(in: folder)
        #expect(try CardInspection.inspect(folder.path).type == .sonyFX6)
        #expect(try CardInspection.inspect("\(path)/PRIVATE").type == .sonyFX6)
        #expect(try CardInspection.inspect("\(path)/PRIVATE/M4ROOT/CLIP").type == .sonyFX6)
    }

    @Test func `a card of two cameras has the stronger one, and names the other`() throws {
        let card = try inspect(
            CardFixture(
                "two", .goPro, ["DCIM/100GOPRO/GX010001.MP4", "DCIM/100GOPRO/GX010002.MP4", "DCIM/100MSDCF/DSC00001.JPG"]))
        #expect(card.type == .goPro)
        #expect(card.confidence == .medium)
        #expect(card.otherTypes == [.sony])
    }

    // MARK: Hostile cards

    @Test func `a card with 6,000 folders and files is looked at in part`() throws {
        let folder = try TemporaryFolder(inMemory: true)
        for number in 0..<3_000 {
            try FileSystem.makeDirectory(folder("f\(number)"))
            try writeFile(folder("n\(number).mp4"), [])
        }
        let start = SystemClock.monotonicNanoseconds()
        let root = try DirectoryHandle(path: folder.path)
        _ = try root.names()
        let card = try CardInspection.inspect(folder.path)
        #expect(card.isPartlyRead)
        #expect(card.clipCount == 3_000)
        try FileSystem.makeDirectories(folder("DCIM/100GOPRO"))
        #expect(try CardInspection.inspect(folder.path).type == .goPro)
        #expect(SystemClock.monotonicNanoseconds() - start < 30_000_000_000)
    }

    /// Names that are not UTF-8, links in a circle and out of the card, a pipe that no one writes to, XML that grows.
    @Test func `a hostile card has a type all the same`() throws {
        let folder = try TemporaryFolder(inMemory: true)
        let path = try CardFixture("hostile", .sony, ["PRIVATE/M4ROOT/CLIP/C000{1..3}.MP4"]).make(in: folder)
        let clip = "\(path)/PRIVATE/M4ROOT/CLIP"
        let entities = (0..<20).map { "<!ENTITY e\($0 + 1) \"&e\($0);&e\($0);&e\($0);&e\($0);\">" }.joined()
        try writeFile(
            "\(clip)/C0001M01.XML",
            Array(
                "<!DOCTYPE a [<!ENTITY e0 \"x\">\(entities)]><NonRealTimeMeta><Device manufacturer=\"&e20;\"/></NonRealTimeMeta>"
                    .utf8))
        try writeFile("\(clip)/C0002M01.XML", Array((String(repeating: "<a>", count: 100_000)).utf8))
        try writeFile("\(clip)/C0003M01.XML", [UInt8](repeating: 0x20, count: 2 << 20))
        let result = try run(
            [
                "bash", "-c",
                """
                cd "$0" && ln -s . loop && ln -s / root && ln -s /etc/passwd MEDIAPRO.XML && mkfifo MISC.XML && mkdir MISC && mkfifo MISC/version.txt \
                    && : > $'bad-\\xff\\xfe.mp4' && mkdir $'dir-\\xff' && mkdir closed && chmod 0 closed && : > "$(printf 'n%.0s' $(seq 255))"
                """, path,
            ], in: folder.path)
        #expect(result.status == 0, "\(result.output)")
        let card = try CardInspection.inspect(path)
        #expect(card.type == .sony)
        #expect(card.model == nil && card.serial == nil)
        #expect(card.clipCount == 4)
    }

    @Test(arguments: ["\u{1B}[2J", "a\u{0}b", String(repeating: "x", count: 65), "  "])
    func `a model that is no text for people is left out`(model: String) throws {
        let escaped = model.unicodeScalars.map { "&#\($0.value);" }.joined()
        let card = try inspect(
            CardFixture(
                "x", .goPro, ["DCIM/100GOPRO/GX010001.MP4"],
                content: [
                    "MISC/version.txt":
                        "{\"camera type\":\"\(model.unicodeScalars.map { $0.value < 32 ? "\\u00\(Hexadecimal.encode([UInt8($0.value)]))" : String($0) }.joined())\"}",
                    "PRIVATE/M4ROOT/CLIP/C0001M01.XML": CardFixture.clipXML(escaped, "1"),
                ]))
        #expect(card.model == nil)
    }

    // MARK: Model types

    /// Requirement FBM-02.
    @Test func `types, cards and labels are read as they were written`() throws {
        #expect(
            CameraType.allCases.map(\.rawValue) == [
                "Sony", "Sony FX6", "Sony FX3", "Sony A7S", "Canon", "Canon C70", "ARRI", "ARRI Alexa", "ARRI Amira", "RED",
                "RED Camera",
                "RED Dragon", "Blackmagic Design", "Blackmagic Pocket", "Panasonic", "Fujifilm", "Nikon", "GoPro", "DJI",
                "Insta360",
                "iPhone", "Generic DCIM", "Generic Media", "Generic",
            ])
        for fixture in CardFixture.all {
            let card = try inspect(fixture)
            #expect(CameraCard(parsing: card.json.prettyText) == card, "\(fixture.name)")
        }
        let text = """
            {"type":"Sony FX6","model":"ILME-FX6V","serial":null,"confidence":"high","clip_count":12,"other_types":["Canon"],"new":[{"x":[1]}],
             "evidence":[{"kind":"metadata","path":"a/b","count":1},{"kind":"unknown","path":"c"}],"spans":[{"clip":"d","note":"continued"}]}
            """
        let card = try #require(CameraCard(parsing: Array(text.utf8)))
        #expect(card.type == .sonyFX6 && card.model == "ILME-FX6V" && card.serial == nil && card.clipCount == 12)
        #expect(card.otherTypes == [.canon] && card.evidence.map(\.path) == ["a/b"] && card.spans.map(\.note) == [.continued])
        #expect(CameraCard(parsing: Array("{}".utf8)) == nil)
        #expect(CameraCard(parsing: Array("{\"type\":\"Sony\"".utf8)) == nil)
    }
}
