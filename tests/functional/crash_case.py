"""A host whose processes are killed at a chosen step, and what must hold of it afterwards."""

import ctypes
import itertools
import os
import pathlib
import select
import shlex
import shutil
import signal
import subprocess
import time

from bridge_case import BridgeCase, Host, shape_of
from control_groups import mount_of, own_group
from harness import BIN, PATIENCE

KILL_AT = BIN / "children" / "kill_at"
HELPERS = ("repobridge-git", "repobridge-run")
PINNED = "what the actions stand on\n"
PR_SET_CHILD_SUBREAPER = 36
WRAPPER = """#!/bin/sh
read left <{left}
echo $((left - 1)) >{left}
[ "$left" = 1 ] || exec {program} "$@"
ASAN_OPTIONS=detect_leaks=0 exec {kill_at} {steps} {program} "$@"
"""


def wait_until(what, condition):
    """Looks again and again; nothing tells of what is waited for here."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, f"not within {PATIENCE} s: {what}"
        select.select([], [], [], 0.002)


def said_of(process, what):
    """A file of /proc about the process, or nothing when it is gone."""
    try:
        return pathlib.Path(f"/proc/{process}/{what}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def link_of(entry):
    """Where a link of /proc leads, or nothing when it is gone."""
    try:
        return os.readlink(entry)
    except FileNotFoundError:
        return ""


def name_of(process):
    return said_of(process, "comm").strip()


def state_of(process):
    """The letter of its state: Z is a zombie."""
    return said_of(process, "stat").rpartition(")")[2].strip()[:1]


def children_of(process):
    tasks = os.listdir(f"/proc/{process}/task")
    return {int(child) for task in tasks for child in said_of(process, f"task/{task}/children").split()}


def adopt_orphans():
    """From now on whoever is left behind by our children's end becomes our child, and is seen."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def seen_from_outside(process, below):
    """The id out here of a process that knows its own id in a room below another process, or that very id."""
    found = []

    def look():
        # Whoever loses his parent meanwhile moves to where this look may have been already.
        found.extend(candidate for candidate in below_at(below) if own_id_of(candidate) == process)
        return found

    wait_until(f"somebody below {below} is {process}", look)
    return found[0]


def below_at(process):
    todo = children_of(process)
    while todo:
        candidate = todo.pop()
        yield candidate
        todo |= children_of(candidate)


def own_id_of(process):
    """What it is called in the innermost of its namespaces; None when it is gone."""
    ids = [line.split()[1:] for line in said_of(process, "status").splitlines() if line.startswith("NSpid:")]
    return int(ids[0][-1]) if ids else None


def without_control_groups():
    """What a program is started by that shall find none: where only root could make one, there is none anyway."""
    group = own_group()
    if group is None or not os.access(group, os.W_OK):
        return []
    script = f'umount -l {shlex.quote(str(mount_of(group)))} && exec "$@"'
    return [shutil.which("unshare"), "--mount", "/bin/sh", "-c", script, "sh"]


