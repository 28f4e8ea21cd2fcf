import BackupCore
import CExpat

/// An element of a server's answer, as a tree: answers are small and of known size. Attributes are left out.
final class XMLElement {
    let name: String
    private(set) var text = ""
    private(set) var children: [XMLElement] = []

    fileprivate init(_ name: String) { self.name = name }

    /// The first child of this name.
    subscript(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    // MARK: Parsing

    /// A listing of 1,000 of the longest names, all escaped, has about 4 MiB.
    static let limitBytes = 8 << 20
    private static let depthLimit = 8
    private static let elementLimit = 40_000
    private static let textLimitBytes = 16 << 10

    /// What the parser has found so far.
    private final class Parse {
        let parser: XML_Parser
        var open: [XMLElement] = []
        var root: XMLElement?
        var elementCount = 0
        var isRefused = false

        init(_ parser: XML_Parser) { self.parser = parser }

        func refuse() {
            isRefused = true
            XML_StopParser(parser, 0)
        }

        func start(_ name: String) {
            elementCount += 1
            guard open.count < depthLimit, elementCount <= elementLimit else { return refuse() }
            let element = XMLElement(name)
            if let parent = open.last { parent.children.append(element) } else { root = element }
            open.append(element)
        }

        func append(_ text: String) {
            guard let element = open.last else { return }
            element.text += text
            if element.text.utf8.count > textLimitBytes { refuse() }
        }
    }

    /// - Returns: the root of a complete, well-formed document; `nil` for anything else, one that is cut off, that declares
    ///   entities or that is larger than any answer.
    static func parse(_ bytes: [UInt8]) -> XMLElement? {
        guard bytes.count <= limitBytes, let parser = XML_ParserCreate("UTF-8") else { return nil }
        defer { XML_ParserFree(parser) }
        let parse = Parse(parser)
        // Not retained: it lives until this function returns, and expat calls back only in `XML_Parse`.
        XML_SetUserData(parser, Unmanaged.passUnretained(parse).toOpaque())
        XML_SetElementHandler(
            parser,
            { context, name, _ in
                guard let name else { return }
                XMLElement.parse(of: context)?.start(String(cString: name))
            },
            { context, _ in _ = XMLElement.parse(of: context)?.open.popLast() })
        XML_SetCharacterDataHandler(parser) { context, characters, count in
            // expat gives a run of bytes without its end.
            let bytes = UnsafeRawBufferPointer(start: characters, count: Int(count))
            XMLElement.parse(of: context)?.append(String(decoding: bytes, as: UTF8.self))
        }
        // Entities can grow without bound, and name files.
        XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in XMLElement.parse(of: context)?.refuse() }
        let status = withExtendedLifetime(parse) {
            bytes.withUnsafeBytes { bytes in
                XML_Parse(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 1)
            }
        }
        return status == XML_STATUS_OK && !parse.isRefused && parse.open.isEmpty ? parse.root : nil
    }

    /// The user data that `parse` has set.
    private static func parse(of context: UnsafeMutableRawPointer?) -> Parse? {
        context.map { Unmanaged<Parse>.fromOpaque($0).takeUnretainedValue() }
    }
}
