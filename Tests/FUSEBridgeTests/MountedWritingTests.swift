import BackupCore
import Glibc
import TestSupport
import Testing
import VirtualTree

@testable import FUSEBridge

@Suite(.serialized, .disabled(if: Machine.skipsMountedTests, "BACKUPFS_SKIP_MOUNTED_TESTS=1: NO MOUNT IS TESTED"))
struct MountedWritingTests {
    @Test(arguments: [false, true]) func copiedContentArrivesWhole(usesDirectIO: Bool) throws {
        let tree = MemoryTree(usesDirectIO: usesDirectIO)
        let mount = try MountedTree(tree)
        let bytes = MountedReadingTests.pattern(3_000_001)
        tree.add("source", .file(bytes))
        _ = try mount.output("cp $M/source $M/target && cmp $M/source $M/target")
        #expect(tree.content("target") == bytes)
        _ = try mount.output("dd if=$M/source of=$M/large bs=4M 2>/dev/null")
        #expect(tree.content("large") == bytes)
        #expect(tree.state.withLock { $0.writeSizes.max() } == 1 << 20)
        _ = try mount.output(
            "printf abc > $M/short; printf defg >> $M/short; printf X | dd of=$M/short bs=1 seek=2 conv=notrunc 2>/dev/null")
        #expect(tree.content("short") == Array("abXdefg".utf8))
        _ = try mount.output("truncate -s 3 $M/short; truncate -s 5 $M/short")
        #expect(tree.content("short") == Array("abX\0\0".utf8))
    }

    @Test func refusedContentMakesProgramsFail() throws {
        let tree = MemoryTree()
        tree.add("bad", .file(Array("invalidContent!".utf8)))
        tree.add("damaged", .file(Array("damagedContent!".utf8)))
        tree.add("good", .file(Array("good".utf8)))
        let mount = try MountedTree(tree)
        let copy = try mount.sh("cp $M/bad $M/copy")
        #expect(copy.exitCode == 1)
        #expect(copy.output == "cp: failed to close '\(mount.path)/copy': Invalid argument\n")
        #expect(try mount.sh("cat $M/damaged > $M/cat").output == "cat: write error: Bad message\n")
        #expect(try mount.sh("dd if=$M/bad of=$M/dd 2>/dev/null").exitCode == 1)
        let python = try mount.sh("python3 -c \"with open('$M/python', 'w') as f: f.write('invalidContent!')\"")
        #expect(python.exitCode == 1)
        #expect(python.output.hasSuffix("OSError: [Errno 22] Invalid argument\n"))
        #expect(try mount.output("cp $M/good $M/good-copy && cat $M/good-copy") == "good")
    }

    @Test func flushNamesTheProcess() throws {
        let tree = MemoryTree()
        let mount = try MountedTree(tree)
        let process = try mount.output(
            "python3 -c \"import os; f=open('$M/f','w'); f.write('x'); f.close(); print(os.getpid())\"")
        let flushes = tree.state.withLock { $0.flushes }
        #expect(flushes.map { "\($0.process) \($0.opener)\n" } == ["\(process.dropLast()) \(process)"])
    }

    @Test func flushByAChildIsNotTheOpeners() throws {
        let tree = MemoryTree()
        let mount = try MountedTree(tree)
        _ = try mount.output("(/bin/echo one; /bin/echo two) > $M/f")
        #expect(tree.content("f") == Array("one\ntwo\n".utf8))
        let flushes = tree.state.withLock { $0.flushes }
        #expect(Set(flushes.map(\.opener)).count == 1)
        #expect(flushes.filter { $0.process != $0.opener }.count >= 1)
    }

