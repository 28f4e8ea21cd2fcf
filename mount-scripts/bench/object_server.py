"""An object server on this machine, which counts what clients ask of it: SeaweedFS, as the tests use it."""

import os
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
import xml.etree.ElementTree
from pathlib import Path

from measure import StepFailed

SCRIPT = Path(__file__).parent.parent / "object-servers" / "seaweedfs.sh"
BUCKET = "bench"


class ObjectServer:
    """Runs while in the `with`, with a new, empty bucket, and takes everything away at the end."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.values = {}

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        started = subprocess.run(
            [SCRIPT, "start", self.folder, "--until-end-of", str(os.getpid())], capture_output=True, text=True)
        if started.returncode != 0:
            raise StepFailed(f"the object server did not start\n{started.stderr[-1500:]}")
        self.values = dict(line.split("=", 1) for line in started.stdout.splitlines() if "=" in line)
        self.ask("--request", "PUT", f"{self.endpoint}/{BUCKET}")
        return self

    def __exit__(self, *_):
        subprocess.run([SCRIPT, "stop", self.folder], check=True, capture_output=True)
        shutil.rmtree(self.folder)

    @property
    def endpoint(self) -> str:
        return self.values["endpoint"]

    @property
    def version(self) -> str:
        return f"SeaweedFS {self.values['version']}"

    def environment(self) -> dict:
        """What clients need, besides the address."""
        return {
            "AWS_ACCESS_KEY_ID": self.values["access_key"], "AWS_SECRET_ACCESS_KEY": self.values["secret_key"],
            "AWS_REGION": self.values["region"], "AWS_DEFAULT_REGION": self.values["region"]}

    def ask(self, *arguments) -> bytes:
        """A signed request, by curl."""
        keys = f"user = \"{self.values['access_key']}:{self.values['secret_key']}\"\n"
        command = ["curl", "--silent", "--show-error", "--fail-with-body", "--noproxy", "*", "--config", "-",
                   "--aws-sigv4", f"aws:amz:{self.values['region']}:s3", "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
        answer = subprocess.run([*command, *arguments], input=keys.encode(), capture_output=True)
        if answer.returncode != 0:
            raise StepFailed(f"the object server refuses {arguments}\n{answer.stderr.decode()}{answer.stdout.decode()}")
        return answer.stdout

    def stored_bytes(self) -> int:
        """The sizes of all objects."""
        total, after = 0, ""
        while True:
            # curl signs a query as it is, which has to be in the order of its names.
            query = urllib.parse.urlencode({"list-type": 2, **({"start-after": after} if after else {})}, quote_via=urllib.parse.quote)
            root = xml.etree.ElementTree.fromstring(self.ask(f"{self.endpoint}/{BUCKET}?{query}"))
            space = root.tag.partition("}")[0] + "}"
            entries = root.findall(f"{space}Contents")
            total += sum(int(entry.find(f"{space}Size").text) for entry in entries)
            if root.find(f"{space}IsTruncated").text != "true":
                return total
            after = entries[-1].find(f"{space}Key").text

    def counters(self) -> dict:
        """Since its start: requests by kind, and the bytes of objects that came in and went out."""
        with urllib.request.urlopen(self.values["metrics"]) as answer:
            text = answer.read().decode()
        found = {"requests": {}, "received_bytes": 0, "sent_bytes": 0}
        for name, labels, value in re.findall(r"^SeaweedFS_s3_(\w+)\{([^}]*)\} (\S+)$", text, re.M):
            if f'bucket="{BUCKET}"' not in labels:
                continue
            if name == "request_seconds_count":
                found["requests"][re.search(r'type="(\w+)"', labels)[1]] = int(float(value))
            elif name == "bucket_traffic_received_bytes_total":
                found["received_bytes"] = int(float(value))
            elif name == "bucket_traffic_sent_bytes_total":
                found["sent_bytes"] = int(float(value))
        return found


def difference(before: dict, after: dict) -> dict:
    """What was counted between two moments."""
    kinds = {kind: count - before["requests"].get(kind, 0) for kind, count in after["requests"].items()}
    return {
        "requests": sum(kinds.values()), "requests_by_kind": {kind: count for kind, count in kinds.items() if count},
        "received_bytes": after["received_bytes"] - before["received_bytes"],
        "sent_bytes": after["sent_bytes"] - before["sent_bytes"]}
