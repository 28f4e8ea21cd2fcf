import AppData
import ArgumentParser
import BackupCore
import Formats
import Operations

struct AppCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Report all errors in app definitions.",
        discussion: """
            Names file, line and remedy of each problem, and then ends with exit code 1. With --database also what the definition names \
            and the database does not have, and the rows that could be backed up and not be restored. Nothing is changed.

            Example:
              backupfs app check my-app.yaml
              backupfs app check my-app.yaml --database my-app.sqlite
            """)

    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Definitions' files.", valueName: "file"), completion: .file())
    var files: [String]
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A database of the app: has it the tables and columns that the definition names, and values as it says?",
            valueName: "file"),
        completion: .file())
    var database: String?

    func validate() throws {
        if database != nil, files.count > 1 { throw ValidationError("--database is for one definition at a time.") }
    }

    func run() throws {
        var problemCount = 0
        for file in files {
            do throws(BackupError) {
                problemCount += try check(file)
            } catch {
                // Check the others anyway.
                problemCount += 1
                report(unreadable: error)
            }
        }
        guard problemCount == 0 else {
            throw BackupError(
                .invalidContent, problemCount == 1 ? "there is 1 problem" : "there are \(problemCount) problems",
                remedy: "Correct the definition, and check it again.")
        }
    }

    /// - Returns: the number of problems.
    private func check(_ file: String) throws(BackupError) -> Int {
        let check = try AppDefinitionSource.file(file).check()
        let fit = try database.map { path throws(BackupError) in try SchemaDifference(of: check.tables, with: path) }
        return report(file, check, fit, rows: try rowProblems(check, fit))
    }

    /// As many as the validator of a restore collects.
    private func rowProblems(_ check: DefinitionCheck, _ fit: SchemaDifference?) throws(BackupError) -> [DefinitionProblem] {
        guard let database, let definition = check.definition, check.problems.isEmpty, fit?.problems.isEmpty == true else {
            return []
        }
        return try AppDatabase(at: database, definition: definition).rowProblems().map {
            DefinitionProblem(
                line: 1, message: "no restore would take this: \($0)",
                remedy: "Correct the row, or describe the field in another way (type, nullable, values).")
        }
    }

    private func report(unreadable error: BackupError) {
        guard output.json else { return Terminal.write(error.summary) }
        say(
            [
                "message_type": "problem", "file": error.path, "line": OrderedJSON.null, "message": error.message,
                "remedy": error.remedy,
            ])
    }

    private func report(
        _ file: String, _ check: DefinitionCheck, _ fit: SchemaDifference?, rows: [DefinitionProblem]
    ) -> Int {
        let problems = check.problems + (fit?.problems ?? []) + rows
        let warnings = check.warnings + (fit?.warnings ?? [])
        if output.json {
            for problem in problems { say(json("problem", file, problem)) }
            for warning in warnings { say(json("warning", file, warning)) }
            say(summary(file, check, problems.count, warnings.count, fit))
        } else {
            for problem in problems { Terminal.write("\(file):\(problem.line): \(problem.message). \(problem.remedy)") }
            for warning in warnings { Terminal.write("\(file):\(warning.line): warning: \(warning.message). \(warning.remedy)") }
            if let tables = fit?.unmentionedTables, !tables.isEmpty {
                Terminal.write(
                    "\(file): tables of the database that the definition does not mention: \(tables.joined(separator: ", "))")
            }
            if problems.isEmpty { Terminal.write("\(file): no problems") }
        }
        return problems.count
    }

    // MARK: JSON

    private func say(_ document: OrderedJSON) { Terminal.write(jsonLine: document) }

    private func json(_ type: String, _ file: String, _ problem: DefinitionProblem) -> OrderedJSON {
        [
            "message_type": type, "file": file, "line": problem.line, "message": problem.message, "remedy": problem.remedy,
        ]
    }

    private func summary(
        _ file: String, _ check: DefinitionCheck, _ problemCount: Int, _ warningCount: Int, _ fit: SchemaDifference?
    ) -> OrderedJSON {
        [
            "message_type": "summary", "file": file, "name": check.definition?.name, "sound": problemCount == 0,
            "problems": problemCount, "warnings": warningCount,
            "unmentioned_tables": fit?.unmentionedTables,
        ]
    }
}