class CrashHost(Host):
    """Its programs stand in a directory of its own. The bridge runs under kill_at, a helper when it is told.

    Runs have no control group, by which a killed supervisor would be made good (containment_test has that)."""

    def __init__(self, settings=None, workdirs=("app",)):
        super().__init__(settings, workdirs)
        adopt_orphans()
        self.programs = self.path / "bin"
        self.programs.mkdir()
        shutil.copy2(BIN / "repobridged", self.programs)
        self.bridge_steps = self.path / "bridge-steps"
        self.helper_steps = self.path / "helper-steps"
        self.helpers_left = self.path / "helpers-left"
        self.bridge_steps.write_text("0")
        self.launcher = [*without_control_groups(), KILL_AT, self.bridge_steps]
        self.user.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # not possible in a traced process
        for name in (*HELPERS, "repobridge-room"):
            self.spare(name)

    # Whom it meets, and when

    def spare(self, helper):
        self._replace(helper).symlink_to(BIN / helper)

    def strike(self, helper, step, nth=1):
        """The nth process of that program is killed at its given step."""
        self.helpers_left.write_text(f"{nth}\n")
        self.helper_steps.write_text(f"{step}\n")
        script = WRAPPER.format(
            left=self.helpers_left, kill_at=KILL_AT, steps=self.helper_steps, program=BIN / helper
        )
        self.script(helper, script)

    def script(self, helper, text):
        path = self._replace(helper)
        path.write_text(text)
        path.chmod(0o755)

    def _replace(self, helper):
        path = self.programs / helper
        path.unlink(missing_ok=True)
        return path

    def strike_bridge(self, step):
        """The bridge is killed at its nth step from now. False when it has died instead of taking notice."""
        self.bridge_steps.write_text(str(step))
        self._bridge.send_signal(signal.SIGUSR1)
        wait_until("counting", lambda: not self.bridge_steps.read_text() or self._bridge.poll() is not None)
        return self._bridge.poll() is None

    def bury(self):
        """The bridge was killed: its end is taken."""
        bridge, self._bridge = self._bridge, None
        code = bridge.wait(PATIENCE)
        assert code == -signal.SIGKILL, f"the bridge ended with {code}: {self.log()}"

    # The administrator

    def lease(self, verb, *more, alias="app"):
        """(exit code, what it says) of `repobridge lease`."""
        done = subprocess.run(
            [BIN / "repobridge", "lease", verb, alias, "--config", self.out / "bridge.json", *more],
            env=self.user.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        return done.returncode, (done.stdout + done.stderr).decode()

    def recover_by_hand(self, answer):
        """The same for `lease recover` at a terminal, where it is answered."""
        ours, theirs = os.openpty()
        with subprocess.Popen(
            [BIN / "repobridge", "lease", "recover", "app", "--config", self.out / "bridge.json"],
            env=self.user.environment,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as command:
            os.close(theirs)
            os.write(ours, answer + b"\n")
            said, _ = command.communicate(timeout=PATIENCE)
        os.close(ours)
        return command.returncode, said.decode()

    # What is there

    @property
    def daemon(self):
        """The bridge's own process, below the one that watches it."""
        [process] = children_of(self.pid)
        return process

    def helpers(self, name=None):
        """The bridge's children, all or those of one program."""
        return {child for child in children_of(self.daemon) if name is None or name_of(child) == name}

    def end_kept_worker(self):
        """The bridge takes notice, and the next question needs a new one, from where the helpers stand now."""
        for worker in self.helpers():
            os.kill(worker, signal.SIGKILL)
        wait_until("no helper is left", lambda: not self.helpers())

    def wait_for_orphans(self):
        """Whoever outlived a dead process of ours ends too, by itself."""
        known = {client.process.pid for client in self._clients} | {self._bridge.pid if self._bridge else None}
        for orphan in children_of(os.getpid()) - known:
            handle = os.pidfd_open(orphan)
            assert select.select([handle], [], [], PATIENCE)[0], f"{name_of(orphan)} outlives its bridge"
            os.close(handle)
            os.waitpid(orphan, 0)

    def strangers(self):
        """What has no business to be in our directories after a call, whatever became of it."""
        found = self.leftovers()
        for repository in (*self.workdirs.values(), self.remote):
            found += repository.path.rglob("*.lock")
        found += [path for path in self.locks.iterdir() if path.suffix not in (".lock", ".guard")]
        usual = {"administrator.key", "audit.jsonl", "bridge.lock", "commits.txt", "runs", "transport"}
        return found + [path for path in self.state.iterdir() if path.name not in usual]

    def held_at_rest(self):
        """What the bridge has open when no call is at work and no worker kept; nothing where it may not be seen."""
        self.end_kept_worker()
        descriptors = pathlib.Path(f"/proc/{self.daemon}/fd")
        if not os.access(descriptors, os.R_OK):
            return None

        def sockets():
            lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
            return sum(line.endswith(f" {self.out}/run/bridge.sock") for line in lines)

        def ends_awaited():
            return sum(link_of(entry) == "anon_inode:[pidfd]" for entry in descriptors.iterdir())

        # Of a helper whose end was taken the descriptor is let go only then.
        wait_until("only the listener is open", lambda: (ends_awaited(), sockets()) == (0, 1))
        return len(os.listdir(descriptors))


class CrashCase(BridgeCase):
    """A repository that follows its remote, and calls in which somebody dies."""

    host_class = CrashHost

    def setUp(self):
        super().setUp()
        self.number = 0
        self.repo.write("pinned", PINNED)
        self.base = self.repo.save("the beginning", **{"notes.txt": "first\n"})
        self.follow_origin()
        self.addCleanup(self.host.wait_for_orphans)
        for name in HELPERS:
            self.addCleanup(self.host.spare, name)

    # Calls

    def change(self):
        """New work in the file, each time another."""
        self.number += 1
        self.repo.write("notes.txt", f"first\nline {self.number}\n")

    def make_commit(self):
        self.change()
        return self.repo.save("by git")

    def calls_until_the_bridge_lives(self, tool, every=1, **arguments):
        """For each step of a call, or every so manieth, one in which the bridge is killed there, and started
        again; then yields whether it lived. Whoever iterates prepares the next call."""
        for step in itertools.count(1, every):
            lived = self._call_through(step, tool, **arguments)
            if not lived:
                self.host.start()
                self.host.wait_for_orphans()
            yield lived
            if lived:
                return

    def _call_through(self, step, tool, **arguments):
        assert self.host.strike_bridge(step)
        before = self.calls_in_audit()
        _, error = self.call(tool, **arguments)
        if error is None and self.host.strike_bridge(0):
            return True
        self.assertIn((error or {}).get("code"), (None, "BRIDGE_UNAVAILABLE"), error)
        self.host.bury()
        self.assertLessEqual(len(self.calls_in_audit() - before), 1)
        return False

    def calls_until_the_helper_lives(self, helper, tool, nth=1, **arguments):
        """The same for the steps of the nth process of a helper; the bridge lives. Yields the refusal's code, in
        the end None."""
        for step in itertools.count(1):
            self.host.end_kept_worker()
            self.host.strike(helper, step, nth)
            _, error = self.call(tool, **arguments)
            self.host.spare(helper)
            yield error["code"] if error else None
            if error is None:
                return

    def make_gate(self):
        """A FIFO at which a script waits by `read go <PATH`."""
        gate = self.host.path / "gate"
        os.mkfifo(gate)
        self.addCleanup(gate.unlink)
        return gate

    def lose_front(self, gate, tool, **arguments):
        """A front is killed while its call waits at the gate, and the call goes on. Its outcome in the audit."""
        before = self.calls_in_audit()
        front = self.host.client()
        front.start_call(tool, arguments)
        with open(gate, "w") as go:  # returns when somebody waits there
            self.kill_front(front)
            go.write("go\n")
        [call] = self.calls_in_audit() - before
        return self.wait_for_outcome(call)

    @staticmethod
    def kill_front(front):
        front.process.kill()
        front.process.wait()

    def wait_for_outcome(self, call):
        wait_until("the call has ended", lambda: call in self.outcomes())
        return self.outcomes()[call]

    def assert_next_front_works(self):
        result = self.host.client().call("inspect_repo", workdir="app", view="status")
        self.assertIsNone(shape_of(result, "inspect_repo", {"workdir": "app", "view": "status"})[1])

    # What must hold

    def calls_in_audit(self):
        return {line["call"] for line in self.host.audit() if line.get("event") == "begin"}

    def outcomes(self):
        return {line["call"]: line["outcome"] for line in self.host.audit() if line.get("event") == "end"}

    def assert_clean(self):
        """Nothing of ours stands in anybody's way, git finds the repositories sound, the audit is whole."""
        self.assertEqual(self.host.strangers(), [])
        self.assert_sound()
        self.assert_sound(self.remote)
        self.assert_audit_whole()

    def assert_audit_whole(self):
        """Each call has one beginning and one end. The outcomes."""
        events = {"begin": [], "end": []}
        for line in self.host.audit():
            if line["event"] in events:
                events[line["event"]].append(line)
        begun, ended = ([line["call"] for line in events[event]] for event in ("begin", "end"))
        self.assertEqual(sorted(begun), sorted(ended))
        self.assertEqual(len(begun), len(set(begun)))
        return [line["outcome"] for line in events["end"]]

    def assert_whole_commit(self, before):
        """Either the file is in a new commit on `before` and nothing is changed any more, or nothing happened."""
        head, status = self.repo.head(), self.repo.status()
        if head == before:
            self.assertEqual(status, " M notes.txt")
            return False
        self.assertEqual(status, "")
        self.assertEqual(self.repo.git("rev-parse", "HEAD^"), before)
        self.assertEqual(self.repo.git("diff", "--name-only", "HEAD^", "HEAD"), "notes.txt")
        return True

    def assert_no_zombies(self):
        """Of the bridge's children there is at most the worker that it keeps, and it is alive."""
        self.assertLessEqual(len(self.host.helpers()), 1)
        self.assertNotIn("Z", [state_of(child) for child in self.host.helpers()])
