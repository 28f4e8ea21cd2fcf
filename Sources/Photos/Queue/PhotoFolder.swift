import BackupCore
import Formats
import PhotoData
import SystemIO

/// The media folder of an app, in which photos are starred. Paths are relative to it.
///
/// An Apple Photos library in it is known by its folders `originals` and `resources`: the file in the first is the photo, those
/// in `resources/renders` are its edited versions, and those in `resources/derivatives` smaller pictures of it.
public struct PhotoFolder: Sendable {
    private static let videoExtensions: Set<String> = ["mov"]
    private static let stillExtensions: Set<String> = ["heic", "heif", "jpg", "jpeg"]

    /// Absolute.
    public let root: String

    public init(root: String) { self.root = root }

    /// - Parameter path: of a file, whatever its form.
    /// - Returns: the path in the media folder.
    /// - Throws: `usage` for a file elsewhere.
    public func relativePath(of path: String) throws(BackupError) -> String {
        // The file itself may be a link, or not be there any more.
        let absolute = FileSystem.absolutePath(path)
        let folder = Array(try FileSystem.realPath(FileSystem.parentPath(absolute)).utf8)
        let real = Array(try FileSystem.realPath(root).utf8)
        // Bytes: texts that look alike are not the same folder.
        guard folder == real || folder.starts(with: real + [UInt8(ascii: "/")]) else {
            throw BackupError(
                .usage, "this is not in the media folder of the app, whose photos can be starred", path: path,
                remedy: "The media folder is \(root)")
        }
        guard let inside = String(validating: folder.dropFirst(real.count + 1), as: UTF8.self) else {
            throw BackupError(.invalidArgument, "its name is not UTF-8", path: path, remedy: "Rename it, and star it again.")
        }
        return (inside.isEmpty ? "" : "\(inside)/") + FileSystem.lastComponent(absolute)
    }

    /// The file at a path in the folder. No folder on the way may be a link, which could lead out of it.
    public func open(_ path: String) throws(BackupError) -> OwnedDescriptor {
        let names = BytePath.components(of: Array(path.utf8))
        guard let last = names.last, names.allSatisfy(\.isSafeComponent) else {
            throw BackupError(.invalidArgument, "this is no path in the media folder", path: path)
        }
        return try DirectoryHandle(path: root).openDirectory(at: names.dropLast()).openFile(last)
    }

    /// The state of a file, or of the stub of a photo that is not here.
    /// - Throws: `notFound`, and others when it cannot be opened.
    public func state(of path: String) throws(BackupError) -> QueueItem.FileState {
        QueueItem.FileState(try open(stub(of: path) ?? path).status())
    }

    /// Whether a file has these bytes now. Reads all of it if it has their number.
    /// - Throws: when it cannot be read, unless it is gone.
    public func has(_ sha256: SHA256Digest, sizeBytes: UInt64, at path: String) throws(BackupError) -> Bool {
        try file(with: sha256, sizeBytes: sizeBytes, at: path) != nil
    }

    /// A file that has these bytes now. Reads all of it.
    /// - Parameter sizeBytes: their number, if it is known.
    /// - Returns: `nil` for one that has others, or is gone.
    public func file(
        with sha256: SHA256Digest, sizeBytes: UInt64? = nil, at path: String
    ) throws(BackupError) -> SharedFile? {
        do throws(BackupError) {
            let file = try SharedFile(open(path))
            if let sizeBytes, file.size != sizeBytes { return nil }
            return try file.sha256() == sha256 ? file : nil
        } catch {
            guard [.notFound, .notADirectory, .isADirectory, .notSupported].contains(error.code) else { throw error }
            return nil
        }
    }

    /// Names in the folder of a path.
    private func siblings(_ folder: String) throws(BackupError) -> [String] {
        let path = folder.isEmpty ? root : "\(root)/\(folder)"
        let names = try FileSystem.ifPresent { () throws(BackupError) in try FileSystem.names(in: path) } ?? []
        return names.map(\.description)
    }

    // MARK: Live Photos

    /// The other part of a Live Photo: the video beside a still, or the still beside a video, with the same name before the
    /// point.
    /// - Returns: `nil` when there is none.
    public func pair(of path: String) throws(BackupError) -> String? {
        let (folder, base, suffix) = Self.parts(path)
        let isVideo = Self.videoExtensions.contains(suffix)
        guard isVideo || Self.stillExtensions.contains(suffix) else { return nil }
        let wanted = isVideo ? Self.stillExtensions : Self.videoExtensions
        var bases = [base]
        // In an Apple Photos library, the video has the identifier of the photo and a number.
        if library(path) != nil { bases = isVideo && base.hasSuffix("_3") ? [String(base.dropLast(2))] : [base, "\(base)_3"] }
        let found = try siblings(folder).filter { name in
            let other = Self.parts(name)
            return bases.contains { $0.utf8.elementsEqual(other.base.utf8) } && wanted.contains(other.suffix)
        }
        // Two stills of one name are no Live Photo.
        guard found.count == 1 else { return nil }
        return folder.isEmpty ? found[0] : "\(folder)/\(found[0])"
    }

