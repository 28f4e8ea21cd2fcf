/// Finds the first picture of a clip that needs no other one. Its tables are read by position, and then that picture alone.
public enum ClipReader {
    private static let boxCountLimit = 64
    /// Of the tracks of pictures that are tried: some cameras have a second one that more decoders know.
    private static let trackLimit = 4

    /// Has the first picture of each track decoded, until one could be.
    /// - Parameters:
    ///   - isAVI: whether it is AVI; otherwise MP4, MOV and their kin.
    ///   - decode: returns `nil` for a picture that it cannot decode.
    /// - Returns: `nil` for a clip in another coding, for one that is damaged, and for one whose pictures are in fragments.
    public static func firstPicture<Picture>(
        of source: VideoSource, isAVI: Bool, _ decode: (ClipFrame) -> Picture?
    ) -> Picture? {
        do throws(VideoError) {
            if isAVI { return try AVIReader.frame(of: source).flatMap(decode) }
            var reader = BoxReader(source)
            for track in try tracks(&reader) {
                // A flaw of one costs no other.
                if let found = try? frame(of: track, &reader), let picture = decode(found) { return picture }
            }
        } catch {}
        return nil
    }

    private static func tracks(_ reader: inout BoxReader) throws(VideoError) -> [VideoTrack] {
        var movie: Box?
        try reader.forEach(in: 0..<reader.source.byteCount, isTop: true) { box throws(VideoError) in
            if box.isOf("moov") { movie = box }
            return movie == nil
        }
        guard let movie else { return [] }
        var boxes: [Box] = []
        try reader.forEach(in: movie.content) { child throws(VideoError) in
            if child.isOf("trak") { boxes.append(child) }
            return boxes.count < boxCountLimit
        }
        var tracks: [VideoTrack] = []
        for box in boxes where tracks.count < trackLimit {
            if let track = try VideoTrack(box, &reader) { tracks.append(track) }
        }
        return tracks
    }

    /// - Returns: `nil` for a coding that no decoder here knows.
    private static func frame(of track: VideoTrack, _ reader: inout BoxReader) throws(VideoError) -> ClipFrame? {
        guard let tables = try SampleTables(track.media, &reader), let sample = try tables.firstKeySample(),
            let entry = try SampleEntry(sample.description, in: tables.descriptions, &reader)
        else { return nil }
        func bytes() throws(VideoError) -> [UInt8] { try reader.source.read(at: sample.offset, count: sample.count) }
        let content: ClipFrame.Content
        switch entry.coding {
        case .h264(let configuration):
            let stream = try H264Stream(configuration, picture: bytes())
            content = .h264(stream.bytes, entry.colours(of: stream.sequence))
        case .hevc(let configuration):
            content = .image(try HEVCStill.heic(configuration, picture: bytes(), entry))
        case .jpeg:
            let picture = try bytes()
            guard picture.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
            content = .image(picture)
        }
        return ClipFrame(content: content, orientation: track.orientation, pixelShape: entry.pixelShape)
    }
}
