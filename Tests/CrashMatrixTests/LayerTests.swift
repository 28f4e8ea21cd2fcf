import TestSupport
import Testing

/// The fault layer sees what the program does to its files, and all of it.
struct LayerTests {
    /// Calls that change files or make them durable, as strace and as the layer call them; more of them than the program uses
    /// now. sync_file_range(2) does neither, and the layer does not see it: a backup calls it for each media file that has not
    /// changed for two seconds, so a slow machine calls it and a fast one does not.
    private static let names = [
        "write": "write", "pwrite64": "pwrite", "writev": "writev", "pwritev": "pwritev", "pwritev2": "pwritev",
        "ftruncate": "ftruncate",
        "truncate": "truncate", "fallocate": "fallocate", "copy_file_range": "copy_file_range", "sendfile": "sendfile",
        "splice": "splice", "fsync": "fsync", "fdatasync": "fdatasync", "syncfs": "syncfs",
        "msync": "msync", "rename": "rename", "renameat": "rename", "renameat2": "rename", "link": "link", "linkat": "link",
        "symlink": "symlink", "symlinkat": "symlink", "mkdir": "mkdir", "mkdirat": "mkdir", "mknod": "mknod", "mknodat": "mknod",
        "rmdir": "rmdir", "unlink": "unlink", "unlinkat": "unlink", "chmod": "chmod", "fchmod": "chmod", "fchmodat": "chmod",
        "chown": "chown", "fchown": "chown", "lchown": "chown", "fchownat": "chown", "utimensat": "utimens", "utime": "utimens",
        "utimes": "utimens", "setxattr": "setxattr", "fsetxattr": "setxattr", "open": "open", "openat": "open", "creat": "open",
    ]

    /// The same run under both: they must count the same.
    @Test(arguments: Scenario.archives + [Scenario.whole])
    func `nothing goes past it`(scenario: Scenario) throws {
        let world = try World(copying: Template.of(scenario.template).world)
        let layer = try FaultLayer.environment(folder: world.path, logPath: world.logPath)
        let traces = try world.folder("traces")
        let program = try [Machine.binaryPath()] + scenario.arguments(world) + ["--store", world.storePath]
        try world.run(
            // One file for each thread, so that no line is broken by another's; with the paths of descriptors.
            [
                "strace", "-ff", "-y", "-s", "0", "-o", "\(traces)/trace", "-e",
                "trace=\(Self.names.keys.sorted().joined(separator: ","))",
            ]
                + layer.map { "-E\($0.key)=\($0.value)" } + program
        ).requireSuccess()
        var seen: [String: Int] = [:]
        for line in try world.run(["bash", "-c", "cat \(traces)/*"]).lines {
            if let name = Self.call(line, below: world.path) { seen[name, default: 0] += 1 }
        }
        var counted: [String: Int] = [:]
        for call in RecordedCall.read(world.logPath) { counted[call.name, default: 0] += 1 }
        #expect(counted == seen)
        #expect(counted.values.reduce(0, +) > 200)
    }

    /// - Returns: what the layer calls this call; `nil` for one that changes nothing below the folder.
    private static func call(_ line: String, below folder: String) -> String? {
        guard let end = line.firstIndex(of: "("), let name = names[String(line[..<end])], line.contains(folder) else {
            return nil
        }
        if name == "open" { return ["O_CREAT", "O_TRUNC", "O_TMPFILE"].contains { line.contains($0) } ? name : nil }
        return name == "unlink" && line.contains("AT_REMOVEDIR") ? "rmdir" : name
    }

    @Test func `each fault does what it is called`() throws {
        let world = try World()
        // What the layer does to any program: here `dd`, which writes twice and makes the file durable, and `mkdir`.
        func outcome(_ plan: PlannedFault, _ script: String) throws -> (Int32, String) {
            let layer = try FaultLayer.environment(folder: world.path, logPath: world.logPath, plan: plan)
            let environment = layer.map { "'\($0.key)=\($0.value)'" }.joined(separator: " ")
            let result = try world.run(
                ["bash", "-c", "cd '\(world.path)'; rm -rf *; env \(environment) \(script)"], ["LANG": "C"])
            return (result.exitCode, result.errors)
        }
        let copy = "dd if=/dev/zero of=file bs=1000 count=2 conv=fsync status=none"
        func size() throws -> String { try world.shell("stat -c %s $W/file 2>/dev/null || echo none") }
        // Its calls: open, write, write, fsync.
        #expect(try outcome(PlannedFault(fault: .kill, number: 3), copy).0 == 137)
        #expect(try size() == "1000")
        #expect(try outcome(PlannedFault(fault: .tear, number: 2), copy).0 == 137)
        #expect(try size() == "1500")
        #expect(try outcome(PlannedFault(fault: .fullOnce, number: 1), copy).1.contains("No space left"))
        #expect(try size() == "none")
        #expect(try outcome(PlannedFault(fault: .brokenOnce, number: 4), copy).1.contains("Input/output error"))
        #expect(try size() == "2000")
        #expect(try outcome(PlannedFault(fault: .full, number: 2), "mkdir one two three").1.split(separator: "\n").count == 2)
        #expect(try outcome(PlannedFault(fault: .broken, number: 1), "mkdir one two three").1.split(separator: "\n").count == 3)
        #expect(try outcome(PlannedFault(fault: .fullOnce, number: 1), "mkdir one two three").1.split(separator: "\n").count == 1)
        #expect(try outcome(PlannedFault(fault: .kill, number: 5), copy).0 == 0)
        // Elsewhere it leaves everything alone.
        #expect(try outcome(PlannedFault(fault: .broken, number: 1), "touch '\(world.inputsPath)/elsewhere'").0 == 0)
    }
}
