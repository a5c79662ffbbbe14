"""What an action finds in its environment: what the administrator says, and never a secret of the bridge."""

import base64
import hashlib
import json
import subprocess
import unittest

from bridge_case import BridgeCase, Client, Host
from harness import BIN, PATIENCE

SHOW_SELF = BIN / "children" / "show_self"
PINNED = "what the actions stand on\n"
BIG = 20000
MANY = 16


class EnvironmentHost(Host):
    """Its bridge has variables of its own, the front's key in some forms among them."""

    def __init__(self, settings=None):
        super().__init__(settings)
        key = (self.out / "bridge.key").read_bytes()
        self.secrets = {
            "KEY_HEX": f"a {key.hex()} b",
            "KEY_CAPITALS": key.hex().upper(),
            "KEY_BASE64": base64.b64encode(key).decode(),
            "KEY_UNPADDED": base64.b64encode(key).decode().rstrip("="),
        }
        self.user.environment |= self.secrets
        self.user.environment |= {"OWN": "of the bridge", "UNASKED": "stays", "TZ": "Europe/Berlin", "EMPTY": ""}
        self.user.environment |= {"HUGE": "x" * 40000, **{f"BIG_{number}": "x" * BIG for number in range(MANY)}}

    def client(self):
        """Its answers show HOME and the directory, since the action that is called does so."""
        front = Client(self.out / "front.json", b"bridge.key", env=self.user.environment)
        self._clients.append(front)
        return front


class ActionEnvironment(BridgeCase):
    host_class = EnvironmentHost

    @classmethod
    def prepare(cls, host):
        cls.actions = {
            "plain": {},
            "more": {"env": {"MODE": "fast = 1", "HOME": "/nowhere", "GIT_AUTHOR_NAME": "A"},
                     "env_passthrough": ["OWN", "TZ", "EMPTY", "NOT_SET"]},
            "much": {"env_passthrough": ["BIG_0", "BIG_1"], "env": {f"V{number}": "y" * 30000 for number in range(4)}},
            "huge": {"env_passthrough": ["OWN", "HUGE"]},
            "too_many": {"env_passthrough": [f"BIG_{number}" for number in range(MANY)]},
            "in_env": {"env": {"MINE": f"key={host.secrets['KEY_HEX']}", "MODE": "fast"}},
            **{name.lower(): {"env_passthrough": ["OWN", name]} for name in host.secrets},
        }
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps(cls.definitions())

    @classmethod
    def definitions(cls, **others):
        more = {"argv": [str(SHOW_SELF)], "mutates": False, "max_output_bytes": 4 << 20,
                "integrity": {"pinned": hashlib.sha256(PINNED.encode()).hexdigest()}}
        return {name: {**more, **action} for name, action in {**cls.actions, **others}.items()}

    def setUp(self):
        super().setUp()
        self.repo.write("pinned", PINNED)
        self.repo.save()

    def environment_of(self, action):
        """What the action says that it got, each variable once."""
        run = self.data("run_repo_action", workdir="app", action=action)
        self.assertEqual((run["state"], run["exit_code"]), ("finished", 7))
        entries = [line.removeprefix("env ") for line in run["stdout"].splitlines() if line.startswith("env ")]
        environment = dict(entry.split("=", 1) for entry in entries)
        self.assertEqual(len(environment), len(entries))
        return environment

    def test_only_what_is_listed(self):
        environment = self.environment_of("plain")
        usual = {"HOME", "PATH", "LC_ALL", "TMPDIR", "TZ", "RB_RUN_ID", "GIT_TERMINAL_PROMPT", "GIT_CONFIG_COUNT",
                 "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_KEY_1", "GIT_CONFIG_VALUE_1"}
        self.assertEqual(set(environment), usual)

    def test_what_the_administrator_adds(self):
        plain, more = self.environment_of("plain"), self.environment_of("more")
        added = {"MODE": "fast = 1", "HOME": "/nowhere", "GIT_AUTHOR_NAME": "A", "OWN": "of the bridge", "EMPTY": ""}
        for environment in (plain, more):
            del environment["RB_RUN_ID"]
        self.assertEqual(more, {**plain, **added})

    def test_as_much_as_is_allowed_can_be_started(self):
        run = self.data("run_repo_action", workdir="app", action="much")
        self.assertEqual(run["exit_code"], 7)

    def test_too_much_is_refused(self):
        self.assertEqual(self.refused("REPO_ACTION_ENVIRONMENT", "run_repo_action", workdir="app", action="huge"),
                         {"names": ["HUGE"]})
        self.refused("REPO_ACTION_ENVIRONMENT", "run_repo_action", workdir="app", action="too_many")

    def test_a_key_of_the_bridge_is_never_passed(self):
        for name in self.host.secrets:
            details = self.refused("REPO_ACTION_ENVIRONMENT", "run_repo_action", workdir="app", action=name.lower())
            self.assertEqual(details, {"names": [name]})
        details = self.refused("REPO_ACTION_ENVIRONMENT", "run_repo_action", workdir="app", action="in_env")
        self.assertEqual(details, {"names": ["MINE"]})
        self.environment_of("plain")  # the workdir is open

    def test_a_name_that_is_not_the_administrators_is_refused_when_rendered(self):
        for name in ("REPOBRIDGE_KEY_FILE", "LD_PRELOAD", "GIT_CONFIG_PARAMETERS", "GIT_DIR", "RB_RUN_ID", "PATH", "A B"):
            for action in ({"env": {name: "v"}}, {"env_passthrough": [name]}):
                self.host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps(self.definitions(bad=action))
                self.host.write_env()
                argv = ["render", "--env-file", self.host.out / "repobridge.env", "--out", self.host.out]
                done = subprocess.run([BIN / "repobridge", *argv], env=self.host.user.environment,
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"bad.{next(iter(action))}".encode(), done.stderr)


if __name__ == "__main__":
    unittest.main()
