/// The headers that have the metadata of an object.
extension ObjectMetadata {
    private static let headerPrefix = "x-amz-meta-"

    var header: HTTPHeader { HTTPHeader(Self.headerPrefix + name, Self.encoded(value)) }

    /// - Returns: `nil` for a header that is no such value.
    init?(_ header: HTTPHeader) {
        let name = header.name.lowercased()
        guard name.hasPrefix(Self.headerPrefix), name != S3Storage.Writing.markHeader else { return nil }
        self.init(String(name.dropFirst(Self.headerPrefix.utf8.count)), Self.decoded(header.value))
    }
}
