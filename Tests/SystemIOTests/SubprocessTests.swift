import BackupCore
import Glibc
import TestSupport
import Testing

@testable import SystemIO

/// Programs that this one starts: what they get, and how their end is read.
struct SubprocessTests {
    @Test func `a helper's output and exit code`() throws {
        let result = try Subprocess.run("/bin/sh", ["-c", "echo out; echo err >&2; exit 3"])
        #expect(result.exitCode == 3)
        #expect(result.message == "out\nerr\n")
        #expect(try Subprocess.run("/bin/sh", ["-c", "kill -9 $$"]).exitCode == 128 + SIGKILL)
        #expect(try Subprocess.run("/bin/sh", ["-c", "head -c 100000 /dev/zero"]).message.utf8.count == 1 << 16)
        #expect(failure { _ = try Subprocess.run("/none", []) }?.code == .notFound)
    }

    @Test func `a program gets the descriptors it was given, and no others`() throws {
        let folder = try TemporaryFolder()
        let file = try OwnedDescriptor.open(folder("open"), O_WRONLY | O_CREAT)
        // Without `O_CLOEXEC`, the program would inherit it.
        let inherited = fcntl(file.rawValue, F_DUPFD, 20)
        defer { close(inherited) }
        let pipe = try SystemIO.Pipe()
        let writer = try OwnedDescriptor.duplicate(pipe.writer, from: 10)
        let process = try Subprocess(
            "sh", ["sh", "-c", "pwd; echo $X; ls /proc/self/fd | sort -n | tr '\\n' ' '"],
            environment: ["X=y", "PATH=/usr/bin:/bin"],
            folder: folder.path, descriptors: [writer.rawValue, writer.rawValue])
        _ = consume writer
        let output = try pipe.takeReader().readToEnd()
        #expect(process.wait() == 0)
        // `ls` itself has opened the folder that it lists.
        #expect(String(decoding: output, as: UTF8.self) == "\(folder.path)\ny\n0 1 2 3 ")
    }

    @Test func `a command's time, group, output and environment`() throws {
        let folder = try TemporaryFolder()
        let result = try ShellCommand("echo $A; pwd; env | wc -l; exit 7", timeoutSeconds: 60, folder: folder.path)
            .run(environment: ["A": "b", "PATH": "/usr/bin:/bin"])
        #expect(result.exitCode == 7 && !result.hasTimedOut)
        #expect(result.output.hasPrefix("b\n\(folder.path)\n"))
        let late = try ShellCommand("sleep 60 & wait", timeoutSeconds: 0.2, folder: folder.path).run(
            environment: ["PATH": "/usr/bin:/bin"])
        #expect(late.hasTimedOut && late.durationSeconds < 30)
        var group: ProcessGroup?
        let gated = try ShellCommand(
            "echo begun; head -c 100000 /dev/zero | tr '\\0' x; echo end", timeoutSeconds: 60, folder: folder.path
        )
        .run(environment: ["PATH": "/usr/bin:/bin"]) { group = $0 }
        #expect(group?.isAlive == false)
        #expect(gated.output.utf8.count == 16 << 10 && gated.output.hasSuffix("end\n"))
    }
}
