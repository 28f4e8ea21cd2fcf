import BackupCore
import Photos
import SystemIO

/// The mountpoint.
final class RootFolder: FolderNode {
    let inode = InodeNumber.root
    private let context: TreeContext
    private let nodes: [(name: FileName, node: any Node)]

    init(context: TreeContext) {
        self.context = context
        let parent = InodeNumber.root
        let services = context.services
        // Users of the app choose the names of its media. Without knowing the repository's ID, they cannot craft two names with
        // the same inode number, for which the kernel would mix up the contents.
        let live = parent.child("live").child(FileName(context.repository.id))
        var nodes: [(name: FileName, node: any Node)] = [
            ("README.txt", TextFile("README.txt", in: parent, context: context) { services.readme() }),
            ("control", ControlFolder(inode: parent.child("control"), context: context)),
            ("copy", CopySetsFolder(inode: parent.child("copy").child(FileName(context.repository.id)), context: context)),
            ("exports", FlatSnapshotsFolder(.snapshot, inode: parent.child("exports"), context: context)),
            (
                "index.html",
                TextFile("index.html", in: parent, context: context) { () throws(BackupError) in
                    try services.dashboard()
                }
            ),
            ("jobs", JobsFolder(inode: parent.child("jobs"), context: context)),
            ("live", LiveFolder(LivePlace(path: [], inode: live, context: context))),
            ("remotes", RemotesFolder(inode: parent.child("remotes"), context: context)),
            ("reports", ReportsFolder(inode: parent.child("reports"), context: context)),
            ("restore", RestoreFolder(inode: parent.child("restore"), context: context)),
            ("safety", FlatSnapshotsFolder(.safety, inode: parent.child("safety"), context: context)),
            ("snapshots", SnapshotsFolder(inode: parent.child("snapshots"), context: context)),
            (
                "status.json",
                TextFile("status.json", in: parent, context: context) { () throws(BackupError) in
                    try services.status()
                }
            ),
        ]
        let versions = parent.child("versions").child(FileName(context.repository.id))
        let history = parent.child("history").child(FileName(context.repository.id))
        nodes.append(("history", HistoryFolder(inode: history, context: context)))
        nodes.append(("versions", VersionsFolder(inode: versions, context: context)))
        if services.hasPhotos {
            let name = PhotoPlaces.viewFolderName
            // As for `live`.
            let inode = parent.child(name).child(FileName(context.repository.id))
            nodes.append((name, PhotosFolder(LivePhotoSource(context: context), inode: inode, context: context)))
        }
        self.nodes = nodes.sorted { $0.name < $1.name }
    }

    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let found = nodes.first(where: { $0.name == name }) else { throw .notFound(name) }
        return found.node
    }

    /// For the process that unmounts and waits for the server's process.
    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        [("user.backupfs.process", ProcessMark.current.text), ("user.backupfs.store", context.services.storePath)]
    }

    var isImmutable: Bool { true }
    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.immutableTimeoutSeconds }

    func listing() throws(BackupError) -> FolderListing { FolderListing(nodes) }
}
