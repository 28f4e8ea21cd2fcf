import ObjectStorage
import Testing

@Suite struct ObjectNameTests {
    @Test(arguments: ["config", "packs/ab/0.pack", "export_data/Mein Auto – März.json", "a/.hidden", "..a/b.."])
    func `a name of components is valid`(text: String) { #expect(ObjectName(text)?.text == text) }

    @Test(arguments: ["", "/", "/a", "a/", "a//b", ".", "a/..", "a/./b", "a\nb", "a\u{0}", "a\u{7F}", "a\\b"])
    func `a name that a server could change is refused`(text: String) { #expect(ObjectName(text) == nil) }

    @Test func `a name has at most 900 bytes, a component 255`() {
        let component = String(repeating: "a", count: 255)
        #expect(ObjectName(component) != nil)
        #expect(ObjectName(component + "a") == nil)
        #expect(ObjectName([component, component, component, String(repeating: "ü", count: 66)].joined(separator: "/")) != nil)
        #expect(ObjectName([component, component, component, String(repeating: "ü", count: 67)].joined(separator: "/")) == nil)
    }

    @Test func `names are ordered and compared by their bytes`() throws {
        let composed = try #require(ObjectName("caf\u{E9}"))
        let decomposed = try #require(ObjectName("cafe\u{301}"))
        #expect(composed != decomposed)
        #expect(decomposed < composed)
        #expect(try #require(ObjectName("Z")) < #require(ObjectName("a")))
        #expect(Set([composed, decomposed]).count == 2)
    }
}
