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

    @Test func `what the page of app definitions shows comes out`() throws {
        try Walkthrough.use { walkthrough in
            try walkthrough.run(Document(path: "\(Machine.projectPath)/Docs/how-to/describe-an-app.md"))
        }
    }

    @Test func `the way back after a disaster is as shown`() throws {
        try Walkthrough.use { walkthrough in
            try walkthrough.run(Document(path: "\(Machine.projectPath)/Docs/how-to/recover.md"))
        }
    }

    @Test func `the guide's app with photos works as shown`() throws {
        try Walkthrough.use { walkthrough in
            try walkthrough.run(Document(path: "\(Machine.projectPath)/Docs/guide.md"))
        }
    }
}
