"""Repositories that are hard to look at: damaged, deep, enormous. Each call ends with an answer or one clear error, and
the next one works."""

import os
import pathlib
import re
import shutil
import signal
import threading
import time
import zlib

from bridge_case import BridgeCase, Host
from harness import BIN, PATIENCE


class WorkerCase(BridgeCase):
    def workers(self):
        """The process ids of the bridge's git workers."""
        children = pathlib.Path(f"/proc/{self.host.pid}/task/{self.host.pid}/children").read_text().split()
        return [pid for pid in map(int, children) if name_of(pid) == "repobridge-git"]


class HardRepositoryTest(WorkerCase):
    def loose(self, oid):
        return self.repo.git_dir / "objects" / oid[:2] / oid[2:]

    def damage(self, name, damaged):
        """The stored file of that name in the index with other bytes in its place."""
        place = self.loose(self.repo.git("rev-parse", f":{name}"))
        content = damaged(place.read_bytes())
        place.unlink()
        place.write_bytes(content)

    def test_damaged_objects(self):
        # libgit2 1.5 itself inflates a truncated one for ever, and writes beyond its buffer for one that goes on.
        content = b"one\n" * 5000
        damages = {
            "empty": lambda stored: b"",
            "no zlib": lambda stored: b"no zlib at all",
            "two bytes": lambda stored: stored[:2],
            "half": lambda stored: stored[: len(stored) // 2],
            "without its checksum": lambda stored: stored[:-4],
            "another checksum": lambda stored: stored[:-4] + b"\0\0\0\0",
            "bytes behind its end": lambda stored: stored + b"x",
            "more behind it": lambda stored: zlib.compress(b"blob 4\0" + content),
            "less than it says": lambda stored: zlib.compress(b"blob 20000\0short"),
            "says it is enormous": lambda stored: zlib.compress(b"blob 999999999999\0x"),
            "size beyond numbers": lambda stored: zlib.compress(b"blob 99999999999999999999999999999999999\0x"),
            "negative size": lambda stored: zlib.compress(b"blob -1\0x"),
            "unknown type": lambda stored: zlib.compress(b"blub 4\0one\n"),
            "header without end": lambda stored: zlib.compress(b"blob 4" + b" " * 5000),
            "another content": lambda stored: zlib.compress(b"blob 4\0two\n"),
        }
        for name, damaged in damages.items():
            self.repo.remake()
            self.repo.save(a=content)
            self.repo.write("a", "changed\n")
            self.damage("a", damaged)
            with self.subTest(name=name):
                self.refused("REPO_OBJECT_DAMAGED", "inspect_repo", workdir="app", view="diff", paths=["a"])
                self.assertEqual(self.entries().keys(), {"a"})

    def test_damaged_commit(self):
        head = self.repo.save(a="one\n")
        self.repo.write("a", "two\n")
        place = self.loose(head)
        stored = place.read_bytes()
        place.unlink()
        place.write_bytes(stored[:-5])
        self.refused("REPO_OBJECT_DAMAGED", "inspect_repo", workdir="app", view="status")
        self.commit_refused("REPO_OBJECT_DAMAGED", "a")
        place.unlink()
        place.write_bytes(stored)
        self.commit("a")

    def test_link_in_place_of_an_object(self):
        self.repo.save(a="one\n")
        self.repo.write("a", "two\n")
        place = self.loose(self.repo.git("rev-parse", ":a"))
        place.rename(self.host.path / "moved")
        self.addCleanup((self.host.path / "moved").unlink)
        place.symlink_to(self.host.path / "moved")
        self.refused("REPO_OBJECT_DAMAGED", "inspect_repo", workdir="app", view="diff", paths=["a"])

    def test_damaged_index(self):
        self.repo.save(a="one\n", b="two\n")
        whole = (self.repo.git_dir / "index").read_bytes()
        for damaged in (b"", b"DIRC", whole[:-30], whole[:40] + b"\xff" * 8 + whole[48:], b"\0" * len(whole)):
            (self.repo.git_dir / "index").write_bytes(damaged)
            with self.subTest(damaged=damaged[:12]):
                data, error = self.call("inspect_repo", workdir="app", view="status")
                self.assertIsNone(data)
                self.assertNotEqual(error["code"], "INTERNAL_ERROR")
        (self.repo.git_dir / "index").write_bytes(whole)
        self.assertEqual(self.entries(), {})

    def test_deep_directories(self):
        name = "/".join(["d"] * 99) + "/a"
        self.repo.save("base", **{name: "one\n"})
        self.repo.write(name, "two\n")
        self.assertEqual(self.entries().keys(), {name})
        self.assertEqual(self.diff(name)["files"][0]["additions"], 1)
        made = self.commit(name)
        self.assertEqual(made["commit"], self.repo.head())
        self.assertEqual(self.repo.status(), "")

    def test_directories_too_deep(self):
        name = "/".join(["d"] * 100) + "/a"
        self.repo.save("base", **{name: "one\n"})
        self.repo.write(name, "two\n")
        self.refused("REPO_UNSUPPORTED_LAYOUT", "inspect_repo", workdir="app", view="status")
        self.assertEqual(self.diff(name)["files"][0]["additions"], 1)
        self.commit(name)
        self.assertEqual(self.repo.status(), "")

    def test_enormous_index(self):
        self.repo.save(a="one\n")
        blob = self.repo.git("rev-parse", "HEAD:a")
        leaf = self.tree((f"100644 blob {blob}", f"f{i:04}") for i in range(1000))
        top = self.tree((f"040000 tree {leaf}", f"d{i:03}") for i in range(200))
        (self.repo / "a").unlink()
        self.repo.git("read-tree", top)
        self.repo.git("reset", "-q", "--soft", self.repo.git("commit-tree", top, "-m", "200000 files"))
        status = self.status()
        self.assertTrue(status["truncated"])
        self.assertEqual(len(status["entries"]), 1000)
        self.assertEqual({entry["worktree"] for entry in status["entries"]}, {"deleted"})
        self.repo.write("d000/f0000", "two\n")
        made = self.commit("d000/f0000")
        self.assertEqual(made["files_changed"], 1)
        self.assertEqual(self.repo.git("diff", "--name-only", "HEAD~", "HEAD"), "d000/f0000")

    def tree(self, entries):
        text = "".join(f"{what}\t{name}\n" for what, name in entries)
        return self.repo.git("mktree", input=text.encode())

    def test_file_of_600_mb(self):
        self.repo.save(a="one\n")
        for name in ("a", "new"):
            with open(self.repo / name, "wb") as file:
                file.truncate(600_000_000)
        self.assertEqual(self.entries().keys(), {"a", "new"})
        for name in ("a", "new"):
            with self.subTest(name=name):
                self.refused("REPO_PATH_TOO_LARGE", "inspect_repo", workdir="app", view="diff", paths=[name])
                self.commit_refused("REPO_PATH_TOO_LARGE", name)
        self.assert_sound()

    def test_descriptors_of_a_worker(self):
        """Nothing of the bridge's: its standard streams, its socket, and the user's configuration in memory."""
        self.repo.save(a="one\n")
        self.assertEqual(self.entries(), {})
        (worker,) = self.workers()
        if os.geteuid() != 0:  # its user may not look into it at all
            with self.assertRaises(PermissionError):
                os.listdir(f"/proc/{worker}/fd")
            return
        held = [os.readlink(f"/proc/{worker}/fd/{fd}") for fd in sorted(os.listdir(f"/proc/{worker}/fd"), key=int)]
        kinds = [re.sub(r":.*| \(deleted\)$", "", what).replace(str(self.host.log_path), "the log") for what in held]
        self.assertEqual(kinds[:4], ["/dev/null", "/dev/null", "the log", "socket"])
        self.assertEqual([kind for kind in kinds[4:] if not kind.startswith("/memfd")], [])

    def test_limits_of_a_worker(self):
        """What bounds it whatever it reads, beside its deadline."""
        self.repo.save(a="one\n")
        self.assertEqual(self.entries(), {})
        (worker,) = self.workers()
        lines = pathlib.Path(f"/proc/{worker}/limits").read_text().splitlines()[1:]
        limits = {line[:26].strip(): line[26:].split()[:2] for line in lines}
        for name, bound in {
            "Max core file size": 0,
            "Max cpu time": 60,
            "Max file size": 1 << 30,
            "Max open files": 512,
        }.items():
            self.assertEqual(limits[name], [str(bound)] * 2, name)

    def test_worker_killed_between_calls(self):
        self.repo.save(a="one\n")
        self.assertEqual(self.entries(), {})
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.entries(), {})

    def test_worker_that_hangs(self):
        self.repo.save(a="one\n")
        self.assertEqual(self.entries(), {})
        (worker,) = self.workers()
        os.kill(worker, signal.SIGSTOP)
        self.refused("REPO_GIT_TIMEOUT", "inspect_repo", workdir="app", view="status")
        self.assertNotIn(worker, self.workers())
        self.assertEqual(self.entries(), {})

    def test_worker_killed_in_a_call(self):
        """A caller sees nothing of it: a fresh one answers."""
        self.repo.save(a="one\n" * 5000)
        self.assertEqual(self.entries(), {})
        (worker,) = self.workers()
        os.kill(worker, signal.SIGSTOP)
        begun = len(self.host.audit())
        killer = threading.Thread(target=self.kill_when_asked, args=[worker, begun])
        killer.start()
        self.assertEqual(self.entries(), {})
        killer.join()
        self.assertNotIn(worker, self.workers())

    def kill_when_asked(self, worker, begun):
        """When the call has begun."""
        while len(self.host.audit()) == begun:
            threading.Event().wait(0.01)
        os.kill(worker, signal.SIGKILL)


