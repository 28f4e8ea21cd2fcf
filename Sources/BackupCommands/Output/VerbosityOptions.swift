import ArgumentParser

/// How much a command prints besides its result.
enum Verbosity: Sendable { case quiet, normal, verbose }

struct VerbosityOptions: ParsableArguments {
    @Flag(name: [.short, .long], help: "Say nothing of what was done, and show no progress; errors and warnings are told.")
    var quiet = false
    @Flag(name: [.short, .long], help: "Tell of each step at once, also where there is no terminal.")
    var verbose = false

    init() {}

    func validate() throws {
        if quiet, verbose { throw ValidationError("Choose one of --quiet and --verbose.") }
        if quiet { Terminal.verbosity = .quiet }
        if verbose { Terminal.verbosity = .verbose }
    }
}
