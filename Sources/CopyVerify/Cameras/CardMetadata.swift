import BackupCore
import Formats
import SystemIO

/// A camera, as the metadata of a card names it.
struct CardDevice: Sendable, Equatable {
    let type: CameraType
    let model: String?
    let serial: String?
    /// Of the file that says so, below the source.
    let path: String

    /// - Returns: `nil` for a maker that is not known.
    init?(maker: String, model: String?, serial: String?, path: String) {
        guard let type = CameraType(maker: maker) else { return nil }
        self.type = type
        self.model = model.flatMap(Self.harmless)
        self.serial = serial.flatMap(Self.harmless).flatMap { Self.noSerials.contains($0) ? nil : $0 }
        self.path = path
    }

    /// What cameras write that have no serial number: Sony's FX3 writes the largest number of 32 bits.
    private static let noSerials: Set<String> = ["4294967295", "0", "00000000"]
    private static let textLimit = 64

    /// The text without spaces around it.
    /// - Returns: `nil` for a text that is empty, too long or has control characters.
    static func harmless(_ text: String) -> String? {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        guard !text.isEmpty, text.utf8.count <= textLimit else { return nil }
        return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? String(text) : nil
    }
}

/// Reads what cameras write about themselves on their cards: small files whose form is known.
///
/// - Sony writes `NonRealTimeMeta` beside each clip (`C0001M01.XML`): `<Device manufacturer="Sony" modelName="ILME-FX6V"
///   serialNo="…"/>`, and `MEDIAPRO.XML` with `<System systemId="…" systemKind="FDR-AX100"/>`. Adobe's XMP Toolkit SDK reads the
///   first one (`XDCAM_Support.cpp`).
/// - Panasonic writes `CONTENTS/CLIP/*.XML`: `P2Main/ClipContent/ClipMetadata/Device` with `Manufacturer`, `SerialNo.` and
///   `ModelName`, and `Relation/Connection` for clips on several cards (`P2_Handler.cpp` and `P2_Support.cpp` there).
/// - Canon writes elements of the same names beside the clips of XF-AVC.
/// - GoPro writes `MISC/version.txt`, a JSON object with `camera type` and `camera serial number`.
/// - ARRI writes an Avid log exchange file (`*.ale`): a table with the columns `Manufacturer`, `Camera_model` and `Camera_SN`.
///
/// RED, Blackmagic, DJI, Nikon, Fujifilm and Insta360 write their model only into the clips, which are not opened.
struct CardMetadata {
    private static let fileSizeLimitBytes: UInt64 = 1 << 20
    private static let fileLimit = 12
    private static let spanFileLimit = 500
    private static let xmlLimits = XMLElement.Limits(
        sizeBytes: 1 << 20, depth: 32, elementCount: 20_000, textSizeBytes: 64 << 10)
    /// Where clips have their XML.
    private static let clipFolders: [[NamePattern]] = [
        ["CLIP"], ["CLIPS*"], ["CLIPS*", "*"], ["CLPR", "*"], ["XFVC", "*"],
    ]

    private let root: DirectoryHandle
    private let look: CardLook

    init(_ root: DirectoryHandle, _ look: CardLook) { (self.root, self.look) = (root, look) }

    /// The cameras of the card; the first one of each maker.
    func devices() -> [CardDevice] {
        let found = [clipDevice(), profileDevice(), goPro(), arri()].compactMap(\.self)
        return found.enumerated().filter { index, device in
            !found[..<index].contains { $0.type == device.type }
        }.map(\.element)
    }

    // MARK: XML

    private func clipDevice() -> CardDevice? {
        files(["*.XML"], in: Self.clipFolders).prefix(Self.fileLimit).lazy.compactMap { file in
            xml(file).flatMap { device($0, path: file.text) }
        }.first
    }

    /// That of the whole card, which knows no serial number of the camera: `systemId` names the recorder.
    private func profileDevice() -> CardDevice? {
        for file in files(["MEDIAPRO.XML"], in: [[]]).prefix(Self.fileLimit) {
            guard let root = xml(file), Self.localName(root) == "MediaProfile", let system = Self.first("System", in: root),
                let kind = system.attributes["systemKind"]
            else { continue }
            return CardDevice(maker: "Sony", model: Self.withoutVersion(kind), serial: nil, path: file.text)
        }
        return nil
    }

    /// Some cameras write `PXW-FS7 ver.1.10`.
    private static func withoutVersion(_ kind: String) -> String {
        let words = kind.split(separator: " ")
        return words.prefix { !$0.lowercased().hasPrefix("ver.") }.joined(separator: " ")
    }

    private func device(_ root: XMLElement, path: String) -> CardDevice? {
        if Self.localName(root) == "NonRealTimeMeta" {
            guard let device = Self.first("Device", in: root), let maker = device.attributes["manufacturer"] else { return nil }
            return CardDevice(
                maker: maker, model: device.attributes["modelName"], serial: device.attributes["serialNo"], path: path)
        }
        guard let device = Self.first(holding: "Manufacturer", in: root), let maker = Self.child("Manufacturer", of: device),
            let model = Self.child("ModelName", of: device)
        else { return nil }
        return CardDevice(
            maker: maker, model: model, serial: Self.child("SerialNo.", of: device) ?? Self.child("SerialNo", of: device),
            path: path)
    }

