import Glibc

/// How a program ended, and what it wrote to standard output and standard error.
public struct ProgramResult {
    /// 128 plus the signal's number when a signal ended it.
    public let status: Int32
    public let bytes: [UInt8]
    public var output: String { String(decoding: bytes, as: UTF8.self) }
}

/// Runs a program to completion, in a UTF-8 locale.
/// - Parameters:
///   - command: a program's name, found in `PATH`, and its arguments.
///   - input: its standard input; empty by default.
@discardableResult
public func run(_ command: [String], in folder: String = ".", input: [UInt8] = []) throws -> ProgramResult {
    let scratch = try TemporaryFolder()
    try scratch.write(input, to: "input")
    let job = try Job(
        ["env", "-C", folder, "LC_ALL=C.UTF-8", "TZ=UTC"] + command, inputPath: scratch("input"), scratch: scratch("job"),
        mergesErrors: true)
    let status = try job.wait(limitSeconds: 600).exitCode
    return ProgramResult(status: status, bytes: try scratch.read("job.out"))
}

/// Runs a bash script to completion; `$1` and so on are the arguments.
@discardableResult
public func shell(_ script: String, _ arguments: String...) throws -> ProgramResult {
    try run(["bash", "-c", script, "bash"] + arguments)
}
