import Glibc

/// Arguments as C takes them.
enum CStrings {
    /// - Parameter body: gets an array that ends with a null pointer and is valid only while it runs.
    static func with<Result>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        pointers.append(nil)
        return body(pointers)
    }
}
