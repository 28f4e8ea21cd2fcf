import BackupCore
import ObjectStorage
import PhotoData
import SystemIO
import Testing

@testable import Photos

struct PhotoKeyTests {
    private let md5 = "0123456789abcdef0123456789abcdef"

    @Test(arguments: [
        ("A.HEIC", true, "heic"), ("A", true, "heic"), ("A", false, "jpg"), ("IMG_1.JPG", false, "jpg"),
        ("b.tar.CR2", false, "cr2"),
        (".hidden", false, "jpg"), ("x.", false, "jpg"), ("x.a b", false, "jpg"), ("x.../../y", false, "jpg"),
        ("IMG.MOV", false, "mov"),
    ])
    func `FPH-02: the extension is that of the name, else heic for a Live Photo, else jpg`(
        name: String, isLive: Bool, ending: String
    ) {
        let key = PhotoKey(
            md5: md5, dateTaken: PhotoDate(parsing: "2024:06:30 23:59:00"), filename: name, isLive: isLive,
            now: Timestamp(seconds: 0))
        #expect(key?.text == "photos/2024/06/\(md5).\(ending)")
        #expect(key?.thumbnailText == "thumbnails/2024/06/\(md5).jpg")
    }

    @Test func `FPH-01: without a date, the key has the present month in UTC`() {
        let now = Timestamp(seconds: 1_735_689_599)
        let key = PhotoKey(md5: md5, dateTaken: nil, filename: "a.jpg", isLive: false, now: now)
        #expect(key?.text == "photos/2024/12/\(md5).jpg")
        // A zone is no reason to convert.
        let date = PhotoDate(parsing: "2024-07-01T00:30:00+09:00")
        #expect(PhotoKey(md5: md5, dateTaken: date, filename: "a.jpg", isLive: false, now: now)?.month == "2024/07")
    }

    @Test func `only what has the form of a key is one`() {
        #expect(PhotoKey(parsing: "photos/2024/06/\(md5).jpg")?.fileExtension == "jpg")
        for text in [
            "photos/2024/13/\(md5).jpg", "photos/2024/06/\(md5)", "photos/2024/6/\(md5).jpg", "thumbnails/2024/06/\(md5).jpg",
            "photos/2024/06/\(md5.uppercased()).jpg", "photos/2024/06/x.jpg", "photos/2024/06/\(md5).jpg.metadata.json",
        ] { #expect(PhotoKey(parsing: text) == nil) }
    }
}
