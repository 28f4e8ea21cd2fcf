/// The stored form of a list of dates: a JSON array of texts without escapes, `["2026-01-11T14:30:00Z"]`.
public enum DateList {
    /// - Returns: the texts, which need not be dates; `nil` when it is not such an array.
    public static func texts(_ bytes: UnsafeRawBufferPointer) -> [ArraySlice<UInt8>]? {
        let bytes = Array(bytes)
        var index = 0
        func skipSpace() {
            while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        }
        func take(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
            index += 1
            return true
        }
        func end(_ texts: [ArraySlice<UInt8>]) -> [ArraySlice<UInt8>]? {
            skipSpace()
            return index == bytes.count ? texts : nil
        }
        guard take("[") else { return nil }
        var texts: [ArraySlice<UInt8>] = []
        if take("]") { return end(texts) }
        repeat {
            guard take("\""), let close = bytes[index...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
            let text = bytes[index..<close]
            guard !text.contains(UInt8(ascii: "\\")) else { return nil }
            texts.append(text)
            index = close + 1
        } while take(",")
        return take("]") ? end(texts) : nil
    }

    /// - Parameter texts: dates, which need no escapes.
    public static func joined(_ texts: [String]) -> String {
        "[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }
}
