import BackupCore
import TestSupport
import Testing

@testable import SystemIO

/// Encryption against the vectors of its standards.
struct CryptographyTests {
    private func bytes(_ hexadecimal: String) throws -> [UInt8] { try #require(Hexadecimal.decode(hexadecimal.utf8)) }

    private func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes { SecretBytes(copying: $0) } }

    private func hexadecimal(_ secret: SecretBytes) -> String { secret.withUnsafeBytes { Hexadecimal.encode($0) } }

    // MARK: AES-256-GCM

    /// Test cases 13 to 16 of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", which NIST SP 800-38D names.
    private struct GCMVector: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let key: String
        let nonce: String
        var plain = ""
        var associatedData = ""
        /// Ciphertext and tag.
        let sealed: String
    }

    private static let longKey = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    private static let zeroKey = String(repeating: "00", count: 32)
    private static let zeroNonce = String(repeating: "00", count: 12)

    private static let vectors = [
        GCMVector(testDescription: "13", key: zeroKey, nonce: zeroNonce, sealed: "530f8afbc74536b9a963b4f1c4cb738b"),
        GCMVector(
            testDescription: "14", key: zeroKey, nonce: zeroNonce, plain: String(repeating: "00", count: 16),
            sealed: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"),
        GCMVector(
            testDescription: "15", key: longKey, nonce: "cafebabefacedbaddecaf888",
            plain: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
            sealed: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad" + "b094dac5d93471bdec1a502270e3cc6c"),
        GCMVector(
            testDescription: "16", key: longKey, nonce: "cafebabefacedbaddecaf888",
            plain: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            associatedData: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            sealed: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]

    @Test(arguments: vectors) private func `AES-256-GCM as its specification has it`(vector: GCMVector) throws {
        let key = try bytes(vector.key)
        let plain = try bytes(vector.plain)
        let nonce = try bytes(vector.nonce)
        let associatedData = try bytes(vector.associatedData)
        var sealed = nonce + [UInt8](repeating: 0xaa, count: plain.count + 16)
        sealed.withUnsafeMutableBytes { output in
            plain.withUnsafeBytes { plain in
                key.withUnsafeBytes { key in
                    associatedData.withUnsafeBytes {
                        AESGCM.sealUnderGivenNonce(plain, key: key, associatedData: $0, into: output)
                    }
                }
            }
        }
        #expect(Hexadecimal.encode(sealed) == vector.nonce + vector.sealed)
        #expect(open(try bytes(vector.nonce + vector.sealed), key, associatedData) == plain)
    }

    private func open(_ sealed: [UInt8], _ key: [UInt8], _ associatedData: [UInt8]) -> [UInt8]? {
        var plain = [UInt8](repeating: 0xaa, count: sealed.count - 28)
        let isGenuine = plain.withUnsafeMutableBytes { output in
            sealed.withUnsafeBytes { sealed in
                key.withUnsafeBytes { key in
                    associatedData.withUnsafeBytes { AESGCM.open(sealed, key: key, associatedData: $0, into: output) }
                }
            }
        }
        if !isGenuine { #expect(plain.allSatisfy { $0 == 0 }, "bytes were given out that nobody sealed") }
        return isGenuine ? plain : nil
    }

    private func seal(_ plain: [UInt8], _ key: [UInt8], _ associatedData: [UInt8]) throws -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plain.count + 28)
        try sealed.withUnsafeMutableBytes { output in
            try plain.withUnsafeBytes { plain in
                try key.withUnsafeBytes { key in
                    try associatedData.withUnsafeBytes { try AESGCM.seal(plain, key: key, associatedData: $0, into: output) }
                }
            }
        }
        return sealed
    }

    @Test func `every bit of what is sealed counts`() throws {
        let key = scrambled(32)
        let sealed = try seal(Array("forty two".utf8), key, [1, 2, 3])
        #expect(sealed.count == 9 + 28)
        for position in 0..<sealed.count * 8 {
            var changed = sealed
            changed[position / 8] ^= 1 << UInt8(position % 8)
            #expect(open(changed, key, [1, 2, 3]) == nil)
        }
        #expect(open(sealed, key, [1, 2]) == nil)
        #expect(open(sealed, key, [1, 2, 4]) == nil)
        var otherKey = key
        otherKey[31] ^= 1
        #expect(open(sealed, otherKey, [1, 2, 3]) == nil)
        #expect(open(sealed, key, [1, 2, 3]) == Array("forty two".utf8))
    }

    @Test func `the same bytes look different each time`() throws {
        let key = scrambled(32)
        let all = try (0..<1_000).map { _ in try seal([7], key, []) }
        #expect(Set(all.map { Array($0.prefix(12)) }).count == 1_000)
        for sealed in all { #expect(open(sealed, key, []) == [7]) }
    }

    @Test func `large pieces open again, and in Python`() throws {
        let folder = try TemporaryFolder()
        let key = scrambled(32)
        let plain = scrambled(5_000_001)
        let sealed = try seal(plain, key, Array("name".utf8))
        #expect(open(sealed, key, Array("name".utf8)) == plain)
        try writeFile(folder("sealed"), sealed)
        try writeFile(folder("plain"), plain)
        let script = """
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            import sys
            data, plain = open(sys.argv[1], "rb").read(), open(sys.argv[2], "rb").read()
            assert AESGCM(bytes.fromhex(sys.argv[3])).decrypt(data[:12], data[12:], b"name") == plain
            """
        let result = try shell(
            "python3 -c \"$1\" \"$2\" \"$3\" \"$4\"", script, folder("sealed"), folder("plain"), Hexadecimal.encode(key))
        #expect(result.status == 0, "\(result.output)")
    }

    // MARK: HMAC and HKDF

    /// RFC 4231, section 4; case 5 is of a shortened code.
    @Test(arguments: [
        (
            String(repeating: "0b", count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), [UInt8](repeating: 0xdd, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            "0102030405060708090a0b0c0d0e0f10111213141516171819", [UInt8](repeating: 0xcd, count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            String(repeating: "aa", count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            String(repeating: "aa", count: 131),
            Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ])
    func `HMAC-SHA-256 as RFC 4231 has it`(key: String, message: [UInt8], code: String) throws {
        #expect(HMACSHA256.authenticate(message, key: secret(try bytes(key))).hexadecimal == code)
    }

    /// RFC 5869, appendices A.1 to A.3.
    @Test(arguments: [
        (
            String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        (
            Hexadecimal.encode(Array(UInt8(0)...0x4f)), Hexadecimal.encode(Array(UInt8(0x60)...0xaf)),
            Hexadecimal.encode(Array(UInt8(0xb0)...0xff)), "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
                + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
        (
            String(repeating: "0b", count: 22), "", "",
            "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ])
    func `HKDF as RFC 5869 has it`(input: String, salt: String, info: String, key: String, output: String) throws {
        let extracted = try HKDF.extract(secret(try bytes(input)), salt: try bytes(salt))
        #expect(hexadecimal(extracted) == key)
        let expanded = try HKDF.expand(extracted, info: try bytes(info), count: output.count / 2)
        #expect(hexadecimal(expanded) == output)
    }

    // MARK: scrypt

    /// RFC 7914, section 12; the fourth, of 1 GiB, is left out.
    @Test(arguments: [
        (
            "", "", Scrypt(costExponent: 4, blockSize: 1, parallelization: 1),
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
        ),
        (
            "password", "NaCl", Scrypt(costExponent: 10, blockSize: 8, parallelization: 16),
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
        ),
        (
            "pleaseletmein", "SodiumChloride", Scrypt(costExponent: 14, blockSize: 8, parallelization: 1),
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
        ),
    ])
    func `scrypt as RFC 7914 has it`(password: String, salt: String, parameters: Scrypt, key: String) throws {
        let derived = try parameters.deriveKey(from: secret(Array(password.utf8)), salt: Array(salt.utf8), count: 64)
        #expect(hexadecimal(derived) == key)
    }

    @Test func `what scrypt parameters are computed with`() {
        func isAcceptable(_ cost: Int, _ block: Int, _ parallel: Int) -> Bool {
            Scrypt(costExponent: cost, blockSize: block, parallelization: parallel).isAcceptable
        }
        #expect(Scrypt.standard.isAcceptable)
        #expect(Scrypt.standard == Scrypt(costExponent: 17, blockSize: 8, parallelization: 1))
        #expect(isAcceptable(20, 8, 16) && isAcceptable(10, 1, 1) && isAcceptable(18, 32, 1))
        #expect(!isAcceptable(20, 9, 1) && !isAcceptable(19, 32, 1), "more than 1 GiB")
        #expect(!isAcceptable(9, 8, 1) && !isAcceptable(21, 1, 1) && !isAcceptable(64, 8, 1) && !isAcceptable(-1, 8, 1))
        #expect(!isAcceptable(17, 0, 1) && !isAcceptable(17, 33, 1) && !isAcceptable(17, 8, 0) && !isAcceptable(17, 8, 17))
    }

    // MARK: Secrets

    @Test func `secrets compare and differ`() throws {
        #expect(secret([1, 2, 3]).isEqual(to: secret([1, 2, 3])))
        #expect(!secret([1, 2, 3]).isEqual(to: secret([1, 2, 4])))
        #expect(!secret([1, 2, 3]).isEqual(to: secret([1, 2])))
        #expect(secret([]).isEqual(to: secret([])))
        let random = try SecretBytes.random(count: 32)
        let other = try SecretBytes.random(count: 32)
        #expect(random.count == 32 && !random.isEqual(to: other))
        #expect(try SecureRandom.bytes(count: 0) == [])
    }

    @Test func `wiped bytes are gone`() {
        var bytes: [UInt8] = [1, 2, 3, 4]
        bytes.withUnsafeMutableBytes { SecretBytes.wipe(UnsafeMutableRawBufferPointer(rebasing: $0[1..<3])) }
        #expect(bytes == [1, 0, 0, 4])
    }
}
