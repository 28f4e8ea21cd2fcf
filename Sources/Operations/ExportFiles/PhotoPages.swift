import BackupCore
import BackupRepository
import Formats
import PhotoData
import Photos
import SystemIO

/// The photos of the live data, or of a backup, for a page: the newest first, by year and month. Only an index of them is held.
struct PhotoPages {
    /// A part of the page.
    enum Part {
        /// The photos of a year follow; `nil` for those without a date.
        case year(Int?)
        /// The photos of a month of that year follow.
        case month(Int, year: Int)
        case photo(PagePhoto)
    }

    /// A larger one is not read: its caption is left out.
    private static let sidecarLimitBytes = 4 << 20

    private let repository: Repository
    private let index: PhotoIndex
    private let order: PhotoOrder
    /// What the backup, or for live data the newest one, has of photos.
    private let known: KnownPhotos
    private let definitionTitle: String
    private let snapshotName: String?
    let language: Language
    /// Of the data.
    let time: Timestamp

    /// - Parameter snapshotName: `nil` for the live data.
    /// - Throws: `notSupported` for an app without photos; `notFound` for a backup without a list of them;
    ///   `unsupportedVersion` for a list that this program does not know.
    init(of store: Store, snapshotName: String?) throws(BackupError) {
        repository = store.repository
        definitionTitle = store.definition.title
        language = store.language
        let snapshot: Snapshot?
        if let snapshotName {
            let named = try store.anySnapshot(named: snapshotName)
            index = try PhotoIndex(listOf: named, in: repository)
            guard KnownPhotos.isKnown(named) else {
                throw BackupError(
                    .unsupportedVersion, "this backup's list of photos has a version that this program does not know",
                    path: named.name.description, remedy: "Use a newer backupfs.")
            }
            (snapshot, time, self.snapshotName) = (named, named.creationTime, named.name.description)
        } else {
            // All new photos are read: the page should have what they say.
            guard let live = try LivePhotos(store: store, budgetSeconds: .infinity) else {
                throw BackupError(
                    .notSupported, "\(store.definition.title) has no photos to show", path: store.paths.root,
                    remedy: "Pages of photos are for apps whose definition says photos: true.")
            }
            index = try live.index()
            try repository.refresh()
            snapshot = store.ownership.newest(of: repository.snapshots())
            (time, self.snapshotName) = (SystemClock.now(), nil)
        }
        known = KnownPhotos(PreviousBackup(snapshot, in: repository), in: repository, retriesUnreadable: false)
        order = PhotoOrder(of: index)
    }

    var count: Int { order.places.count }

    var title: String { language.text("\(definitionTitle): photos") }

    /// What the page shows: how many photos of which state.
    var summary: String {
        let number: Message = .plural(count, one: "\(count) photo or video", other: "\(count) photos and videos")
        let when = SystemClock.localTime(time)
        guard let snapshotName else { return language.text("\(number), as they were at \(when)") }
        return language.text("\(number) of the backup “\(PageText.text(snapshotName))” of \(when)")
    }

    /// The years that have photos, with their number.
    var years: [(year: Int?, count: Int)] {
        var years: [(year: Int?, count: Int)] = []
        for place in order.places {
            let year = Self.year(place.month)
            if let last = years.last, last.year == year {
                years[years.count - 1].count += 1
            } else {
                years.append((year, 1))
            }
        }
        return years
    }

    private static func year(_ month: UInt32) -> Int? { month == 0 ? nil : Int(month / 100) }

    /// `2024`, or that there is no date.
    func heading(year: Int?) -> String { year.map { LocalDateTime.padded($0, 4) } ?? language.text("without a date") }

    /// `June 2024`.
    func heading(month: Int, year: Int) -> String {
        language.text("\(Self.monthNames[(month - 1) % 12]) \(LocalDateTime.padded(year, 4))")
    }

    private static var monthNames: [Message] {
        [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
            "December",
        ]
    }

    // MARK: The photos

    /// Calls `body` with each part, in the order of the page.
    /// - Throws: `interrupted`; errors of the repository, but for a damaged picture, which is left out.
    func forEachPart(_ body: (Part) throws(BackupError) -> Void) throws(BackupError) {
        var last: UInt32?
        for place in order.places {
            try Cancellation.check()
            if last == nil || last.map({ Self.year($0) != Self.year(place.month) }) == true {
                try body(.year(Self.year(place.month)))
            }
            if last != place.month, place.month != 0 { try body(.month(Int(place.month % 100), year: Int(place.month / 100))) }
            last = place.month
            try body(.photo(try photo(index.record(at: Int(place.index)))))
        }
    }

    private func photo(_ record: PhotoRecord) throws(BackupError) -> PagePhoto {
        do throws(BackupError) {
            let stored = try known.photo(like: record)
            return PagePhoto(
                record: record, caption: try stored.flatMap(caption), picture: try stored.map(picture) ?? .none,
                language: language)
        } catch {
            guard Self.isDamage(error) else { throw error }
            return PagePhoto(record: record, caption: nil, picture: .damaged, language: language)
        }
    }

    private func caption(_ photo: PhotoRecord) throws(BackupError) -> String? {
        do throws(BackupError) {
            guard let file = try known.sidecar(of: photo), file.size <= UInt64(Self.sidecarLimitBytes) else { return nil }
            return PhotoSidecar.caption(in: try repository.bytes(of: file.content, limitBytes: Self.sidecarLimitBytes))
        } catch {
            guard Self.isDamage(error) else { throw error }
            return nil
        }
    }

    private func picture(_ photo: PhotoRecord) throws(BackupError) -> PagePhoto.Picture {
        guard photo.hasThumbnail else { return .none }
        guard let file = try known.thumbnailFile(of: photo) else { return .none }
        guard file.size <= UInt64(KnownPhotos.thumbnailLimitBytes) else { return .damaged }
        let bytes = try repository.bytes(of: file.content, limitBytes: KnownPhotos.thumbnailLimitBytes)
        return JPEGHeader(bytes).map { .jpeg(bytes, $0) } ?? .damaged
    }

    /// Costs the picture, and not the page.
    private static func isDamage(_ error: BackupError) -> Bool { [.repositoryDamaged, .damagedContent].contains(error.code) }
}
