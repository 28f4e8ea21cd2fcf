import Foundation
import PhotoData
import SystemIO
import TestSupport
import Testing

/// 1,500 hostile photos and videos (`Hostile/hostile_photos.py`): mutations of nine formats, and files that are made to cost
/// much. `make test` takes a part of them.
struct HostileMatrixTests {
    private static let count: UInt64 = 1500
    /// A good photo follows each group of this many hostile ones.
    private static let controlInterval = 20
    /// The addresses that the helper may have.
    private static let memoryLimitBytes = 2 << 30
    /// Files that one process may have open here. It keeps about ten.
    private static let descriptorLimit = 40

    private let folder: TemporaryFolder
    /// The names of the files.
    private let hostile: [String]

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        try PhotoFixtures.makeBases(in: folder.path)
        try PhotoFixtures.exifTool(
            PhotoFixtures.formats.map { format in
                [
                    "-overwrite_original", "-Make=Acme", "-GPSLatitude=48", "-GPSLatitudeRef=N", "-GPSLongitude=9",
                    "-GPSLongitudeRef=E", "-XMP:Title=Title", "-IPTC:Keywords=word", "-DateTimeOriginal=2024:05:06 07:08:09",
                    "base.\(format)",
                ]
            }, in: folder.path)
        let script = "\(FileSystem.parentPath(#filePath))/Hostile/hostile_photos.py"
        try FileSystem.makeDirectory(folder("made"))
        for format in PhotoFixtures.formats { try writeFile(folder("made/base.\(format)"), readFile(folder("base.\(format)"))) }
        // A step that has each format and each way in it.
        let numbers = Rounds.seeds(Self.count, oneIn: 37).map(String.init)
        try PhotoFixtures.ok(["env", "PYTHONDONTWRITEBYTECODE=1", "python3", script, folder("made")] + numbers)
        hostile = try DirectoryHandle(path: folder("made")).names().map(\.description).filter { !$0.hasPrefix("base") }.sorted()
        try #require(hostile.count == numbers.count)
        try writeFile(folder("made/good.jpg"), readFile(folder("base.jpg")))
    }

    /// The names and bytes of all files, by another program.
    private func state() throws -> String {
        try run(["bash", "-c", "find made -type f | sort | xargs md5sum"], in: folder.path).output
    }

    private func expectGood(_ metadata: [String: Any]?, after file: String) {
        let good = metadata ?? [:]
        let isRight =
            good["camera_make"] as? String == "Acme" && good["date_taken"] as? String == "2024-05-06T07:08:09"
            && good["gps_latitude"] as? Double == 48 && good["title"] as? String == "Title"
            && good["keywords"] as? [String] == ["word"] && good["pixel_width"] as? Int == 96
        #expect(isRight, "after \(file): \(good)")
    }

    @Test func `the helper answers or is started again, and stays small`() throws {
        let before = try state()
        let helper = try PhotoFixtures.helper(
            metadataSeconds: MediaHelper.metadataSeconds, thumbnailSeconds: MediaHelper.thumbnailSeconds)
        var table: [String: [String: Int]] = [:]
        var peakBytes = 0
        for (number, file) in hostile.enumerated() {
            let suffix = file.split(separator: ".").last.map(String.init) ?? ""
            for outcome in [
                try summary(PhotoFixtures.metadata(of: folder("made/\(file)"), helper)),
                try summary(PhotoFixtures.thumbnail(of: folder("made/\(file)"), helper)),
            ] {
                #expect(outcome != "missing" && outcome != "malformedAnswer", "\(file)")
                table[suffix, default: [:]][outcome, default: 0] += 1
                if ["crashed", "timedOut"].contains(outcome) { print("\(file): \(outcome)") }
            }
            peakBytes = max(peakBytes, try helper.processID.map(peakMemoryBytes) ?? 0)
            guard number % Self.controlInterval == Self.controlInterval - 1 || number == hostile.count - 1 else { continue }
            let photo = try PhotoFixtures.found(folder("made/good.jpg"), helper)
            #expect(photo.cameraMake == "Acme" && photo.dateTaken?.text == "2024-05-06T07:08:09", "after \(file)")
            #expect(photo.gpsLatitude == 48 && photo.title == "Title" && photo.keywords == ["word"], "after \(file)")
            guard case .found = try PhotoFixtures.thumbnail(of: folder("made/good.jpg"), helper) else {
                Issue.record("no thumbnail after \(file)")
                continue
            }
        }
        for (suffix, outcomes) in table.sorted(by: { $0.key < $1.key }) {
            print("\(suffix): \(outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
        }
        print("peak of the helper: \(peakBytes >> 20) MiB")
        #expect(peakBytes > 0 && peakBytes < Self.memoryLimitBytes)
        #expect(try state() == before)
    }

    private func summary<Value>(_ outcome: MediaOutcome<Value>) -> String {
        switch outcome {
        case .found: "found"
        case .nothing: "nothing"
        case .unreadable(let reason): reason.rawValue
        case .helperMissing: "missing"
        }
    }

    private func peakMemoryBytes(_ process: pid_t) throws -> Int {
        let status = String(decoding: try readFile("/proc/\(process)/status"), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }, "\(status)")
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) << 10
    }

    /// A descriptor that stayed open for each file would soon be one too many.
    @Test func `each file has its own line, and thumbnails are written where they belong`() throws {
        let before = try state()
        var arguments: [String] = []
        for (number, file) in hostile.enumerated() {
            arguments.append("made/\(file)")
            if number % Self.controlInterval == Self.controlInterval - 1 || number == hostile.count - 1 {
                arguments.append("made/good.jpg")
            }
        }
        let command = "ulimit -n \(Self.descriptorLimit); \"$@\" 2> errors > lines"
        let result = try run(
            ["bash", "-c", command, "bash", Machine.binaryPath(), "photo-info", "--json", "--thumbnails", "small"] + arguments,
            in: folder.path)
        let errors = String(decoding: try readFile(folder("errors")), as: UTF8.self)
        #expect(result.status == 3, "\(errors)")
        let documents = try String(decoding: readFile(folder("lines")), as: UTF8.self).split(separator: "\n")
            .compactMap { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .filter { $0["message_type"] as? String == "photo" }
        #expect(documents.map { $0["file"] as? String } == arguments)
        var goodCount = 0
        for (number, document) in documents.enumerated() {
            let statuses = ["found", "nothing", "unreadable"]
            #expect(statuses.contains(document["status"] as? String ?? ""), "\(document)")
            #expect(!["malformedAnswer", "EMFILE"].contains(document["reason"] as? String ?? ""), "\(document)")
            guard document["file"] as? String == "made/good.jpg" else { continue }
            goodCount += 1
            expectGood(document["metadata"] as? [String: Any], after: number == 0 ? "" : arguments[number - 1])
            // There is one of that name after the first.
            #expect(
                goodCount == 1 ? document["thumbnail"] as? String == "small/good.jpg.jpg" : document["thumbnail"] is NSNull)
        }
        #expect(goodCount > 0)
        let made = Set(documents.compactMap { $0["thumbnail"] as? String })
        let found = try DirectoryHandle(path: folder("small")).names().map { "small/\($0)" }
        #expect(Set(found) == made && found.count == made.count)
        #expect(try state() == before)
    }
}
