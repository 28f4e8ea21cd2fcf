import BackupCore
import Testing

@testable import CopyVerify

/// What FAT, exFAT and NTFS cannot hold, and the names of copies.
struct TargetNameTests {
    @Test(
        arguments: [
            ("a.mov", true), ("ä ö.mov", true), ("a:b", false), ("a?b", false), ("a\\b", false), ("a|b", false), ("a<b", false),
            ("a\"b", false), ("a*b", false), ("a\u{1}b", false), ("a.", false), ("a ", false), (".a", true), ("a\nb", false),
        ])
    func `names with the rules of Windows`(name: String, isHeld: Bool) {
        for type in ["vfat", "exfat", "ntfs3", "fuseblk"] {
            #expect((TargetNames(fileSystemType: type).problem(with: FileName(name)) == nil) == isHeld)
        }
        #expect(TargetNames(fileSystemType: "ext4").problem(with: FileName(name)) == nil)
    }

    @Test func `names that are not UTF-8, and files of 4 GiB`() {
        #expect(TargetNames(fileSystemType: "vfat").problem(with: FileName(bytes: [0x61, 0xFF])) != nil)
        #expect(TargetNames(fileSystemType: "vfat").problem(withSize: 4_294_967_295) == nil)
        #expect(TargetNames(fileSystemType: "vfat").problem(withSize: 4_294_967_296) != nil)
        #expect(TargetNames(fileSystemType: "exfat").problem(withSize: 4_294_967_296) == nil)
    }

    @Test func `names that differ in case only`() {
        let names: [FileName] = ["A.mov", "a.MOV", "b.mov", "É", "é"]
        let pairs = TargetNames(fileSystemType: "exfat").collisions(in: names).map { "\($0.first)=\($0.second)" }
        #expect(pairs == ["A.mov=a.MOV", "É=é"])
        #expect(TargetNames(fileSystemType: "btrfs").collisions(in: names).isEmpty)
    }

    @Test func `temporary names have at most 255 bytes, and are known by their job`() {
        let name = CopyNames.temporary(of: "clip.mov", token: "0123456789", number: 7)
        #expect(name == ".clip.mov.0123456789-7.backupfs-part")
        #expect(CopyNames.isTemporary(name, of: "0123456789"))
        #expect(!CopyNames.isTemporary(name, of: "0123456780"))
        #expect(!CopyNames.isTemporary(".clip.mov.0123456789-7", of: "0123456789"))
        #expect(!CopyNames.isTemporary("x.0123456789-7.backupfs-part", of: "0123456789"))
        let long = CopyNames.temporary(
            of: FileName(String(repeating: "ä", count: 127)), token: "0123456789", number: 18_446_744_073_709_551_615)
        #expect(long.bytes.count <= 255)
        #expect(String(validating: long.bytes, as: UTF8.self) != nil)
        #expect(CopyNames.isTemporary(long, of: "0123456789"))
    }

    @Test func `numbers come before the extension`() {
        #expect(CopyNames.numbered("a.mov", 2) == "a-2.mov")
        #expect(CopyNames.numbered("README", 3) == "README-3")
        #expect(CopyNames.numbered(".hidden", 2) == ".hidden-2")
        #expect(CopyNames.numbered(FileName(String(repeating: "n", count: 255)), 2).bytes.count == 255)
    }
}