class KeptWorkerTest(WorkerCase):
    """A worker answers the next question too, as long as that would make no difference."""

    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n")

    def worker(self):
        """Who has just answered."""
        self.assertEqual(self.status()["clean"], True)
        (worker,) = self.workers()
        return worker

    def test_is_kept(self):
        kept = self.worker()
        self.repo.write("a", "two\n")
        self.diff("a")
        self.assertEqual(self.workers(), [kept])
        self.repo.save("by git")
        self.assertEqual(self.worker(), kept)

    def test_is_not_kept_for_ever(self):
        kept = self.worker()
        for _ in range(99):
            self.status()
        self.assertNotIn(kept, self.workers())
        self.assertNotEqual(self.worker(), kept)

    def test_is_another_on_other_grounds(self):
        users = self.host.user.config
        self.addCleanup(users.write_text, users.read_text())
        included = self.host.user.home / "included"
        included.write_text("")
        users.write_text(users.read_text() + "[include]\n\tpath = ~/included\n")
        copy = self.host.path / "copy"
        for change in (
            lambda: self.repo.git("switch", "-q", "-c", "other"),
            lambda: self.repo.config("core.autocrlf", "input"),
            lambda: included.write_text("[core]\n\teol = lf\n"),
            lambda: users.write_text(users.read_text() + "[core]\n\tfilemode = true\n"),
            lambda: replace(self.repo.git_dir, copy),
            lambda: replace(self.repo.path, copy),
        ):
            before = self.worker()
            self.assertEqual(self.worker(), before)
            change()
            self.assertNotEqual(self.worker(), before)


