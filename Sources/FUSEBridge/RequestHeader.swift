/// The part of a request that all have in common: `struct fuse_in_header` of <linux/fuse.h>; and of what follows, what must be known before libfuse
/// takes the request apart.
struct RequestHeader {
    static let sizeBytes = 40
    private static let opcodeOffset = 4
    private static let numberOffset = 8
    private static let nodeOffset = 16

    private let opcode: UInt32
    /// What the kernel calls it by.
    let number: UInt64
    let node: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
        opcode = bytes.loadUnaligned(fromByteOffset: Self.opcodeOffset, as: UInt32.self)
        number = bytes.loadUnaligned(fromByteOffset: Self.numberOffset, as: UInt64.self)
        node = bytes.loadUnaligned(fromByteOffset: Self.nodeOffset, as: UInt64.self)
    }

    /// Whether it asks for what a node is or holds. Others (forgetting, closing, interrupting) never wait, and writing and making are few.
    var looks: Bool {
        switch opcode {
        // FUSE_LOOKUP, GETATTR, READLINK, OPEN, READ, OPENDIR, READDIR, READDIRPLUS, COPY_FILE_RANGE
        case 1, 3, 5, 14, 15, 27, 28, 44, 47: true
        default: false
        }
    }

    /// Whether it asks for an extended attribute, which may be a checksum of all that the node holds.
    var asksForAttribute: Bool {
        // FUSE_GETXATTR
        opcode == 22
    }

    /// The number of the request that it takes back (FUSE_INTERRUPT), because a signal has come for the program that waits for it.
    func interruptedNumber(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
        guard opcode == 36, bytes.count >= Self.sizeBytes + 8 else { return nil }
        return bytes.loadUnaligned(fromByteOffset: Self.sizeBytes, as: UInt64.self)
    }

    /// What a request wants of a node, as far as the node may not be ready for it.
    enum Look {
        /// What it is, or a name in it.
        case attributes
        /// What it holds, or what stands with it.
        case content
    }

    /// - Parameter exception: an extended attribute that can always be asked for.
    /// - Returns: `nil` for what never waits.
    func look(_ bytes: UnsafeRawBufferPointer, exceptAttribute exception: StaticString) -> Look? {
        switch opcode {
        // LOOKUP, GETATTR
        case 1, 3: return .attributes
        // OPEN, OPENDIR
        case 14, 27: return .content
        // GETXATTR: its size comes before the name.
        case 22:
            guard bytes.count > Self.sizeBytes + 8 else { return nil }
            return asks(UnsafeRawBufferPointer(rebasing: bytes[(Self.sizeBytes + 8)...]), exceptFor: exception) ? .content : nil
        default: return nil
        }
    }

    /// Attributes of other kinds than the user's are of no file here.
    private func asks(_ name: UnsafeRawBufferPointer, exceptFor exception: StaticString) -> Bool {
        let name = name.prefix { $0 != 0 }
        return name.starts(with: "user.".utf8) && !exception.withUTF8Buffer { name.elementsEqual($0) }
    }
}
