import BackupCore
import PhotoData
import SystemIO

/// Photos as a PDF, which the helper draws.
struct CataloguePages {
    let pages: PhotoPages

    /// - Returns: how many bytes were written.
    func write(to file: borrowing OwnedDescriptor, _ progress: ExportProgress) throws(BackupError) -> UInt64 {
        let drawer = try PageDrawer(to: file)
        try drawer.append(.begin(PageHead(title: pages.title, createdAt: pages.time.withinCalendar)))
        try drawer.append(.paragraph(pages.summary))
        try pages.forEachPart { (part) throws(BackupError) in
            switch part {
            case .year(let year): try drawer.append(.heading(level: 1, pages.heading(year: year)))
            case .month(let month, let year):
                try drawer.append(.heading(level: 2, pages.heading(month: month, year: year)))
            case .photo(let photo):
                try drawer.append(.picture(Self.picture(photo)))
                progress.update { $0[.writing].processedItems += 1 }
            }
        }
        return try drawer.finish().byteCount
    }

    private static func picture(_ photo: PagePhoto) -> PagePicture {
        let lines = [
            photo.name, photo.title, photo.captionText, photo.timeText, photo.sizeText, photo.camera, photo.ratingText,
            photo.starText,
        ].compactMap { $0 }
        var jpeg: [UInt8] = []
        if case .jpeg(let bytes, _) = photo.picture { jpeg = bytes }
        return PagePicture(jpeg: jpeg, placeholder: photo.typeText, lines: lines)
    }
}
