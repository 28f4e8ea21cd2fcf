import TestSupport
import Testing

extension Sandbox {
    /// Fails unless every range of a mounted file has the bytes of a copy of it: around the sizes of blocks and records, and also
    /// beyond the end.
    func expectSameBytes(_ mounted: String, as copy: String) throws {
        let result = try python(
            """
            expected = open(R + "/\(copy)", "rb").read()
            file = os.open("\(mounted)", os.O_RDONLY)
            random.seed(7)
            for number in range(400):
                offset = random.randrange(len(expected) + 100)
                count = random.choice([1, 2, 17, 511, 512, 513, 4095, 4096, 4097, 10240, 65536, 1 << 20])
                assert os.pread(file, count, offset) == expected[offset:offset + count], (offset, count)
            assert os.pread(file, 10, len(expected)) == b""
            assert os.pread(file, 10, 1 << 62) == b""
            print("same")
            """)
        #expect(result == "same")
    }
}
