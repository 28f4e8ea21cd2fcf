import Glibc

/// The library that stands between the program under test and libc.
public enum FaultLayer {
    private static let fileName = "libFaultLayer.so"

    /// Built beside the tests, wherever the program under test lies.
    public static func libraryPath() throws -> String {
        let own = Machine.linkTarget("/proc/self/exe") ?? ""
        let folder = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
        let candidates = ["\(folder)/\(fileName)", "\(Machine.projectPath)/.build/debug/\(fileName)"]
        guard let found = candidates.first(where: { access($0, R_OK) == 0 }) else {
            throw Machine.Unusable("the fault layer is not there: \(candidates.joined(separator: ", "))")
        }
        return found
    }

    /// - Parameters:
    ///   - folder: calls that change something below it count.
    ///   - plan: nothing goes wrong without it, and all calls are logged.
    public static func environment(
        folder: String, logPath: String, plan: (any CustomStringConvertible)? = nil
    ) throws -> [String: String] {
        var variables = ["LD_PRELOAD": try libraryPath(), "FAULT_LAYER_FOLDER": folder, "FAULT_LAYER_LOG": logPath]
        variables["FAULT_LAYER_FAULT"] = plan?.description
        return variables
    }
}
