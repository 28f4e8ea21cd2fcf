import BackupCore
import TestSupport
import Testing

@testable import SystemIO

/// Checksums against the vectors of their standards and against the programs that people check them with.
struct ChecksumTests {
    /// RFC 1321, appendix A.5.
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
    ])
    func `CHK-01: MD5 as RFC 1321 has it`(text: String, digest: String) {
        #expect(ContentHasher.hash(Array(text.utf8)).md5.hexadecimal == digest)
    }

    /// FIPS 180-2, appendices A and B.
    @Test(arguments: [
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ])
    func `SHA-1 and SHA-256 as FIPS 180 has them`(text: String, sha1: String, sha256: String) {
        let sums = ContentHasher.hash(Array(text.utf8))
        #expect(sums.sha1.hexadecimal == sha1)
        #expect(sums.sha256.hexadecimal == sha256)
        #expect(SHA256Hasher.hash(Array(text.utf8)).hexadecimal == sha256)
    }

    @Test func `CRC-32 of the check string`() {
        #expect(CRC32.of(Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(ContentHasher.hash(Array("123456789".utf8)).crc32Hexadecimal == "cbf43926")
        #expect(CRC32.of([]) == 0)
        #expect(CRC32.update(0x1234, UnsafeRawBufferPointer(start: nil, count: 0)) == 0x1234)
    }

    @Test(arguments: [0, 1, 8191, 8192, 8193, 5_000_000])
    func `CHK-01, CHK-02: the same as md5sum, sha1sum, sha256sum and zlib in Python say`(count: Int) throws {
        let folder = try TemporaryFolder()
        let bytes = scrambled(count)
        try writeFile(folder("f"), bytes)
        let script = """
            for p in md5sum sha1sum sha256sum; do $p < "$1" | cut -d' ' -f1; done
            python3 -c 'import sys,zlib; print("%08x" % zlib.crc32(open(sys.argv[1],"rb").read()))' "$1"
            """
        let expected = try shell(script, folder("f")).output.split(separator: "\n").map(String.init)
        let sums = ContentHasher.hash(bytes)
        #expect([sums.md5.hexadecimal, sums.sha1.hexadecimal, sums.sha256.hexadecimal, sums.crc32Hexadecimal] == expected)
        #expect(try SharedFile(path: folder("f")).sha256() == sums.sha256)
    }

    @Test(arguments: [1, 7, 64, 4096, 8191])
    func `pieces of any length give the same as the whole`(pieceLength: Int) {
        let bytes = scrambled(20_000)
        var hasher = ContentHasher()
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + pieceLength)
            Array(bytes[start..<end]).withUnsafeBytes { hasher.update($0) }
            start = end
        }
        #expect(hasher.byteCount == 20_000)
        #expect(hasher.finish() == ContentHasher.hash(bytes))
    }

    @Test(arguments: [(0, 0), (0, 5), (5, 0), (1, 1), (8191, 8193), (300_000, 1)])
    func `the CRC of two runs comes from theirs`(first: Int, second: Int) {
        let bytes = scrambled(first + second)
        let combined = CRC32.combine(
            CRC32.of(Array(bytes[..<first])), CRC32.of(Array(bytes[first...])), secondLength: UInt64(second))
        #expect(combined == CRC32.of(bytes))
    }

    @Test func `a hasher that has finished starts again`() {
        var hasher = SHA256Hasher()
        Array("abc".utf8).withUnsafeBytes { hasher.update($0) }
        let first = hasher.finish()
        Array("abc".utf8).withUnsafeBytes { hasher.update($0) }
        #expect(first.hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(hasher.finish() == first)
        #expect(hasher.finish().hexadecimal == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}
