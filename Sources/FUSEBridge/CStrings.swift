import Glibc

/// Arguments in C's form.
enum CStrings {
    /// - Parameter body: gets an array that ends with a null pointer and is valid only during the call.
    static func with<Result>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        pointers.append(nil)
        return body(pointers)
    }
}
