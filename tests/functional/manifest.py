"""The manifest of a pinned directory as docs/POLICY.md describes it, written anew: what the programs are held to."""

import hashlib
import os
import stat

ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


def quoted(name):
    def one(byte):
        if byte in ESCAPES:
            return "\\" + ESCAPES[byte]
        return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"

    return '"' + "".join(map(one, name)) + '"'


def entry(path, name):
    facts = os.lstat(path)
    if stat.S_ISDIR(facts.st_mode):
        return f"dir {quoted(name)}\n" + entries(path, name + b"/")
    if stat.S_ISLNK(facts.st_mode):
        return f"link {quoted(os.readlink(path))} {quoted(name)}\n"
    with open(path, "rb") as file:
        content = file.read()
    executable = "x" if facts.st_mode & stat.S_IXUSR else "-"
    return f"file {executable} {len(content)} {hashlib.sha256(content).hexdigest()} {quoted(name)}\n"


def entries(directory, below=b""):
    return "".join(entry(os.path.join(directory, name), below + name) for name in sorted(os.listdir(directory)))


def manifest(directory):
    return "repobridge manifest 1\n" + entries(os.fsencode(directory))


def manifest_digest(directory):
    return hashlib.sha256(manifest(directory).encode()).hexdigest()
