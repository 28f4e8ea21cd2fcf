import COpenSSL

/// Base64 (RFC 4648, section 4: the alphabet with `+` and `/`, padded).
public enum Base64 {
    /// The padded text, without line breaks.
    public static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return "" }
        // Four characters per three bytes, and a zero byte that OpenSSL appends.
        let count = (bytes.count + 2) / 3 * 4
        let text = [UInt8](unsafeUninitializedCapacity: count + 1) { buffer, filled in
            filled = Int(EVP_EncodeBlock(buffer.baseAddress, start, Int32(bytes.count)))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: `nil` for anything that `encode` does not write: spaces, missing padding, nonzero unused bits.
    public static func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count.isMultiple(of: 4), text.count <= Int(Int32.max) else { return nil }
        if text.isEmpty { return [] }
        // OpenSSL skips white space at either end.
        let isWordOnly = text.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122, 43, 47, 61: true
            default: false
            }
        }
        guard isWordOnly else { return nil }
        var bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { buffer, filled in
            filled = max(0, Int(EVP_DecodeBlock(buffer.baseAddress, text, Int32(text.count))))
        }
        bytes.removeLast(min(bytes.count, text.suffix(2).count { $0 == UInt8(ascii: "=") }))
        return bytes.withUnsafeBytes { encode($0) }.utf8.elementsEqual(text) ? bytes : nil
    }
}
