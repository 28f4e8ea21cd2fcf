import BackupCore
import CLibFuzzer
import Fuzzing
import Glibc

// `BACKUPFS_FUZZ_TARGET=json BACKUPFS_FUZZ_FOLDER=/dev/shm/x FuzzDriver [what libFuzzer takes]…`: the folder is for files, best
// in memory. libFuzzer feeds the target until it is told to stop; an input that the target should not have taken as it did ends
// the process, and libFuzzer keeps it. Not by arguments: libFuzzer restarts itself with its own ones, to merge corpora.

// Written once, before the first input, and read by the one thread that libFuzzer has.
nonisolated(unsafe) var feed: (([UInt8]) throws -> FuzzOutcome)?

func say(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) } }

guard let name = getenv("BACKUPFS_FUZZ_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)),
    let folder = getenv("BACKUPFS_FUZZ_FOLDER")
else {
    let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
    say("BACKUPFS_FUZZ_TARGET must be one of: \(names)\nand BACKUPFS_FUZZ_FOLDER a folder.\n")
    exit(2)
}
let ground = try FuzzGround(folder: String(cString: folder))
// `BACKUPFS_FUZZ_EXAMPLES=FOLDER` writes what a corpus begins with, and nothing else is done.
if let examples = getenv("BACKUPFS_FUZZ_EXAMPLES") {
    for (number, bytes) in try target.examples(on: ground).enumerated() {
        let descriptor = open("\(String(cString: examples))/example-\(number)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }
    exit(0)
}
feed = { bytes in try target.run(bytes, on: ground) }

var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) } + [nil]
var count = CInt(arguments.count - 1)
let status = arguments.withUnsafeMutableBufferPointer { buffer in
    var start = buffer.baseAddress
    return LLVMFuzzerRunDriver(&count, &start) { bytes, count in
        do {
            _ = try feed?(Array(UnsafeBufferPointer(start: bytes, count: count)))
        } catch {
            say("VIOLATION: \(error)\n")
            abort()
        }
        return 0
    }
}
exit(status)
