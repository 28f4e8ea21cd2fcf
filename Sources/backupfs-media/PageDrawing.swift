import BackupCore
import CMedia
import Glibc
import PhotoData
import SystemIO

/// `backupfs-media pages`: draws the document that comes through the standard input as a PDF, which goes to the standard output.
enum PageDrawing {
    /// Why there is no document.
    private struct Failure: Error {
        let outcome: PageOutcome
        let text: String
    }

    static func run() -> Never {
        do throws(Failure) {
            // First of all, before any thread is there. No text is read before the sandbox.
            var problem = cmedia_give_up_rights()
            if problem == nil { problem = cmedia_load_fonts() }
            if problem == nil { problem = cmedia_enter_page_sandbox() }
            if let problem { throw Failure(outcome: .refused, text: String(cString: problem)) }
            let (pageCount, byteCount) = try drawDocument()
            end(.done, "\(pageCount) \(byteCount)")
        } catch {
            end(error.outcome, error.text)
        }
    }

    private static func end(_ outcome: PageOutcome, _ text: String) -> Never {
        let line = Array("\n\(PageOutcome.prefix)\(text)\n".utf8)
        _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
        exit(outcome.rawValue)
    }

    private static func drawDocument() throws(Failure) -> (pageCount: Int32, byteCount: UInt64) {
        guard case .begin(let head) = try next() else { throw malformed }
        try check(begin(head))
        while true {
            switch try next() {
            case .begin: throw malformed
            case .heading(let level, let text): try check(cmedia_pages_heading(Int32(level), text))
            case .paragraph(let text): try check(cmedia_pages_paragraph(text))
            case .picture(let picture): try check(withPicture(picture) { cmedia_pages_picture($0) })
            case .notice(let tone, let text): try check(cmedia_pages_notice(text, tone.drawn))
            case .table(let columns): try check(beginTable(columns))
            case .row(let tone, let cells):
                try check(
                    cells.withCStrings { cells in
                        let cells = cells.map { $0.map { UnsafePointer($0) } }
                        return cmedia_pages_row(cells, Int32(cells.count - 1), tone.drawn)
                    })
            case .end:
                var (pageCount, byteCount): (Int32, UInt64) = (0, 0)
                try check(cmedia_pages_end(&pageCount, &byteCount))
                return (pageCount, byteCount)
            }
        }
    }

    private static func begin(_ head: PageHead) -> UnsafePointer<CChar>? {
        let created = ISO8601.format(head.createdAt.wholeSeconds)
        return head.title.withCString { title in
            created.withCString { created in
                var document = cmedia_document(
                    title: title, created: created, has_accents: head.hasAccents ? 1 : 0, page_total: Int32(head.pageCount),
                    logo: nil)
                guard let logo = head.logo, logo.header != nil else { return cmedia_pages_begin(&document) }
                return withPicture(logo) { picture in
                    document.logo = picture
                    return cmedia_pages_begin(&document)
                }
            }
        }
    }

    private static func beginTable(_ columns: [PageColumn]) -> UnsafePointer<CChar>? {
        columns.map(\.heading).withCStrings { headings in
            let drawn = zip(headings, columns).map { heading, column in
                cmedia_column(
                    heading: heading.map { UnsafePointer($0) }, weight: Int32(column.weight), is_number: column.isNumber ? 1 : 0)
            }
            return cmedia_pages_table(drawn, Int32(drawn.count))
        }
    }

    private static func withPicture(
        _ picture: PagePicture, _ body: (UnsafePointer<cmedia_picture>) -> UnsafePointer<CChar>?
    ) -> UnsafePointer<CChar>? {
        picture.lines.withCStrings { lines in
            let lines = lines.map { $0.map { UnsafePointer($0) } }
            return lines.withUnsafeBufferPointer { lines in
                picture.jpeg.withUnsafeBytes { jpeg in
                    picture.placeholder.withCString { placeholder in
                        let header = picture.header
                        var drawn = cmedia_picture(
                            lines: lines.baseAddress, line_count: Int32(picture.lines.count),
                            jpeg: header == nil ? nil : jpeg.baseAddress, jpeg_count: jpeg.count,
                            width: Int32(header?.width ?? 0), height: Int32(header?.height ?? 0), placeholder: placeholder)
                        return body(&drawn)
                    }
                }
            }
        }
    }

    private static func check(_ problem: UnsafePointer<CChar>?) throws(Failure) {
        guard let problem else { return }
        let number = cmedia_pages_write_error()
        if number != 0 { throw Failure(outcome: .unwritable, text: "\(number)") }
        throw Failure(outcome: .failed, text: String(cString: problem))
    }

    // MARK: The document

    private static let malformed = Failure(outcome: .malformed, text: "the document is malformed")

    private static func next() throws(Failure) -> PageElement {
        let head = try read(PageElement.headByteCount)
        do throws(BackupError) {
            let count = try PageElement.byteCount(ofHead: head)
            return try PageElement(head: head, content: try readOrMalformed(count))
        } catch {
            throw malformed
        }
    }

    private static func readOrMalformed(_ count: Int) throws(BackupError) -> [UInt8] {
        do throws(Failure) {
            return try read(count)
        } catch {
            throw BackupError(.damagedContent, "the document is malformed")
        }
    }

    /// - Throws: when the input ends before.
    private static func read(_ count: Int) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let added = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { Glibc.read(0, $0 + filled, count - filled) } ?? 0
            }
            if added < 0, errno == EINTR { continue }
            guard added > 0 else { throw malformed }
            filled += added
        }
        return bytes
    }
}

extension PageTone {
    fileprivate var drawn: cmedia_tone {
        switch self {
        case .plain: CMEDIA_TONE_PLAIN
        case .good: CMEDIA_TONE_GOOD
        case .bad: CMEDIA_TONE_BAD
        case .quiet: CMEDIA_TONE_QUIET
        case .fact: CMEDIA_TONE_FACT
        }
    }
}
