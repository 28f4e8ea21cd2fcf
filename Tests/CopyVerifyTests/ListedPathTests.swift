import BackupCore
import TestSupport
import Testing

@testable import CopyVerify

/// Lists of paths as trees, and the paths of manifests.
struct ListedPathTests {
    private func paths(_ list: [String]) throws -> ListedPaths {
        var builder = ListedPaths.Builder()
        for path in list { try builder.append(path.utf8) }
        return try ListedPaths(builder) { _, _ in }
    }

    private func names(_ paths: ListedPaths, _ range: Range<Int>, _ skipped: Int) -> [String] {
        paths.names(in: range, skipping: skipped).map(\.description)
    }

    @Test func `the names in a folder are sorted by their bytes, and stand once`() throws {
        let paths = try paths(["b", "a.x", "a/z", "a/b/c", "a/b/d", "a b", "c/", "c/only", "A", "empty/"])
        #expect(names(paths, paths.all, 0) == ["A", "a", "a b", "a.x", "b", "c", "empty"])
        let folder = paths.place(of: "a", in: paths.all, skipping: 0)
        #expect(names(paths, folder, 2) == ["b", "z"])
        #expect(names(paths, paths.place(of: "b", in: folder, skipping: 2), 4) == ["c", "d"])
        #expect(paths.place(of: "none", in: paths.all, skipping: 0).isEmpty)
    }

    @Test func `a file that has files in it, and a path twice`() throws {
        #expect(errorCode { _ = try self.paths(["x", "y", "x/y"]) } == .invalidContent)
        var builder = ListedPaths.Builder()
        for path in ["x", "y", "x"] { try builder.append(path.utf8) }
        var pairs: [[Int]] = []
        _ = try ListedPaths(builder) { pairs.append([$0, $1]) }
        #expect(pairs == [[0, 2]])
    }

    @Test(arguments: [("a", "a"), ("./a//b/./c", "a/b/c"), ("a\\b", "a\\b"), ("..a", "..a")])
    func `the paths of manifests`(path: String, expected: String) throws {
        #expect(try ManifestEntry.safePath(path.utf8, in: "SUMS") == Array(expected.utf8))
    }

    @Test(arguments: ["", ".", "./", "/a", "..", "a/..", "a/../b", "a/", "a\0b"])
    func `paths that leave the folder, or are none`(path: String) {
        #expect(errorCode { _ = try ManifestEntry.safePath(path.utf8, in: "SUMS") } == .invalidContent)
    }
}
