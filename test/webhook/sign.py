"""Signs the vectors with Python's hmac, knowing nothing of our code; prints what it gets. With --write the file is written anew.

usage: python3 test/webhook/sign.py test/webhook/vector.json [--write]
"""
import base64
import hashlib
import hmac
import json
import sys


def body_of(vector):
    pieces = [p if isinstance(p, str) else p["repeat"] * p["times"] for p in vector["body"]]
    return "".join(pieces).encode("utf-8")


def hmac_sha256(secret, message):
    return hmac.new(secret.encode("utf-8"), message, hashlib.sha256)


def sign(vector):
    timestamp, body = str(vector["timestamp"]).encode(), body_of(vector)
    secrets = [vector["secret"]] + ([vector["previous"]] if "previous" in vector else [])
    service = hmac_sha256(secrets[-1], timestamp + b"." + body).hexdigest()
    standard = [hmac_sha256(s, vector["id"].encode() + b"." + timestamp + b"." + body).digest() for s in secrets]
    return {
        "name": vector["name"],
        "service_signature": "sha256=" + service,
        "webhook_signature": " ".join("v1," + base64.b64encode(digest).decode() for digest in standard),
    }


path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    document = json.load(file)
if "--write" in sys.argv:
    for vector in document["vectors"]:
        vector.update(sign(vector))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, ensure_ascii=False)
        file.write("\n")
else:
    json.dump([sign(vector) for vector in document["vectors"]], sys.stdout)
