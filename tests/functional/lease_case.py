"""A host with two workdirs, `app` and `other`, whose leases are fought over: by calls, by commands of the
administrator, by programs that only know flock(2)."""

import contextlib
import fcntl
import hashlib
import json
import os

from bridge_case import BridgeCase, shape_of
from crash_case import CrashHost, seen_from_outside, wait_until
from harness import BIN
from supervisor_case import Fifo, GoFifo

MISBEHAVE = BIN / "children" / "misbehave"
PINNED = "what the actions stand on\n"
EXTERNAL = {"tool": "external", "action": None, "since": None, "run_id": None}


def taken(lock):
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


class LeaseHost(CrashHost):
    """Its bridge can be started beside another host's on the same workdirs."""

    def __init__(self, settings=None):
        super().__init__(settings, workdirs=("app", "other"))

    def lock_of(self, alias):
        """Where a workdir's lock stands, as docs/OPERATIONS.md says it."""
        facts = self.workdirs[alias].path.stat()
        return self.locks / f"{facts.st_dev:x}-{facts.st_ino:x}.lock"

    def record_of(self, alias):
        return self.lock_of(alias).with_suffix(".guard")


class LeaseCase(BridgeCase):
    """Actions: `late` says on `life` who it is and waits for `go`; `quick` ends at once."""

    host_class = LeaseHost

    @classmethod
    def prepare(cls, host):
        ways, *others = [host.ways_into_room(alias) for alias in host.workdirs]
        cls.life = Fifo(ways / "life")
        cls.go = GoFifo(ways / "go")
        cls.marker = ways / "marker"
        for other in others:  # the same FIFOs, where an action of that workdir finds them
            os.link(cls.life.path, other / "life")
            os.link(cls.go.path, other / "go")
        cls.addClassCleanup(cls.life.close)
        more = {"mutates": True, "integrity": {"pinned": hashlib.sha256(PINNED.encode()).hexdigest()}}
        places = ["ways/life", "ways/go", "ways/marker"]
        actions = {mode: {"argv": [str(MISBEHAVE), mode, *places], **more} for mode in ("late", "late_daemon")}
        actions["quick"] = {"argv": [str(MISBEHAVE), "exit", "0"], **more}
        for slot, alias in enumerate(host.workdirs, start=1):
            host.settings[f"WORKDIR_{slot:02}_REPO_ACTIONS_JSON"] = json.dumps(actions)

    def setUp(self):
        super().setUp()
        for repository in self.host.workdirs.values():
            repository.remake().write("pinned", PINNED)
            repository.save("the beginning", **{"notes.txt": "first\n"})
        self.number = 0

    # Writers

    def change(self, alias="app"):
        self.number += 1
        self.host.workdirs[alias].write("notes.txt", f"line {self.number}\n")

    def order(self, message="a change", alias="app"):
        return {"workdir": alias, "paths": ["notes.txt"], "message": message}

    def commits(self, alias="app"):
        """A writer works there."""
        self.change(alias)
        return self.data("commit_repo_changes", **self.order(alias=alias))

    def commit_refused_with(self, code, alias="app"):
        self.change(alias)
        return self.refused(code, "commit_repo_changes", **self.order(alias=alias))

    def begin_call(self, tool, arguments, front=None):
        """A call that works or waits: (front, its id). The bridge has one thread, so once the audit tells of it and
        another question is answered, it has come as far as it does without waiting."""
        front = front or self.host.client()
        before = len(self.host.audit())
        call = front.start_call(tool, arguments)
        wait_until("the call has begun", lambda: len(self.host.audit()) > before)
        self.data("inspect_repo", view="workdirs")
        return front, call

    def begin_run(self, action="late", alias="app"):
        """A run that is at work: (front, call, id of the process that waits)."""
        front, call = self.begin_call("run_repo_action", {"workdir": alias, "action": action})
        own_id = int(self.life.line())
        return front, call, seen_from_outside(own_id, self.host.daemon)

    def outcome(self, front, call, tool, arguments):
        return shape_of(front.answer(call)["result"], tool, arguments)

    def let_go(self, front, call, alias="app"):
        """The run that waits ends by itself, and its call is answered."""
        with open(self.go.path, "w") as go:
            go.write("go\n")
        self.life.wait_for_end()
        (self.host.workdirs[alias] / "ways" / "marker").unlink()
        _, error = self.outcome(front, call, "run_repo_action", {"workdir": alias, "action": "late"})
        self.assertIsNone(error)

    # Whoever else takes part

    @contextlib.contextmanager
    def held_by_another(self, alias="app"):
        """A program that knows nothing but flock(2) holds the workdir."""
        with open(os.open(self.host.lock_of(alias), os.O_RDWR | os.O_CREAT, 0o600), "r+") as lock:
            wait_until("the workdir is free", lambda: taken(lock))
            yield lock
