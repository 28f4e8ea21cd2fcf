import Foundation
import SystemIO
import TestSupport
import Testing

/// Rows of the requirements about the project itself, each named by its number.
struct ProjectRowTests {
    private static let root = Machine.projectPath

    private static func read(_ path: String) throws -> String {
        String(decoding: try FileSystem.readFile("\(root)/\(path)"), as: UTF8.self)
    }

    @Test func `ARC-03: every Swift target is built in Swift 6 mode`() throws {
        let text = try Self.read("Package.swift")
        #expect(text.contains("let settings: [SwiftSetting] =\n    [.swiftLanguageMode(.v6)]"))
        #expect(text.contains("let hotSettings = settings + ["))
        let targets = text.matches(of: /\.(?:target|executableTarget|testTarget)\(/).count
        // Five are in C, and the fuzzer's has flags of its own.
        #expect(text.contains("swiftSettings: [.swiftLanguageMode(.v6)]"))
        #expect(targets > 20 && text.matches(of: /swiftSettings: (settings|hotSettings)\b/).count == targets - 6)
    }

    /// The lower of two parts knows nothing of the upper one, and the tree nothing of the apps.
    @Test func `ARC-08: each part imports only those below it`() throws {
        let order = [
            "BackupCore", "SystemIO", "PhotoData", "ObjectStorage", "SQLite", "BackupRepository", "AppData", "Formats",
            "SnapshotFormats",
            "Restore",
            "Operations",
            "VirtualTree", "FUSEBridge", "BackupCommands", "backupfs",
        ]
        for (place, part) in order.enumerated() {
            let allowed =
                ["VirtualTree", "FUSEBridge"].contains(part)
                ? ["BackupCore", "SystemIO", "BackupRepository", "SnapshotFormats", "VirtualTree"] : Array(order[..<place])
            let imports = try run([
                "grep", "-rhoE", "--include=*.swift", "^(package |internal )?import [A-Za-z]+", "\(Self.root)/Sources/\(part)",
            ])
            let names = Set(imports.output.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) })
            #expect(part == "BackupCore" || !names.isEmpty)
            #expect(names.intersection(order).subtracting(allowed).isEmpty, "\(part): \(names)")
        }
    }

    @Test func `ZIP-04: no library packs or unpacks archives`() throws {
        let packages = try Self.read("Package.swift").matches(of: /package\(url: "https:\/\/github.com\/([^"]+)"/).map {
            String($0.1)
        }
        #expect(packages == ["apple/swift-argument-parser", "jpsim/Yams"])
    }

    @Test func `FEV-13: the schema version of the charging tracker stands in one place`() throws {
        let text = try Self.read("Sources/AppData/Resources/ev-charging-tracker.yaml")
        #expect(text.matches(of: /(?m)^schemaVersion: "1"$/).count == 1)
        #expect(text.matches(of: /(?m)^\s*schemaVersion:/).count == 1)
    }

    /// Copies of the units run without new privileges. Only ObjectStorage, for remotes, has code that connects to a network;
    /// WebServer, a program of its own that is started for it, listens.
    @Test func `SEC-05, SEC-06: nothing leaves the machine, and exports are encrypted by a tool of the user's`() throws {
        #expect(try Self.read("Docs/how-to/share-data.md").contains("gpg"))
        for unit in ["backupfs@.service", "backupfs-backup@.service"] {
            #expect(try Self.read("mount-scripts/systemd/system/\(unit)").contains("\nNoNewPrivileges=yes\n"), "\(unit)")
        }
        let found = try run([
            "grep", "-rnE", "--include=*.swift", "FoundationNetworking|URLSession|AF_INET|getaddrinfo|import CCurl",
            "--exclude-dir=ObjectStorage", "--exclude-dir=WebServer", "\(Self.root)/Sources",
        ])
        #expect(found.status == 1 && found.output.isEmpty, "\(found.output)")
        let connecting = try run([
            "grep", "-rnE", "connect\\(|sendto\\(", "\(Self.root)/Sources/WebServer", "\(Self.root)/Sources/CMicroHTTPD",
        ])
        #expect(connecting.status == 1 && connecting.output.isEmpty, "\(connecting.output)")
    }

    @Test(arguments: [
        ("NON-01", "Haptic feedback"), ("NON-02", "Symbols for export"), ("NON-03", "A standard progress indicator"),
        ("NON-04", "A share sheet that opens as a popover"), ("NON-05", "A request for access to the photo library"),
        ("NON-06", "A document picker"), ("NON-07", "Screens: "), ("NON-08", "A file importer, capabilities"),
        ("NON-09", "Estimates of how many files"), ("NON-10", "Tests on physical devices"),
        ("PER-01", "A new record is written in 10 ms"), ("SCH-05", "The identifier `com.yourapp.daily-backup`"),
        ("EXP-12", "Temporary exports that carry a mark"),
    ])
    func `NON-01 to NON-10: what has no counterpart on Linux is named, with what serves instead`(row: String, start: String)
        throws
    {
        let page = try Self.read("Docs/explanation/no-counterpart.md")
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("| \(start)") }
        #expect(lines.count == 1, "\(row)")
        #expect(lines.first?.split(separator: "|").last { !$0.allSatisfy(\.isWhitespace) }?.count ?? 0 > 10, "\(row)")
    }
}