    private static func localName(_ element: XMLElement) -> Substring {
        element.name.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
    }

    private static func child(_ name: String, of element: XMLElement) -> String? {
        element.children.first { localName($0) == name }.flatMap { CardDevice.harmless($0.text) }
    }

    /// The first element of a name, at any depth.
    private static func first(_ name: String, in element: XMLElement) -> XMLElement? {
        if localName(element) == name { return element }
        return element.children.lazy.compactMap { first(name, in: $0) }.first
    }

    /// The first element with a child of a name.
    private static func first(holding name: String, in element: XMLElement) -> XMLElement? {
        if element.children.contains(where: { localName($0) == name }) { return element }
        return element.children.lazy.compactMap { first(holding: name, in: $0) }.first
    }

    // MARK: Clips on several cards

    /// What P2 clips say of those before and after them.
    func spans() -> [ClipSpan] {
        struct Clip {
            let path: String
            let previous: String?
            let next: String?
        }
        var clips: [Clip] = []
        var identifiers: Set<String> = []
        for file in files(["*.XML"], in: [["CONTENTS", "CLIP"]]).prefix(Self.spanFileLimit) {
            guard let content = xml(file).flatMap({ Self.first("ClipContent", in: $0) }) else { continue }
            if let identifier = Self.child("GlobalClipID", of: content) { identifiers.insert(identifier) }
            guard let connection = Self.first("Connection", in: content) else { continue }
            func neighbour(_ name: String) -> String? {
                Self.first(name, in: connection).flatMap { Self.child("GlobalClipID", of: $0) }
            }
            clips.append(Clip(path: file.text, previous: neighbour("Previous"), next: neighbour("Next")))
        }
        // Otherwise a clip that was not looked at would count as missing.
        guard look.isWhole, identifiers.count < Self.spanFileLimit else { return [] }
        var spans: [ClipSpan] = []
        for clip in clips {
            if let previous = clip.previous, !identifiers.contains(previous) {
                spans.append(ClipSpan(clip: clip.path, note: .continued))
            }
            if let next = clip.next, !identifiers.contains(next) { spans.append(ClipSpan(clip: clip.path, note: .continues)) }
        }
        return spans
    }

    // MARK: Other forms

    private func goPro() -> CardDevice? {
        for file in files(["VERSION.TXT"], in: [["MISC"]]).prefix(Self.fileLimit) {
            let members = JSONMembers(read(file) ?? [])
            guard let model = members.text("camera type") else { continue }
            return CardDevice(maker: "GoPro", model: model, serial: members.text("camera serial number"), path: file.text)
        }
        return nil
    }

    private func arri() -> CardDevice? {
        for file in files(["*.ALE"], in: [[]]).prefix(Self.fileLimit) {
            guard let row = read(file).flatMap(AvidLog.firstRow), let model = row["CAMERAMODEL"], !model.isEmpty else { continue }
            return CardDevice(maker: row["MANUFACTURER"] ?? "ARRI", model: model, serial: row["CAMERASN"], path: file.text)
        }
        return nil
    }

    // MARK: Files

    private struct File {
        let folder: [FileName]
        let name: FileName

        var text: String { String(decoding: BytePath.joined(folder + [name]), as: UTF8.self) }
    }

    private func files(_ patterns: [NamePattern], in folders: [[NamePattern]]) -> [File] {
        look.folders.filter { folder in folders.contains { folder.ends(with: $0) } }.flatMap { folder in
            folder.files.filter { file in patterns.contains { $0.matches(file.key) } }.map {
                File(folder: folder.path, name: $0.name)
            }
        }
    }

    private func xml(_ file: File) -> XMLElement? { read(file).flatMap { XMLElement.parse($0, limits: Self.xmlLimits) } }

    /// - Returns: `nil` for a file that cannot be read, is too long or is no regular file.
    private func read(_ file: File) -> [UInt8]? {
        do throws(BackupError) {
            guard let folder = try root.openFolder(at: file.folder[...]), let opened = try folder.openFileIfPresent(file.name)
            else { return nil }
            let size = try opened.status().size
            guard size > 0, size <= Self.fileSizeLimitBytes else { return nil }
            return try opened.readExactly(at: 0, count: Int(size))
        } catch {
            return nil
        }
    }
}

/// An Avid log exchange file: a heading, the names of columns, and rows, separated by tabs.
enum AvidLog {
    /// - Returns: the first row by the names of its columns, in upper case and without anything but letters and digits.
    static func firstRow(_ bytes: [UInt8]) -> [String: String]? {
        let lines = bytes.split(whereSeparator: { $0 == 10 || $0 == 13 })
        func text(_ line: ArraySlice<UInt8>) -> [String] {
            line.split(separator: 9, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
        }
        guard let column = lines.firstIndex(where: { $0.elementsEqual("Column".utf8) }), column + 1 < lines.count,
            let data = lines.firstIndex(where: { $0.elementsEqual("Data".utf8) }), data > column, data + 1 < lines.count
        else { return nil }
        let names = text(lines[column + 1]).map { String($0.uppercased().filter { $0.isLetter || $0.isNumber }) }
        return Dictionary(zip(names, text(lines[data + 1]))) { first, _ in first }
    }
}
