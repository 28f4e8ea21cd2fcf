import BackupCore
import Formats
import Glibc
import PhotoData
import SystemIO

/// What a report is drawn on: a page of HTML or a PDF. The parts come in their order, and none of them is kept.
protocol ReportCanvas: AnyObject {
    /// How many rows a list of files may have.
    var rowLimit: UInt64 { get }

    /// First of all.
    /// - Parameter logo: its lines are not shown.
    func begin(title: String, logo: PagePicture?) throws(BackupError)
    /// - Parameter level: 1 or 2.
    func heading(_ level: UInt8, _ text: String) throws(BackupError)
    func paragraph(_ text: String) throws(BackupError)
    /// A paragraph that stands out.
    func notice(_ tone: PageTone, _ text: String) throws(BackupError)
    /// Rows follow, until another part comes. Without headings the table has no head.
    func table(_ columns: [PageColumn]) throws(BackupError)
    func row(_ tone: PageTone, _ cells: [String]) throws(BackupError)
    func picture(_ picture: PagePicture) throws(BackupError)
}

extension ReportCanvas {
    /// Names and values, one below the other. Those without a value are left out.
    func facts(_ facts: [(name: String, value: String?)]) throws(BackupError) {
        let known = facts.compactMap { fact in fact.value.map { (fact.name, $0) } }
        guard !known.isEmpty else { return }
        try table([PageColumn("", weight: 3), PageColumn("", weight: 10)])
        for (name, value) in known { try row(.fact, [name, value]) }
    }

    /// One text in each row.
    func list(_ tone: PageTone, _ texts: [String]) throws(BackupError) {
        guard !texts.isEmpty else { return }
        try table([PageColumn("")])
        for text in texts { try row(tone, [text]) }
    }
}

/// A PDF, which the helper draws.
final class PDFCanvas: ReportCanvas {
    let rowLimit: UInt64 = 2_000

    private let drawer: PageDrawer
    private let time: Timestamp
    private let pageCount: Int

    /// - Parameter pageCount: shown with the number of each page; 0 when it is not known.
    init(to file: borrowing OwnedDescriptor, time: Timestamp, pageCount: Int) throws(BackupError) {
        drawer = try PageDrawer(to: file)
        self.time = time.withinCalendar
        self.pageCount = pageCount
    }

    func begin(title: String, logo: PagePicture?) throws(BackupError) {
        try drawer.append(
            .begin(
                PageHead(title: title, createdAt: time, hasAccents: true, pageCount: UInt32(clamping: pageCount), logo: logo)))
    }

    func heading(_ level: UInt8, _ text: String) throws(BackupError) { try drawer.append(.heading(level: level, text)) }

    func paragraph(_ text: String) throws(BackupError) { try drawer.append(.paragraph(text)) }

    func notice(_ tone: PageTone, _ text: String) throws(BackupError) { try drawer.append(.notice(tone, text)) }

    func table(_ columns: [PageColumn]) throws(BackupError) { try drawer.append(.table(columns)) }

    func row(_ tone: PageTone, _ cells: [String]) throws(BackupError) { try drawer.append(.row(tone, cells)) }

    func picture(_ picture: PagePicture) throws(BackupError) { try drawer.append(.picture(picture)) }

    /// - Returns: the number of pages.
    func finish() throws(BackupError) -> Int { try drawer.finish().pageCount }

    /// Draws a document twice: how many pages it has is known only after the first time.
    static func draw(
        to file: DraftFile, time: Timestamp, _ body: (PDFCanvas) throws(BackupError) -> Void
    ) throws(BackupError) {
        let trial = try PDFCanvas(to: OwnedDescriptor.open("/dev/null", O_WRONLY), time: time, pageCount: 0)
        try body(trial)
        let pageCount = try trial.finish()
        try file.withDescriptor { (descriptor) throws(BackupError) in
            let canvas = try PDFCanvas(to: descriptor, time: time, pageCount: pageCount)
            try body(canvas)
            _ = try canvas.finish()
        }
    }
}
