import SystemIO
import TestSupport
import Testing

/// File systems that cannot make a folder durable (older SMB, 9p, vboxsf: fsync(2) of a folder is EINVAL): a restore goes
/// without, also where the app's database lies in a folder of the media.
struct FolderSyncTests {
    @Test func `a restore beside a database among the media does without fsync of folders`() throws {
        let world = try World()
        try world.shell(
            """
            B=\(try Machine.binaryPath()); mkdir -p $W/data/lib; sqlite3 $W/data/lib/app.db 'create table t(a); insert into t values (1)'
            printf one > $W/data/one.jpg; printf two > $W/data/lib/two.jpg
            $B init --store $S --database $W/data/lib/app.db --media $W/data; $B backup --store $S --label first
            rm $W/data/lib/two.jpg; printf three > $W/data/lib/three.jpg
            """)
        let layer = try FaultLayer.environment(folder: world.path, logPath: world.logPath).merging([
            "FAULT_LAYER_NO_FOLDER_SYNC": "1"
        ]) { $1 }
        // The layer does what it says.
        let probe = world.path + "/data"
        let variables = layer.map { "'\($0.key)=\($0.value)'" }.joined(separator: " ")
        let script = "import os; os.fsync(os.open('\(probe)/one.jpg', os.O_RDONLY)); os.fsync(os.open('\(probe)', os.O_RDONLY))"
        let told = try world.run([
            "bash", "-c", "env \(variables) $(python3 -c 'import sys; print(sys.executable)') -c \"\(script)\"",
        ])
        #expect(told.exitCode == 1 && told.text.contains("[Errno 22]"), "\(told.text)")

        try world.backupfs(["restore", "first", "--yes"], layer).requireSuccess()
        #expect(
            try world.shell("cd $W/data; find . -type f | sort | tr '\\n' ' '; cat lib/two.jpg")
                == "./lib/app.db ./lib/two.jpg ./one.jpg two")
    }
}
