import BackupCore
import Formats
import SystemIO

/// An archive as a program reads it that knows nothing of a central directory: one entry after the other from its front.
enum FrontReading {
    /// - Throws: `FuzzViolation` when that finds something else than what is given.
    static func require(_ bytes: [UInt8], _ entries: [ArchiveEntry], _ contents: [[UInt8]]) throws {
        var expected: [[UInt8]: [UInt8]] = [:]
        for (entry, content) in zip(entries, contents) { expected[entry.path] = content }
        var position = 0
        while number(bytes, position, 4) == 0x0403_4B50 {
            let isStreamed = number(bytes, position + 6, 2) & 8 != 0
            let isDeflated = number(bytes, position + 8, 2) == 8
            let nameEnd = position + 30 + number(bytes, position + 26, 2)
            let name = Array(bytes[(position + 30)..<nameEnd])
            let start = nameEnd + number(bytes, position + 28, 2)
            guard let content = expected.removeValue(forKey: name), let entry = entries.first(where: { $0.path == name }) else {
                throw FuzzViolation("from the front there is an entry that the directory does not have")
            }
            var count = number(bytes, position + 18, 4)
            if count == 0xFFFF_FFFF { count = Int(entry.compressedSize) }
            if isDeflated {
                let (found, length) = expand(bytes[start...])
                try FuzzViolation.require(found == content, "from the front an entry has another content")
                try FuzzViolation.require(isStreamed || length == count, "from the front an entry has another length")
                count = length
            } else if isStreamed {
                // Nothing says how long it is.
                count = Int(entry.compressedSize)
            }
            if !isDeflated { try FuzzViolation.require(bytes[start..<start + count].elementsEqual(content), "another content") }
            position = start + count
            if isStreamed { position = try descriptorEnd(bytes, position) }
        }
        try FuzzViolation.require(expected.isEmpty, "from the front \(expected.count) entries are missing")
    }

    /// Of the four forms the one that something known follows.
    private static func descriptorEnd(_ bytes: [UInt8], _ position: Int) throws -> Int {
        for count in [16, 24, 12, 20] where position + count + 4 <= bytes.count {
            if [0x0403_4B50, 0x0201_4B50].contains(number(bytes, position + count, 4)) { return position + count }
        }
        throw FuzzViolation("from the front no entry follows a descriptor")
    }

    private static func expand(_ input: ArraySlice<UInt8>) -> (content: [UInt8], count: Int) {
        var inflater = Inflater()
        var content: [UInt8] = []
        var count = 0
        var output = [UInt8](repeating: 0, count: 64 << 10)
        input.withUnsafeBytes { input in
            while true {
                let step = output.withUnsafeMutableBytes {
                    inflater.step(input: UnsafeRawBufferPointer(rebasing: input[count...]), output: $0)
                }
                guard let step else { return }
                count += step.inputCount
                content += output[..<step.outputCount]
                if step.isFinished || step.inputCount == 0 && step.outputCount == 0 { return }
            }
        }
        return (content, count)
    }

    private static func number(_ bytes: [UInt8], _ position: Int, _ count: Int) -> Int {
        guard position + count <= bytes.count else { return 0 }
        return bytes[position..<position + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
