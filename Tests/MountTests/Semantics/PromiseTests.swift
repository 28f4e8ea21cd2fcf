import SystemIO
import TestSupport
import Testing

/// `Docs/reference/semantics.md` and the tests of its promises name the same promises.
struct PromiseTests {
    @Test func `every promise has a test, and every test its promise`() throws {
        let document = String(decoding: try readFile("\(Machine.projectPath)/Docs/reference/semantics.md"), as: UTF8.self)
        let promised = document.matches(of: #/(?m)^\*\*S([0-9]+)\.\*\* /#).compactMap { Int($0.1) }
        #expect(promised.count > 40)
        #expect(promised == promised.sorted() && Set(promised).count == promised.count, "the numbers rise, and each stands once")

        let folder = "\(Machine.projectPath)/Tests/MountTests/Semantics"
        var kept: [Int] = []
        for name in try DirectoryHandle(path: folder).names().map(\.description) where name.hasSuffix(".swift") {
            let source = String(decoding: try readFile("\(folder)/\(name)"), as: UTF8.self)
            kept += source.matches(of: #/@Test[^\n]*\n?[^\n]*func `S([0-9]+): /#).compactMap { Int($0.1) }
        }
        let untested = Set(promised).subtracting(kept)
        let unpromised = Set(kept).subtracting(promised)
        #expect(untested.isEmpty, "promises without a test: \(untested.sorted())")
        #expect(unpromised.isEmpty, "tests without a promise: \(unpromised.sorted())")
        #expect(Set(kept).count == kept.count, "one test each")
    }
}
