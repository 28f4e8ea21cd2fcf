import Glibc

// The C library's functions, so that nothing is compared with the results of our own code.

public func readFile(_ path: String) throws(Machine.Unusable) -> [UInt8] {
    guard let file = fopen(path, "re") else { throw Machine.Unusable("could not read \(path)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        if count == 0 { return bytes }
        bytes += buffer[..<count]
    }
}

public func writeFile(_ path: String, _ bytes: [UInt8]) throws(Machine.Unusable) {
    guard let file = fopen(path, "we") else { throw Machine.Unusable("could not write \(path)") }
    let count = fwrite(bytes, 1, bytes.count, file)
    guard fclose(file) == 0, count == bytes.count else { throw Machine.Unusable("could not write \(path)") }
}

/// Whether two parts of memory have the same bytes. In a build that is not optimised, `==` of arrays compares one element after
/// the other by calls, which takes many times as long.
public func haveSameBytes(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
    guard first.count == second.count else { return false }
    return first.withUnsafeBytes { one in
        second.withUnsafeBytes { other in
            guard let one = one.baseAddress, let other = other.baseAddress else { return true }
            return memcmp(one, other, first.count) == 0
        }
    }
}
