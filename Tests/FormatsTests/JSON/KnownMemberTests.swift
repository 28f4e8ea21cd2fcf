import AppData
import BackupCore
import Formats
import SystemIO
import TestSupport
import Testing

/// The short way through members that come as expected must end where the long one does: Python's reader, made strict, is asked
/// what is in documents that differ from a good one in all sorts of places.
@Suite struct KnownMemberTests {
    /// Tells the expenses of each document: a line for each, or "refused".
    private static let script = #"""
        import json, sys
        FIELDS = [("id", "integer"), ("date", "date"), ("energyCharged", "double"), ("chargerType", "text"), ("odometer", "integer"),
                  ("cost", "text"), ("notes", "text"), ("isInitialRecord", "boolean"), ("expenseType", "text"), ("currency", "text"),
                  ("carId", "integer")]
        class Number(str): pass
        class Whole(Number): pass
        def pairs(members):
            if len({name for name, _ in members}) < len(members): raise ValueError("a name twice")
            return dict(members)
        def refuse(text): raise ValueError(text)
        def number(text, kind):
            if kind == "double":
                value = float(text)
                digits = text.lower().split("e")[0]
                if abs(value) < float("inf") and not (value == 0 and any(digit in "123456789" for digit in digits)):
                    return "real " + value.hex()
            if kind == "integer" and isinstance(text, Whole) and -2**63 <= int(text) < 2**63: return f"integer {int(text)}"
            return f"number {text}"
        def told(value, kind):
            if value is None: return "null"
            if value is True or value is False: return str(value).lower()
            if isinstance(value, Number): return number(value, kind)
            if isinstance(value, str):
                # Dates are brought to UTC where they are not: other tests look at that.
                if kind == "date" and not (len(value.encode()) >= 20 and value.encode()[10:11] == b"T" and value[-1] == "Z"): return "date"
                return "text " + value.encode().hex()
            return "array" if isinstance(value, list) else "object"
        for line in open(sys.argv[1]):
            try:
                document = json.loads(bytes.fromhex(line).decode(), object_pairs_hook=pairs, parse_int=Whole, parse_float=Number,
                                      parse_constant=refuse)
                # Half of a surrogate pair is no text.
                json.dumps(document, ensure_ascii=False).encode()
                if not isinstance(document, dict): raise ValueError("not an object")
            except (ValueError, RecursionError):
                print("refused")
                continue
            found = []
            expenses = document.get("expenses", [])
            for record in expenses if isinstance(expenses, list) else []:
                if isinstance(record, dict):
                    found.append(", ".join(told(record[name], kind) if name in record else "missing" for name, kind in FIELDS))
            print(" | ".join(found))
        """#

    /// What a reader gives of the expenses, in the same words.
    private final class Teller: RecordVisitor {
        let definition: AppDefinition
        private(set) var lines: [String] = []

        init(_ definition: AppDefinition) { self.definition = definition }

        func visit(record: RecordBuffer, of collection: Int) {
            let fields = definition.collections[collection].fields
            guard definition.collections[collection].name == "expenses" else { return }
            lines.append(fields.indices.map { Self.told(record, $0, fields[$0].type) }.joined(separator: ", "))
        }

        private static func told(_ record: RecordBuffer, _ index: Int, _ type: FieldType) -> String {
            switch record.kind(index) {
            case .missing: "missing"
            case .null: "null"
            case .integer: "integer \(record.integer(index))"
            case .real: "real \(record.real(index).bitPattern)"
            case .boolean: record.boolean(index) ? "true" : "false"
            case .number: "number \(String(decoding: record.bytes(index), as: UTF8.self))"
            case .array: "array"
            case .object: "object"
            case .text: text(record.bytes(index), type)
            case .blob: "blob"
            }
        }

        private static func text(_ bytes: UnsafeRawBufferPointer, _ type: FieldType) -> String {
            let isKept = bytes.count >= 20 && bytes[10] == UInt8(ascii: "T") && bytes[bytes.count - 1] == UInt8(ascii: "Z")
            return type == .date && !isKept ? "date" : "text " + Hexadecimal.encode(Array(bytes))
        }
    }

    private func told(
        _ document: [UInt8], _ definition: AppDefinition, bufferSizeBytes: Int, pieceSize: Int = .max
    ) throws -> String {
        let teller = Teller(definition)
        let reader = WireReader(
            MemorySource(document, pieceSize: pieceSize), definition: definition, bufferSizeBytes: bufferSizeBytes)
        do {
            try reader.visit(with: teller)
        } catch {
            #expect(error.code == .invalidContent)
            return "refused"
        }
        return teller.lines.joined(separator: " | ")
    }

    private static let document = """
        {
          "expenses": [
            {
              "id": 1,
              "date": "2026-01-10T18:30:00Z",
              "energyCharged": 45.5,
              "chargerType": "home7kW",
              "odometer": 14950,
              "cost": "12.50",
              "notes": "Ladesäule am \\"Rathaus\\", 夜間充電 🔋",
              "isInitialRecord": false,
              "expenseType": "charging",
              "currency": "€",
              "carId": 1
            },
            {"id": -2, "date": "2026-01-10T18:30:00.250Z", "energyCharged": 0.30000000000000004, "chargerType": "ночной тариф",
             "odometer": 9223372036854775807, "cost": "0.10", "notes": null, "isInitialRecord": true, "expenseType": "other",
             "currency": "USD", "carId": 9223372036854775808},
            {"id":3,"energyCharged":-0.0,"notes":"a\\u0000b\\ud83d\\ude00","odometer":1e2,"comment":{"id":1,"id2":[2]},"carId":0}
          ],
          "metadata": {"databaseSchemaVersion": 1}
        }
        """

    /// Documents that begin as the one above, each with a few changes.
    private static func mutations(count: Int) -> [[UInt8]] {
        var generator = SeededGenerator(seed: 20_260_111)
        let words =
            [
                "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "1", "-", "+", ".", "e", "E", " ", "\n", "\t", "\r", "\u{B}",
                "\u{0}",
                "\u{1F}", "\u{7F}", "\u{A0}", "\\u00e9", "\\ud83d", "\\x", "true", "null", "00", "1.", "-0", "1e400", "1e-400",
                "\"id\":4,",
                "\"\\u0069d\":4,", "\"ida\":4,", "\"i\":4,", ", \"carId\": 5", "123456789012345678901234567890123456", "ä", "日本",
                "🔋",
            ].map { Array($0.utf8) } + [
                [0x80], [0xC0, 0xAF], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
            ]
        return (0..<count).map { _ in
            var bytes = Array(document.utf8)
            for _ in 0...Int.random(in: 0...1, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                let end = min(bytes.count, place + Int.random(in: 1...3, using: &generator))
                switch Int.random(in: 0..<6, using: &generator) {
                case 0: bytes.removeSubrange(place..<end)
                case 1: bytes.replaceSubrange(place..<place + 1, with: words.randomElement(using: &generator) ?? [])
                case 2, 3: bytes.insert(contentsOf: words.randomElement(using: &generator) ?? [], at: place)
                default: moveLine(&bytes, &generator)
                }
            }
            return bytes
        }
    }

    /// A member before another one, or once more.
    private static func moveLine(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
        let from = Int.random(in: 0..<lines.count, using: &generator)
        let line = Bool.random(using: &generator) ? lines.remove(at: from) : lines[from]
        lines.insert(line, at: Int.random(in: 0...lines.count, using: &generator))
        bytes = Array(lines.joined(separator: [10]))
    }

    @Test func `documents changed at random are read and refused as by Python`() throws {
        let folder = try TemporaryFolder()
        let definition = try EVFixture.definition()
        let documents = Self.mutations(count: 2_000)
        let list = try folder.write(documents.map { Hexadecimal.encode($0) + "\n" }.joined(), to: "documents")
        let result = try run(["python3", "-c", Self.script, list])
        #expect(result.status == 0)
        // Bits of doubles, which Python writes as hexadecimal floating-point numbers.
        let expected = result.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(Self.withBits)
        try #require(expected.count == documents.count)
        let refused = expected.count { $0 == "refused" }
        #expect((300...1_700).contains(refused), "\(refused) of \(documents.count) are refused: the test tests little")
        for (document, expected) in zip(documents, expected) {
            let found = try [
                told(document, definition, bufferSizeBytes: 256 << 10),
                told(document, definition, bufferSizeBytes: 64, pieceSize: 17),
            ]
            #expect(found == [expected, expected], "\(String(decoding: document, as: UTF8.self))")
        }
    }

    private static func withBits(_ line: Substring) -> String {
        line.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard word.contains("0x"), word.contains("p") else { return String(word) }
            let number = word.hasSuffix(",") ? word.dropLast() : word
            return "\(Double(number).map { "\($0.bitPattern)" } ?? "?")\(word.hasSuffix(",") ? "," : "")"
        }.joined(separator: " ")
    }

    @Test(arguments: [
        // A name that has been passed already, wherever the second one stands and however it is written.
        ("{\"id\": 1, \"date\": \"\", \"id\": 2}", "line 1, column 37 (byte 36): the name \"id\" occurs twice in an object"),
        (
            "{\"date\": \"\", \"id\": 1, \"date\": \"\"}",
            "line 1, column 37 (byte 36): the name \"date\" occurs twice in an object"
        ),
        ("{\"id\": 1, \"x\": 1, \"\\u0069d\": 2}", "the name \"id\" occurs twice in an object"),
        ("{\"\\u0069d\": 1, \"date\": \"\", \"id\": 2}", "the name \"id\" occurs twice in an object"),
        ("{\"x\": 1, \"id\": 1, \"carId\": 2, \"x\": 2}", "the name \"x\" occurs twice in an object"),
        ("{\"id\": 1, \"carId\": 2, \"notes\": \"\", \"carId\": 2}", "the name \"carId\" occurs twice in an object"),
        // What is almost right.
        ("{\"id\": 1, \"date\" \"\"}", "line 1, column 32 (byte 31): a colon is expected after a name"),
        ("{\"id\": 01}", "line 1, column 23 (byte 22): a number begins with a zero"),
        ("{\"id\": 1.}", "a digit is expected after the point"), ("{\"id\": -}", "a digit is expected"),
        ("{\"id\": 1 \"date\": \"\"}", "a comma or } is expected"), ("{\"id\": 1,}", "a name in double quotes is expected"),
        ("{, \"id\": 1}", "a name in double quotes is expected"), ("{\"id\": tru, \"date\": \"\"}", "a value is expected"),
        ("{\"id\": 1\u{C}}", "a comma or } is expected"), ("{\"notes\": \"a\tb\"}", "a control character is inside a string"),
        ("{\"notes\": \"ab", "the file ends inside a string"), ("{\"id\": 1", "the file ends inside an object"),
    ])
    func `mistakes in known members are found where they are`(_ record: String, _ finding: String) throws {
        for (bufferSize, pieceSize) in [(64, 1), (256 << 10, Int.max)] {
            let definition = try EVFixture.definition()
            let source = MemorySource("{\"expenses\": [\(record)", pieceSize: pieceSize)
            let error = try #require(throws: BackupError.self) {
                try WireReader(source, definition: definition, bufferSizeBytes: bufferSize).visit(with: Teller(definition))
            }
            #expect(error.findings.first?.contains(finding) == true, "\(error.findings)")
        }
    }
}
