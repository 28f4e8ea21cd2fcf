import BackupCore
import Formats
import Glibc
import ObjectStorage
import SystemIO

/// Writes photos from a bucket into a folder. It needs nothing but the bucket.
public struct PhotoRestore: Sendable {
    /// Which photos, and how they are put into the folder.
    public struct Options: Sendable {
        /// `2024/06` or `2024`; `nil` for all.
        public var month: String?
        /// Empty for all.
        public var md5s: Set<String> = []
        /// Whether all photos lie in one folder, instead of one for each month.
        public var isFlat = false

        public init() {}
    }

    /// What was done.
    public struct Report: Sendable {
        /// Photos that were not there.
        public internal(set) var writtenCount = 0
        /// Of those photos.
        public internal(set) var writtenBytes: UInt64 = 0
        /// Photos that were there already, with the same bytes.
        public internal(set) var presentCount = 0
        /// Photos that could not be restored; nothing was written of them.
        public internal(set) var failures: [BackupError] = []
        /// Hashes that were asked for and are not in the bucket.
        public internal(set) var missing: [String] = []
        /// Whether the catalog was lost or damaged, and the objects were asked instead.
        public internal(set) var isWithoutCatalog = false
    }

    private static let draftPrefix = ".backupfs-photo-"
    /// Of names in one folder that are the same.
    private static let nameTryLimit = 10_000

    private let bucket: PhotoBucket
    private let target: String
    private let options: Options

    public init(from bucket: PhotoBucket, to target: String, _ options: Options) {
        self.bucket = bucket
        self.target = target
        self.options = options
    }

    /// Restores the photos. Each one appears as a whole, with the time of its file; a file that is there is never replaced.
    /// - Throws: errors of the storage that concern all photos, and of the folder; `interrupted`.
    public func run(progress: ProgressHandler? = nil) throws(BackupError) -> Report {
        var report = Report()
        let catalog = try self.catalog(&report)
        let chosen = withPartnersTogether(catalog.entries.filter(isWanted), catalog)
        report.missing = options.md5s.filter { catalog[$0] == nil }.sorted()
        try FileSystem.makeDirectories(target)
        var sweptFolders: Set<String> = []
        // Of parts of Live Photos whose other part has come first.
        var numbers: [String: Int] = [:]
        for (index, entry) in chosen.enumerated() {
            try Cancellation.check()
            progress?(
                OperationProgress(
                    phase: "Restoring photos", message: "Restoring photos (\(index + 1)/\(chosen.count))",
                    processedItems: UInt64(index), totalItems: UInt64(chosen.count)))
            do throws(BackupError) {
                let place = options.isFlat ? target : "\(target)/\(entry.key.month)"
                try FileSystem.makeDirectories(place)
                let folder = try DirectoryHandle(path: place)
                if sweptFolders.insert(place).inserted { sweepDrafts(in: folder) }
                let partner = partner(of: entry, in: catalog)
                if partner == nil || numbers[entry.md5] == nil {
                    numbers[entry.md5] = try number(for: entry, with: partner, folder)
                }
                let number = numbers.removeValue(forKey: entry.md5) ?? 1
                if let partner { numbers[partner.md5] = number }
                if try restore(entry, number, in: folder) {
                    report.writtenCount += 1
                    report.writtenBytes += entry.size
                } else {
                    report.presentCount += 1
                }
            } catch {
                guard ![.interrupted, .noSpace, .offline, .accessDenied, .readOnly].contains(error.code) else { throw error }
                report.failures.append(error)
            }
        }
        return report
    }

    /// The catalog saves requests, and no more: what it lacks is found, too.
    private func catalog(_ report: inout Report) throws(BackupError) -> PhotoCatalog {
        var known = PhotoCatalog()
        do throws(BackupError) {
            known = try bucket.catalog()
        } catch {
            guard error.code == .damagedContent else { throw error }
        }
        let all = try bucket.completed(known).catalog
        report.isWithoutCatalog = known.count == 0 && all.count > 0
        return all
    }

    private func isWanted(_ entry: CatalogEntry) -> Bool {
        if let month = options.month, entry.key.month != month, !entry.key.month.hasPrefix("\(month)/") { return false }
        return options.md5s.isEmpty || options.md5s.contains(entry.md5)
    }

    // MARK: Names

    /// The parts of a Live Photo follow one another: no other photo takes the name of the second one.
    private func withPartnersTogether(_ entries: [CatalogEntry], _ catalog: PhotoCatalog) -> [CatalogEntry] {
        var seen: Set<String> = []
        return entries.flatMap { entry in
            ([entry] + (partner(of: entry, in: catalog).map { [$0] } ?? [])).filter { seen.insert($0.md5).inserted }
        }
    }

    /// The other part of a Live Photo, if it goes into the same folder and the two are known by their names there.
    private func partner(of entry: CatalogEntry, in catalog: PhotoCatalog) -> CatalogEntry? {
        guard let other = entry.livePhotoPair.flatMap({ catalog[$0] }), other.md5 != entry.md5, isWanted(other),
            options.isFlat || other.key.month == entry.key.month, Self.stem(of: other) == Self.stem(of: entry)
        else { return nil }
        return other
    }

