import ArgumentParser

/// How a verb prints.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print JSON for programs.")
    var json = false

    init() {}
}
