/// The program's version, in `--version`, manifests and reports.
enum ProgramVersion {
    static let text = "0.1.0"
}
