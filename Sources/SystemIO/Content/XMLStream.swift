import BackupCore
import CExpat

/// Gets the elements of a document from an `XMLStream`.
public protocol XMLStreamHandler: AnyObject {
    /// - Parameter attributes: by name.
    func begin(_ name: String, _ attributes: [String: String]) throws(BackupError)
    /// - Parameter text: what the element has itself, after its last child.
    func end(_ name: String, text: String) throws(BackupError)
}

/// Reads an XML document of any size, a part at a time. Names are without their prefixes.
public enum XMLStream {
    private static let partByteCount = 256 << 10
    /// Of a part of the document that means nothing by itself: a name, a comment, an attribute.
    private static let tokenLimitBytes = 1 << 20
    private static let textLimitBytes = 64 << 10
    private static let depthLimit = 32

    /// What the parser has found so far.
    private final class Parse {
        let parser: XML_Parser
        let handler: any XMLStreamHandler
        var depth = 0
        var text: [UInt8] = []
        /// Whether something was found in the present part.
        var hasFound = false
        var failure: BackupError?

        init(_ parser: XML_Parser, _ handler: any XMLStreamHandler) {
            self.parser = parser
            self.handler = handler
        }

        func attempt(_ body: () throws(BackupError) -> Void) {
            hasFound = true
            guard failure == nil else { return }
            do throws(BackupError) {
                try body()
            } catch {
                failure = error
                XML_StopParser(parser, 0)
            }
        }

        func refuse(_ message: Message) { attempt { () throws(BackupError) in throw BackupError(.invalidContent, message) } }

        func begin(_ name: String, _ attributes: [String: String]) {
            depth += 1
            text = []
            guard depth <= depthLimit else { return refuse("its elements are nested too deeply") }
            attempt { () throws(BackupError) in try handler.begin(name, attributes) }
        }

        func end(_ name: String) {
            depth -= 1
            let own = String(decoding: text, as: UTF8.self)
            text = []
            attempt { () throws(BackupError) in try handler.end(name, text: own) }
        }

        func append(_ bytes: UnsafeRawBufferPointer) {
            hasFound = true
            guard text.count + bytes.count <= textLimitBytes else { return refuse("an element has too much text") }
            text += bytes
        }
    }

    /// Reads a document to its end.
    /// - Parameter path: of the document, for errors.
    /// - Throws: `invalidContent` for a document that is not well formed, that declares a type or entities, or that is made to
    ///   exhaust memory; errors of the source and the handler.
    public static func read(_ source: any ByteSource, path: String, _ handler: any XMLStreamHandler) throws(BackupError) {
        guard let parser = XML_ParserCreate("UTF-8") else { throw BackupError(.noResources, "there is not enough memory") }
        defer { XML_ParserFree(parser) }
        let parse = Parse(parser, handler)
        setHandlers(parser, parse)
        var offset: UInt64 = 0
        var silentByteCount = 0
        while true {
            let part = try source.bytes(at: offset, upTo: partByteCount)
            offset += UInt64(part.count)
            parse.hasFound = false
            let isLast: Int32 = part.isEmpty ? 1 : 0
            let status = withExtendedLifetime(parse) {
                part.withUnsafeBytes { bytes in
                    XML_Parse(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), isLast)
                }
            }
            if let failure = parse.failure { throw failure.at(path) }
            guard status == XML_STATUS_OK else {
                let line = XML_GetCurrentLineNumber(parser)
                throw BackupError(.invalidContent, "the XML is not well formed, in line \(line)", path: path)
            }
            silentByteCount = parse.hasFound ? 0 : silentByteCount + part.count
            guard silentByteCount <= tokenLimitBytes else {
                throw BackupError(.invalidContent, "a name, an attribute or a comment is too long", path: path)
            }
            if part.isEmpty { return }
        }
    }

    private static func setHandlers(_ parser: XML_Parser, _ parse: Parse) {
        // Not retained: it lives until the caller returns, and expat calls back only in `XML_Parse`.
        XML_SetUserData(parser, Unmanaged.passUnretained(parse).toOpaque())
        XML_SetElementHandler(
            parser,
            { context, name, pairs in
                guard let name else { return }
                var attributes: [String: String] = [:]
                var pair = pairs
                // Names and values in turn, until a null.
                while let current = pair, let key = current[0], let value = current[1] {
                    attributes[XMLStream.local(String(cString: key))] = String(cString: value)
                    pair = current + 2
                }
                XMLStream.parse(of: context)?.begin(XMLStream.local(String(cString: name)), attributes)
            },
            { context, name in
                if let name { XMLStream.parse(of: context)?.end(XMLStream.local(String(cString: name))) }
            })
        XML_SetCharacterDataHandler(parser) { context, characters, count in
            XMLStream.parse(of: context)?.append(UnsafeRawBufferPointer(start: characters, count: Int(count)))
        }
        // Entities can grow without bound, and name files.
        XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
            XMLStream.parse(of: context)?.refuse("it declares a document type, which could hide anything")
        }
    }

    /// The name without its prefix.
    private static func local(_ name: String) -> String {
        name.firstIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
    }

    /// The user data that `setHandlers` has set.
    private static func parse(of context: UnsafeMutableRawPointer?) -> Parse? {
        context.map { Unmanaged<Parse>.fromOpaque($0).takeUnretainedValue() }
    }
}
