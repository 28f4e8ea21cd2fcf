import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing
import VirtualTree

@testable import FUSEBridge

@Suite(.serialized, .disabled(if: Machine.skipsMountedTests, "BACKUPFS_SKIP_MOUNTED_TESTS=1: NO MOUNT IS TESTED"))
struct MountedReadingTests {
    /// Bytes that differ at every place, so that a wrong offset shows.
    static func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    @Test func listingAndAttributes() throws {
        let tree = MemoryTree()
        tree.add("hello.txt", .file(Array("Hello\n".utf8)))
        tree.add("empty", .file([]), permissions: 0o400)
        tree.add("link", .symbolicLink(Array("hello.txt".utf8)), permissions: 0o777)
        let folder = tree.add("folder", .directory([:]), permissions: 0o755)
        tree.add("inside", .file(Self.pattern(1025)), in: folder)
        let mount = try MountedTree(tree)
        let list = try mount.output("cd $M && stat -c '%n %A %h %s %b %B %i' hello.txt empty link folder folder/inside")
        #expect(
            list == """
                hello.txt -rw-r--r-- 1 6 1 512 2
                empty -r-------- 1 0 0 512 3
                link lrwxrwxrwx 1 9 1 512 4
                folder drwxr-xr-x 1 4096 8 512 5
                folder/inside -rw-r--r-- 1 1025 3 512 6

                """)
        #expect(try mount.output("cd $M && ls -a") == ".\n..\nempty\nfolder\nhello.txt\nlink\n")
        #expect(
            try mount.output("stat -c '%y|%x|%z|%u|%g' $M/empty")
                == {
                    let time = "2023-11-14 22:13:20.123456789 +0000"
                    return "\(time)|\(time)|\(time)|\(getuid())|\(getgid())\n"
                }())
        #expect(try mount.output("readlink $M/link; cat $M/link") == "hello.txt\nHello\n")
        #expect(try mount.output("cd $M && find . | sort") == ".\n./empty\n./folder\n./folder/inside\n./hello.txt\n./link\n")
        #expect(try mount.output("stat -f -c %l $M") == "255\n")
        #expect(try mount.end() == .requested)
    }

    @Test func mountShowsItsType() throws {
        let mount = try MountedTree()
        let entry = try MountTable.current().entry(at: mount.path)
        #expect(entry?.fileSystemType == "fuse.backupfs")
        #expect(entry?.source == "backupfs")
        #expect(try mount.output("findmnt -n -o FSTYPE,SOURCE $M | tr -s ' '") == "fuse.backupfs backupfs\n")
        #expect(try mount.output("findmnt -n -o OPTIONS $M | tr , '\\n' | grep -c default_permissions") == "1\n")
        if geteuid() == 0, let entry {
            #expect(try mount.output("cat /sys/class/bdi/\(entry.major):\(entry.minor)/read_ahead_kb") == "2048\n")
        }
    }

    @Test(arguments: [false, true]) func contentIsExact(usesDirectIO: Bool) throws {
        let tree = MemoryTree(usesDirectIO: usesDirectIO)
        let bytes = Self.pattern(5_000_001)
        tree.add("big", .file(bytes))
        let mount = try MountedTree(tree)
        let copy = try TestMachine.makeTemporaryFolder()
        defer { _ = try? TestMachine.sh("rm -r \(copy)") }
        _ = try mount.output("cp $M/big \(copy)/big && cmp $M/big \(copy)/big")
        #expect(try readWhole("\(copy)/big") == bytes)
        #expect(
            try mount.output("dd if=$M/big bs=1 skip=4999999 count=9 2>/dev/null | od -An -tu1 | tr -s ' '")
                == " \(bytes[4_999_999]) \(bytes[5_000_000])\n")
        #expect(
            try mount.output("tail -c 3 $M/big | od -An -tu1 | tr -s ' '")
                == " \(bytes[4_999_998]) \(bytes[4_999_999]) \(bytes[5_000_000])\n")
        #expect(try mount.output("tar -cf - -C $M . | tar -xf - -C \(copy) && cmp $M/big \(copy)/big; echo $?") == "0\n")
        // The kernel asks for as much at once as was agreed; through its pages, only where the read-ahead could be raised.
        if usesDirectIO || geteuid() == 0 {
            _ = try mount.output("dd if=$M/big bs=4M of=/dev/null 2>/dev/null")
            #expect(tree.state.withLock { $0.readSizes.max() } == 1 << 20)
        }
    }

    @Test func largestReadIsWhatTheOptionSays() throws {
        let tree = MemoryTree(usesDirectIO: true)
        tree.add("big", .file(Self.pattern(1_000_000)))
        var options = MountOptions()
        options.maximumReadBytes = 65_536
        let mount = try MountedTree(tree, options: options)
        #expect(try mount.output("dd if=$M/big bs=1M 2>/dev/null | wc -c") == "1000000\n")
        #expect(tree.state.withLock { $0.readSizes.max() } == 65_536)
    }

    @Test func manyEntriesWithoutRepeatsOrOmissions() throws {
        let tree = MemoryTree()
        let folder = tree.add("many", .directory([:]), permissions: 0o755)
        for number in 0..<10_000 { tree.add(FileName("entry-\(number)"), .file([1, 2, 3]), in: folder) }
        let mount = try MountedTree(tree)
        #expect(try mount.output("ls -U $M/many | wc -l; ls -U $M/many | sort -u | wc -l") == "10000\n10000\n")
        #expect(try mount.output("find $M/many -type f -size 3c | wc -l") == "10000\n")
        let expected = try mount.output("for i in $(seq 0 9999); do echo entry-$i; done | sort | md5sum")
        #expect(try mount.output("ls $M/many | sort | md5sum") == expected)
        let listed = try mount.output("ls -l $M/many | tail -n +2 | awk '{print $5}' | sort | uniq -c | tr -s ' '")
        #expect(listed == " 10000 3\n")
        mount.waitUntilAllIsClosed()
    }

    @Test func forgottenNamesAreCountedBack() throws {
        let tree = MemoryTree(timeoutSeconds: 60)
        for number in 0..<500 { tree.add(FileName("entry-\(number)"), .file([])) }
        let mount = try MountedTree(tree)
        _ = try mount.output("ls -l $M; find $M -type f | xargs stat >/dev/null")
        let counts = { tree.state.withLock { state in state.nodes.values.map(\.lookUpCount).reduce(0, +) } }
        #expect(counts() >= 500)
        if geteuid() == 0, access("/proc/sys/vm/drop_caches", W_OK) == 0 {
            _ = try mount.output("echo 2 > /proc/sys/vm/drop_caches; stat $M > /dev/null")
            var tries = 0
            while counts() > 100, tries < 500 {
                usleep(10_000)
                tries += 1
            }
            #expect(counts() <= 100)
        }
    }

    @Test func hostileNames() throws {
        let tree = MemoryTree()
        let names: [FileName] = [
            "-rf", "a\nb", " ", "ü", FileName(bytes: [0xff, 0xfe, 0x80]), FileName(String(repeating: "x", count: 255)), "*",
        ]
        for (index, name) in names.enumerated() { tree.add(name, .file([UInt8(index)])) }
        let mount = try MountedTree(tree)
        #expect(try mount.output("find $M -type f -print0 | tr -cd '\\0' | wc -c") == "7\n")
        #expect(try mount.output("cd $M; cat ./-rf \"$(printf 'a\\nb')\" ' ' | od -An -tu1 | tr -s ' '") == " 0 1 2\n")
        #expect(try mount.output("cd $M; cat \"$(printf '\\377\\376\\200')\" | od -An -tu1 | tr -d ' '") == "4\n")
        let long = try mount.sh("stat $M/\(String(repeating: "y", count: 256))")
        #expect(long.exitCode == 1)
        #expect(long.output.contains("File name too long"))
    }

    @Test func errorsReachPrograms() throws {
        let mount = try MountedTree()
        let expected: [(String, String)] = [
            ("invalidContent", "Invalid argument"), ("damagedContent", "Bad message"),
            ("unsupportedVersion", "Protocol not supported"), ("noSpace", "No space left on device"),
            ("tooLarge", "File too large"), ("busy", "Device or resource busy"), ("readOnly", "Read-only file system"),
            ("notPermitted", "Operation not permitted"), ("accessDenied", "Permission denied"),
            ("repositoryDamaged", "Input/output error"), ("notFound", "No such file or directory"),
            ("interrupted", "Operation canceled"),
        ]
        for (code, text) in expected {
            let result = try mount.sh("cat $M/error-\(code)")
            #expect(result.exitCode == 1)
            #expect(result.output == "cat: \(mount.path)/error-\(code): \(text)\n")
        }
        #expect(try mount.sh("ls $M/nothing").exitCode == 2)
    }

    /// A damaged record can claim any size. A crash would take the mount away from every program.
    @Test func `a size beyond what stat can say is the largest that it can`() throws {
        try Machine.requireFUSE()
        let server = TreeServer(tree: MemoryTree(), options: MountOptions()) { _, _ in }
        for (size, shown) in [(UInt64.max, Int64.max), (1 << 63, .max), (1 << 62, 1 << 62), (1, 1), (0, 0)] {
            let attributes = NodeAttributes(
                inode: InodeNumber(2), kind: .file, permissions: 0o400, size: size, modificationTime: Timestamp(seconds: 0))
            let status = server.status(attributes)
            #expect(Int64(status.st_size) == shown)
            #expect(UInt64(status.st_blocks) == size / 512 + (size % 512 == 0 ? 0 : 1))
        }
    }

    @Test func failuresAreReportedInFull() throws {
        try Machine.requireFUSE()
        let server = TreeServer(tree: MemoryTree(), options: MountOptions()) { request, error in
            #expect(request == "read")
            #expect(error.description == "a.jpg: chunk 1 is damaged")
        }
        #expect(server.errorNumber(BackupError(.repositoryDamaged, "chunk 1 is damaged", path: "a.jpg"), request: "read") == 5)
        #expect(server.errorNumber(BackupError(.invalidContent, "of no interest"), request: "flush") == 22)
    }

    @Test func manyOpensLeakNothing() throws {
        let tree = MemoryTree()
        tree.add("file", .file(Self.pattern(10_000)))
        let mount = try MountedTree(tree)
        _ = try mount.output("cat $M/file > /dev/null")
        #expect(
            try leavesNoDescriptor {
                _ = try mount.output("for i in $(seq 200); do cat $M/file; ls $M; done > /dev/null")
                mount.waitUntilAllIsClosed()
            })
    }

    @Test func mountAndUnmountLeakNothing() throws {
        try MountedTree().end()
        #expect(try leavesNoDescriptor { for _ in 0..<5 { try MountedTree().end() } })
    }

    @Test func readOnlyMount() throws {
        let mount = try MountedTree(options: MountOptions(parsing: ["ro"]))
        let result = try mount.sh("mkdir $M/new")
        #expect(result.exitCode == 1)
        #expect(result.output.contains("Read-only file system"))
    }

    @Test func parallelReaders() throws {
        let tree = MemoryTree(usesDirectIO: true)
        tree.add("big", .file(Self.pattern(2_000_000)))
        let mount = try MountedTree(tree)
        let sum = try mount.output("md5sum < $M/big")
        let sums = try mount.output("(for i in $(seq 40); do md5sum < $M/big & done; wait)")
        #expect(sums == String(repeating: sum, count: 40))
    }

    /// Other tests of this process open files at the same time, but not each time: what leaks does so in each round.
    private func leavesNoDescriptor(_ body: () throws -> Void) throws -> Bool {
        for _ in 0..<5 {
            let before = descriptorCount()
            try body()
            if descriptorCount() <= before { return true }
        }
        return false
    }

    private func descriptorCount() -> Int {
        var count = 0
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        while readdir(directory) != nil { count += 1 }
        closedir(directory)
        return count
    }

    private func readWhole(_ path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8_000_000)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes[..<count])
    }
}
