import Glibc
import TestSupport
import Testing

/// A long random sequence of operations, compared with a model in memory of what the tree must show.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct ModelTests {
    /// The expected state.
    private struct Model {
        /// Backups, oldest first, with the data of their time.
        var snapshots: [(name: String, data: String)] = []
        var live = "empty"
        var safety: [String] = []

        func index(_ name: String) -> Int? { snapshots.firstIndex { $0.name == name } }
    }

    private static let names = ["a", "b", "c", "before upgrade", "ü", "f", "g"]

    @Test(arguments: Rounds.part(of: [1, 2, 3], oneIn: 3))
    func `the tree shows what the model says`(seed: UInt64) throws {
        try Sandbox.withMount { sandbox in
            var random = SeededGenerator(seed: seed)
            var model = Model()
            var steps: [String] = []
            for number in 1...8 {
                try sandbox.write(SampleDocument.variant("data \(number)", expenses: number), to: "data-\(number).json")
            }
            try sandbox.write("{\"cars\": [", to: "bad.json")
            for _ in 0..<120 {
                let step = try perform(&model, &random, sandbox)
                steps.append(step)
                try compare(model, sandbox, steps)
            }
        }
    }

    /// Performs one operation on the tree and on the model, and checks that it succeeds exactly when it must.
    private func perform(_ model: inout Model, _ random: inout SeededGenerator, _ sandbox: Sandbox) throws -> String {
        let name = Self.names.randomElement(using: &random) ?? "a"
        let other = Self.names.randomElement(using: &random) ?? "a"
        let folder = "\(sandbox.mountpoint)/snapshots"
        switch Int.random(in: 0..<20, using: &random) {
        case 0...5:
            let result = mkdir("\(folder)/\(name)", 0o700)
            let code = errno
            #expect((result == 0) == (model.index(name) == nil) && (result == 0 || code == EEXIST))
            if result == 0 { model.snapshots.append((name, model.live)) }
            return "mkdir \(name)"
        case 6...8:
            let result = rmdir("\(folder)/\(name)")
            let code = errno
            #expect((result == 0) == (model.index(name) != nil) && (result == 0 || code == ENOENT))
            if let index = model.index(name) { model.snapshots.remove(at: index) }
            return "rmdir \(name)"
        case 9...11:
            let result = rename("\(folder)/\(name)", "\(folder)/\(other)")
            let code = errno
            let isPossible = model.index(name) != nil && (model.index(other) == nil || name == other)
            #expect(
                (result == 0) == isPossible && (result == 0 || code == (model.index(name) == nil ? ENOENT : EEXIST)), "\(code)")
            if isPossible, let index = model.index(name) { model.snapshots[index].name = other }
            return "rename \(name) to \(other)"
        case 12...13:
            let number = Int.random(in: 1...8, using: &random)
            try sandbox.sh("cp $R/data-\(number).json $M/restore/x.json")
            model.safety.append(model.live)
            model.live = "data \(number)"
            return "restore \(number)"
        case 14:
            #expect(try sandbox.run("cp $R/bad.json $M/restore/x.json").exitCode == 1)
            return "restore of a bad file"
        case 15:
            guard let snapshot = model.snapshots.randomElement(using: &random) else { return "nothing" }
            let file = ["export.json", "archive.zip", "database.sqlite"].randomElement(using: &random) ?? ""
            try sandbox.sh("cp \"$M/snapshots/$N/\(file)\" $M/restore/", ["N": snapshot.name])
            model.safety.append(model.live)
            model.live = snapshot.data
            return "restore \(file) of \(snapshot.name)"
        case 16:
            guard model.live != "empty" else { return "nothing" }
            let number = Int.random(in: 100...999, using: &random)
            try sandbox.sh("sqlite3 -cmd '.timeout 5000' $S/app/database.sqlite \"update cars set name = 'edit \(number)'\"")
            model.live = "edit \(number)"
            return "edit \(number)"
        case 17:
            guard let data = model.safety.suffix(3).last else { return "nothing" }
            try sandbox.sh("cp \"$(ls -tr $M/safety/* | tail -1)\" $R/tmp/safety.json; cp $R/tmp/safety.json $M/restore/")
            model.safety.append(model.live)
            model.live = data
            return "undo"
        case 18:
            try sandbox.remount()
            return "remount"
        default:
            try sandbox.sh("backupfs backup --store $S --label \"$N\" || true", ["N": name])
            if model.index(name) == nil { model.snapshots.append((name, model.live)) }
            return "backup command \(name)"
        }
    }

    private func compare(_ model: Model, _ sandbox: Sandbox, _ steps: [String]) throws {
        let script = """
            cd $M; export LC_ALL=C; ls snapshots; echo /; readlink snapshots/latest || true; echo /; ls safety | wc -l
            ls exports | wc -l
            echo /; find snapshots -mindepth 1 -maxdepth 1 -type d -printf '%p/export.json\\0' | sort -z | xargs -0 jq -r '
                (input_filename | if . == "live/export.json" then "" else ltrimstr("snapshots/") | rtrimstr("/export.json") + "=" end)
                + if .cars == [] then "empty" else .cars[0].name end' live/export.json
            """
        var expected = (model.snapshots.map(\.name) + (model.snapshots.isEmpty ? [] : ["latest"])).sorted {
            Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8))
        }
        expected += ["/"] + (model.snapshots.last.map { [$0.name] } ?? [])
        expected += ["/", "\(min(3, model.safety.count))", "\(model.snapshots.count)", "/", model.live]
        expected += model.snapshots.sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) }.map {
            "\($0.name)=\($0.data)"
        }
        let shown = try sandbox.sh(script).split(separator: "\n").map(String.init)
        try #require(shown == expected, "after: \(steps.joined(separator: "; "))")
    }
}
