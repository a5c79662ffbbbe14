#!/usr/bin/env python3
"""Checks that no room of the tree includes what it may not know.

The rooms and what each may include are in docs/ARCHITECTURE.md, "The rooms"; here they are ROOMS and LIBRARIES.
Include lines are read as text, so nothing has to be built.

    layers.py ROOT        exit 1 and one line for each violation
    layers.py --selftest  plants each kind of violation and checks that it is found
"""

import re
import sys
import tempfile
from pathlib import Path

# Room -> the rooms that it may include. Tests may include everything.
ROOMS = {
    "platform": ["platform"],
    "policy": ["platform", "policy"],
    "bridge/wire": ["platform", "policy", "bridge/wire"],
    "bridge": ["platform", "policy", "bridge/wire", "bridge"],
    "mcp": ["platform", "policy", "bridge/wire", "mcp"],
    "tests": ["platform", "policy", "bridge/wire", "bridge", "mcp", "tests"],
}

# Header of a library -> the files that wrap it, as a pattern over their path, and what to say about others.
LIBRARIES = [
    (r"git2(\.h|/)", r"bridge/git/", "libgit2 stays in bridge/git"),
    (r"openssl/", r"platform/digest\.cc|bridge/wire/channel\.cc|mcp/http_tls\.cc",
     "OpenSSL stays in digest.cc, channel.cc and http_tls.cc"),
    (r"boost/asio/ssl", r"bridge/wire/(asio|channel)\.cc|mcp/http_tls\.cc", "TLS stays in channel.cc and http_tls.cc"),
    (r"boost/beast", r"mcp/http_connection\.cc", "Beast stays in http_connection.cc"),
    (r"spdlog/", r"(.*/)?(log\.[^/]*|[^/]*main\.cc)", "spdlog stays in log.* and *main.cc"),
    (r"boost/", r"bridge/|mcp/", "platform and policy do without Boost"),
    (r"re2/", r"policy/secrets\.cc", "RE2 stays in policy/secrets.cc"),
    (r"cjose/", r"mcp/jwt\.cc", "cjose stays in mcp/jwt.cc"),
    (r"curl/", r"mcp/key_source\.cc", "libcurl stays in mcp/key_source.cc"),
]

SUFFIXES = {".h", ".hpp", ".inc", ".c", ".cc", ".cpp"}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|elifdef|elifndef)\b(.*)")
SYSTEM = re.compile(r"\b(__linux__|__linux|__gnu_linux__|_WIN32|_WIN64|__APPLE__|__MACH__|__unix__|__FreeBSD__)\b")


def room_of(path):
    """The innermost room that a path from the root lies in, or None."""
    inside = [room for room in ROOMS if path.startswith(room + "/")]
    return max(inside, key=len, default=None)


def check_include(path, bracket, header):
    room = room_of(path)
    target = room_of(header)
    if target is not None:
        return None if target in ROOMS[room] else f"{room} may not include {target}"
    if bracket == '"':
        return None if room == "tests" else "our own headers are named by their path from the root"
    for pattern, wrappers, rule in LIBRARIES:
        if re.match(pattern, header) and room != "tests" and not re.match(wrappers, path):
            return rule
    return None


def check_line(path, line):
    """What is wrong with one line of a file, or None."""
    include = INCLUDE.match(line)
    if include:
        problem = check_include(path, include[1], include[2])
        return problem and f"includes {include[2]}: {problem}"
    condition = CONDITION.match(line)
    if condition and room_of(path) not in ("platform", "tests") and SYSTEM.search(condition[2]):
        return "asks which system this is: only platform differs by system"
    return None


def check_tree(root):
    """All violations below a root, as lines; also how many files were read."""
    found = []
    files = 0
    for top in sorted({room.split("/")[0] for room in ROOMS}):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES or "node_modules" in file.parts or not file.is_file():
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                problem = check_line(path, line)
                if problem:
                    found.append(f"{path}:{number}: {problem}")
    return found, files


