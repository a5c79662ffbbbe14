"""The closed room of an action: what its program may reach, tried by a program that means no good.

Each try is first shown to work for the same user without a room. The whole file runs as whoever runs it and, where
that is root, once more as an ordinary user.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import socket
import stat
import subprocess
import tempfile
import threading
import unittest

from action_case import ActionHost
from bridge_case import BridgeCase
from crash_case import children_of, name_of
from harness import BIN, PATIENCE
from ordinary_user import assert_passes_as_an_ordinary_user
from supervisor_case import ROOT, WITHOUT

INTRUDER = BIN / "children" / "intruder"
PINNED = "what the actions stand on\n"
PIN = {"pinned": hashlib.sha256(PINNED.encode()).hexdigest()}
NAMESPACED = ["files", "processes", "network", "ipc"]
EVERYTHING = [*NAMESPACED, "privileges", "landlock", "calls"]
# A machine need not have these for anybody.
NOT_EVERYWHERE = {"io_uring", "add_key", "setxattr", "enter", "fchmodat2", "i386", "x32"}
CHANGES = ["append", "chmod", "truncate", "utimensat", "setxattr", "unlink"]
SCRIPT = "#!/bin/sh\necho 'exit 7' >tool.sh || exit 3\n"


class Neighbours:
    """What a user's machine has running: servers on every kind of socket, a process, shared memory."""

    def __init__(self, directory, home, seen):
        """`seen`: a directory that every room shows."""
        self._open = contextlib.ExitStack()
        self.log = self._open.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.log.bind(str(seen / "log.sock"))
        self.agent = self._listen(socket.AF_UNIX, str(directory / "agent.sock"))
        self.engine = self._listen(socket.AF_UNIX, str(home / "docker.sock"))
        self.buses = [self._bus(directory.name)] if ROOT else []
        self.abstract = "repobridge-test-" + directory.name
        self._listen(socket.AF_UNIX, "\0" + self.abstract)
        self.tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))[1]
        self.udp = self._echo()
        self.process = self._open.enter_context(
            subprocess.Popen([BIN / "children" / "sleeper"], stdout=subprocess.DEVNULL)
        )
        self._open.callback(self.process.kill)

    def _listen(self, family, address):
        listener = self._open.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.bind(address)
        listener.listen(100)
        return listener.getsockname()

    def _bus(self, name):
        """As a session's, below /run, where whoever is not root makes nothing by himself."""
        directory = self._open.enter_context(tempfile.TemporaryDirectory(prefix="repobridge-test-", dir="/run"))
        self._listen(socket.AF_UNIX, f"{directory}/bus")
        return pathlib.Path(directory)

    def _echo(self):
        server = self._open.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        server.bind(("127.0.0.1", 0))

        def answer():
            while (heard := server.recvfrom(16))[0] != b"end":
                server.sendto(*heard)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        self._open.callback(lambda: (server.sendto(b"end", server.getsockname()), thread.join(PATIENCE)))
        return server.getsockname()[1]

    def close(self):
        self._open.close()


class SharedMemory:
    """A segment of System V's that this user owns."""

    def __init__(self):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.key = int.from_bytes(os.urandom(3), "big") + 1
        self._id = self._libc.shmget(self.key, 4096, 0o1600)
        assert self._id >= 0, os.strerror(ctypes.get_errno())

    def close(self):
        self._libc.shmctl(self._id, 0, None)


