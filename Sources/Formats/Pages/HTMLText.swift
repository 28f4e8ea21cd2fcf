import BackupCore
import SystemIO

/// Pieces of HTML files that need nothing else: no other file, no network, and no script but their own.
public enum HTMLText {
    /// Nothing is loaded but the pictures in the page, and its own style.
    private static let policy = "default-src 'none'; base-uri 'none'; form-action 'none';"

    /// The beginning of a file, up to the body.
    /// - Parameters:
    ///   - language: as in the attribute `lang`.
    ///   - style: CSS without links to anything, and without `</style>`.
    ///   - script: JavaScript without `</script>`; the browser runs no other. `nil` for a page without any.
    ///   - showsPictures: whether the page shows pictures of files beside it. A page that was opened from a disk has no origin
    ///     that `'self'` could stand for.
    public static func head(
        title: String, language: String, style: String, script: String? = nil, showsPictures: Bool = false
    ) -> String {
        func hash(_ text: String) -> String {
            "'sha256-\(SHA256Hasher.hash(Array(text.utf8)).withUnsafeBytes { Base64.encode($0) })'"
        }
        let scripts = script.map { " script-src \(hash($0));" } ?? ""
        let images = showsPictures ? "img-src 'self' file:" : "img-src data:"
        return """
            <!DOCTYPE html>
            <html lang="\(language)">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy) \(images);\(scripts) style-src \(hash(style))">
            <meta name="referrer" content="no-referrer">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="generator" content="backupfs">
            <title>\(escaped(title))</title>
            <style>\(style)</style>
            \(script.map { "<script>\($0)</script>\n" } ?? "")</head>

            """
    }

    /// For texts and for values in double quotes.
    public static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): result += Array("&amp;".utf8)
            case UInt8(ascii: "<"): result += Array("&lt;".utf8)
            case UInt8(ascii: ">"): result += Array("&gt;".utf8)
            case UInt8(ascii: "\""): result += Array("&quot;".utf8)
            case UInt8(ascii: "'"): result += Array("&#39;".utf8)
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
