import BackupCore
import Formats
import PhotoData
import Photos
import SystemIO

/// One photo on a page: its picture, and what is written below it.
struct PagePhoto {
    /// Its small picture.
    enum Picture {
        case jpeg([UInt8], JPEGHeader)
        /// A video, a photo that was not read, or one that no backup has yet.
        case none
        /// The backup has one that cannot be read.
        case damaged
    }

    /// What the list of photos has.
    let record: PhotoRecord
    /// What was written about it.
    let caption: String?
    let picture: Picture
    let language: Language

    /// The name of its file.
    var name: String { PageText.name(BytePath.lastComponent(of: record.path)) }

    /// `2024-06-30 23:59:00 +09:00`, in the order of the language; `nil` for a photo without a date.
    var timeText: String? {
        guard let taken = record.taken else { return nil }
        func padded(_ value: Int) -> String { LocalDateTime.padded(value) }
        let local = taken.local
        let (year, month, day) = (LocalDateTime.padded(local.year, 4), padded(local.month), padded(local.day))
        let time = language.text("\(year)-\(month)-\(day) \(padded(local.hour)):\(padded(local.minute)):\(padded(local.second))")
        return taken.offsetMinutes.map { "\(time) \(Self.offsetText($0))" } ?? time
    }

    /// `2024-06-30T23:59:00+09:00`, for programs.
    var timeForPrograms: String? {
        guard let taken = record.taken else { return nil }
        let local = "\(taken.local.dateText)T\(taken.local.timeText(":"))"
        return local + (taken.offsetMinutes.map(Self.offsetText) ?? "")
    }

    private static func offsetText(_ minutes: Int) -> String {
        let hours = LocalDateTime.padded(abs(minutes) / 60)
        return "\(minutes < 0 ? "-" : "+")\(hours):\(LocalDateTime.padded(abs(minutes) % 60))"
    }

    /// `4000 × 3000`.
    var sizeText: String? {
        guard let width = record.fields[.pixelWidth], let height = record.fields[.pixelHeight] else { return nil }
        return PageText.text("\(width) × \(height)")
    }

    var camera: String? { record.camera.map { PageText.text($0) } }

    var title: String? { record.fields[.title].map { PageText.text($0) } }

    /// The caption, unless it only repeats the title.
    var captionText: String? { caption == record.fields[.title] ? nil : caption.map { PageText.text($0) } }

    /// `★★★★☆`.
    var ratingText: String? {
        guard let rating = record.fields[.rating].flatMap({ Int($0) }), (-1...5).contains(rating), rating != 0 else { return nil }
        if rating < 0 { return language.text("rejected") }
        return String(repeating: "★", count: rating) + String(repeating: "☆", count: 5 - rating)
    }

    var starText: String? { record.isStarred ? language.text("starred") : nil }

    /// What is there instead of a picture: `video/mp4`, or the ending of its name.
    var typeText: String {
        if case .damaged = picture { return language.text("the picture is damaged") }
        if let type = record.fields[.contentType] { return PageText.text(type) }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count > 1 ? parts[parts.count - 1].uppercased() : "?"
    }

    /// For readers who do not see the picture.
    var alternativeText: String { [name, title, timeText].compactMap { $0 }.joined(separator: ", ") }
}
