import BackupCore
import Glibc
import SystemIO

/// Runs a small program to completion.
enum HelperProgram {
    /// - Parameter program: absolute path.
    /// - Returns: its exit code, or 128 plus the signal's number; and its standard output and standard error, up to 64 KiB.
    static func run(_ program: String, _ arguments: [String]) throws(BackupError) -> (exitCode: Int32, message: String) {
        let pipe = try Pipe()
        let writer = try OwnedDescriptor.duplicate(pipe.writer, from: 10)
        let process = try ProgramStart.spawn(
            program, arguments: [program] + arguments, descriptors: [writer.rawValue, writer.rawValue])
        _ = consume writer
        let reader = pipe.takeReader()
        let output = ProgramStart.readAll(reader)
        return (ProgramStart.wait(for: process), String(decoding: output, as: UTF8.self))
    }
}
