/// A reader did what it must not do, whatever the input is.
public struct FuzzViolation: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }

    static func require(_ isFine: Bool, _ description: @autoclosure () -> String) throws {
        if !isFine { throw FuzzViolation(description()) }
    }
}
