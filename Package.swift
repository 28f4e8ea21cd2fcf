// swift-tools-version:6.2
import PackageDescription

// `make check` and `make test` set BACKUPFS_STRICT so that a warning fails them, while a newer
// compiler with new warnings still builds for somebody who only wants to use the program.
let strict = Context.environment["BACKUPFS_STRICT"] == "1"
// `mount-scripts/fuzz.sh` sets BACKUPFS_FUZZ to `fuzzer` or `fuzzer,address`: our own modules then count what they reach (and notice what they
// reach beyond their memory), and there is a program that feeds them.
let sanitizers = Context.environment["BACKUPFS_FUZZ"].map { ["-sanitize=\($0)"] }
let settings: [SwiftSetting] =
    [.swiftLanguageMode(.v6)] + (strict ? [.treatAllWarnings(as: .error)] : [])
    + (sanitizers.map { [.unsafeFlags($0)] } ?? [])
// Tests spend most of their time in these, so they are optimized in debug builds, too, with their assertions.
let hotSettings = settings + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
let fuzzTargets: [Target] =
    sanitizers.map { sanitizers in
        [
            .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer"),
            .executableTarget(
                name: "FuzzDriver", dependencies: ["Fuzzing", "CLibFuzzer", "BackupCore"], path: "Tests/Fuzz/FuzzDriver",
                swiftSettings: [.swiftLanguageMode(.v6)],
                // The usual linker fails on a message of its own about the many symbols.
                linkerSettings: [.unsafeFlags(sanitizers + ["-use-ld=lld"])]),
        ]
    } ?? []

