"""A host whose actions misbehave, through the whole bridge, with the supervisor that a test names."""

import hashlib
import json
import os
import shutil
import signal
import subprocess

from bridge_case import BridgeCase, Host, shape_of
from crash_case import PINNED, children_of, name_of
from harness import BIN, PATIENCE
from supervisor_case import Fifo, GoFifo

MISBEHAVE = BIN / "children" / "misbehave"


class ActionHost(Host):
    """Its programs stand in a directory of its own."""

    def __init__(self, settings=None):
        super().__init__(settings)
        self.programs = self.path / "bin"
        self.programs.mkdir()
        shutil.copy2(BIN / "repobridged", self.programs)
        (self.programs / "repobridge-git").symlink_to(BIN / "repobridge-git")
        self.use_supervisor("repobridge-run")
        self.use_room("repobridge-room")

    def use_supervisor(self, program):
        self._use("repobridge-run", program)

    def use_room(self, program):
        self._use("repobridge-room", program)

    def _use(self, name, program):
        place = self.programs / name
        place.unlink(missing_ok=True)
        place.symlink_to(BIN / program)

    def administer(self, *words):
        """A finished `repobridge` command on this host's configuration."""
        return subprocess.run(
            [BIN / "repobridge", *words, "--config", self.out / "bridge.json"],
            env=self.user.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def wait_for_death(self):
        """Somebody else kills the bridge."""
        bridge, self._bridge = self._bridge, None
        code = bridge.wait(PATIENCE)
        assert code == -signal.SIGKILL, f"the bridge ended with {code}: {self.log()}"

    def supervisor(self):
        """The process above the run that is at work."""
        [process] = [child for child in children_of(self.pid) if name_of(child).startswith("repobridge-run")]
        return process


class ActionCase(BridgeCase):
    """`actions` maps a name to what misbehave is called with, or to an argv, and limits that differ."""

    host_class = ActionHost
    supervisor = "repobridge-run"
    room = "repobridge-room"
    isolation = "required"
    launcher = []
    actions = {}
    settings = {}

    @classmethod
    def prepare(cls, host):
        host.use_supervisor(cls.supervisor)
        host.use_room(cls.room)
        host.launcher = cls.launcher
        ways = host.ways_into_room("app")
        cls.life = Fifo(ways / "life")
        cls.go = GoFifo(ways / "go")
        cls.marker = ways / "marker"
        cls.outside = ways / "outside"
        cls.addClassCleanup(cls.life.close)
        actions = {name: cls.action(*what) for name, what in cls.actions.items()}
        host.workdirs["app"].write("pinned", PINNED)
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps(actions)

    @classmethod
    def action(cls, what, limits=None):
        usual = [cls.life.path, cls.go.path, cls.marker, cls.outside]
        argv = what if isinstance(what, list) else [MISBEHAVE, what, *usual]
        pins = {"pinned": hashlib.sha256(PINNED.encode()).hexdigest()}
        return {
            "argv": [os.fspath(word) for word in argv],
            "mutates": True,
            "integrity": pins,
            "isolation": cls.isolation,
            **(limits or {}),
        }

    def setUp(self):
        super().setUp()
        self.repo.write("pinned", PINNED)

    def run_action(self, name):
        return self.data("run_repo_action", workdir="app", action=name)

    def begin(self, name):
        """A front whose call is at work, and the id of a process of the action that has done its misdeed."""
        front = self.host.client()
        call = front.start_call("run_repo_action", {"workdir": "app", "action": name})
        return front, call, int(self.life.line())

    def result(self, front, call, name):
        """(data, None) or (None, error) of a call that was begun."""
        return shape_of(front.answer(call)["result"], "run_repo_action", {"workdir": "app", "action": name})

    def assert_nobody_is_left(self):
        self.life.wait_for_end()
        self.assertFalse(self.go.has_reader())
        self.assertFalse(self.marker.exists())
