import Foundation
import PhotoData
import SystemIO
import TestSupport
import Testing

/// Photos that libvips and ExifTool make, and the helper beside the program under test.
enum PhotoFixtures {
    static let formats = ["jpg", "png", "tif", "webp", "heic", "avif"]

    static func helperPath() throws -> String {
        let folder = FileSystem.parentPath(try Machine.binaryPath())
        let path = "\(folder)/backupfs-media"
        guard try FileSystem.exists(path) else { throw Machine.Unusable("\(path) is not there: build it with `make media`") }
        return path
    }

    static func helper(metadataSeconds: Double = 120, thumbnailSeconds: Double = 120) throws -> MediaHelper {
        MediaHelper(program: try helperPath(), metadataSeconds: metadataSeconds, thumbnailSeconds: thumbnailSeconds)
    }

    static func ok(_ command: [String], in folder: String = ".", at place: SourceLocation = #_sourceLocation) throws {
        let result = try run(command, in: folder)
        try #require(result.status == 0, "\(command.prefix(3)): \(result.output.suffix(2000))", sourceLocation: place)
    }

    /// A picture of 96 × 64 pixels in each format: `base.jpg` and so on.
    static func makeBases(in folder: String) throws {
        try ok(["vips", "gaussnoise", "noise.v", "96", "64"], in: folder)
        try ok(["vips", "cast", "noise.v", "base.v", "uchar"], in: folder)
        for format in formats {
            try ok(["vips", "copy", "base.v", "base.\(format)"], in: folder)
        }
    }

    /// Runs ExifTool once for many commands, each of which has its arguments.
    static func exifTool(_ commands: [[String]], in folder: String) throws {
        try writeFile(
            "\(folder)/arguments",
            Array(commands.map { ($0 + ["-q", "-m", "-execute"]).joined(separator: "\n") + "\n" }.joined().utf8))
        try ok(["exiftool", "-@", "arguments"], in: folder)
    }

    /// What ExifTool says of files, as numbers, by file name.
    static func exifTool(reading files: [String], in folder: String) throws -> [String: [String: Any]] {
        // Its warnings are left out.
        let script = "exiftool -n -j -G0 -struct -charset iptc=utf8 \"$@\" > said.json 2> /dev/null"
        _ = try run(["bash", "-c", script, "bash"] + files, in: folder)
        let documents = try #require(
            try JSONSerialization.jsonObject(with: Data(try readFile("\(folder)/said.json"))) as? [[String: Any]])
        return Dictionary(
            documents.compactMap { document in (document["SourceFile"] as? String).map { ($0, document) } },
            uniquingKeysWith: { first, _ in first })
    }

    static func metadata(of path: String, _ helper: MediaHelper) throws -> MediaOutcome<PhotoMetadata> {
        let file = try OwnedDescriptor.openFile(path)
        return try helper.metadata(of: file)
    }

    static func thumbnail(of path: String, _ helper: MediaHelper) throws -> MediaOutcome<[UInt8]> {
        let file = try OwnedDescriptor.openFile(path)
        return try helper.thumbnail(of: file)
    }

    /// The metadata of a file that must have some.
    static func found(_ path: String, _ helper: MediaHelper, at place: SourceLocation = #_sourceLocation) throws -> PhotoMetadata
    {
        let outcome = try metadata(of: path, helper)
        guard case .found(let photo) = outcome else {
            Issue.record("\(path): \(outcome)", sourceLocation: place)
            throw Machine.Unusable("no metadata")
        }
        return photo
    }
}
