import BackupCore
import Glibc
import TestSupport
import Testing

@testable import SystemIO

/// Times that only a hostile or broken file has (R-A16, T-A7): nothing traps, and what is written is a date.
struct ExtremeTimeTests {
    static let seconds: [Int64] = [
        .min, .min + 1, -9_223_372_036_854_720_001, -62_167_219_201, -62_167_219_200, -1, 0, 1, 253_402_300_799, 253_402_300_800,
        .max - 1, .max,
    ]

    static let offsets: [UInt64] = [.max, .max - 1, 1 << 63, (1 << 63) - 1]

    @Test(arguments: seconds) func `every time is written as a date of the years 0 to 9999`(seconds: Int64) {
        for nanoseconds: UInt32 in [0, 999_999_999] {
            let text = ISO8601.format(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
            let whole = ISO8601.format(Timestamp(seconds: seconds))
            #expect(whole.utf8.count == 20, "\(seconds)")
            let expected = min(max(seconds, -62_167_219_200), 253_402_300_799)
            #expect(ISO8601.parse(whole) == Timestamp(seconds: expected))
            #expect(ISO8601.parse(text)?.seconds == expected)
        }
    }

    @Test(arguments: seconds) func `every time is shown to people`(seconds: Int64) {
        let time = Timestamp(seconds: seconds)
        #expect(SystemClock.localStamp(time).utf8.count == 19)
        #expect(SystemClock.localTime(time).english.utf8.count == 19)
        #expect(SystemClock.localDay(time).english.utf8.count == 10)
    }

    @Test(arguments: seconds) func `a file of any time has a status`(seconds: Int64) throws {
        let folder = try TemporaryFolder(inMemory: true)
        let path = try folder.write([1], to: "file")
        let time = timespec(tv_sec: Int(seconds), tv_nsec: 0)
        let times = [time, time]
        try #require(utimensat(AT_FDCWD, path, times, 0) == 0)
        let status = try FileSystem.status(path)
        _ = status.isSettled
        #expect(ISO8601.format(status.modificationTime).utf8.count == 20)
    }

    @Test func `sums stay at the end of their range`() {
        #expect(Int64.max.addingSaturating(1) == .max && Int64.min.addingSaturating(-1) == .min)
        #expect((5 as Int64).addingSaturating(-7) == -2)
        #expect(Int64.min.subtractingSaturating(1) == .min && Int64.max.subtractingSaturating(-1) == .max)
        #expect((0 as Int64).subtractingSaturating(.min) == .max && UInt64(3).subtractingSaturating(5) == 0)
        #expect(UInt64.max.addingSaturating(.max) == .max && UInt64.max.multipliedSaturating(by: 2) == .max)
        #expect(Int64.min.multipliedSaturating(by: 2) == .min && Int64.min.multipliedSaturating(by: -1) == .max)
        #expect((-3 as Int64).multipliedSaturating(by: 4) == -12)
    }

    /// proc(5) has no fsync for folders: EINVAL, as on some shares (R-B8).
    @Test func `a folder that cannot be made durable is no error (R-B8)`() throws {
        try FileSystem.synchronizeDirectory("/proc/self")
        #expect(errorCode { try FileSystem.synchronizeDirectory("/proc/self/none") } == .notFound)
    }

    @Test func `only certain absence is absence (R-A10)`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([1], to: "file")
        #expect(try FileSystem.exists(path))
        #expect(try !FileSystem.exists(folder("none")))
        #expect(try !FileSystem.exists(path + "/below"))
        // A name that no file can have, and a link that leads to itself.
        #expect(errorCode { _ = try FileSystem.exists(folder(String(repeating: "x", count: 300))) } == .nameTooLong)
        try #require(symlink("loop", folder("loop")) == 0)
        #expect(errorCode { _ = try FileSystem.exists(folder("loop")) } == .inputOutput)
        #expect(try !FileSystem.isShared(folder.path))
        #expect(try FileSystem.isShared("/proc"))
    }

    /// Offsets that a damaged or hostile structure names.
    @Test(arguments: offsets)
    func `nothing is read beyond what a file can have`(offset: UInt64) throws {
        let folder = try TemporaryFolder()
        let file = try SharedFile(path: try folder.write([1, 2, 3], to: "file"))
        var buffer = [UInt8](repeating: 0, count: 10)
        let count = try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
            try file.read(at: offset, into: bytes)
        }
        #expect(count == 0)
        file.expectReading(at: offset, count: .max)
    }
}
