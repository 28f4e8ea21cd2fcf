/// What was found wrong in one run.
final class Complaints {
    private(set) var texts: [String] = []

    func expect(_ condition: Bool, _ comment: @autoclosure () -> String) {
        if !condition { texts.append(comment()) }
    }
}
