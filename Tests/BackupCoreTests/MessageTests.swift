import BackupCore
import Testing

/// Texts for people, and what becomes of them in another language.
struct MessageTests {
    private static let german = MessageCatalog(
        """
        # Comments are left out.
        msgid ""
        msgstr ""
        "Language: de\\n"

        #: Sources/Some.swift
        #, python-brace-format
        msgid "could not {0}: {1}"
        msgstr "{1}: {0} ging nicht"

        msgid "open"
        msgstr "öffnen"

        msgid "{0} file was left out"
        msgid_plural "{0} files were left out"
        msgstr[0] "{0} Datei fehlt"
        msgstr[1] "{0} Dateien fehlen"

        msgid ""
        "two "
        "lines\\n"
        "and a \\"quotation\\""
        msgstr ""
        "zwei Zeilen\\n"
        "und ein \\"Zitat\\""

        #, fuzzy, python-brace-format
        msgid "doubtful"
        msgstr "zweifelhaft"

        msgid "not yet"
        msgstr ""

        msgid "{{{0}}}"
        msgstr "{{{0}!}}"
        """
    ) { $0 == 1 ? 0 : 1 }

    @Test func aTextKeepsItsTemplateAndItsValues() {
        let message: Message = "could not \("open"): \(42)"
        #expect(message.template == "could not {0}: {1}")
        #expect(message.english == "could not open: 42")
    }

    @Test func bracesOfTheTextAndOfTheValuesStay() {
        let message: Message = "{a} \("{0}") {{"
        #expect(message.template == "{{a}} {0} {{{{")
        #expect(message.english == "{a} {0} {{")
        #expect(Message.verbatim("{0} {1}").english == "{0} {1}")
    }

    @Test func aMessageInAMessageIsToldInTheSameLanguage() {
        let action: Message = "open"
        let message: Message = "could not \(action): \("/open")"
        #expect(message.english == "could not open: /open")
        #expect(message.text(Self.german) == "/open: öffnen ging nicht")
    }

    @Test(arguments: [
        (0, "0 files were left out", "0 Dateien fehlen"), (1, "1 file was left out", "1 Datei fehlt"),
        (21, "21 files were left out", "21 Dateien fehlen"),
    ])
    func theNumberChoosesTheForm(count: Int, english: String, german: String) {
        let message = Message.plural(count, one: "\(count) file was left out", other: "\(count) files were left out")
        #expect(message.english == english)
        #expect(message.text(Self.german) == german)
    }

    @Test func aTextOfSeveralLines() {
        let message: Message = "two lines\nand a \"quotation\""
        #expect(message.text(Self.german) == "zwei Zeilen\nund ein \"Zitat\"")
        let braces: Message = "{\(1)}"
        #expect(braces.text(Self.german) == "{1!}")
    }

    @Test(arguments: ["doubtful", "not yet", "unknown"])
    func whatHasNoTranslationStaysEnglish(text: String) {
        let message = Message(stringLiteral: text)
        #expect(message.text(Self.german) == text)
    }

    @Test func joinedMessagesAreToldOneByOne() {
        let message = Message.joined(["open", "unknown", .verbatim("open")], separator: " {} ")
        #expect(message.english == "open {} unknown {} open")
        #expect(message.text(Self.german) == "öffnen {} unknown {} open")
    }

    @Test func anErrorInAMessageTellsAllThatItKnows() {
        let error = BackupError(.busy, "could not \(Message("open")): \("x")", path: "/a", remedy: "Wait.")
        let message: Message = "\(error)"
        #expect(message.english == "/a: could not open: x. Wait.")
        #expect(message.text(Self.german) == "/a: x: öffnen ging nicht. Wait.")
    }

    @Test func valuesAreShortenedAndMadeHarmlessInEveryDepth() {
        let inner: Message = "inner \("a\u{1B}[31m")"
        let message: Message = "\(inner) and \(String(repeating: "x", count: 9))"
        #expect(message.shortened(limit: 4).english == "inner a\u{FFFD}[3… and xxxx…")
    }

    @Test func aMessageGoesToAnotherProcessAndBack() throws {
        let inner = Message.plural(2, one: "\(2) file was left out", other: "\(2) files were left out")
        var writer = ByteWriter()
        writer.append("could not \(inner): \("ü{0}")" as Message)
        var reader = ByteReader(writer.bytes)
        let message = try reader.readMessage()
        #expect(reader.isAtEnd)
        #expect(message.english == "could not 2 files were left out: ü{0}")
        #expect(message.text(Self.german) == "ü{0}: 2 Dateien fehlen ging nicht")
    }

    @Test func aDamagedMessageIsRefused() {
        var writer = ByteWriter()
        var message: Message = "x"
        for _ in 0..<100 { message = "\(message)!" }
        writer.append(message)
        var reader = ByteReader(writer.bytes)
        #expect(throws: BackupError.self) { try reader.readMessage() }
        var short = ByteReader(Array(writer.bytes.prefix(40)))
        #expect(throws: BackupError.self) { try short.readMessage() }
    }
}
