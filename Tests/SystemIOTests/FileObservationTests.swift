import BackupCore
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import SystemIO

/// Tests of power cuts believe what an observer is told; here is that it is told everything, and what for.
struct FileObservationTests {
    private final class Witness: FileObserver {
        let operations = Mutex<[FileOperation]>([])
        let failing: FileOperation?

        init(failing: FileOperation? = nil) { self.failing = failing }

        var seen: [FileOperation] { operations.withLock { $0 } }

        func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
            operations.withLock { $0.append(operation) }
            if operation == failing { throw BackupError(.noSpace, "the disk is full") }
            try body()
        }
    }

    @Test func `every change is reported, in its order`() throws {
        let folder = try TemporaryFolder()
        let witness = Witness()
        let path = folder.path
        try FileObservation.observing(below: path, by: witness) {
            let file = try OwnedDescriptor.open(path + "/a", O_RDWR | O_CREAT)
            try file.writeAll([1, 2, 3])
            try file.writeAll([4])
            try [UInt8]([9]).withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.writeAll(bytes, at: 1) }
            try file.truncate(to: 3)
            try file.synchronize()
            try file.synchronizeFileSystem()
            try FileSystem.rename(path + "/a", to: path + "/b")
            try FileSystem.makeDirectory(path + "/d")
            let reader = try DirectoryHandle(path: path)
            try reader.makeDirectoryIfMissing("e")
            _ = try reader.open("f", O_WRONLY | O_CREAT | O_TRUNC)
            try reader.createLink("g", to: [104], modificationTime: Timestamp(seconds: 1))
            try FileSystem.exchange(path + "/b", path + "/f")
            try FileSystem.synchronizeDirectory(path)
            try FileSystem.removeFile(path + "/b")
            try FileSystem.removeTree(path + "/e")
            let made = try reader.makeFolder("h")
            _ = try made.createFile("i", permissions: 0o600)
            try made.move("i", to: reader, as: "j")
            try reader.removeFile("j")
            try reader.removeFolder("h")
        }
        #expect(
            witness.seen == [
                .open(path: path + "/a", truncates: false), .write(path: path + "/a", offset: 0, bytes: [1, 2, 3]),
                .write(path: path + "/a", offset: 3, bytes: [4]), .write(path: path + "/a", offset: 1, bytes: [9]),
                .truncate(path: path + "/a", size: 3), .synchronize(path: path + "/a"),
                .synchronizeFileSystem(path: path + "/a"), .rename(from: path + "/a", to: path + "/b"),
                .makeDirectory(path: path + "/d"), .makeDirectory(path: path + "/e"),
                .open(path: path + "/f", truncates: true), .makeLink(path: path + "/g", target: [104]),
                .exchange(path + "/b", path + "/f"), .synchronize(path: path), .remove(path: path + "/b"),
                .removeDirectory(path: path + "/e"), .makeDirectory(path: path + "/h"),
                .open(path: path + "/h/i", truncates: false), .rename(from: path + "/h/i", to: path + "/j"),
                .remove(path: path + "/j"), .removeDirectory(path: path + "/h"),
            ])
        #expect(try readFile(folder("f")) == [1, 9, 3])
    }

    @Test func `what is read, lies elsewhere or comes later is not reported`() throws {
        let folder = try TemporaryFolder()
        let witness = Witness()
        try FileSystem.makeDirectory(folder("in"))
        try writeFile(folder("in/a"), [1])
        try FileObservation.observing(below: folder("in"), by: witness) {
            #expect(try FileSystem.readFile(folder("in/a")) == [1])
            try FileSystem.writeFileAtomically(folder("inside"), [2])
        }
        try FileSystem.removeFile(folder("in/a"))
        #expect(witness.seen.isEmpty)
        #expect(try readFile(folder("inside")) == [2])
    }

    @Test func `what an observer refuses is not done`() throws {
        let folder = try TemporaryFolder()
        try writeFile(folder("a"), [1])
        let witness = Witness(failing: .remove(path: folder("a")))
        let code = errorCode {
            try FileObservation.observing(below: folder.path, by: witness) { () throws(BackupError) in
                try FileSystem.removeFile(folder("a"))
            }
        }
        #expect(code == .noSpace)
        #expect(try readFile(folder("a")) == [1])
    }
}
