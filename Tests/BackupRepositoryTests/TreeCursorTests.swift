import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

@Suite struct TreeCursorTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
    }

    private func file(_ name: FileName, _ writer: BackupWriter) throws -> TreeEntry {
        .file(
            name: name, mode: 0o600, modificationTime: Timestamp(seconds: 5),
            stored: try writer.store(TestData.random(100, seed: 1), policy: .media))
    }

    private func folder(_ name: FileName, _ entries: [TreeEntry], _ writer: BackupWriter) throws -> TreeEntry {
        .directory(name: name, mode: 0o700, modificationTime: Timestamp(seconds: 5), stored: try writer.store(entries))
    }

    /// The paths in the order of the steps; the end of a folder as its path with a slash.
    private func steps(_ cursor: TreeCursor, skipping skipped: String? = nil) throws -> [String] {
        var cursor = cursor
        var steps: [String] = []
        while let step = try cursor.next() {
            let path = String(decoding: cursor.path, as: UTF8.self)
            switch step {
            case .entry(let entry):
                #expect(path.hasSuffix(entry.name.description))
                steps.append(path)
                if path == skipped { cursor.skipFolder() }
            case .end(let folder):
                #expect(path.hasSuffix(folder.name.description))
                steps.append(path + "/")
            }
        }
        return steps
    }

    @Test func `folders come before what is in them, and end after it`() throws {
        let writer = try repository.makeWriter()
        let inner = try folder("inner", [file("x", writer)], writer)
        let outer = try folder("b", [inner, folder("empty", [], writer), file("z", writer)], writer)
        let snapshot = try writer.commit(named: "one", entries: [outer, file("a", writer), file("c", writer)])
        let all = ["a", "b", "b/empty", "b/empty/", "b/inner", "b/inner/x", "b/inner/", "b/z", "b/", "c"]
        let root = try repository.rootDirectory(of: snapshot)
        #expect(try steps(TreeCursor(root, in: repository)) == all)
        #expect(try steps(TreeCursor(snapshot.record.root, in: repository)) == all)
        #expect(try steps(TreeCursor(root, at: Array("p/q".utf8), in: repository)) == all.map { "p/q/" + $0 })
        #expect(try steps(TreeCursor(snapshot, in: repository)) == ["one"] + all.map { "one/" + $0 } + ["one/"])
        let withoutInner = all.filter { !$0.hasPrefix("b/inner/") }
        #expect(try steps(TreeCursor(root, in: repository), skipping: "b/inner") == withoutInner)
        var cursor = TreeCursor(root, in: repository)
        var count = 0
        while try cursor.nextEntry() != nil { count += 1 }
        #expect(count == 7)
    }

    @Test func `a folder that cannot be read ends at once, and the walk goes on`() throws {
        let writer = try repository.makeWriter()
        let good = try writer.store([file("x", writer)])
        let lie = StoredDirectory(content: good.content, totals: try writer.store([]).totals)
        let bad = TreeEntry.directory(name: "bad", mode: 0o700, modificationTime: Timestamp(seconds: 5), stored: lie)
        let snapshot = try writer.commit(named: "one", entries: [bad, file("c", writer)])
        var cursor = TreeCursor(snapshot.record.root, in: repository)
        var found: [String] = []
        while let step = cursor.nextReadable({ found.append("\($0.code) \(String(decoding: $1, as: UTF8.self))") }) {
            if case .end = step { found.append("end") }
            found.append(String(decoding: cursor.path, as: UTF8.self))
        }
        #expect(found == ["bad", "\(BackupError.Code.repositoryDamaged) bad", "end", "bad", "c"])
        var throwing = TreeCursor(snapshot.record.root, in: repository)
        _ = try throwing.next()
        #expect(throws: BackupError.self) { try throwing.next() }
    }

    /// Another program can nest folders deeper than a recursion fits on a stack.
    @Test func `a check and statistics walk folders that are nested 20,000 deep`() throws {
        let writer = try repository.makeWriter()
        var entry = try file("leaf", writer)
        for _ in 0..<20_000 { entry = try folder("d", [entry], writer) }
        let snapshot = try writer.commit(named: "deep", entries: [entry])
        #expect(try repository.statistics(of: [snapshot]).structures.chunkCount > 20_000)
        var check = RepositoryCheck(repository, readData: .all) { _ in }
        #expect(try check.run().isSound)
    }
}
