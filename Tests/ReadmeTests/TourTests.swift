import TestSupport
import Testing

/// What the documents show is what comes out.
@Suite(.serialized, .disabled(if: Machine.skipsMountedTests)) struct TourTests {
    @Test func `the tour of the readme gives exactly what it shows`() throws {
        try Walkthrough.use { walkthrough in
            try walkthrough.mountAsMakeDoes()
            try walkthrough.run(Document(path: "\(Machine.projectPath)/README.md"))
            try walkthrough.unmountAsMakeDoes()
        }
    }

    @Test func `the tutorial gives exactly what it shows`() throws {
        try Walkthrough.use { walkthrough in
            try walkthrough.run(Document(path: "\(Machine.projectPath)/Docs/tutorial.md"))
        }
    }

    @Test(arguments: [
        "describe-an-app", "describe-exports", "describe-media", "recover", "copy-backups", "copy-and-verify", "remotes",
        "devices",
    ])
    func `what a how-to page shows comes out`(page: String) throws {
        try Walkthrough.use { walkthrough in
            try walkthrough.run(Document(path: "\(Machine.projectPath)/Docs/how-to/\(page).md"))
        }
    }
}
