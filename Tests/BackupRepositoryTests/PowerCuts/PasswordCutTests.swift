import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A change of the password is cut off after every single change to a file: the old password opens the repository, then both do,
/// and in the end the new one alone; never none. Where both do, a check says so.
@Suite struct PasswordCutTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    @Test(arguments: PowerCut.all) func everyStep(cut: PowerCut) throws {
        let original = folder("original")
        let repository = try Repository.create(
            at: original, password: EncryptionTests.secret("old"), cost: EncryptionTests.cheap)
        try RecordedHistory.backUp("one", in: repository)
        var disk = SimulatedDisk(root: original, tree: try DiskTree(readingFrom: original))
        let recorder = FileRecorder()
        try FileObservation.observing(below: original, by: recorder) {
            try repository.changePassword(to: EncryptionTests.secret("new"), cost: EncryptionTests.cheap)
        }
        let operations = recorder.operations
        #expect(operations.count >= 6)
        var valid: [[String]] = []
        for count in 0...operations.count {
            if count > 0 { disk.apply(operations[count - 1]) }
            let path = folder("\(count)")
            try cut.leftover(of: disk, moment: count).write(to: path)
            let opening = try ["old", "new"].filter { try opens(path, $0) }
            if opening != valid.last { valid.append(opening) }
            // A damaged file was made equal to the whole one when the repository was opened. Of two whole ones none replaces the
            // other.
            let isEqual = try readFile(path + "/key") == readFile(path + "/key.copy")
            #expect(isEqual == (opening.count == 1), "cut after step \(count): \(opening)")
            let password = EncryptionTests.secret(try #require(opening.first))
            let checked = try Repository.open(at: path) { (_) throws(BackupError) in .password(password) }
            #expect((checked.keyStore.damage() == nil) == isEqual, "cut after step \(count)")
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(valid == [["old"], ["old", "new"], ["new"]])
    }

    private func opens(_ path: String, _ password: String) throws -> Bool {
        let repository: Repository
        do throws(BackupError) {
            repository = try Repository.open(at: path) { (_) throws(BackupError) in .password(EncryptionTests.secret(password)) }
        } catch {
            #expect(error.code == .wrongPassword, "\(error)")
            return false
        }
        #expect(try RecordedHistory.flaw(of: "one", in: repository) == nil)
        return true
    }
}
