import BackupCore
import Testing

@testable import PhotoData

/// The parts of a document on their way to the helper, which believes none of them.
struct PageElementTests {
    private static func decoded(_ bytes: [UInt8]) throws -> PageElement {
        let head = Array(bytes.prefix(PageElement.headByteCount))
        #expect(try PageElement.byteCount(ofHead: head) == bytes.count - PageElement.headByteCount)
        return try PageElement(head: head, content: Array(bytes.dropFirst(PageElement.headByteCount)))
    }

    private static let elements: [PageElement] = [
        .begin(
            PageHead(
                title: "Day 12", createdAt: Timestamp(seconds: 1_768_141_800), hasAccents: true, pageCount: 7,
                logo: PagePicture(jpeg: [], placeholder: "", lines: []))),
        .notice(.bad, "1 copy is missing"),
        .table([PageColumn("File", weight: 9), PageColumn("Größe", weight: 3, isNumber: true)]),
        .row(.fact, ["name", "مرحبا"]), .row(.good, ["", "", "", "", "", "", "", "8"]),
    ]

    @Test(arguments: elements.indices)
    func `a part arrives as it was sent, and no part of it does`(index: Int) throws {
        let element = Self.elements[index]
        let bytes = element.encoded
        #expect(try Self.decoded(bytes) == element)
        let content = Array(bytes.dropFirst(PageElement.headByteCount))
        let head = Array(bytes.prefix(PageElement.headByteCount))
        for count in content.indices {
            #expect(throws: BackupError.self) { try PageElement(head: head, content: Array(content[..<count])) }
        }
        #expect(throws: BackupError.self) { try PageElement(head: head, content: content + [0]) }
    }

    @Test(
        arguments: [
            // Kind, and content: a tone that there is not; a row and a table without cells; more than 8; a flag that is neither
            // 0 nor 1.
            (6, [5, 0, 0, 0, 0]), (8, [0, 0]), (7, [0]), (8, [0, 9] + [UInt8](repeating: 0, count: 36)),
            (7, [9] + [UInt8](repeating: 0, count: 54)), (7, [1, 0, 0, 0, 0, 1, 2]), (9, []),
        ] as [(UInt8, [UInt8])])
    func `what no program sends is refused`(kind: UInt8, content: [UInt8]) {
        #expect(throws: BackupError.self) {
            try PageElement(head: [kind, UInt8(content.count), 0, 0, 0], content: content)
        }
    }
}
