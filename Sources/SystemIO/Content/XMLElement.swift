import BackupCore
import CExpat

/// An element of a small document of known size, as a tree: a server's answer, or what a camera says of a clip.
public final class XMLElement {
    /// With its prefix, if it has one.
    public let name: String
    /// Without namespaces that are declared.
    public let attributes: [String: String]
    /// What is between its tags, without that of its children.
    public private(set) var text = ""
    /// In their order.
    public private(set) var children: [XMLElement] = []

    fileprivate init(_ name: String, _ attributes: [String: String]) { (self.name, self.attributes) = (name, attributes) }

    /// The first child of this name.
    public subscript(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// All children of this name.
    public func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    // MARK: Parsing

    /// What a document may have at most.
    public struct Limits: Sendable {
        /// Of the document.
        public let sizeBytes: Int
        /// Elements inside one another.
        public let depth: Int
        /// In the whole document.
        public let elementCount: Int
        /// The text of one element, and the attributes of one.
        public let textSizeBytes: Int

        public init(sizeBytes: Int, depth: Int, elementCount: Int, textSizeBytes: Int) {
            self.sizeBytes = sizeBytes
            self.depth = depth
            self.elementCount = elementCount
            self.textSizeBytes = textSizeBytes
        }
    }

    /// What the parser has found so far.
    private final class Parse {
        let parser: XML_Parser
        let limits: Limits
        var open: [XMLElement] = []
        var root: XMLElement?
        var elementCount = 0
        var isRefused = false

        init(_ parser: XML_Parser, _ limits: Limits) { (self.parser, self.limits) = (parser, limits) }

        func refuse() {
            isRefused = true
            XML_StopParser(parser, 0)
        }

        /// - Parameter pairs: names and values in turn, and then null.
        func start(_ name: String, _ pairs: UnsafeMutablePointer<UnsafePointer<CChar>?>?) {
            elementCount += 1
            guard open.count < limits.depth, elementCount <= limits.elementCount else { return refuse() }
            var attributes: [String: String] = [:]
            var sizeBytes = 0
            var index = 0
            while let key = pairs?[index], let value = pairs?[index + 1] {
                index += 2
                let name = String(cString: key)
                guard name != "xmlns", !name.hasPrefix("xmlns:") else { continue }
                attributes[name] = String(cString: value)
                sizeBytes += name.utf8.count + (attributes[name]?.utf8.count ?? 0)
                guard sizeBytes <= limits.textSizeBytes else { return refuse() }
            }
            let element = XMLElement(name, attributes)
            if let parent = open.last { parent.children.append(element) } else { root = element }
            open.append(element)
        }

        func append(_ text: String) {
            guard let element = open.last else { return }
            element.text += text
            if element.text.utf8.count > limits.textSizeBytes { refuse() }
        }
    }

    /// - Returns: the root of a complete, well-formed document; `nil` for anything else, one that is cut off, that declares
    ///   entities or that is over a limit.
    public static func parse(_ bytes: [UInt8], limits: Limits) -> XMLElement? {
        guard bytes.count <= limits.sizeBytes, let parser = XML_ParserCreate("UTF-8") else { return nil }
        defer { XML_ParserFree(parser) }
        let parse = Parse(parser, limits)
        // Not retained: it lives until this function returns, and expat calls back only in `XML_Parse`.
        XML_SetUserData(parser, Unmanaged.passUnretained(parse).toOpaque())
        XML_SetElementHandler(
            parser,
            { context, name, attributes in
                guard let name else { return }
                XMLElement.parse(of: context)?.start(String(cString: name), attributes)
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