class RoomCase(BridgeCase):
    host_class = ActionHost
    launcher = []
    settings = {}
    room = "repobridge-room"
    supervisor = "repobridge-run"
    # action → what its definition says beside the intruder's argv
    actions = {}

    @classmethod
    def prepare(cls, host):
        host.use_supervisor(cls.supervisor)
        host.use_room(cls.room)
        host.launcher = cls.launcher
        host.user.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # which would trace the bridge
        cls.home = host.user.home
        cls.neighbours = Neighbours(host.path, cls.home, host.ways_into_room("app"))
        cls.addClassCleanup(cls.neighbours.close)
        cls.memory = SharedMemory()
        cls.addClassCleanup(cls.memory.close)
        cls.fill_home()
        host.workdirs["app"].write("pinned", PINNED)
        host.workdirs["app"].write("tool.sh", SCRIPT, mode=0o755)
        tries = {"argv": cls.argv(), "integrity": PIN}
        actions = {name: {**tries, "mutates": False, **more} for name, more in cls.actions.items()}
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps({**actions, **cls.scripts()})
        host.settings["REPOBRIDGE_FRONT_TOKEN_FILES"] = f"caller={cls.home / 'caller.token'}"

    @classmethod
    def scripts(cls):
        pins = {"tool.sh": hashlib.sha256(SCRIPT.encode()).hexdigest()}
        script = {"argv": ["./tool.sh"], "integrity": pins}
        modes = {"argv": cls.argv(cls.modes()), "integrity": PIN, "mutates": True}
        places = ["/usr/bin/stat", "--format=%d %A", "/tmp", "/var/tmp", "/run", "/dev", "/dev/shm", str(cls.home)]
        return {"own": {**script, "mutates": True}, "own_still": {**script, "mutates": False}, "modes": modes,
                "places": {"argv": places, "integrity": PIN, "mutates": False}}  # fmt: skip

    @classmethod
    def fill_home(cls):
        for name in (".ssh/id_ed25519", ".netrc", ".config/gh/hosts.yml", ".cache/tool/data", "plain"):
            path = cls.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("of the user\n")
        (cls.home / "caller.token").write_text("t" * 40 + "\n")
        (cls.home / "caller.token").chmod(0o600)
        (cls.home / "link").symlink_to(cls.home / ".cache/tool")

    def setUp(self):
        super().setUp()
        self.refill()

    def refill(self):
        """What tries may have changed."""
        self.repo.write("pinned", PINNED)
        self.repo.write("tool.sh", SCRIPT, mode=0o755)
        for directory in (self.repo.path, self.home):
            for change in (*CHANGES, "from", "link"):
                (directory / f"f_{change}").unlink(missing_ok=True)
                (directory / f"f_{change}").write_text("to be changed\n")
            for made in ("linked", "moved", "created"):
                (directory / made).unlink(missing_ok=True)
        for _, way, path in self.modes():
            path.unlink(missing_ok=True)
            if path.name.startswith("f_"):
                path.write_text("to be changed\n")

    # Tries, by what they are for

    @classmethod
    def secrets(cls):
        host = cls.host
        return [
            ["read", cls.home / ".ssh/id_ed25519"], ["read", cls.home / ".netrc"], ["list", cls.home / ".ssh"],
            ["read", cls.home / ".config/gh/hosts.yml"], ["read", host.out / "bridge.key"],
            ["read", cls.home / "caller.token"], ["read", host.out / "repobridge.env"], ["list", host.out], ["list", host.state],
            *([["read", "/etc/shadow"], *cls.disks()] if ROOT else []),
        ]  # fmt: skip

    @staticmethod
    def disks():
        found = [path for path in sorted(pathlib.Path("/dev").iterdir()) if stat.S_ISBLK(path.lstat().st_mode)]
        return [["open", path] for path in found[:1]]

    @classmethod
    def sockets(cls):
        near = cls.neighbours
        bridge = cls.host.out / "run" / "bridge.sock"
        return [*(["connect", place] for place in (near.agent, near.engine, bridge)), ["abstract", near.abstract],
                *(["connect", place / "bus"] for place in near.buses), *(["list", place] for place in near.buses),
                ["datagram", near.log.getsockname()], ["pair_of", socket.AF_UNIX, socket.SOCK_DGRAM],
                ["pair_of", socket.AF_UNIX, socket.SOCK_RAW]]  # fmt: skip

    @classmethod
    def network(cls):
        return [["tcp", cls.neighbours.tcp], ["udp", cls.neighbours.udp]]

    @classmethod
    def processes(cls):
        other = cls.neighbours.process.pid
        return [["read", f"/proc/{other}/environ"], ["list", f"/proc/{other}/fd"], ["signal", other],
                ["open", f"/proc/{other}/mem"], ["shm", cls.memory.key]]  # fmt: skip

    @staticmethod
    def changes_in(directory):
        return [
            *([change, directory / f"f_{change}"] for change in CHANGES),
            ["create", directory / "created"],
            ["link", directory / "f_link", directory / "linked"],
            ["rename", directory / "f_from", directory / "moved"],
        ]

    @classmethod
    def modes(cls):
        """What a program may do to no file at all, not even to its own: others would get its user's rights."""
        root = cls.host.workdirs["app"].path
        there, new = ("chmod", "fchmod", "fchmodat", "fchmodat2"), ("open", "openat", "openat2", "creat", "mknod", "mknodat")
        return [[bit, way, root / f"{'f' if way in there else 'new'}_{bit}_{way}"]
                for bit in ("setuid", "setgid") for way in (*there, *new)]  # fmt: skip

    @classmethod
    def escapes(cls):
        return [["mount", "/mnt"], ["remount", "/usr"], ["umount", "/mnt"], ["open_tree"], ["unshare"], ["clone"],
                ["setns"], ["add_key"], ["io_uring"], ["i386"], ["x32"],
                *([["enter", "/proc/1/ns/uts"], ["open_to_write", "/proc/sys/kernel/core_pattern"],
                   ["same_mode_of_input"], ["same_mode", "/dev/null"]] if ROOT else []),
                ]  # fmt: skip

    @classmethod
    def shared(cls):
        name = "repobridge-test-left-" + cls.host.path.name
        return [["create", f"/tmp/{name}"], ["create", f"/dev/shm/{name}"]]

    @classmethod
    def argv(cls, tries=None):
        words = [INTRUDER]
        for attempt in tries or cls.all_tries():
            words += [*attempt, "/"]
        return [str(word) for word in words]

    @classmethod
    def all_tries(cls):
        return [*cls.secrets(), *cls.sockets(), *cls.network(), *cls.processes(), *cls.changes_in(cls.home),
                *cls.changes_in(cls.host.workdirs["app"].path), *cls.escapes(), *cls.shared(),
                ["read", cls.home / "plain"], ["read", cls.home / ".cache/tool/data"], ["pair"]]  # fmt: skip

    # What came of them

    def attempt(self, action):
        """Every try of a run, and the run."""
        run = self.data("run_repo_action", workdir="app", action=action)
        self.assertEqual((run["state"], run["exit_code"], run["stderr"]), ("finished", 0, ""), run)
        return outcomes(self.all_tries(), run["stdout"]), run

    def assert_only(self, found, *possible, home="private"):
        """Those tries did it, and no other. What may be made in a place of the room's own is not found outside."""
        private = self.shared() + ([["create", self.home / "created"]] if home == "private" else [])
        expected = {key_of(attempt) for attempts in (*possible, [["pair"]], private) for attempt in attempts}
        self.assertEqual({attempt for attempt, said in found.items() if said == "did it"}, expected)
        for attempt in private:
            self.assertFalse(pathlib.Path(attempt[1]).exists())

    def plain(self):
        return [["read", self.home / "plain"], ["read", self.home / ".cache/tool/data"]]


