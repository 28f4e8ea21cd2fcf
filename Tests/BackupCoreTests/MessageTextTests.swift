import Testing

@testable import BackupCore

/// What of a stranger's file stands in messages.
struct MessageTextTests {
    // Not arguments of the test: those are printed.
    @Test func `what would move the cursor or turn the writing round is replaced`() {
        for (text, shown) in [
            ("", ""), ("a car", "a car"), ("Größe 漢字 😀", "Größe 漢字 😀"), ("a\u{1B}[2Jb\n\t\u{7F}\u{85}\0", "a�[2Jb�����"),
            ("a\u{202E}gpj.b\u{2066}\u{2028}", "a�gpj.b��"), ("\u{200F}שלום", "\u{200F}שלום"),
        ] {
            #expect(MessageText.shortened(text).unicodeScalars.elementsEqual(shown.unicodeScalars))
            #expect(MessageText.shortened(Array(text.utf8)).unicodeScalars.elementsEqual(shown.unicodeScalars))
        }
    }

    @Test func `bytes that are not UTF-8 are replaced`() {
        #expect(MessageText.shortened([0x61, 0xFF, 0x62]) == "a�b")
        #expect(MessageText.name([0xE6, 0xBC]) == "�")
    }

    @Test(arguments: ["x", "é", "漢", "😀"])
    func `what is too long is cut between two code points`(letter: String) {
        let text = String(repeating: letter, count: 80)
        for shown in [MessageText.shortened(text), MessageText.shortened(Array(text.utf8))] { #expect(shown == text) }
        let longer = text + letter
        for shown in [MessageText.shortened(longer), MessageText.shortened(Array(longer.utf8))] { #expect(shown == text + "…") }
        let name = Array(String(repeating: letter, count: 10_000).utf8)
        #expect(MessageText.name(name) == String(repeating: letter, count: 200) + "…")
    }

    /// A character can consist of any number of code points: counting characters bounds nothing.
    @Test func `one character of a million accents is cut`() {
        let text = "e" + String(repeating: "\u{301}", count: 1_000_000)
        #expect(text.count == 1)
        #expect(MessageText.shortened(text).unicodeScalars.count == 81)
        #expect(MessageText.shortened(Array(text.utf8)).unicodeScalars.count == 81)
    }
}
