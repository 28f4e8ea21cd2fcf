import Testing

extension Sandbox {
    /// By the format document alone: unwraps the master key, and wraps it again at the least cost that the program accepts.
    private static let cheapen = """
        import hashlib, os, sys
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        repository = sys.argv[1]
        password = open(sys.argv[2], "rb").read().split(b"\\n")[0]
        lines = open(repository + "/key").read().splitlines()
        value = dict(line.split(": ") for line in lines if ": " in line)
        def key(cost, block, parallel):
            return AESGCM(hashlib.scrypt(password, salt=bytes.fromhex(value["salt"]), n=2**cost, r=block, p=parallel, dklen=32, maxmem=2**31 - 1))
        def header():
            return "".join(line + "\\n" for line in lines[:5]).encode()
        wrapped = bytes.fromhex(value["wrapped"])
        master = key(*map(int, value["scrypt"].split())).decrypt(wrapped[:12], wrapped[12:], header())
        lines[3] = "scrypt: 10 8 1"
        nonce = os.urandom(12)
        text = header() + b"wrapped: " + (nonce + key(10, 8, 1).encrypt(nonce, master, header())).hex().encode() + b"\\n"
        text += b"sha256: " + hashlib.sha256(text).hexdigest().encode() + b"\\n"
        for name in ("key", "key.copy"):
            with open(f"{repository}/{name}", "r+b") as file:
                file.truncate()
                file.write(text)
        """

    /// Makes the password of a repository cheap to try. Each command that is given one otherwise spends half a second of the
    /// processor on it, which is its purpose, and which a test of passwords need not repeat a hundred times. A key that the
    /// program wraps afterwards has the usual cost.
    /// - Parameter passwordFile: a file with the password in its first line.
    public func makePasswordCheap(_ passwordFile: String, repository: String? = nil) throws {
        try write(Self.cheapen, to: ".jobs/cheapen.py")
        try sh("python3 $R/.jobs/cheapen.py '\(repository ?? "\(storePath)/repository")' '\(passwordFile)'")
    }
}
