import ArgumentParser

/// How much a command prints besides its result.
enum Verbosity: Sendable { case quiet, normal, verbose }

struct VerbosityOptions: ParsableArguments {
    @Flag(name: [.short, .long], help: "Print only errors and warnings.")
    var quiet = false
    @Flag(name: [.short, .long], help: "Report each step immediately, also without a terminal.")
    var verbose = false

    init() {}

    func validate() throws {
        if quiet, verbose { throw ValidationError("Choose one of --quiet and --verbose.") }
        if quiet { Terminal.verbosity = .quiet }
        if verbose { Terminal.verbosity = .verbose }
    }
}
