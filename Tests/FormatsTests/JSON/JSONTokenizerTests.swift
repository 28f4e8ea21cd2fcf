import AppData
import BackupCore
import Formats
import TestSupport
import Testing

/// JSON that no honest program writes, and the answer to it.
struct HostileJSON: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    /// What the finding must say, place included.
    let finding: String

    init(_ name: String, _ text: String, _ finding: String) {
        self.init(name, bytes: Array(text.utf8), finding)
    }

    init(_ name: String, bytes: [UInt8], _ finding: String) {
        self.name = name
        self.bytes = bytes
        self.finding = finding
    }

    var testDescription: String { name }

    static let all: [HostileJSON] = [
        HostileJSON("empty", "", "line 1, column 1 (byte 0): the file ends where a value is expected"),
        HostileJSON("only space", " \n ", "line 2, column 2 (byte 3): the file ends where a value is expected"),
        HostileJSON("trailing comma in object", "{\"a\":1,}", "line 1, column 8 (byte 7): a name in double quotes is expected"),
        HostileJSON("trailing comma in array", "[1,\n]", "line 2, column 1 (byte 4): a value is expected"),
        HostileJSON("leading comma", "[,1]", "line 1, column 2 (byte 1): a value is expected"),
        HostileJSON("missing comma", "[1 2]", "line 1, column 4 (byte 3): a comma or ] is expected"),
        HostileJSON("missing colon", "{\"a\" 1}", "line 1, column 6 (byte 5): a colon is expected after a name"),
        HostileJSON("missing value", "{\"a\":}", "line 1, column 6 (byte 5): a value is expected"),
        HostileJSON("name without quotes", "{a:1}", "line 1, column 2 (byte 1): a name in double quotes is expected"),
        HostileJSON("single quotes", "['a']", "line 1, column 2 (byte 1): a value is expected"),
        HostileJSON("wrong bracket", "[1}", "line 1, column 3 (byte 2): a comma or ] is expected"),
        HostileJSON("comment", "[1 /* one */]", "line 1, column 4 (byte 3): a comma or ] is expected"),
        HostileJSON("NaN", "[NaN]", "line 1, column 2 (byte 1): a value is expected"),
        HostileJSON("Infinity", "[-Infinity]", "line 1, column 3 (byte 2): a digit is expected"),
        HostileJSON("True", "[True]", "line 1, column 2 (byte 1): a value is expected"),
        HostileJSON("truncated literal", "[tru", "line 1, column 2 (byte 1): a value is expected"),
        HostileJSON("literal with a tail", "[truex]", "line 1, column 6 (byte 5): a comma or ] is expected"),
        HostileJSON("leading zero", "[01]", "line 1, column 3 (byte 2): a number begins with a zero"),
        HostileJSON("leading plus", "[+1]", "line 1, column 2 (byte 1): a value is expected"),
        HostileJSON("leading point", "[.5]", "line 1, column 2 (byte 1): a value is expected"),
        HostileJSON("trailing point", "[5.]", "line 1, column 4 (byte 3): a digit is expected after the point"),
        HostileJSON("empty exponent", "[1e]", "line 1, column 4 (byte 3): a digit is expected in the exponent"),
        HostileJSON("hexadecimal number", "[0x10]", "line 1, column 3 (byte 2): a comma or ] is expected"),
        HostileJSON("lone minus", "[-]", "line 1, column 3 (byte 2): a digit is expected"),
        HostileJSON("endless number", "[" + String(repeating: "1", count: 1_001), "a number has more than 1000 digits"),
        HostileJSON("unknown escape", #"["\x"]"#, "line 1, column 3 (byte 2): an unknown escape is inside a string"),
        HostileJSON("short unicode escape", #"["\u12"]"#, "line 1, column 3 (byte 2): an escape needs four hexadecimal digits"),
        HostileJSON("bad unicode escape", #"["\u12G4"]"#, "line 1, column 3 (byte 2): an escape needs four hexadecimal digits"),
        HostileJSON(
            "lone high surrogate", #"["\ud83d"]"#, "line 1, column 3 (byte 2): half of a surrogate pair is inside a string"),
        HostileJSON(
            "two high surrogates", #"["\ud83d\ud83d"]"#, "line 1, column 3 (byte 2): half of a surrogate pair is inside a string"),
        HostileJSON(
            "lone low surrogate", #"["\ude00"]"#, "line 1, column 3 (byte 2): half of a surrogate pair is inside a string"),
        HostileJSON("newline in string", "[\"a\nb\"]", "line 1, column 4 (byte 3): a control character is inside a string"),
        HostileJSON("tab in string", "[\"a\tb\"]", "line 1, column 4 (byte 3): a control character is inside a string"),
        HostileJSON("NUL in string", "[\"a\0b\"]", "line 1, column 4 (byte 3): a control character is inside a string"),
        HostileJSON("string without end", "[\"abc", "line 1, column 6 (byte 5): the file ends inside a string"),
        HostileJSON("escape without end", "[\"abc\\", "line 1, column 6 (byte 5): the file ends inside a string"),
        HostileJSON("array without end", "[1", "line 1, column 3 (byte 2): the file ends inside an array"),
        HostileJSON("object without end", "{\"a\":1", "line 1, column 7 (byte 6): the file ends inside an object"),
        HostileJSON("object with half a member", "{\"a\"", "line 1, column 5 (byte 4): the file ends where a colon is expected"),
        HostileJSON("garbage after the end", "{} x", "line 1, column 4 (byte 3): something follows the end of the data"),
        HostileJSON("two values", "{}{}", "line 1, column 3 (byte 2): something follows the end of the data"),
        HostileJSON("NUL after the end", "{}\0", "line 1, column 3 (byte 2): something follows the end of the data"),
        HostileJSON(
            "the same name twice", "{\"a\":1,\"b\":2,\"a\":3}", "line 1, column 14 (byte 13): the name \"a\" occurs twice"),
        HostileJSON("the same name twice, escaped", #"{"a":1,"\u0061":3}"#, "the name \"a\" occurs twice in an object"),
        HostileJSON("byte order mark twice", "\u{FEFF}\u{FEFF}{}", "a value is expected"),
        HostileJSON("UTF-16", bytes: [0xFF, 0xFE, 0x7B, 0, 0x7D, 0], "line 1, column 1 (byte 0): a value is expected"),
        HostileJSON(
            "overlong slash", bytes: Array("[\"".utf8) + [0xC0, 0xAF] + Array("\"]".utf8), "(byte 2): a byte is not valid UTF-8"),
        HostileJSON(
            "encoded surrogate", bytes: Array("[\"".utf8) + [0xED, 0xA0, 0x80, 0x22, 0x5D], "(byte 2): a byte is not valid UTF-8"),
        HostileJSON(
            "above U+10FFFF", bytes: Array("[\"".utf8) + [0xF4, 0x90, 0x80, 0x80, 0x22, 0x5D],
            "(byte 2): a byte is not valid UTF-8"),
        HostileJSON(
            "lone continuation byte", bytes: Array("[\"a".utf8) + [0x80, 0x22, 0x5D], "(byte 3): a byte is not valid UTF-8"),
        HostileJSON("cut sequence", bytes: Array("[\"".utf8) + [0xE2, 0x82, 0x22, 0x5D], "(byte 2): a byte is not valid UTF-8"),
        HostileJSON("Latin-1", bytes: Array("[\"caf".utf8) + [0xE9, 0x22, 0x5D], "(byte 5): a byte is not valid UTF-8"),
        HostileJSON(
            "65 levels", String(repeating: "[", count: 65), "line 1, column 65 (byte 64): more than 64 levels are nested"),
        HostileJSON("a million levels", String(repeating: "[", count: 1_000_000), "more than 64 levels are nested"),
        HostileJSON(
            "65 levels of objects", String(repeating: "{\"a\":", count: 65), "more than 64 levels are nested"),
        HostileJSON(
            "place after characters of several bytes", "[\"äöü\",\n \"日本\" x]",
            "line 2, column 7 (byte 21): a comma or ] is expected"),
    ]
}

@Suite("JSON tokenizer", .rotating(oneIn: 3))
struct JSONTokenizerTests {
    /// Each token with its text, as `kind:text`.
    private func tokens(_ source: MemorySource, bufferSizeBytes: Int) throws -> [String] {
        let tokenizer = JSONTokenizer(source, bufferSizeBytes: bufferSizeBytes)
        var list: [String] = []
        while true {
            switch try tokenizer.next() {
            case .beginObject: list.append("{")
            case .endObject: list.append("}")
            case .beginArray: list.append("[")
            case .endArray: list.append("]")
            case .key: list.append("key:" + tokenizer.text())
            case .string: list.append("string:" + tokenizer.text())
            case .number: list.append((tokenizer.isInteger ? "integer:" : "number:") + tokenizer.text())
            case .true: list.append("true")
            case .false: list.append("false")
            case .null: list.append("null")
            case .end: return list
            }
        }
    }

    @Test("refuses what is not JSON, and says where", arguments: HostileJSON.all)
    func hostile(_ hostile: HostileJSON) throws {
        for (bufferSize, pieceSize) in [(64, 1), (64, 7), (256 << 10, Int.max)] {
            let error = try #require(throws: BackupError.self) {
                try tokens(MemorySource(hostile.bytes, pieceSize: pieceSize), bufferSizeBytes: bufferSize)
            }
            #expect(error.code == .invalidContent)
            #expect(error.message == "Invalid file format. Please select a valid backup file.")
            let finding = try #require(error.findings.first)
            #expect(finding.contains(hostile.finding), "\(finding)")
        }
    }

    @Test("Python's reader refuses the same, where it is strict too")
    func hostileAgainstPython() throws {
        // What Python lets pass: NaN, repeated names, half surrogates; and limits that are our own.
        let lenient: Set<String> = [
            "NaN", "Infinity", "the same name twice", "the same name twice, escaped", "lone high surrogate",
            "two high surrogates",
            "lone low surrogate", "byte order mark twice",
        ]
        for hostile in HostileJSON.all where !lenient.contains(hostile.name) && hostile.bytes.count < 100_000 {
            let result = try run(
                ["python3", "-c", "import json,sys; json.loads(sys.stdin.buffer.read().decode('utf-8'))"], input: hostile.bytes)
            #expect(result.status != 0, "\(hostile.name)")
        }
    }

    @Test("reads everything JSON has, whatever the size of the buffer")
    func everything() throws {
        let text = #"""
            {"a": [1, -0, 10, 1.5, -2.25e-3, 1E+2, 9223372036854775807, 123456789012345678901234567890],
             "strings": ["", "plain", "\"\\\/\b\f\n\r\t", "\u00e9\u0416\u20AC\ud83d\ude00\u0000", "é€😀"],
             "": {"nested": {"empty": {}, "none": []}}, "true": true, "false": false, "null": null}
            """#
        let expected = [
            "{", "key:a", "[", "integer:1", "integer:-0", "integer:10", "number:1.5", "number:-2.25e-3", "number:1E+2",
            "integer:9223372036854775807", "integer:123456789012345678901234567890", "]", "key:strings", "[", "string:",
            "string:plain", "string:\"\\/\u{8}\u{C}\n\r\t", "string:éЖ€😀\0", "string:é€😀", "]", "key:", "{", "key:nested", "{",
            "key:empty", "{", "}", "key:none", "[", "]", "}", "}", "key:true", "true", "key:false", "false", "key:null", "null",
            "}",
        ]
        for (bufferSize, pieceSize) in [(64, 1), (64, 3), (100, 64), (4096, 5), (256 << 10, Int.max)] {
            #expect(try tokens(MemorySource(text, pieceSize: pieceSize), bufferSizeBytes: bufferSize) == expected)
        }
    }

    @Test("takes one value of any kind, a byte order mark, and 64 levels")
    func accepted() throws {
        #expect(try tokens(MemorySource("\u{FEFF} [ ] \n"), bufferSizeBytes: 64) == ["[", "]"])
        #expect(try tokens(MemorySource("17"), bufferSizeBytes: 64) == ["integer:17"])
        #expect(try tokens(MemorySource("\"x\""), bufferSizeBytes: 64) == ["string:x"])
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try tokens(MemorySource(deep), bufferSizeBytes: 64).count == 128)
        #expect(
            try tokens(MemorySource("[\"a\u{7F}\u{2028}\u{FFFF}b\"]"), bufferSizeBytes: 64) == [
                "[", "string:a\u{7F}\u{2028}\u{FFFF}b", "]",
            ])
    }

    @Test("every byte of every length of text survives the buffer's end")
    func lengths() throws {
        for count in 0..<200 {
            let word = String(repeating: "x", count: count)
            for end in ["", "é", "😀", "\\u00e9"] {
                let list = try tokens(MemorySource("[\"\(word)\(end)\",1]", pieceSize: 13), bufferSizeBytes: 64)
                #expect(list == ["[", "string:" + word + end.replacing("\\u00e9", with: "é"), "integer:1", "]"])
            }
        }
    }

    @Test("a string of 64 MiB passes, one byte more does not")
    func longStrings() throws {
        let word = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 20)
        let tokenizer = JSONTokenizer(MemorySource([34] + word + [34]))
        #expect(try tokenizer.next() == .string)
        let count = try tokenizer.withText { (bytes) throws(BackupError) in bytes.count }
        #expect(count == 67_108_864)
        let error = try #require(throws: BackupError.self) {
            _ = try JSONTokenizer(MemorySource([34] + word + [120, 34])).next()
        }
        #expect(error.findings.first?.contains("a string has more than 64 MiB") == true)
    }

    @Test("repeated names are found among many, and the same name in different objects is fine")
    func manyNames() throws {
        let members = (0..<5_000).map { "\"name\($0)\":{\"name\":\($0)}" }
        #expect(try tokens(MemorySource("{\(members.joined(separator: ","))}"), bufferSizeBytes: 4096).count == 25_002)
        let error = try #require(throws: BackupError.self) {
            try tokens(MemorySource("{\(members.joined(separator: ",")),\"name17\":1}"), bufferSizeBytes: 4096)
        }
        #expect(error.findings.first?.contains("the name \"name17\" occurs twice") == true)
        let normalised = "{\"\u{E9}\":1,\"e\u{301}\":2}"
        #expect(try tokens(MemorySource(normalised), bufferSizeBytes: 64).count == 6)
    }

    @Test("an object of too many members is refused before it fills the memory")
    func tooManyNames() throws {
        let members = (0...100_000).map { "\"\($0)\":0" }
        let error = try #require(throws: BackupError.self) {
            try tokens(MemorySource("{\(members.joined(separator: ","))}"), bufferSizeBytes: 65_536)
        }
        #expect(error.findings.first?.contains("an object has too many members") == true)
    }

    @Test("skipping a value checks it all the same")
    func skipping() throws {
        let tokenizer = JSONTokenizer(MemorySource(#"{"skip":[1,{"a":[true]},"x"],"next":2}"#))
        #expect(try tokenizer.next() == .beginObject)
        #expect(try tokenizer.next() == .key)
        try tokenizer.skip(tokenizer.next())
        #expect(try tokenizer.next() == .key)
        #expect(tokenizer.text() == "next")
        let broken = JSONTokenizer(MemorySource("[[1,]]"))
        #expect(try broken.next() == .beginArray)
        #expect(throws: BackupError.self) { try broken.skip(broken.next()) }
    }
}