def key_of(attempt):
    return " ".join(str(word) for word in attempt)


def outcomes(attempts, said):
    """try → "did it", or why not."""
    lines = said.splitlines()
    assert [int(line.split(" ", 1)[0]) for line in lines] == list(range(len(attempts))), said
    return {key_of(attempt): line.split(" ", 1)[1] for attempt, line in zip(attempts, lines)}


class Intruder(RoomCase):
    actions = {
        "closed": {},
        "writing": {"mutates": True},
        "online": {"network": "host"},
        "reader": {"home_read": ["plain", ".cache/tool", "not/there"]},
        "at_home": {"home": "user"},
        "open": {"home": "user", "network": "host", "mutates": True},
        "effort": {"isolation": "best_effort"},
        "by_link": {"home_read": ["plain", "link/data"]},
    }

    def test_a_link_on_the_way_to_what_it_may_read(self):
        self.refused("REPO_ACTION_START_FAILED", "run_repo_action", workdir="app", action="by_link")

    def test_without_a_room_all_of_it_works(self):
        self.addCleanup(self.remove_shared)
        self.assert_all_works(self.all_tries())

    def assert_all_works(self, tries):
        done = subprocess.run(self.argv(tries), cwd=self.repo.path, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE)  # fmt: skip
        found = outcomes(tries, done.stdout)
        failed = {attempt: said for attempt, said in found.items() if said != "did it"}
        self.assertEqual([attempt for attempt in failed if not NOT_EVERYWHERE & set(attempt.split())], [], failed)

    def remove_shared(self):
        for attempt in self.shared():
            pathlib.Path(attempt[1]).unlink(missing_ok=True)

    def test_nothing_of_it_in_a_closed_room(self):
        found, run = self.attempt("closed")

        self.assert_only(found)
        self.assertEqual(
            run["isolation"], {"network": "none", "home": "private", "held": EVERYTHING, "missing": []}
        )

    def test_a_program_that_may_write_its_workdir(self):
        found, _ = self.attempt("writing")

        self.assert_only(found, self.changes_in(self.repo.path))

    def test_a_program_that_would_lend_its_user_to_others(self):
        self.assert_all_works(self.modes())
        self.refill()
        run = self.data("run_repo_action", workdir="app", action="modes")

        found = outcomes(self.modes(), run["stdout"])
        self.assertEqual([attempt for attempt, said in found.items() if said == "did it"], [])

    def test_a_program_that_may_use_the_network(self):
        found, run = self.attempt("online")

        self.assert_only(found, self.network())
        self.assertEqual(run["isolation"]["network"], "host")
        self.assertEqual(run["isolation"]["held"], [part for part in EVERYTHING if part != "network"])

    def test_what_it_may_read_of_the_home(self):
        found, _ = self.attempt("reader")

        self.assert_only(found, self.plain())

    def test_the_users_home_but_for_credentials(self):
        found, run = self.attempt("at_home")

        self.assert_only(found, self.plain(), home="user")
        self.assertEqual(run["isolation"]["home"], "user")

    def test_as_open_as_a_room_can_be(self):
        found, _ = self.attempt("open")

        self.assert_only(found, self.network(), self.plain(), self.changes_in(self.repo.path), home="user")

    def test_best_effort_where_all_is_there(self):
        found, run = self.attempt("effort")

        self.assert_only(found)
        self.assertEqual(run["isolation"]["missing"], [])

    def test_what_is_private_shares_one_memory(self):
        run = self.data("run_repo_action", workdir="app", action="places")
        devices, modes = zip(*(line.split() for line in run["stdout"].splitlines()))

        self.assertEqual(len(set(devices)), 1, run["stdout"])
        self.assertEqual(modes[:5], ("drwxrwxrwt", "drwxrwxrwt", "drwxr-xr-x", "drwxr-xr-x", "drwx------"))

    def test_a_program_that_replaces_itself(self):
        details = self.refused("REPO_PIN_MISMATCH", "run_repo_action", workdir="app", action="own")

        self.assertEqual(details, {"paths": ["tool.sh"]})
        self.refill()
        run = self.data("run_repo_action", workdir="app", action="own_still")
        self.assertEqual(run["exit_code"], 3)
        self.assertEqual((self.repo / "tool.sh").read_text(), SCRIPT)

    @unittest.skipIf(ROOT, "root reads every process")
    def test_our_processes_are_closed_to_others_of_the_user(self):
        self.status()
        helpers = children_of(self.host.pid)
        self.assertIn("repobridge-git", {name_of(process) for process in helpers})
        for process in (self.host.pid, self.client.process.pid, *helpers):
            with self.subTest(name_of(process)):
                with self.assertRaises(PermissionError):
                    pathlib.Path(f"/proc/{process}/environ").read_bytes()
        self.assertTrue(pathlib.Path(f"/proc/{self.neighbours.process.pid}/environ").read_bytes())


