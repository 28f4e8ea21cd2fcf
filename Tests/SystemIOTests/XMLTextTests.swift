import Testing

@testable import SystemIO

struct XMLTextTests {
    @Test func `characters that mean something, or that XML does not have, are replaced`() {
        #expect(
            XMLText.escaped("a<b>&\"c'\r\n\td\u{0}\u{1B}\u{FFFE}é😀")
                == "a&lt;b&gt;&amp;&quot;c'&#13;\n\td\u{FFFD}\u{FFFD}\u{FFFD}é😀")
        #expect(XMLText.escaped("") == "")
    }

    @Test func `only text that XML can hold is valid`() {
        #expect(XMLText.valid(Array("é\t\r\n".utf8)) == "é\t\r\n")
        #expect(XMLText.valid([0x61, 0xFF]) == nil)
        #expect(XMLText.valid([0x61, 0x01]) == nil)
        #expect(XMLText.valid(Array("\u{FFFF}".utf8)) == nil)
    }
}
