import BackupCore
import SystemIO

/// Answers requests about the tree: GET and HEAD for browsers, PROPFIND and OPTIONS for programs that speak WebDAV (RFC 4918,
/// class 1, for reading). Nothing can be changed this way.
struct TreeHandler: Sendable {
    private static let methods = "OPTIONS, GET, HEAD, PROPFIND"
    private static let xmlType = "application/xml; charset=utf-8"
    /// The folders whose files say by their times and sizes whether they are the same. The live data and the page of the store
    /// change within one second.
    private static let steadyFolders = ["snapshots", "safety", "exports", "versions", "history", "reports"].map { FileName($0) }

    let tree: ServedTree
    let token: AccessToken
    let language: Language

    func answer(_ request: WebRequest) -> WebAnswer {
        var answer: WebAnswer
        do throws(BackupError) {
            answer = try checked(request)
        } catch {
            answer = Self.failure(error)
        }
        answer.headers += [
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "private, no-cache"),
        ]
        return answer
    }

    private func checked(_ request: WebRequest) throws(BackupError) -> WebAnswer {
        let isGet = ["GET", "HEAD"].contains(request.method)
        if isGet, let given = request.parameter("token"), token.isRight(given), let path = RequestPath(request.localPath) {
            // The address without the secret, which must not stay in the history of the browser.
            let isSecure = request.header("X-Forwarded-Proto") == "https"
            return WebAnswer(
                303,
                [
                    ("Location", RequestPath.address(path.names, isFolder: path.isOfFolder)),
                    (
                        "Set-Cookie",
                        "\(token.cookieName)=\(given); Path=/; HttpOnly; SameSite=Lax\(isSecure ? "; Secure" : "")"
                    ),
                ])
        }
        guard token.isIn(authorization: request.header("Authorization"), cookie: request.header("Cookie")) else {
            return .text(
                401, "The token is missing or wrong.", [("WWW-Authenticate", "Basic realm=\"backupfs\", charset=\"UTF-8\"")])
        }
        switch request.method {
        case "OPTIONS": return WebAnswer(200, [("DAV", "1"), ("Allow", Self.methods), ("MS-Author-Via", "DAV")])
        case "GET", "HEAD", "PROPFIND":
            guard let path = RequestPath(request.localPath) else { return .text(400, "This is no address of a file.") }
            return isGet ? try content(path, request) : try properties(path, request)
        default: return .text(405, "The backups can only be read here.", [("Allow", Self.methods)])
        }
    }

    // MARK: GET

    private func content(_ path: RequestPath, _ request: WebRequest) throws(BackupError) -> WebAnswer {
        guard var item = try tree.item(at: path.names) else { return Self.notFound }
        if item.isFolder {
            guard path.isOfFolder || path.names.isEmpty else {
                return WebAnswer(301, [("Location", RequestPath.address(path.names, isFolder: true))])
            }
            // The page of the store is its front door.
            guard path.names.isEmpty, request.parameter("list") == nil, let page = try tree.item(at: [FileName("index.html")])
            else {
                let page = FolderPage(path: path.names, entries: try tree.entries(of: item), language: language)
                return WebAnswer(
                    200,
                    [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", "frame-ancestors 'none'")],
                    .bytes(page.html))
            }
            item = page
        } else if path.isOfFolder {
            return Self.notFound
        }
        return try content(of: item, request)
    }

    private func content(of item: ServedTree.Item, _ request: WebRequest) throws(BackupError) -> WebAnswer {
        guard let name = item.path.last, let opened = try item.folder.openFileIfPresent(name) else { return Self.notFound }
        // Of the opened file: another one may have the name by now.
        let status = try opened.status()
        var headers: [(name: String, value: String)] = [
            ("Content-Type", ContentType.of(item.path)), ("Content-Security-Policy", ContentType.policy(item.path)),
            ("Accept-Ranges", "bytes"),
        ]
        let tag = item.path.count > 1 && Self.steadyFolders.contains(item.path[0]) ? EntityTag.of(status) : nil
        if let tag {
            headers += [("ETag", tag), ("Last-Modified", HTTPDate.text(status.modificationTime))]
            if let none = request.header("If-None-Match"), EntityTag.isNamed(tag, by: none) { return WebAnswer(304, headers) }
        }
        // A part of another content must not be joined to what the client has.
        let isSame = request.header("If-Range").map { $0 == tag } ?? true
        let file = try SharedFile(opened)
        switch ByteRange(isSame ? request.header("Range") : nil, size: status.size) {
        case .whole: return WebAnswer(200, headers, .file(file, 0..<status.size))
        case .part(let part):
            headers.append(("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(status.size)"))
            return WebAnswer(206, headers, .file(file, part))
        case .unsatisfiable:
            headers.append(("Content-Range", "bytes */\(status.size)"))
            return WebAnswer(416, headers)
        }
    }

    // MARK: PROPFIND

    private func properties(_ path: RequestPath, _ request: WebRequest) throws(BackupError) -> WebAnswer {
        let depth = request.header("Depth") ?? "infinity"
        guard depth == "0" || depth == "1" else {
            let error = "<?xml version=\"1.0\"?>\n<D:error xmlns:D=\"DAV:\"><D:propfind-finite-depth/></D:error>\n"
            return WebAnswer(403, [("Content-Type", Self.xmlType)], .bytes(Array(error.utf8)))
        }
        guard let item = try tree.item(at: path.names) else { return Self.notFound }
        var list = PropertyList()
        list.add(path.names, item.status)
        if depth == "1", item.isFolder {
            for entry in try tree.entries(of: item) { list.add(path.names + [entry.name], entry.status) }
        }
        return WebAnswer(207, [("Content-Type", Self.xmlType)], .bytes(list.bytes))
    }

    // MARK: Errors

    private static var notFound: WebAnswer { .text(404, "There is no such file.") }

    /// - Parameter error: of the file system.
    private static func failure(_ error: BackupError) -> WebAnswer {
        switch error.code {
        case .accessDenied, .notPermitted: .text(403, "\(error.message)")
        case .notFound: .text(503, "\(error.message)")
        default: .text(500, "\(error.message)")
        }
    }
}