class HostOfSleepers(Host):
    """Its git workers never answer."""

    def __init__(self, settings=None):
        super().__init__(settings)
        self.programs = self.path / "bin"
        self.programs.mkdir()
        shutil.copy2(BIN / "repobridged", self.programs)
        (self.programs / "repobridge-git").symlink_to(BIN / "children" / "sleeper")
        (self.programs / "repobridge-run").symlink_to(BIN / "repobridge-run")


class ManyQuestionsTest(WorkerCase):
    """No more than four look at one workdir at once; the others stand in line."""

    host_class = HostOfSleepers

    def until(self, condition):
        """The kernel tells nobody of another process's children."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            threading.Event().wait(0.01)

    def start(self):
        """A question that the bridge has taken up."""
        begun = self.count("begin")
        id = self.client.start_call("inspect_repo", {"workdir": "app", "view": "status"})
        self.until(lambda: self.count("begin") == begun + 1)
        return id

    def give_up(self, id):
        ended = self.count("end")
        self.client.notify("notifications/cancelled", {"requestId": id})
        self.until(lambda: self.count("end") == ended + 1)
        self.assertEqual(self.host.audit()[-1]["outcome"], "CALL_CANCELLED")

    def count(self, event):
        return sum(line["event"] == event for line in self.host.audit())

    def test_wait_for_their_turn_and_may_be_given_up_before(self):
        at_work = [self.start() for _ in range(4)]
        self.until(lambda: len(self.workers()) == 4)
        workers = self.workers()
        next, last = self.start(), self.start()
        self.give_up(last)
        self.assertEqual(self.workers(), workers)

        self.give_up(at_work.pop())
        self.until(lambda: len(set(self.workers()) - set(workers)) == 1)
        self.assertEqual(len(self.workers()), 4)
        for id in (*at_work, next):
            self.give_up(id)
        self.until(lambda: not self.workers())


def replace(directory, copy):
    """A copy in the directory's place."""
    shutil.copytree(directory, copy, symlinks=True)
    shutil.rmtree(directory)
    copy.rename(directory)


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()[:14]
    except FileNotFoundError:
        return None