class WorkdirThatIsTheHome(BridgeCase):
    """As of somebody who keeps his configuration in git: the workdir is shown, and what is hidden in it is not."""

    host_class = ActionHost

    @classmethod
    def prepare(cls, host):
        repo = host.workdirs["app"]
        host.user.environment |= {"HOME": str(repo.path), "ASAN_OPTIONS": "detect_leaks=0"}
        repo.write("pinned", PINNED)
        cls.open = [["read", repo / "pinned"], ["create", repo / "created"], ["create", repo / "below/created"]]
        cls.closed = [["read", repo / ".ssh/id"], ["list", repo / ".ssh"], ["create", repo / ".ssh/created"],
                      ["read", repo / ".netrc"], ["append", repo / ".netrc"]]  # fmt: skip
        words = [str(word) for attempt in (*cls.open, *cls.closed) for word in (*attempt, "/")]
        action = {"argv": [str(INTRUDER), *words], "mutates": True, "integrity": PIN}
        cls.moves = [["rename", repo / ".config", repo / "moved"], ["rename", repo / "below", repo / "elsewhere"],
                     ["rename", repo / ".config/git", repo / ".config/moved"],
                     ["create", repo / ".config/created"]]  # fmt: skip
        words = [str(word) for attempt in cls.moves for word in (*attempt, "/")]
        moving = {**action, "argv": [str(INTRUDER), *words]}
        actions = {"private": action, "user": {**action, "home": "user"}, "moving": moving}
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps(actions)

    def test_what_leads_to_credentials_is_not_moved(self):
        """Under another name the next room would not know them."""
        self.repo.remake()
        for name in ("pinned", ".config/git/credentials", ".config/gh/hosts.yml", "below/something"):
            self.repo.write(name, PINNED)
        run = self.data("run_repo_action", workdir="app", action="moving")

        found = outcomes(self.moves, run["stdout"])
        busy = "could not: Device or resource busy"
        self.assertEqual(list(found.values()), [busy, "did it", busy, "did it"])

    def test_credentials_in_the_workdir(self):
        for action in ("private", "user"):
            with self.subTest(action):
                self.repo.remake()
                for name in ("pinned", ".ssh/id", ".netrc", "below/something"):
                    self.repo.write(name, PINNED)
                run = self.data("run_repo_action", workdir="app", action=action)

                found = outcomes([*self.open, *self.closed], run["stdout"])
                did = [attempt for attempt, said in found.items() if said == "did it"]
                self.assertEqual(did, [key_of(attempt) for attempt in self.open])
                self.assertEqual((self.repo / ".netrc").read_text(), PINNED)


