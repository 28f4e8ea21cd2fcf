import BackupCore
import Glibc
import SystemIO

/// The files of the media folder by their content, for apps to which the same bytes are the same file under every name: a
/// photo that another phone has too.
struct MediaContents {
    private let tree: MediaTree
    /// The paths of the files that have one of the sizes that matter, in the order of their bytes.
    private var paths: [UInt64: [[UInt8]]] = [:]
    /// `nil` for a file that could not be read, which is the same as no other.
    private var digests: [[UInt8]: SHA256Digest?] = [:]

    /// Lists the folder, and reads no file.
    /// - Parameter sizes: in bytes, of the files to look for.
    init(_ tree: MediaTree, sizes: Set<UInt64>) throws(BackupError) {
        self.tree = tree
        if !sizes.isEmpty { try list([], sizes) }
        for size in paths.keys { paths[size]?.sort { $0.lexicographicallyPrecedes($1) } }
    }

    private mutating func list(_ folder: [UInt8], _ sizes: Set<UInt64>) throws(BackupError) {
        // What is hidden does not stay: the trash of phones, and what programs that synchronize folders keep for a while.
        for name in try names(in: folder) where name.bytes.first != UInt8(ascii: ".") {
            let path = BytePath.join(folder, name.bytes)
            switch try find(path) {
            case .file(let status): if sizes.contains(status.size) { paths[status.size, default: []].append(path) }
            case .folder: try list(path, sizes)
            case .nothing, .link, .other, .blocked: break
            }
        }
    }

    /// What cannot be looked at has no files to compare with: another user's folder, a disk of its own below the folder, one
    /// that is gone.
    private static func isUnreadable(_ error: BackupError) -> Bool {
        [.accessDenied, .notFound, .notADirectory, .inputOutput, .notSupported, .stale].contains(error.code)
    }

    private func names(in folder: [UInt8]) throws(BackupError) -> [FileName] {
        do throws(BackupError) {
            return try tree.names(in: folder)
        } catch {
            guard Self.isUnreadable(error) else { throw error }
            return []
        }
    }

    private func find(_ path: [UInt8]) throws(BackupError) -> MediaTree.Found {
        do throws(BackupError) {
            return try tree.find(path)
        } catch {
            guard Self.isUnreadable(error) else { throw error }
            return .other
        }
    }

    /// The first file with this content.
    /// - Parameter isFree: whether a path may be the answer.
    mutating func path(
        of digest: SHA256Digest, sizeBytes: UInt64, where isFree: ([UInt8]) -> Bool
    ) throws(BackupError) -> [UInt8]? {
        for path in paths[sizeBytes] ?? [] where isFree(path) {
            if try self.digest(of: path) == digest { return path }
        }
        return nil
    }

    /// Reads each file once.
    private mutating func digest(of path: [UInt8]) throws(BackupError) -> SHA256Digest? {
        if let known = digests[path] { return known }
        var digest: SHA256Digest?
        do throws(BackupError) {
            digest = try SharedFile(tree.open(path)).sha256()
        } catch {
            // A file that cannot be read keeps no other one out.
            guard Self.isUnreadable(error) else { throw error }
        }
        digests[path] = .some(digest)
        return digest
    }
}
