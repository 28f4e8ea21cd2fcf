import BackupCore
import SystemIO

/// Turns stored bytes into plain bytes.
enum ChunkDecoder {
    /// - Parameter dictionary: the last plain bytes of the base, or empty.
    /// - Returns: `nil` unless the stored bytes are DEFLATE data of exactly `plainLength` bytes.
    static func expand(_ stored: [UInt8], plainLength: Int, dictionary: [UInt8] = []) -> [UInt8]? {
        var inflater = SegmentInflater()
        var isWhole = false
        let plain = [UInt8](unsafeUninitializedCapacity: plainLength) { buffer, count in
            let output = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: plainLength)
            isWhole = stored.withUnsafeBytes { input in
                dictionary.withUnsafeBytes { inflater.expand(input, dictionary: $0, into: output) }
            }
            // A partial result is never used.
            count = isWhole ? plainLength : 0
        }
        return isWhole ? plain : nil
    }
}
