import BackupCore
import Formats
import Testing

@testable import CopyVerify

/// Names of folders that are made of texts from cards and people.
struct LabelNameTests {
    @Test(arguments: [
        ("A001", "A001"), ("Kamera 1", "Kamera 1"), ("日本 ü", "日本 ü"), ("a/b\\c", "a_b_c"), ("", "untitled"), (".", "untitled"),
        ("..", "untitled"), ("...", "untitled"), ("  a  ", "a"), ("a.", "a"), ("a. ", "a"), (".hidden", "hidden"),
        ("a\u{0}b\nc\u{7F}\u{85}", "abc"), ("a\u{202E}gpj", "agpj"), ("%41", "A"), ("%2E%2E%2Fetc", "_etc"),
        ("%252e%252e", "untitled"),
        ("%2525252541", "A"), ("%25252525252541", "%2541"), ("100%", "100%"), ("%zz", "%zz"), ("%ff", "%ff"),
        ("a:b*c?\"<>|", "a_b_c_____"),
        ("CON", "_CON"), ("com1.txt", "_com1.txt"), ("CONTENTS", "CONTENTS"), ("\u{1}", "untitled"),
    ])
    func `a name is valid on every file system`(text: String, expected: String) { #expect(LabelName.sanitized(text) == expected) }

    @Test func `a name has 200 bytes at most, and no half characters`() {
        #expect(LabelName.sanitized(String(repeating: "a", count: 300)) == String(repeating: "a", count: 200))
        #expect(LabelName.sanitized(String(repeating: "ä", count: 101)) == String(repeating: "ä", count: 100))
        // 25 bytes.
        let family = "👨‍👩‍👧‍👦"
        #expect(LabelName.sanitized(String(repeating: family, count: 9)) == String(repeating: family, count: 8))
    }

    private func card(_ type: CameraType, _ model: String? = nil) -> CameraCard {
        var card = CameraCard()
        card.type = type
        card.model = model
        card.confidence = .medium
        return card
    }

    /// Requirement FBM-02.
    @Test func `settings of labels are read as they were written`() {
        for position in CameraLabelSettings.Position.allCases {
            for separator in CameraLabelSettings.Separator.allCases {
                for (text, isNumbered, isGrouped) in [(nil, false, true), ("B \"cam\"", true, false)] {
                    let settings = CameraLabelSettings(
                        position: position, text: text, separator: separator, isNumbered: isNumbered, isGroupedByCamera: isGrouped
                    )
                    #expect(CameraLabelSettings(JSONMembers(OrderedJSON.object(settings.members).prettyText)) == settings)
                }
            }
        }
        let text = """
            {"label":"suffix","label_name":"B","label_separator":"space","label_numbering":true,"group_by_camera":false}
            """
        #expect(
            CameraLabelSettings(JSONMembers(text.utf8))
                == CameraLabelSettings(position: .suffix, text: "B", separator: .space, isNumbered: true))
        #expect(CameraLabelSettings(JSONMembers("{\"label\":null,\"label_separator\":\"_\"}".utf8)) == nil)
    }

    @Test func `the card's name and the camera's are joined`() {
        func path(_ settings: CameraLabelSettings, _ source: FileName, _ card: CameraCard, _ number: Int = 1) -> [String] {
            LabelFolders(settings, source: source, card: card).path(number).map(\.description)
        }
        let fx6 = card(.sonyFX6, "ILME-FX6V")
        #expect(path(CameraLabelSettings(position: .prefix), "A001", fx6) == ["Sony-FX6_A001"])
        #expect(path(CameraLabelSettings(position: .suffix, separator: .hyphen), "A001", fx6) == ["A001-Sony-FX6"])
        #expect(path(CameraLabelSettings(position: .suffix, separator: .dot), "A001", card(.red)) == ["A001.RED"])
        #expect(
            path(CameraLabelSettings(position: .prefix, separator: .space), "A001", card(.goPro, "HERO9 Black"))
                == ["GoPro-HERO9-Black A001"])
        #expect(path(CameraLabelSettings(position: .prefix), "x", card(.canon, "Canon EOS C300")) == ["Canon-EOS-C300_x"])
        #expect(
            path(
                CameraLabelSettings(position: .prefix, text: "../B cam/2", isNumbered: true, isGroupedByCamera: true), "A001",
                fx6, 7)
                == ["Sony-FX6", "_B cam_2_A001_007"])
        #expect(path(CameraLabelSettings(position: .prefix, isNumbered: true), "A001", fx6, 12_345) == ["Sony-FX6_A001_12345"])
        #expect(path(CameraLabelSettings(position: .prefix), "", card(.generic)) == ["Generic_untitled"])
        var guess = card(.canon)
        guess.confidence = .low
        #expect(path(CameraLabelSettings(position: .prefix), "A001", guess) == ["Generic_A001"])
        #expect(path(CameraLabelSettings(position: .prefix), FileName(bytes: [0x61, 0xFF]), card(.dji)) == ["DJI_a\u{FFFD}"])
    }

    @Test(arguments: CameraLabelSettings.Position.allCases, [true, false])
    func `a long name keeps its label and its number`(position: CameraLabelSettings.Position, isNumbered: Bool) {
        let long = String(repeating: "n", count: 255)
        for text in [nil, long] {
            let settings = CameraLabelSettings(position: position, text: text, isNumbered: isNumbered)
            let name = LabelFolders(settings, source: FileName(long), card: card(.sonyFX6)).path(99_999)[0].description
            #expect(name.utf8.count <= 200)
            #expect(name.hasSuffix("_99999") == isNumbered)
            if text == nil { #expect(name.contains(position == .prefix ? "Sony-FX6_n" : "n_Sony-FX6")) }
        }
    }
}
