import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// The making of a repository is cut off after every single change: it can be made again, or is there; and a backup into what was
/// found is kept when the power fails after it.
@Suite(.rotating(oneIn: 3)) struct CreationCutTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    @Test(arguments: PowerCut.all, [false, true]) func everyStep(cut: PowerCut, isEncrypted: Bool) throws {
        let recorder = FileRecorder()
        let original = folder("original")
        try DiskTree().write(to: original)
        try FileObservation.observing(below: original, by: recorder) { _ = try create(original, isEncrypted) }
        var disk = SimulatedDisk(root: original, tree: DiskTree())
        #expect(recorder.operations.count > 10)
        for count in 0...recorder.operations.count {
            if count > 0 { disk.apply(recorder.operations[count - 1]) }
            guard Rounds.takesNext(oneIn: 2) else { continue }
            let place: Comment = "cut after step \(count)"
            let path = folder("\(count)")
            try cut.leftover(of: disk, moment: count).write(to: path)
            let next = FileRecorder()
            try FileObservation.observing(below: path, by: next) {
                let repository = try openOrCreate(path, isEncrypted)
                #expect(repository.snapshots().isEmpty, place)
                try RecordedHistory.backUp("one", in: repository)
            }
            guard case .processOnly = cut else { continue }
            var second = disk
            second.root = path
            for operation in next.operations { second.apply(operation) }
            try PowerCut.losesAll.leftover(of: second, moment: 0).write(to: path + "-second")
            let repository = try open(path + "-second")
            #expect(repository.snapshots().map(\.name) == ["one"], place)
            #expect(try RecordedHistory.flaw(of: "one", in: repository) == nil, place)
        }
    }

    private func create(_ path: String, _ isEncrypted: Bool) throws -> Repository {
        try Repository.create(
            at: path + "/a/repository", password: isEncrypted ? EncryptionTests.secret("password") : nil,
            cost: EncryptionTests.cheap)
    }

    private func open(_ path: String) throws -> Repository {
        try Repository.open(at: path + "/a/repository") { (_) throws(BackupError) in
            .password(EncryptionTests.secret("password"))
        }
    }

    private func openOrCreate(_ path: String, _ isEncrypted: Bool) throws -> Repository {
        try Repository.exists(at: path + "/a/repository") ? try open(path) : try create(path, isEncrypted)
    }
}