class Missing(RoomCase):
    """A host that lacks parts of the room: what is required is refused, what is not is said."""

    actions = {"required": {}, "effort": {"isolation": "best_effort", "mutates": True}}
    lacks = None
    missing = []

    @classmethod
    def setUpClass(cls):
        if cls.lacks is None:
            raise unittest.SkipTest("what its children have in common")
        cls.launcher = [WITHOUT, cls.lacks]
        super().setUpClass()

    def test_it_is_refused(self):
        with self.assert_unchanged():
            details = self.refused("REPO_ISOLATION_UNAVAILABLE", "run_repo_action", workdir="app", action="required")

        self.assertEqual(details, {"missing": self.missing})

    def test_it_is_said(self):
        found, run = self.attempt("effort")

        self.assertEqual(run["isolation"]["missing"], self.missing)
        self.assertEqual(run["isolation"]["held"], [part for part in EVERYTHING if part not in self.missing])
        self.assert_what_holds(found)


class WithoutNamespaces(Missing):
    lacks = "namespaces"
    missing = NAMESPACED

    def assert_what_holds(self, found):
        """By Landlock contents stay unreadable, and nothing else can be written; by the filter no socket is found."""
        kept = [*self.secrets(), *self.sockets(), *self.changes_in(self.home), *self.plain(), *self.escapes()]
        # Names, modes and times are no contents, and a process is not a file.
        beyond = {"list", "chmod", "utimensat", "setxattr", "signal", "same_mode", "same_mode_of_input"}
        for attempt in kept:
            if attempt[0] not in beyond:
                self.assertNotEqual(found[key_of(attempt)], "did it", attempt)
        for attempt in self.shared():
            pathlib.Path(attempt[1]).unlink(missing_ok=True)


class WithoutLandlock(Missing):
    lacks = "landlock"
    missing = ["landlock"]
    settings = {"REPOBRIDGE_ALLOW_UNSANDBOXED_GIT": "true"}

    def assert_what_holds(self, found):
        self.assert_only(found, self.changes_in(self.repo.path))


class WithoutFilter(Missing):
    lacks = "seccomp"
    missing = ["calls"]
    settings = {"REPOBRIDGE_ALLOW_UNSANDBOXED_GIT": "true"}

    def assert_what_holds(self, found):
        """The rest of the room stays as closed; namespaces of its own lead nowhere else."""
        own = {"unshare", "clone", "setns", "mount", "remount", "umount", "open_tree", "add_key", "io_uring", "pair_of",
               "datagram", "i386", "x32"}  # fmt: skip
        did = {attempt for attempt, said in found.items() if said == "did it" and attempt.split()[0] not in own}
        possible = [*self.changes_in(self.repo.path), *self.shared(), ["pair"], ["create", self.home / "created"]]
        self.assertEqual(did, {key_of(attempt) for attempt in possible})


class Portable(Missing):
    """What every POSIX system has: no part of it."""

    lacks = ""
    missing = EVERYTHING
    room = "repobridge-room-portable"
    supervisor = "repobridge-run-portable"

    @classmethod
    def setUpClass(cls):
        super(Missing, cls).setUpClass()

    def assert_what_holds(self, found):
        self.assertEqual(found[key_of(["pair"])], "did it")
        for attempt in self.shared():
            pathlib.Path(attempt[1]).unlink(missing_ok=True)


@unittest.skipUnless(ROOT, "whoever is not root is ordinary already")
class AsAnOrdinaryUser(unittest.TestCase):
    """The same tests, by a user who owns nothing but what he makes."""

    def test_all_of_it(self):
        assert_passes_as_an_ordinary_user(self, "room_test")


if __name__ == "__main__":
    unittest.main()