    /// The paths that the other part of a Live Photo may have, in any place.
    public func possiblePairs(of path: String) -> [String] {
        let (folder, base, suffix) = Self.parts(path)
        let isVideo = Self.videoExtensions.contains(suffix)
        guard isVideo || Self.stillExtensions.contains(suffix) else { return [] }
        return (isVideo ? Self.stillExtensions : Self.videoExtensions).sorted().flatMap { [$0, $0.uppercased()] }
            .map { (folder.isEmpty ? "" : "\(folder)/") + "\(base).\($0)" }
    }

    private static func parts(_ path: String) -> (folder: String, base: String, suffix: String) {
        var parts = components(path)
        let name = parts.removeLast()
        let suffix = PhotoKey.fileExtension(of: name)
        return (parts.joined(separator: "/"), suffix.map { String(name.dropLast($0.utf8.count + 1)) } ?? name, suffix ?? "")
    }

    private static func components(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    // MARK: Apple Photos libraries

    /// - Returns: the library's folder with a slash, and the photo's identifier; `nil` for a file that is not in a library.
    private func library(_ path: String) -> (folder: String, identifier: String)? {
        var parts = Self.components(path)
        let name = parts.removeLast()
        guard parts.count >= 2 else { return nil }
        let isOriginal = parts[parts.count - 2] == "originals"
        let resources = parts.dropLast().lastIndex { $0 == "resources" }
        guard isOriginal || resources != nil else { return nil }
        let isRender = resources.map { $0 == parts.count - 3 && parts[$0 + 1] == "renders" } ?? false
        parts.removeLast(isOriginal ? 2 : parts.count - (resources ?? 0))
        let folder = parts.isEmpty ? "" : parts.joined(separator: "/") + "/"
        let identifier = String(name.prefix { $0 != "." && $0 != "_" })
        // Any folder may have the name `originals`.
        guard identifier.utf8.count == 36, identifier.utf8.count(where: { $0 == UInt8(ascii: "-") }) == 4 else { return nil }
        // And more so `resources`.
        guard isOriginal || isRender || FileSystem.statusIfPresent("\(root)/\(folder)originals")?.kind == .directory else {
            return nil
        }
        return (folder, identifier)
    }

    /// What is uploaded when this file is starred: of an edited version in an Apple Photos library, the original; of a stub, the
    /// photo that it stands for.
    public func original(of path: String) throws(BackupError) -> String {
        let path = withoutStub(path)
        guard let (folder, identifier) = library(path), path.hasPrefix("\(folder)resources/"), let first = identifier.first else {
            return path
        }
        let place = "\(folder)originals/\(first)"
        let found = try siblings(place).filter { Self.parts($0).base == identifier }
        guard let name = found.first else {
            throw BackupError(
                .notFound, "this is an edited version of a photo whose original is not in the library", path: "\(root)/\(path)",
                remedy: "Have the library download its originals, then star it again.")
        }
        return "\(place)/\(name)"
    }

    /// Whether it is no edited version in an Apple Photos library.
    func isOriginal(_ path: String) -> Bool {
        guard let (folder, _) = library(path) else { return true }
        return !path.hasPrefix("\(folder)resources/")
    }

    /// Where a photo comes from.
    public func source(of path: String) -> PhotoSource {
        guard let (_, identifier) = library(path) else { return .directory(path: path) }
        return .applePhotos(assetId: identifier)
    }

    /// The edited versions of an original, which are not uploaded.
    func versions(of path: String) throws(BackupError) -> [OrderedJSON] {
        guard let (folder, identifier) = library(path), let first = identifier.first else { return [] }
        let place = "\(folder)resources/renders/\(first)"
        var versions: [OrderedJSON] = []
        for name in try siblings(place).sorted() where name.hasPrefix("\(identifier)_") {
            guard let status = try FileSystem.look("\(root)/\(place)/\(name)"), status.kind == .regular else { continue }
            versions.append(["path": "\(place)/\(name)", "size": status.size, "modified": status.modificationTime])
        }
        return versions
    }
}