# Lines that must pass, and lines that must each be the one violation of their tree.
ALLOWED = [
    ("platform/files.cc", '#include "platform/files.h"'),
    ("platform/files.cc", "#ifdef __linux__"),
    ("platform/digest.cc", "#include <openssl/evp.h>"),
    ("policy/call.cc", '#include "platform/result.h"'),
    ("policy/secrets.cc", "#include <re2/re2.h>"),
    ("policy/text.cc", "#include <nlohmann/json.hpp>"),
    ("policy/text.cc", "#ifdef __cplusplus"),
    ("policy/text.cc", "// not on _WIN32"),
    ("bridge/wire/channel.cc", "#include <openssl/ssl.h>"),
    ("bridge/wire/asio.cc", "#include <boost/asio/impl/src.hpp>"),
    ("bridge/git/worker.cc", "#include <git2.h>"),
    ("bridge/git/worker.cc", "#include <git2/sys/repository.h>"),
    ("bridge/git/worker.cc", '#include "bridge/wire/frame.h"'),
    ("bridge/session.cc", '#include "bridge/git/worker.h"'),
    ("bridge/log.h", "#include <spdlog/spdlog.h>"),
    ("bridge/run_main.cc", "#include <spdlog/spdlog.h>"),
    ("mcp/main.cc", "#include <spdlog/spdlog.h>"),
    ("mcp/http_tls.cc", "#include <boost/asio/ssl/stream.hpp>"),
    ("mcp/http_connection.cc", "#include <boost/beast/http/parser.hpp>"),
    ("mcp/jwt.cc", "#include <cjose/jws.h>"),
    ("mcp/key_source.cc", "#include <curl/curl.h>"),
    ("mcp/front.cc", '#include "bridge/wire/channel.h"'),
    ("tests/unit/a_test.cc", "#include <openssl/ssl.h>"),
    ("tests/unit/a_test.cc", '#include "bridge/git/worker.h"'),
    ("tests/unit/a_test.cc", '#include "beside_it.h"'),
    ("docs/example.cc", '#include "mcp/front.h"'),
]
PLANTED = [
    ("platform/files.cc", '#include "policy/text.h"'),
    ("platform/files.cc", "  #  include <bridge/wire/frame.h>"),
    ("platform/files.cc", '#include "tests/unit/results.h"'),
    ("platform/files.cc", "#include <boost/asio.hpp>"),
    ("platform/files.cc", "#include <openssl/evp.h>"),
    ("platform/digest.h", "#include <openssl/evp.h>"),
    ("policy/call.cc", '#include "bridge/wire/message.h"'),
    ("policy/call.cc", '#include "mcp/tools.h"'),
    ("policy/call.cc", "#include <re2/re2.h>"),
    ("policy/call.cc", "#include <boost/regex.hpp>"),
    ("policy/secrets.h", "#include <re2/re2.h>"),
    ("policy/call.cc", "#if defined(_WIN32) || defined(X)"),
    ("bridge/wire/frame.cc", '#include "bridge/git/worker.h"'),
    ("bridge/wire/frame.cc", '#include "bridge/session.h"'),
    ("bridge/wire/frame.cc", "#include <openssl/ssl.h>"),
    ("bridge/wire/frame.cc", "#include <git2.h>"),
    ("bridge/wire/frame.cc", "#elif defined __APPLE__"),
    ("bridge/git/worker.cc", '#include "mcp/tools.h"'),
    ("bridge/runs/runs.cc", "#include <git2.h>"),
    ("bridge/runs/runs.cc", "#include <git2/sys/repository.h>"),
    ("bridge/runs/catalog.cc", "#include <spdlog/spdlog.h>"),
    ("mcp/front.cc", '#include "bridge/git/worker.h"'),
    ("mcp/front.cc", '#include "bridge/session.h"'),
    ("mcp/front.cc", "#ifndef __linux__"),
    ("mcp/front.cc", '#include "front.h"'),
    ("mcp/front.cc", '#include "../policy/text.h"'),
    ("mcp/front.cc", "#include <boost/asio/ssl/stream.hpp>"),
    ("mcp/front.cc", "#include <boost/beast/http.hpp>"),
    ("mcp/jwt.h", "#include <cjose/jwk.h>"),
    ("mcp/oauth.cc", "#include <cjose/jws.h>"),
    ("mcp/key_set.cc", "#include <curl/curl.h>"),
]


def violations_of(lines):
    with tempfile.TemporaryDirectory() as root:
        for path, line in lines:
            file = Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as text:
                text.write(line + "\n")
        return check_tree(Path(root))[0]


def selftest():
    wrong = [f"refused although allowed: {found}" for found in violations_of(ALLOWED)]
    for path, line in PLANTED:
        found = violations_of([*ALLOWED, (path, line)])
        if len(found) != 1 or not found[0].startswith(path + ":"):
            wrong.append(f"{path} with {line!r} gave {found}")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: layers.py ROOT | --selftest")
    if sys.argv[1] == "--selftest":
        found = selftest()
    else:
        found, files = check_tree(Path(sys.argv[1]))
        if files == 0:
            found.append("no source file was found; is that the root of the tree?")
    print("\n".join(found) or "every room keeps to its own")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
