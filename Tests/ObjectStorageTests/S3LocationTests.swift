import BackupCore
import TestSupport
import Testing

@testable import ObjectStorage

@Suite struct S3LocationTests {
    @Test func `a location has a host, a bucket and a prefix`() throws {
        let location = try S3Location("s3:https://S3.Example.org:9000/my-bucket/backups/cars/")
        #expect(location.host == "s3.example.org:9000")
        #expect(location.bucket == "my-bucket")
        #expect(location.prefix == "backups/cars")
        #expect(location.style == .path)
        #expect(location.description == "s3:https://s3.example.org:9000/my-bucket/backups/cars")
        #expect(location.path(key: "backups/cars/a b+c/ü~") == "/my-bucket/backups/cars/a%20b%2Bc/%C3%BC~")
        #expect(location.path(key: nil) == "/my-bucket")
        // libcurl's Host header leaves the usual port out.
        #expect(try S3Location("s3:https://host:443/bucket").host == "host")
        #expect(try S3Location("s3:https://host:80/bucket").host == "host:80")
        #expect(try S3Location("s3:https://[2001:db8::1]:9000/bucket").host == "[2001:db8::1]:9000")
    }

    @Test func `Amazon's hosts have the bucket in their name, and a region`() throws {
        let location = try S3Location("s3:https://s3.eu-west-1.amazonaws.com/bucket/cars")
        #expect(location.style == .virtualHost)
        #expect(location.requestHost == "bucket.s3.eu-west-1.amazonaws.com")
        #expect(location.path(key: "cars/a") == "/cars/a")
        #expect(location.path(key: nil) == "/")
        #expect(try S3Location("s3:https://s3.eu-west-1.amazonaws.com/with.dot").style == .path)
        #expect(try S3Location("s3:https://s3.eu-west-1.amazonaws.com/bucket", style: .path).style == .path)
    }

    @Test(arguments: [
        ("s3.eu-west-1.amazonaws.com", "eu-west-1"), ("s3-eu-west-1.amazonaws.com", "eu-west-1"),
        ("s3.dualstack.ap-south-1.amazonaws.com", "ap-south-1"), ("s3.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("s3.amazonaws.com", "us-east-1"), ("s3.example.org", "us-east-1"),
    ])
    func `the region comes from the setting, the environment, or the host`(host: String, region: String) throws {
        let location = try S3Location("s3:https://\(host)/bucket")
        #expect(location.region(setting: nil) { _ in nil } == region)
        #expect(location.region(setting: nil) { $0 == "AWS_DEFAULT_REGION" ? "b" : nil } == "b")
        #expect(location.region(setting: nil) { $0 == "AWS_DEFAULT_REGION" ? "b" : "a" } == "a")
        #expect(location.region(setting: "c") { _ in "a" } == "c")
    }

    @Test(arguments: ["localhost:8333", "127.0.0.1", "127.1.2.3:1", "[::1]:8333"])
    func `plain HTTP is allowed to this machine`(host: String) throws {
        #expect(try !S3Location("s3:http://\(host)/bucket").isSecure)
    }

    @Test(arguments: ["example.org", "128.0.0.1", "127.0.0.1.example.org", "127.0.0.256", "localhost.example.org", "[::2]"])
    func `plain HTTP to other machines needs a permission`(host: String) throws {
        #expect(errorCode { _ = try S3Location("s3:http://\(host)/bucket") } == .invalidArgument)
        #expect(try S3Location("s3:http://\(host)/bucket", permitsPlainHTTP: true).host == host)
    }

    @Test(arguments: [
        "", "s3:", "/srv/backups", "https://host/bucket", "s3:host/bucket", "s3:ftp://host/bucket", "s3:https://",
        "s3:https:///bucket",
        "s3:https://host", "s3:https://host/", "s3:https://host//bucket", "s3:https://host/bucket//prefix", "s3:https://host/bu",
        "s3:https://host/-bucket", "s3:https://host/buc ket", "s3:https://host/bucket/../other", "s3:https://host/bucket/a?b",
        "s3:https://host/bucket/a%20b", "s3:https://host:0/bucket", "s3:https://host:99999/bucket", "s3:https://host:x/bucket",
        "s3:https://ho st/bucket", "s3:https://host\n/bucket", "s3:https://[::1/bucket", "s3:https://[::1]x/bucket",
        "s3:https://bucket.s3.amazonaws.com/prefix",
    ])
    func `anything else is refused`(text: String) {
        #expect(errorCode { _ = try S3Location(text) } == .invalidArgument)
    }

    @Test func `credentials in a location are refused, and not shown`() {
        let error = failure { _ = try S3Location("s3:https://key:verySecret@host/bucket") }
        #expect(error?.message == "the location contains credentials")
        #expect(error.map { String(reflecting: $0).contains("verySecret") } == false)
    }
}
