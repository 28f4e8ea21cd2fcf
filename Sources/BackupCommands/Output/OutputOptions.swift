import ArgumentParser

/// Output options of a verb.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print JSON for programs.")
    var json = false

    init() {}
}
