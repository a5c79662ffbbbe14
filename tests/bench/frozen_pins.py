"""What frozen pins cost a run, as a ratio to the same run whose pins are verified before and after.

    REPOBRIDGE_BIN=build/release/bin python3 tests/bench/frozen_pins.py

The action ends at once. Each round takes the time of both, one after the other, so that what else the machine does
meets both. Printed are the medians and the quartiles of the rounds. Needs room for 1 GB, twice in memory.
"""

import hashlib
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "functional"))
from bridge_case import Host  # noqa: E402
from manifest import manifest_digest  # noqa: E402

ROUNDS = 15
# name → files, bytes of each, whether one pin is for all of them
CASES = {
    "1 file of 4 KiB": (1, 4096, False),
    "1000 files of 4 KiB": (1000, 4096, False),
    "1 directory of 1000 such files": (1000, 4096, True),
    "1 file of 1 GB": (1, 10**9, False),
}


def write_files(repository, count, size):
    for number in range(count):
        block = bytes((number + at * 7) % 256 for at in range(4096))
        repository.write(f"tree/{number // 100}/{number}", block * (size // 4096))


def pins_of(repository, count, whole):
    if whole:
        return {"tree/": manifest_digest(repository / "tree")}
    names = [f"tree/{number // 100}/{number}" for number in range(count)]
    return {name: hashlib.sha256((repository / name).read_bytes()).hexdigest() for name in names}


def time_of(client, action):
    began = time.perf_counter()
    answer = client.call("run_repo_action", workdir="app", action=action)["structuredContent"]
    took = time.perf_counter() - began
    protection = "overlay" if action == "frozen" else "reverified"
    assert answer["data"]["pins"]["protection"] == protection, answer
    return took * 1000


def measure(count, size, whole):
    host = Host()
    try:
        repository = host.workdirs["app"].remake()
        write_files(repository, count, size)
        action = {"argv": ["/bin/true"], "integrity": pins_of(repository, count, whole)}
        actions = {"frozen": {**action, "mutates": False}, "reverified": {**action, "mutates": True}}
        file = host.path / "actions.json"
        file.write_text(json.dumps(actions))
        file.chmod(0o600)
        host.settings["WORKDIR_01_REPO_ACTIONS_FILE"] = file
        host.render()
        host.start()
        client = host.client()
        time_of(client, "frozen"), time_of(client, "reverified")
        return [(time_of(client, "frozen"), time_of(client, "reverified")) for _ in range(ROUNDS)]
    finally:
        host.remove()


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:8.2f} ({low:.2f} to {high:.2f})"


def main():
    print(f"{'pins':32} {'frozen, ms':>28} {'verified twice, ms':>28}   ratio")
    for name, case in CASES.items():
        rounds = measure(*case)
        columns = [[one[0] for one in rounds], [one[1] for one in rounds], [one[0] / one[1] for one in rounds]]
        print(f"{name:32} " + " ".join(f"{quartiles(column):>28}" for column in columns), flush=True)


if __name__ == "__main__":
    main()