    private static func stem(of entry: CatalogEntry) -> Substring {
        let name = name(of: entry)
        return name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
    }

    /// The first number under which the name of a photo is free or has it already. The parts of a Live Photo get the same one.
    private func number(
        for entry: CatalogEntry, with partner: CatalogEntry?, _ folder: DirectoryHandle
    ) throws(BackupError) -> Int {
        let entries = [entry] + (partner.map { [$0] } ?? [])
        for number in 1...Self.nameTryLimit {
            var fits = true
            for each in entries where fits {
                let name = Self.name(Self.name(of: each), number)
                if try folder.statusIfPresent(name) != nil { fits = try isPresent(each, name, folder) }
            }
            if fits { return number }
        }
        throw BackupError(
            .alreadyExists, "too many files have the name of this photo", path: "\(folder.path)/\(Self.name(of: entry))")
    }

    /// - Returns: false when the photo is there already, which needs no download.
    private func restore(_ entry: CatalogEntry, _ number: Int, in folder: DirectoryHandle) throws(BackupError) -> Bool {
        let wanted = Self.name(of: entry)
        var name = Self.name(wanted, number)
        if try isPresent(entry, name, folder) { return false }
        let draft = FileName(Self.draftPrefix + RandomToken.make())
        do throws(BackupError) {
            try download(entry, to: draft, in: folder)
            for next in (number + 1)... {
                do throws(BackupError) {
                    try folder.move(draft, to: folder, as: name)
                    break
                } catch {
                    // Another program has made a file of this name meanwhile.
                    guard error.code == .alreadyExists, next < Self.nameTryLimit else { throw error }
                    name = Self.name(wanted, next)
                }
            }
            try folder.synchronize()
            return true
        } catch {
            try? folder.removeFile(draft)
            throw error
        }
    }

    /// Removes what a program that was killed has left. One that still runs holds a lock on its file.
    private func sweepDrafts(in folder: DirectoryHandle) {
        for name in (try? folder.names()) ?? [] where name.bytes.starts(with: Self.draftPrefix.utf8) {
            guard let file = try? folder.open(name, O_RDWR | O_NONBLOCK), (try? file.status())?.kind == .regular,
                let lock = AdvisoryLock(holding: file)
            else { continue }
            withExtendedLifetime(lock) { try? folder.removeFile(name) }
        }
    }

    private func download(_ entry: CatalogEntry, to draft: FileName, in folder: DirectoryHandle) throws(BackupError) {
        let name = try ObjectName.checked(entry.key.text)
        let file = try folder.createFile(draft, permissions: 0o644 & ~DirectoryHandle.creationMask)
        let lock = AdvisoryLock(holding: try OwnedDescriptor.duplicate(file, from: 10))
        defer { withExtendedLifetime(lock) {} }
        var hasher = MD5Hasher()
        var sha256 = SHA256Hasher()
        var count: UInt64 = 0
        _ = try bucket.storage.read(name, range: nil) { (bytes) throws(BackupError) in
            count += UInt64(bytes.count)
            // What is longer than it should be must not fill the disk.
            guard count <= entry.size else { throw hasOtherBytes(name) }
            hasher.update(bytes)
            sha256.update(bytes)
            try file.writeAll(bytes)
        }
        let digest = sha256.finish()
        guard count == entry.size, hasher.finish().hexadecimal == entry.md5, (entry.sha256 ?? digest) == digest else {
            throw hasOtherBytes(name)
        }
        if let time = entry.fileModificationDate { try file.setModificationTime(time) }
        try file.synchronize()
    }

    private func hasOtherBytes(_ name: ObjectName) -> BackupError {
        BackupError(
            .damagedContent, "this photo in the bucket has other bytes than its name says, and was not restored",
            path: "\(bucket.storage.location)/\(name)", remedy: "Look for another copy of it.")
    }

    /// Whether a file has the photo. One that cannot be read is another one.
    private func isPresent(_ entry: CatalogEntry, _ name: FileName, _ folder: DirectoryHandle) throws(BackupError) -> Bool {
        guard let status = try folder.statusIfPresent(name), status.kind == .regular, status.size == entry.size else {
            return false
        }
        do throws(BackupError) {
            var hasher = MD5Hasher()
            let digest = try SharedFile(folder.openFile(name)).sha256 { hasher.update($0) }
            return hasher.finish().hexadecimal == entry.md5 && (entry.sha256 ?? digest) == digest
        } catch {
            guard error.code != .interrupted else { throw error }
            return false
        }
    }

    /// The name that the photo had, if a visible file can have it.
    private static func name(of entry: CatalogEntry) -> String {
        if let name = entry.originalFilenames.first, FileName(name).isSafeComponent, name.utf8.first != UInt8(ascii: "."),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        {
            return name
        }
        return "\(entry.md5).\(entry.key.fileExtension)"
    }

    /// `IMG_1.jpg`, `IMG_1 (2).jpg`, …
    private static func name(_ name: String, _ number: Int) -> FileName {
        number > 1 ? FileName(bytes: FileName.fitting(Array(name.utf8), " (\(number))")) : FileName(name)
    }
}
