import BackupCore
import Photos
import SystemIO
import TestSupport
import Testing

/// The list of photos, and the folders that are made of it.
@Suite struct PhotoIndexTests {
    private static let md5 = "0cc175b9c0f1b6a831c399e269772661"
    private static let sha256 = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

    private static func line(_ path: String, _ rest: String = "", digests: Bool = false, time: String = "2024-07-01T00:30:00Z")
        -> String
    {
        let hashes = digests ? #","md5":"\#(md5)","sha256":"\#(sha256)""# : ""
        return #"{"path":"\#(path)","size_bytes":1,"modified_at":"\#(time)"\#(hashes),"status":"read","thumbnail":true\#(rest)}"#
    }

    private static func index(_ lines: [String]) throws -> PhotoIndex {
        try PhotoIndex(reading: BytesSource(Array((lines.joined(separator: "\n") + "\n").utf8)))
    }

    /// All paths below a folder of the views, with the targets of links.
    private static func tree(_ views: PhotoViews, _ path: [FileName] = []) throws -> [String] {
        try #require(try views.children(of: path)).flatMap { (entry) -> [String] in
            let shown = (path + [entry.name]).map(\.description).joined(separator: "/")
            switch entry {
            case .folder(let name): return try tree(views, path + [name])
            case .link(_, let photo, _): return ["\(shown) -> \(String(decoding: photo, as: UTF8.self))"]
            }
        }
    }

    @Test(arguments: ["image", "video"])
    func `a photo or video without a thumbnail is tried again`(type: String) {
        var record = PhotoRecord(
            path: Array("a".utf8), sizeBytes: 7, modificationTime: Timestamp(seconds: 0), md5: nil, sha256: nil, status: .read)
        record.fields = [.mediaType: type]
        #expect(record.lacksThumbnail)
        record.hasThumbnail = true
        #expect(!record.lacksThumbnail)
    }

    @Test func `a line has these members, and is read back`() throws {
        var record = PhotoRecord(
            path: Array("a/é.jpg".utf8), sizeBytes: 7, modificationTime: Timestamp(seconds: 0),
            md5: MD5Digest(hexadecimal: Self.md5),
            sha256: SHA256Digest(hexadecimal: Self.sha256), status: .read)
        record.isStarred = true
        record.fields = [.dateTaken: "2024-06-30T23:59:00", .gpsLatitude: "-33.5", .title: "a \"b\"\n", .rating: "-1"]
        let text = String(decoding: record.line, as: UTF8.self)
        #expect(
            text
                == #"{"path":"a/é.jpg","size_bytes":7,"modified_at":"1970-01-01T00:00:00Z","md5":"0cc175b9c0f1b6a831c399e269772661","sha256":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","status":"read","thumbnail":false,"starred":true,"date_taken":"2024-06-30T23:59:00","gps_latitude":-33.5,"rating":-1,"title":"a \"b\"\n"}"#
                + "\n")
        #expect(PhotoRecord(line: record.line) == record)
    }

    @Test func `a name that is not UTF-8 keeps its bytes`() throws {
        let path: [UInt8] = [0x61, 0xFF, 0x2E, 0x6A, 0x70, 0x67]
        let record = PhotoRecord(
            path: path, sizeBytes: 1, modificationTime: Timestamp(seconds: 1), md5: nil, sha256: nil, status: .unread)
        #expect(String(decoding: record.line, as: UTF8.self).contains(#""path_base64":"Yf8uanBn""#))
        #expect(PhotoRecord(line: record.line)?.path == path)
    }

    @Test(arguments: [
        "", "{}", "[]", "nonsense", line("../x.jpg"), line("/etc/passwd"), line("a//b"), line("a\\u0000b"), line(""),
        #"{"path":"a","size_bytes":-1,"modified_at":"2024-07-01T00:30:00Z","status":"read"}"#,
        #"{"path":"a","size_bytes":1,"modified_at":"yesterday","status":"read"}"#,
        #"{"path":"a","size_bytes":1,"modified_at":"2024-07-01T00:30:00Z","status":"odd"}"#, line("a") + "x",
    ])
    func `what is no line of a photo is left out, and the others are there`(line: String) throws {
        let index = try Self.index([line, Self.line("good.jpg")])
        #expect(index.count == 1)
        #expect(try index.record(at: 0).path == Array("good.jpg".utf8))
    }

    @Test func `a line of a megabyte is left out, and one without an end as well`() throws {
        let long = Self.line("x.jpg", #","caption":"\#(String(repeating: "y", count: 3 << 20))""#)
        let text = [Self.line("a.jpg"), long, Self.line("b.jpg")].joined(separator: "\n") + "\n" + Self.line("cut.jpg")
        let index = try PhotoIndex(reading: BytesSource(Array(text.utf8)))
        #expect(try (0..<index.count).map { try index.record(at: $0).path } == [Array("a.jpg".utf8), Array("b.jpg".utf8)])
    }

    @Test func `photos are found by path and by content`() throws {
        let index = try Self.index((0..<500).map { Self.line("\($0).jpg") } + [Self.line("a.jpg", digests: true)])
        for number in [0, 7, 499] {
            #expect(try index.record(path: Array("\(number).jpg".utf8))?.path == Array("\(number).jpg".utf8))
        }
        #expect(try index.record(path: Array("500.jpg".utf8)) == nil)
        let digest = try #require(SHA256Digest(hexadecimal: Self.sha256))
        #expect(try index.record(sha256: digest)?.path == Array("a.jpg".utf8))
        #expect(try index.record(sha256: try #require(SHA256Digest(hexadecimal: String(repeating: "0", count: 64)))) == nil)
    }

    @Test func `photos are shown by the day on their own clock, by camera, and twice if they are there twice`() throws {
        let taken = #","date_taken":"2024-06-30T23:59:59-11:00","camera_make":"Canon","camera_model":"Canon EOS R5""#
        let star = #","starred":true"#
        let views = PhotoViews(
            try Self.index([
                Self.line("IMG_1.jpg", taken, digests: true), Self.line("b/IMG_1.jpg", star + taken, digests: true),
                Self.line("c/IMG_1.jpg", star + taken),
                Self.line("old.jpg", #","date_taken":"0007-01-02T00:00:00","camera_make":"A/B""#),
                Self.line("undated.png", #","camera_model":"..""#),
            ]))
        #expect(
            try Self.tree(views) == [
                "by-camera/A_B/0007/01/old.jpg -> old.jpg",
                "by-camera/Canon EOS R5/2024/06/IMG_1 (2).jpg -> b/IMG_1.jpg",
                "by-camera/Canon EOS R5/2024/06/IMG_1 (3).jpg -> c/IMG_1.jpg",
                "by-camera/Canon EOS R5/2024/06/IMG_1.jpg -> IMG_1.jpg",
                "by-camera/unknown/2024/07/undated.png -> undated.png",
                "by-date/0007/01/02/old.jpg -> old.jpg",
                "by-date/2024/06/30/IMG_1 (2).jpg -> b/IMG_1.jpg",
                "by-date/2024/06/30/IMG_1 (3).jpg -> c/IMG_1.jpg",
                "by-date/2024/06/30/IMG_1.jpg -> IMG_1.jpg",
                "by-date/2024/07/01/undated.png -> undated.png",
                "duplicates/0cc175b9c0f1b6a831c399e269772661/IMG_1 (2).jpg -> b/IMG_1.jpg",
                "duplicates/0cc175b9c0f1b6a831c399e269772661/IMG_1.jpg -> IMG_1.jpg",
                "starred/IMG_1 (2).jpg -> c/IMG_1.jpg",
                "starred/IMG_1.jpg -> b/IMG_1.jpg",
            ])
        for path in [
            ["by-date", "24"], ["by-date", "2024", "6"], ["by-date", "2024", "13"], ["by-camera", "Nikon"], ["other"],
            ["starred", "IMG_1.jpg"],
        ] {
            #expect(try views.children(of: path.map { FileName($0) }) == nil, "\(path)")
        }
        let link = try views.entry(at: ["by-date", "2024", "06", "30", "IMG_1 (2).jpg"])
        #expect(
            link == .link("IMG_1 (2).jpg", path: Array("b/IMG_1.jpg".utf8), modificationTime: Timestamp(seconds: 1_719_793_800)))
        #expect(try views.entry(at: ["by-date", "2024", "06", "31"]) == nil)
    }

    /// Any times: the folders hold each photo once, and each folder that is listed can be opened.
    @Test func `any dates make a whole tree`() throws {
        var random = SeededGenerator(seed: 7)
        let times = ["-292277022657-01-27T08:29:52Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z"]
        let lines = (0..<300).map { number in
            let year = Int.random(in: 1...9999, using: &random)
            let date =
                "\(LocalDateTime.padded(year, 4))-\(LocalDateTime.padded(Int.random(in: 1...12, using: &random)))-28T00:00:00"
            return Self.line("\(number).jpg", number % 3 == 0 ? "" : #","date_taken":"\#(date)""#)
        }
        let odd = times.enumerated().map { Self.line("odd\($0.offset).jpg", #","date_taken":"\#($0.element)""#) }
        let index = try Self.index(lines + odd)
        let links = try Self.tree(PhotoViews(index), ["by-date"])
        #expect(links.count == 304)
        #expect(Set(links.map { $0.split(separator: " ").last }).count == 304)
    }
}
