import BackupCore
import SystemIO
import TestSupport

/// One entry of a `CraftedZIP`.
///
/// Its description: a byte of traits, a byte with the number of things that are wrong (0 to 3 in the lower bits, so that most
/// archives are whole) and for each of them a byte and a number of 32 bits; a byte and the name; 16 bits and the content.
struct CraftedEntry {
    private struct Traits: OptionSet {
        let rawValue: UInt8
        static let deflated = Traits(rawValue: 1)
        /// Sizes and CRC behind the data.
        static let streamed = Traits(rawValue: 2)
        static let longDescriptor = Traits(rawValue: 4)
        static let unsignedDescriptor = Traits(rawValue: 8)
        static let utf8 = Traits(rawValue: 16)
        static let link = Traits(rawValue: 32)
        /// Sizes in a ZIP64 field.
        static let large = Traits(rawValue: 64)
        /// The content is what stands in the archive, be it DEFLATE or not.
        static let raw = Traits(rawValue: 128)
    }

    /// What can be wrong, in one header or in both.
    private enum Fault: UInt8, CaseIterable {
        case flags, method, crc, compressedSize, size, attributes, host, disk, offset, nameLength
        case localFlags, localMethod, localCRC, localCompressedSize, localSize, localName
        case extra, localExtra, gap, tail
    }

    let name: [UInt8]
    var content: [UInt8]
    private let traits: Traits
    private var faults: [(fault: Fault, value: UInt32)] = []

    init(_ feed: inout FuzzFeed) {
        traits = Traits(rawValue: feed.byte())
        let faultByte = feed.byte()
        for _ in 0..<(faultByte & 0x0F == 0x0F ? 3 : faultByte & 3) {
            let fault = Fault.allCases[Int(feed.byte()) % Fault.allCases.count]
            faults.append((fault, feed.number32()))
        }
        let nameCount = Int(feed.byte())
        name = feed.bytes(nameCount)
        let contentCount = Int(feed.number16())
        content = feed.bytes(contentCount)
    }

    private func value<Number: FixedWidthInteger>(_ usual: Number, _ possible: Fault...) -> Number {
        faults.last { possible.contains($0.fault) }.map { Number(truncatingIfNeeded: $0.value) } ?? usual
    }

    private func fieldBytes(_ possible: Fault) -> [UInt8] {
        faults.filter { $0.fault == possible }.flatMap { fault in
            // Its identifier and its length, or anything else that four bytes can be.
            withUnsafeBytes(of: fault.value.littleEndian) { Array($0) }
        }
    }

    /// - Returns: what stands at `offset`, and its record in the central directory.
    func encoded(at offset: UInt64) -> (local: [UInt8], record: [UInt8]) {
        let stored = packed()
        let plain = traits.contains(.raw) ? expanded(stored) : content
        let crc = CRC32.of(plain)
        let isStreamed = traits.contains(.streamed)
        let flags: UInt16 = (isStreamed ? 1 << 3 : 0) | (traits.contains(.utf8) ? 1 << 11 : 0)
        let method: UInt16 = traits.contains(.deflated) ? 8 : 0
        let isLarge = traits.contains(.large)
        let gap = fieldBytes(.gap)

        var local = ByteWriter()
        local.append(raw: gap)
        local.append(0x0403_4B50 as UInt32)
        local.append(20 as UInt16)
        local.append(value(flags, .flags, .localFlags))
        local.append(value(method, .method, .localMethod))
        local.append(0x5C2B_6000 as UInt32)
        local.append(value(isStreamed ? 0 : crc, .crc, .localCRC))
        let localSizes: [UInt64] = isStreamed ? [0, 0] : [UInt64(plain.count), UInt64(stored.count)]
        appendSizes(
            &local, value(localSizes[1], .compressedSize, .localCompressedSize), value(localSizes[0], .size, .localSize),
            isLarge: isLarge)
        var localName = name
        if let letter = faults.first(where: { $0.fault == .localName })?.value, !localName.isEmpty {
            localName[localName.count - 1] = UInt8(truncatingIfNeeded: letter)
        }
        let localExtra = (isLarge ? field64(localSizes) : []) + fieldBytes(.localExtra)
        local.append(value(UInt16(localName.count), .nameLength))
        local.append(UInt16(localExtra.count))
        local.append(raw: localName + localExtra + stored)
        if isStreamed { appendDescriptor(&local, crc, stored.count, plain.count) }
        local.append(raw: fieldBytes(.tail))

        var record = ByteWriter()
        record.append(0x0201_4B50 as UInt32)
        record.append(value(3 as UInt16, .host) << 8 | 30)
        record.append(20 as UInt16)
        record.append(value(flags, .flags))
        record.append(value(method, .method))
        record.append(0x5C2B_6000 as UInt32)
        record.append(value(crc, .crc))
        appendSizes(
            &record, value(UInt64(stored.count), .compressedSize), value(UInt64(plain.count), .size), isLarge: isLarge)
        let extra = (isLarge ? field64([UInt64(plain.count), UInt64(stored.count)]) : []) + fieldBytes(.extra)
        record.append(UInt16(name.count))
        record.append(UInt16(extra.count))
        record.append(0 as UInt16)
        record.append(value(0 as UInt16, .disk))
        record.append(0 as UInt16)
        record.append(value(mode << 16, .attributes))
        record.append(value(UInt32(truncatingIfNeeded: offset) + UInt32(gap.count), .offset))
        record.append(raw: name + extra)
        return (local.bytes, record.bytes)
    }

    private var mode: UInt32 {
        if traits.contains(.link) { return 0o120777 }
        return name.last == UInt8(ascii: "/") ? 0o040755 : 0o100644
    }

    private func packed() -> [UInt8] {
        guard traits.contains(.deflated), !traits.contains(.raw) else { return content }
        var output: [UInt8] = []
        var deflater = Deflater(level: 6)
        content.withUnsafeBytes { deflater.compress($0, into: &output) }
        // The empty final block.
        return output + [3, 0]
    }

    /// What DEFLATE makes of it, as far as that goes.
    private func expanded(_ stored: [UInt8]) -> [UInt8] {
        guard traits.contains(.deflated) else { return stored }
        var output = [UInt8](repeating: 0, count: 1 << 20)
        var inflater = Inflater()
        let count = stored.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { inflater.step(input: input, output: $0)?.outputCount ?? 0 }
        }
        return Array(output[..<count])
    }

    private func appendSizes(_ writer: inout ByteWriter, _ compressedSize: UInt64, _ size: UInt64, isLarge: Bool) {
        writer.append(isLarge ? 0xFFFF_FFFF : UInt32(truncatingIfNeeded: compressedSize))
        writer.append(isLarge ? 0xFFFF_FFFF : UInt32(truncatingIfNeeded: size))
    }

    private func field64(_ sizes: [UInt64]) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(1 as UInt16)
        writer.append(16 as UInt16)
        for size in sizes { writer.append(size) }
        return writer.bytes
    }

    private func appendDescriptor(_ writer: inout ByteWriter, _ crc: UInt32, _ compressedSize: Int, _ size: Int) {
        if !traits.contains(.unsignedDescriptor) { writer.append(0x0807_4B50 as UInt32) }
        writer.append(crc)
        for number in [compressedSize, size] {
            if traits.contains(.longDescriptor) { writer.append(UInt64(number)) } else { writer.append(UInt32(number)) }
        }
    }
}
