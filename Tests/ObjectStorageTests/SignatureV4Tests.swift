import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

@Suite struct SignatureV4Tests {
    /// The examples in the S3 API reference, "Signature Calculations for the Authorization Header: Transferring Payload in a
    /// Single Chunk", with their signatures.
    @Test(arguments: [
        (
            SignatureV4.Request(
                method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/test.txt",
                headers: [HTTPHeader("Range", "bytes=0-9")]),
            "host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        ),
        (
            SignatureV4.Request(
                method: "PUT", host: "examplebucket.s3.amazonaws.com", path: "/test%24file.text",
                headers: [
                    HTTPHeader("Date", "Fri, 24 May 2013 00:00:00 GMT"), HTTPHeader("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ], payloadHash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"),
            "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        ),
        (
            SignatureV4.Request(
                method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/", query: [("lifecycle", "")]),
            "host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        ),
        (
            SignatureV4.Request(
                method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/", query: [("prefix", "J"), ("max-keys", "2")]),
            "host;x-amz-content-sha256;x-amz-date", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        ),
    ])
    func `the examples of the specification have their signatures`(
        request: SignatureV4.Request, names: String, signature: String
    ) throws {
        let credentials = try S3Credentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        let time = try #require(ISO8601.parse("2013-05-24T00:00:00Z"))
        let headers = SignatureV4(credentials: credentials, region: "us-east-1").headers(for: request, at: time)
        #expect(
            headers.last
                == HTTPHeader(
                    "Authorization",
                    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                        + "SignedHeaders=\(names),Signature=\(signature)"))
    }

    private static let hasBotocore = (try? Subprocess.run("/usr/bin/env", ["python3", "-c", "import botocore"]).exitCode) == 0

    @Test(.enabled(if: hasBotocore)) func `botocore signs odd names and queries in the same way`() throws {
        let script = """
            import sys, urllib.parse
            from botocore.auth import S3SigV4Auth
            from botocore.awsrequest import AWSRequest
            from botocore.credentials import Credentials
            for name in sys.argv[1:]:
                path = urllib.parse.quote("/bucket/" + name, safe="/~-._")
                query = urllib.parse.urlencode({"start-after": name, "list-type": "2"}, quote_via=urllib.parse.quote, safe="~-._")
                request = AWSRequest("GET", "http://127.0.0.1:9000" + path + "?" + query, headers={"If-Match": '"a  b"'})
                S3SigV4Auth(Credentials("KEY", "secret/+=", "token=="), "s3", "eu-central-1").add_auth(request.prepare() and request)
                print(request.headers["X-Amz-Date"], request.headers["Authorization"].split("Signature=")[1])
            """
        let names = ["a b", "a+b", "100%", "%41%zz", "ä/ö", "cafe\u{301}", "日本", "~-._", "a&b=c?d#e", "'\"<>!*()", "a:b;c,d@e$"]
        let folder = try TemporaryFolder()
        let path = try folder.write(script, to: "sign.py")
        let result = try Job(["python3", path] + names, scratch: folder("job")).wait()
        try #require(result.lines.count == names.count, "\(result.errors)")
        let credentials = try S3Credentials(accessKeyID: "KEY", secretAccessKey: "secret/+=", sessionToken: "token==")
        let location = try S3Location("s3:http://127.0.0.1:9000/bucket")
        for (name, line) in zip(names, result.lines) {
            let words = line.split(separator: " ")
            let digits = Array(words[0])
            let date = "\(String(digits[0..<4]))-\(String(digits[4..<6]))-\(String(digits[6..<8]))"
            let clock = "\(String(digits[9..<11])):\(String(digits[11..<13])):\(String(digits[13..<15]))"
            let time = try #require(ISO8601.parse("\(date)T\(clock)Z"))
            let request = SignatureV4.Request(
                method: "GET", host: "127.0.0.1:9000", path: location.path(key: name),
                query: [("start-after", name), ("list-type", "2")], headers: [HTTPHeader("If-Match", "\"a  b\"")])
            let headers = SignatureV4(credentials: credentials, region: "eu-central-1").headers(for: request, at: time)
            #expect(headers.last?.value.hasSuffix("Signature=\(words[1])") == true, "\(name)")
            #expect(headers.contains(HTTPHeader("x-amz-security-token", "token==")))
        }
    }
}
