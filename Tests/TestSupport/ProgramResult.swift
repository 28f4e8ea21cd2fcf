internal import Foundation

/// How a program ended, and what it wrote to standard output and standard error.
public struct ProgramResult {
    public let status: Int32
    public let bytes: [UInt8]
    public var output: String { String(decoding: bytes, as: UTF8.self) }
}

/// Runs a program to its end, in a UTF-8 locale.
/// - Parameters:
///   - command: a program's name, found in `PATH`, and its arguments.
///   - input: what it reads; nothing, if it is not given.
@discardableResult
public func run(_ command: [String], in folder: String? = nil, input: [UInt8]? = nil) throws -> ProgramResult {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["LC_ALL=C.UTF-8", "TZ=UTC"] + command
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
    process.standardInput = FileHandle.nullDevice
    if let input {
        // Once it is open, the file may go.
        process.standardInput = try withExtendedLifetime(TemporaryFolder()) { folder in
            try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.write(input, to: "input")))
        }
    }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return ProgramResult(status: process.terminationStatus, bytes: Array(data))
}

/// Runs a bash script to its end; `$1` and so on are the arguments.
@discardableResult
public func shell(_ script: String, _ arguments: String...) throws -> ProgramResult {
    try run(["bash", "-c", script, "bash"] + arguments)
}
