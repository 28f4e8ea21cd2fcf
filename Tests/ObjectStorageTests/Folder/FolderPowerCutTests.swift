import BackupCore
import ObjectStorage
import Synchronization
import SystemIO
import TestSupport
import Testing

/// The power fails after each single change: an object is then the old or the new one, whole, and what was reported as done
/// stays.
@Suite struct FolderPowerCutTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    @Test(arguments: CutDisk.Cut.all) func `each cut leaves the old or the new object`(cut: CutDisk.Cut) throws {
        let path = folder("original")
        let storage = try FolderStorage.make(at: path)
        let recorder = CallRecorder()
        let texts = (first: String(repeating: "first ", count: 500), second: String(repeating: "second", count: 500))
        let names = (replaced: try name("labels/a/1"), removed: try name("labels/b/2"))
        try FileObservation.observing(below: path, by: recorder) {
            let version = try storage.create(names.replaced, ObjectDraft(texts.first))
            recorder.promise { $0[names.replaced.text] = [texts.first] }
            recorder.promise { $0[names.replaced.text] = [texts.first, texts.second] }
            _ = try storage.replace(names.replaced, version: version, ObjectDraft(texts.second))
            recorder.promise { $0[names.replaced.text] = [texts.second] }
            recorder.promise { $0[names.removed.text] = [nil, texts.first] }
            let other = try storage.create(names.removed, ObjectDraft(texts.first))
            recorder.promise { $0[names.removed.text] = [texts.first] }
            recorder.promise { $0[names.removed.text] = [texts.first, nil] }
            try storage.remove(names.removed, version: other)
            recorder.promise { $0[names.removed.text] = [nil] }
        }
        let (operations, promises) = recorder.recorded
        #expect(operations.count > 25)
        var disk = CutDisk(root: path)
        for count in 0...operations.count {
            if count > 0 { disk.apply(operations[count - 1]) }
            let found = folder("\(count)")
            try disk.write(to: found, after: cut, moment: count)
            let storage = try FolderStorage(path: found)
            var allowed: [String: [String?]] = [names.replaced.text: [nil, texts.first], names.removed.text: [nil]]
            for promise in promises where promise.count <= count { promise.change(&allowed) }
            for (text, states) in allowed {
                let state = try storage.look(name(text)) == nil ? nil : try storage.text(name(text))
                #expect(states.contains(state), "\(text) after \(count) of \(operations.count) changes")
            }
            let listed = try storage.names()
            #expect(listed.allSatisfy { allowed[$0] != nil }, "\(listed)")
            // The storage can be used as if nothing had happened.
            let version = try storage.create(name("next"), ObjectDraft("next"))
            try storage.remove(name("next"), version: version)
        }
    }
}

/// Records changes, and what must hold from a moment on.
private final class CallRecorder: FileObserver {
    typealias Promise = (count: Int, change: @Sendable (inout [String: [String?]]) -> Void)
    private let state = Mutex<(operations: [FileOperation], promises: [Promise])>(([], []))

    var recorded: (operations: [FileOperation], promises: [Promise]) { state.withLock { $0 } }

    func promise(_ change: @escaping @Sendable (inout [String: [String?]]) -> Void) {
        state.withLock { $0.promises.append(($0.operations.count, change)) }
    }

    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        try body()
        state.withLock { $0.operations.append(operation) }
    }
}
