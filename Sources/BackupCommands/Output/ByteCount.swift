/// Formats sizes for display, in powers of 1,024 as in `ls -h`.
enum ByteCount {
    static func text(_ count: UInt64) -> String {
        if count < 1_024 { return "\(count) B" }
        // Not `count * 10`: a damaged record can claim any size.
        var tenths = count / 1_024 * 10 + count % 1_024 * 10 / 1_024
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        while tenths >= 10_240, unit < units.count - 1 {
            tenths /= 1_024
            unit += 1
        }
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
