extension Message {
    /// Collects the parts of a string literal: the text becomes the template, the values its arguments.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        var template = ""
        var arguments: [Argument] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            template.reserveCapacity(literalCapacity + interpolationCount * 3)
            arguments.reserveCapacity(interpolationCount)
        }

        public mutating func appendLiteral(_ literal: String) { template += MessageTemplate.escaped(literal) }

        public mutating func appendInterpolation(_ message: Message) { append(.message(message)) }

        public mutating func appendInterpolation(_ error: BackupError) { append(.message(error.summary)) }

        /// An error of another program or library, in English.
        @_disfavoredOverload
        public mutating func appendInterpolation(_ error: any Error) { append(.text("\(error)")) }

        public mutating func appendInterpolation(_ text: String) { append(.text(text)) }

        /// Shown as its `description`, in all languages.
        public mutating func appendInterpolation<Value: CustomStringConvertible>(_ value: Value) {
            append(.text(value.description))
        }

        private mutating func append(_ argument: Argument) {
            template += "{\(arguments.count)}"
            arguments.append(argument)
        }
    }
}
