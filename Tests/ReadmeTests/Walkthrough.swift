import Glibc
import SystemIO
import TestSupport
import Testing

/// Runs the commands of a document, in a home folder of their own and one after the other in one shell, as a reader would, and
/// compares what comes out with what the document shows.
struct Walkthrough {
    private static let documentedMountpoint = "/mnt/backups"
    private static let mark = "@@@@"

    /// The reader's home folder, the mountpoint and a folder for programs are in here.
    private let path: String
    private let variables: [String: String]

    private var mountpoint: String { "\(path)/mnt" }

    /// - Parameter body: gets the walkthrough; whatever it mounted is taken away afterwards.
    static func use(_ body: (Walkthrough) throws -> Void) throws {
        try Machine.requireFUSE()
        let walkthrough = try Walkthrough()
        defer { walkthrough.leave() }
        try body(walkthrough)
    }

    private init() throws {
        path = try TemporaryFolder.make("/tmp/backupfs-readmetests")
        for folder in ["home", "bin"] { try FileSystem.makeDirectories("\(path)/\(folder)") }
        try #require(symlink(try Machine.binaryPath(), "\(path)/bin/backupfs") == 0)
        variables = [
            "PATH": "\(path)/bin:" + (Machine.environment("PATH") ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin",
            "HOME": "\(path)/home",
            "MOUNT": "\(path)/mnt", "TZ": "UTC", "LC_ALL": "C.UTF-8",
        ]
    }

    private func leave() {
        for mount in mounts.reversed() where umount2(mount, 0) != 0 {
            _ = try? shell("fusermount3 -u '\(mount)' || umount -l '\(mount)' || fusermount3 -u -z '\(mount)'")
        }
        // The process that served it may still be putting its things away.
        for _ in 0..<100 {
            if (try? FileSystem.removeTree(path)) != nil { return }
            usleep(50_000)
        }
        Issue.record("could not remove \(path)")
    }

    private var mounts: [String] {
        Job.read("/proc/self/mounts").split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ")
            return parts.count > 1 && parts[1].hasPrefix("\(path)/") ? String(parts[1]) : nil
        }
    }

    private func shell(_ script: String) throws -> Job.Result {
        try Job(["bash", "-c", script], environment: variables, scratch: "\(path)/job", mergesErrors: true).wait(
            limitSeconds: 900)
    }

    /// What `make mount` does after it has built the program.
    func mountAsMakeDoes() throws {
        let result = try shell("'\(Machine.projectPath)/mount-scripts/mount-default.sh' \"$(command -v backupfs)\"")
        try #require(result.exitCode == 0, "\(result.text)")
    }

    func unmountAsMakeDoes() throws {
        let result = try shell("backupfs umount '\(mountpoint)'")
        #expect(result.exitCode == 0, "\(result.text)")
        #expect(mounts == [])
    }

    /// Runs a document's commands; the files it shows are in the home folder, where the commands begin.
    func run(_ document: Document) throws {
        for file in document.files {
            try FileSystem.writeFileAtomically("\(path)/home/\(file.name)", Array(file.text.utf8))
        }
        let steps = document.steps
        try #require(!steps.isEmpty)
        var script = "cd ~\nstatus=0\n"
        for (index, step) in steps.enumerated() {
            // A command sees the exit code of the one before it, as it does in a terminal.
            script += "printf '\\n\(Self.mark) \(index)\\n'; (exit $status)\n\(here(step.command))\nstatus=$?\n"
        }
        let text = try shell(script + "printf '\\n\(Self.mark) end\\n'").text
        for (index, step) in steps.enumerated() {
            let end = index + 1 < steps.count ? "\(index + 1)" : "end"
            let output = try #require(
                text.between("\n\(Self.mark) \(index)\n", "\n\(Self.mark) \(end)\n"), "nothing came out at line \(step.line)")
            #expect(output == here(step.expected), "\(document.path), line \(step.line): \(step.command)")
        }
    }

    private func here(_ text: String) -> String { text.replacing(Self.documentedMountpoint, with: mountpoint) }
}

extension String {
    fileprivate func between(_ start: String, _ end: String) -> String? {
        guard let first = firstRange(of: start), let last = self[first.upperBound...].firstRange(of: end) else { return nil }
        return String(self[first.upperBound..<last.lowerBound])
    }
}