// The arrows below are the architecture (Docs/explanation/architecture.md): a target imports only what it names.
let package = Package(
    name: "backupfs",
    products: [
        .executable(name: "backupfs", targets: ["backupfs"]),
        // The helper that decodes photos and draws pages, in a process of its own. `--product backupfs` needs none of its libraries.
        .executable(name: "backupfs-media", targets: ["backupfs-media"]),
        // The helper that shows the mounted tree to browsers: it alone links libmicrohttpd.
        .executable(name: "backupfs-serve", targets: ["backupfs-serve"]),
        // For tests alone, which load it into the program (Tests/FaultLayer). `--product backupfs` does not build it.
        .library(name: "FaultLayer", type: .dynamic, targets: ["FaultLayer"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .systemLibrary(name: "CFUSE", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CISAL", pkgConfig: "libisal", providers: [.apt(["libisal-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),

        // Only backupfs-media links these.
        .systemLibrary(name: "CGExiv2", pkgConfig: "gexiv2", providers: [.apt(["libgexiv2-dev"])]),
        .systemLibrary(name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
        .systemLibrary(name: "COpenH264", pkgConfig: "openh264", providers: [.apt(["libopenh264-dev"])]),
        .systemLibrary(name: "CPango", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
        .systemLibrary(name: "CFontconfig", pkgConfig: "fontconfig", providers: [.apt(["libfontconfig-dev"])]),
        .systemLibrary(name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),

        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),

        // libcurl's headers (libcurl4-openssl-dev). The library itself is loaded when it is first used.
        .target(name: "CCurl"),
        // All calls of gexiv2, libvips, openh264, libseccomp, pango, cairo and fontconfig.
        .target(name: "CMedia", dependencies: ["CGExiv2", "CVips", "COpenH264", "CSeccomp", "CPango", "CFontconfig"]),
        // What its sandbox must refuse, for tests.
        .target(name: "CSandboxTrial"),
        // The translations, as bytes.
        .target(name: "CTranslations", exclude: ["de.po", "kk.po", "ru.po", "tr.po"]),

        .target(name: "BackupCore", swiftSettings: hotSettings),
        .target(
            name: "SystemIO",
            dependencies: ["BackupCore", "CExpat", "CISAL", "CLinux", "CTranslations", "CXXHash", "CZlib", "COpenSSL"],
            swiftSettings: hotSettings),
        // What a photo or video says of itself, and the client of the helper that reads it.
        .target(name: "PhotoData", dependencies: ["SystemIO", "BackupCore", "CLinux"], swiftSettings: settings),
        .executableTarget(
            name: "backupfs-media", dependencies: ["PhotoData", "SystemIO", "BackupCore", "CMedia", "CSandboxTrial"],
            swiftSettings: settings),
        // Objects on S3-compatible servers and in folders. All calls of libcurl.
        .target(name: "ObjectStorage", dependencies: ["SystemIO", "BackupCore", "CCurl"], swiftSettings: settings),
        // All calls of SQLite.
        .target(name: "SQLite", dependencies: ["SystemIO", "BackupCore", "CSQLite"], swiftSettings: settings),
        .target(
            name: "BackupRepository", dependencies: ["SQLite", "ObjectStorage", "SystemIO", "BackupCore"],
            swiftSettings: hotSettings),
        .target(
            name: "AppData", dependencies: ["SQLite", "SystemIO", "BackupCore", "Yams"],
            resources: [
                .embedInCode("Resources/ev-charging-tracker.yaml"), .embedInCode("Resources/keeptrack.yaml"),
                .embedInCode("Resources/smilepile.yaml"), .embedInCode("Resources/photo-library.yaml"),
                .embedInCode("Resources/app-definition.schema.json"),
            ],
            swiftSettings: settings),
        .target(name: "Formats", dependencies: ["AppData", "SystemIO", "BackupCore"], swiftSettings: settings),
        // Copies a folder to several places at once, and proves that every byte arrived.
        .target(
            name: "CopyVerify", dependencies: ["SQLite", "Formats", "PhotoData", "SystemIO", "BackupCore"],
            swiftSettings: hotSettings),
        // The changes of one app on several devices: their logs, and how they are merged.
        .target(
            name: "DeviceSync", dependencies: ["Formats", "AppData", "SQLite", "ObjectStorage", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        .target(
            name: "SnapshotFormats", dependencies: ["BackupRepository", "Formats", "AppData", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        // The photos of an app: their sidecars and thumbnails in backups, the views of them, and what is uploaded of them.
        .target(
            name: "Photos",
            dependencies: ["BackupRepository", "Formats", "PhotoData", "ObjectStorage", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        .target(
            name: "Restore",
            dependencies: ["SnapshotFormats", "BackupRepository", "AppData", "Formats", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        // The mounted tree as pages and WebDAV.
        .target(
            name: "WebServer",
            dependencies: ["Formats", "SystemIO", "BackupCore", "CMicroHTTPD"], swiftSettings: settings),
        .executableTarget(
            name: "backupfs-serve", dependencies: ["WebServer", "SystemIO", "BackupCore", "CLinux"], swiftSettings: settings),
        .target(
            name: "Operations",
            dependencies: [
                "CopyVerify", "DeviceSync", "Photos", "Restore", "SnapshotFormats", "Formats", "BackupRepository", "AppData",
                "PhotoData", "ObjectStorage", "SystemIO", "BackupCore", "Yams",
            ],
            swiftSettings: settings),
        .target(
            name: "VirtualTree",
            dependencies: ["SnapshotFormats", "Photos", "CopyVerify", "BackupRepository", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        .target(name: "FUSEBridge", dependencies: ["VirtualTree", "CFUSE", "SystemIO", "BackupCore"], swiftSettings: settings),
        .target(
            name: "BackupCommands",
            dependencies: [
                "FUSEBridge", "VirtualTree", "Operations", "DeviceSync", "Photos", "Restore", "SnapshotFormats", "CopyVerify",
                "Formats", "BackupRepository", "AppData", "PhotoData", "SystemIO", "BackupCore",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        .executableTarget(name: "backupfs", dependencies: ["BackupCommands"], swiftSettings: settings),

        // What the tests of several targets need. Without Foundation: in a test that sees it, `contains("")` is false.
        .target(
            name: "TestSupport", dependencies: ["CLinux", "CZlib", "SystemIO", "BackupCore"], path: "Tests/TestSupport",
            swiftSettings: settings),
        // An object storage in memory with a bad network, for the tests of whatever uses one.
        .target(
            name: "StorageSimulation", dependencies: ["TestSupport", "ObjectStorage", "SystemIO", "BackupCore"],
            path: "Tests/StorageSimulation", swiftSettings: settings),
        // What the fuzzer does with one input; the tests do it with every input that was kept.
        .target(
            name: "Fuzzing",
            dependencies: [
                "TestSupport", "Operations", "Restore", "BackupRepository", "AppData", "Formats", "PhotoData", "SystemIO",
                "BackupCore",
            ],
            path: "Tests/Fuzz/Fuzzing", swiftSettings: settings),
        .testTarget(
            name: "FuzzTests", dependencies: ["TestSupport", "Fuzzing", "SystemIO", "BackupCore"], path: "Tests/Fuzz/FuzzTests",
            swiftSettings: settings),
        .target(name: "FaultLayer", path: "Tests/FaultLayer"),
        .testTarget(
            name: "CrashMatrixTests", dependencies: ["TestSupport", "SystemIO", "BackupCore", "CSQLite", "backupfs"],
            swiftSettings: settings),
        // Runs as long as `make soak MINUTES=…` says; otherwise only its measures are tested.
        .testTarget(
            name: "SoakTests", dependencies: ["TestSupport", "SystemIO", "BackupCore", "backupfs"], swiftSettings: settings),
        .testTarget(
            name: "BackupRepositoryTests",
            dependencies: ["TestSupport", "StorageSimulation", "BackupRepository", "ObjectStorage", "SystemIO", "BackupCore"],
            exclude: ["Fixtures"],
            swiftSettings: settings),
        .testTarget(
            name: "AppDataTests", dependencies: ["TestSupport", "AppData", "SystemIO", "BackupCore"], swiftSettings: settings),
        .testTarget(
            name: "CopyVerifyTests",
            dependencies: ["TestSupport", "CopyVerify", "Formats", "SystemIO", "BackupCore", "backupfs", "backupfs-media"],
            exclude: ["Schemas"],
            swiftSettings: settings),
        .testTarget(
            name: "DeviceSyncTests",
            dependencies: [
                "StorageSimulation", "TestSupport", "DeviceSync", "AppData", "ObjectStorage", "SystemIO", "BackupCore",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FormatsTests", dependencies: ["TestSupport", "Formats", "AppData", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        .testTarget(
            name: "FUSEBridgeTests", dependencies: ["TestSupport", "FUSEBridge", "VirtualTree", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        .testTarget(
            name: "MountTests", dependencies: ["TestSupport", "SystemIO", "BackupCore", "backupfs-serve"], swiftSettings: settings
        ),
        .testTarget(
            name: "WebServerTests", dependencies: ["TestSupport", "WebServer", "SystemIO", "BackupCore"], swiftSettings: settings),
        .testTarget(
            name: "ReadmeTests", dependencies: ["TestSupport", "SystemIO", "BackupCore"], swiftSettings: settings),
        .testTarget(name: "BackupCoreTests", dependencies: ["TestSupport", "BackupCore"], swiftSettings: settings),
        .testTarget(
            name: "PhotoDataTests",
            dependencies: ["TestSupport", "PhotoData", "SystemIO", "BackupCore", "CSandboxTrial", "backupfs", "backupfs-media"],
            exclude: ["Clips", "Hostile"],
            swiftSettings: settings),
        .testTarget(
            name: "PhotosTests",
            dependencies: [
                "TestSupport", "StorageSimulation", "Photos", "PhotoData", "ObjectStorage", "Formats", "SystemIO", "BackupCore",
                "backupfs", "backupfs-media",
            ],
            swiftSettings: settings),
        .testTarget(name: "SystemIOTests", dependencies: ["TestSupport", "SystemIO", "BackupCore"], swiftSettings: settings),
        .testTarget(
            name: "ObjectStorageTests",
            dependencies: ["StorageSimulation", "TestSupport", "ObjectStorage", "SystemIO", "BackupCore"],
            swiftSettings: settings),
        .testTarget(
            name: "OperationsTests",
            dependencies: [
                "TestSupport", "Operations", "Restore", "SnapshotFormats", "BackupRepository", "ObjectStorage", "AppData",
                "Formats", "Photos", "SystemIO", "BackupCore", "backupfs",
            ],
            exclude: [
                "Generated/change_database.py", "Generated/describe_database.py", "Generated/generate_database.py",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "VirtualTreeTests",
            dependencies: [
                "TestSupport", "VirtualTree", "SnapshotFormats", "BackupRepository", "ObjectStorage", "Formats", "Photos",
                "CopyVerify", "SystemIO", "BackupCore",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RestoreTests",
            dependencies: ["TestSupport", "Restore", "BackupRepository", "AppData", "Formats", "SystemIO", "BackupCore"],
            swiftSettings: settings),
    ] + fuzzTargets
)