    @Test func readingSendsNoFlush() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        _ = try mount.output("cat $M/f > /dev/null")
        mount.waitUntilAllIsClosed()
        #expect(tree.state.withLock { $0.flushes.count } == 0)
    }

    @Test func emptyingComesWithOpening() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1, 2, 3]))
        let mount = try MountedTree(tree)
        _ = try mount.output("printf ab > $M/f")
        #expect(tree.content("f") == Array("ab".utf8))
        #expect(tree.state.withLock { $0.openFlags.last.map { $0 & O_TRUNC != 0 } } == true)
    }

    @Test func namesAreMadeMovedAndRemoved() throws {
        let tree = MemoryTree()
        tree.add("a", .file([1]))
        tree.add("b", .file([2]))
        let mount = try MountedTree(tree)
        #expect(try mount.output("cd $M && mkdir d && mv a d/c && find . | sort") == ".\n./b\n./d\n./d/c\n")
        #expect(try mount.sh("rmdir $M/d").output.contains("Directory not empty"))
        #expect(try mount.output("cd $M && mv d/c b && od -An -tu1 b && rmdir d && ls") == "   1\nb\n")
        #expect(try mount.sh("mkdir $M/b").output.contains("File exists"))
        #expect(try mount.output("rm $M/b && ls $M") == "")
    }

    @Test func renameFlags() throws {
        let tree = MemoryTree()
        tree.add("a", .file([1]))
        tree.add("b", .file([2]))
        let mount = try MountedTree(tree)
        let script = """
            python3 - <<'END'
            import ctypes, os
            libc = ctypes.CDLL(None, use_errno=True)
            for flags in (1, 2, 4):
                ctypes.set_errno(0)
                result = libc.renameat2(-100, b"\(mount.path)/a", -100, b"\(mount.path)/b", flags)
                print(flags, result, ctypes.get_errno())
            print(libc.renameat2(-100, b"\(mount.path)/a", -100, b"\(mount.path)/c", 1))
            END
            ls $M
            """
        // RENAME_NOREPLACE: EEXIST; RENAME_EXCHANGE and RENAME_WHITEOUT: EINVAL.
        #expect(try mount.output(script) == "1 -1 17\n2 -1 22\n4 -1 22\n0\nb\nc\n")
    }

    @Test func whatIsNotThereIsRefused() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        #expect(try mount.sh("ln -s x $M/l").output.hasSuffix("Operation not permitted\n"))
        #expect(try mount.sh("ln $M/f $M/l").output.hasSuffix("Operation not permitted\n"))
        #expect(try mount.sh("mkfifo $M/l").output.hasSuffix("Operation not permitted\n"))
        #expect(try mount.sh("fallocate -l 10 $M/f").output.hasSuffix("Operation not supported\n"))
    }

    @Test func timesModesAndOwners() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        _ = try mount.output(
            "touch -d '2020-02-03 04:05:06.789 UTC' $M/f; chmod 640 $M/f; chown \(getuid()):\(getgid()) $M/f; touch -a $M/f")
        #expect(try mount.output("stat -c '%y %a' $M/f") == "2020-02-03 04:05:06.789000000 +0000 640\n")
        #expect(tree.state.withLock { $0.ownerChangeCount } == 0)
        if geteuid() == 0 {
            #expect(try mount.sh("chown 12345 $M/f").output.hasSuffix("Operation not permitted\n"))
            #expect(tree.state.withLock { $0.ownerChangeCount } == 1)
        }
        #expect(try mount.output("touch $M/f; test $(( $(date +%s) - $(stat -c %Y $M/f) )) -lt 60; echo $?") == "0\n")
        // As copy programs do it: times and mode after the content.
        #expect(try mount.output("cp -p $M/f $M/g && stat -c '%y %a' $M/f $M/g | uniq | wc -l") == "1\n")
    }

    @Test func ownersFromOptions() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree, options: MountOptions(parsing: ["uid=1234,gid=2345"]))
        #expect(try mount.output("stat -c '%u %g' $M/f") == "1234 2345\n")
    }

    @Test func extendedAttributes() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        #expect(try mount.output("getfattr -d -m - $M/f") == "")
        _ = try mount.output("setfattr -n user.one -v 1 $M/f; setfattr -n user.two -v 'a b' $M/f")
        #expect(try mount.output("cd $M; getfattr -d f") == "# file: f\nuser.one=\"1\"\nuser.two=\"a b\"\n\n")
        #expect(try mount.output("getfattr --absolute-names --only-values -n user.two $M/f") == "a b")
        #expect(try mount.sh("getfattr -n user.three $M/f").output.contains("No such attribute"))
        _ = try mount.output("setfattr -x user.one $M/f")
        #expect(try mount.sh("setfattr -x user.one $M/f").output.contains("No such attribute"))
        let script = """
            python3 - <<'END'
            import os
            path = "\(mount.path)/f"
            def attempt(call):
                try:
                    call()
                    print("done")
                except OSError as error:
                    print(error.errno)
            attempt(lambda: os.setxattr(path, "user.two", b"", os.XATTR_CREATE))
            attempt(lambda: os.setxattr(path, "user.new", b"", os.XATTR_REPLACE))
            attempt(lambda: os.setxattr(path, "user.new", b"x", os.XATTR_CREATE))
            attempt(lambda: os.setxattr(path, "user.new", b"", os.XATTR_REPLACE))
            print(os.getxattr(path, "user.new"), os.listxattr(path))
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            buffer = ctypes.create_string_buffer(2)
            print(libc.getxattr(path.encode(), b"user.two", buffer, 2), ctypes.get_errno())
            print(libc.listxattr(path.encode(), buffer, 2), ctypes.get_errno())
            print(libc.getxattr(path.encode(), b"user.two", None, 0), libc.listxattr(path.encode(), None, 0))
            END
            """
        // EEXIST, ENODATA; then ERANGE for a buffer that is too small, and the lengths.
        #expect(try mount.output(script) == "17\n61\ndone\ndone\nb'' ['user.new', 'user.two']\n-1 34\n-1 34\n3 18\n")
    }

    @Test func attributesOfOthersNeverReachTheTree() throws {
        let tree = MemoryTree()
        tree.add("f", .file([1]))
        let mount = try MountedTree(tree)
        #expect(try mount.sh("getfattr -n security.selinux $M/f").output.contains("Operation not supported"))
        #expect(try mount.sh("getfattr -n system.posix_acl_access $M/f").output.contains("Operation not supported"))
        _ = try mount.output("ls -l $M > /dev/null")
        #expect(tree.state.withLock { $0.foreignAttributeCount } == 0)
        if geteuid() == 0 {
            #expect(try mount.sh("setfattr -n security.thing -v 1 $M/f").output.contains("Operation not supported"))
        }
    }
}
