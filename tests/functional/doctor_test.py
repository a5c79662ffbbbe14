"""repobridge doctor: what it finds on a host where all is well, and where something is not."""

import shutil
import subprocess
import unittest

from action_case import ActionHost
from bridge_case import BridgeCase
from control_groups import can_make_groups
from crash_case import without_control_groups
from harness import BIN, PATIENCE, strict_json
from supervisor_case import WITHOUT, landlock_version


class Doctor(BridgeCase):
    host_class = ActionHost

    @classmethod
    def prepare(cls, host):
        shutil.copy2(BIN / "repobridge", host.programs)

    def doctor(self, *more, launcher=(), config=None):
        return subprocess.run(
            [*launcher, self.host.programs / "repobridge", "doctor", "--config",
             config or self.host.out / "bridge.json", *more],
            env={**self.host.user.environment, "ASAN_OPTIONS": "detect_leaks=0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )  # fmt: skip

    def examine(self, **options):
        """(what is not fine → what it says, all facts)."""
        done = self.doctor("--json", **options)
        self.assertEqual(done.stderr, "")
        facts = strict_json(done.stdout)
        wrong = {finding["what"]: finding["says"] for finding in facts["findings"] if not finding["fine"]}
        self.assertEqual((done.returncode, facts["fine"]), (1, False) if wrong else (0, True))
        return wrong, facts

    @unittest.skipUnless(can_make_groups() and landlock_version() >= 6, "this host does not give all of it")
    def test_all_is_well(self):
        wrong, facts = self.examine()

        self.assertEqual(wrong, {})
        self.assertEqual(facts["containment"]["level"], "L3")
        self.assertEqual((facts["bridge_answers"], facts["git_sandbox"], facts["cgroup_delegated"]), (True,) * 3)
        self.assertEqual(facts["landlock_abi"], landlock_version())
        self.assertRegex(facts["git"], r"^git version \d")
        self.assertFalse(facts["unsandboxed_git_allowed"])
        self.assertEqual(facts["room"]["missing"], [])
        self.assertEqual(facts["pins"], {"frozen": True})

    def test_no_namespaces(self):
        wrong, facts = self.examine(launcher=[WITHOUT, "namespaces"])

        self.assertIn("files, processes, network, ipc", wrong["rooms"])
        self.assertEqual(facts["room"], {"held": ["privileges", "landlock", "calls"],
                                         "missing": ["files", "processes", "network", "ipc"]})  # fmt: skip
        self.assertIn("detected only", wrong["pins"])
        self.assertEqual(facts["pins"], {"frozen": False})

    def test_a_table_for_people(self):
        done = self.doctor()

        self.assertEqual(done.stderr, "")
        for line in done.stdout.splitlines():
            self.assertRegex(line, r"^(fine|LOOK AFTER) +\S")
        self.assertIn("key of 'default'", done.stdout)

    def test_no_bridge(self):
        self.host.stop()
        self.addCleanup(self.host.start)

        wrong, facts = self.examine()
        self.assertIn("start repobridged", wrong["bridge"])
        self.assertFalse(facts["bridge_answers"])

    def test_what_others_may_read_or_write(self):
        for path, what in ((self.host.out / "bridge.key", "key of 'default'"), (self.host.state, "state"),
                           (self.host.locks, "locks"), (self.host.out / "bridge.json", "policy")):  # fmt: skip
            with self.subTest(what):
                mode = path.stat().st_mode & 0o7777
                path.chmod(mode | 0o066)
                try:
                    wrong, _ = self.examine()
                finally:
                    path.chmod(mode)
                self.assertIn(what, wrong)

    def test_no_configuration(self):
        wrong, facts = self.examine(config=self.host.path / "nothing")

        self.assertIn("cannot be read", wrong["policy"])
        self.assertIn("containment", facts)

    def test_git_without_its_sandbox(self):
        self.host.restart(REPOBRIDGE_ALLOW_UNSANDBOXED_GIT="true")
        self.addCleanup(self.host.restart, REPOBRIDGE_ALLOW_UNSANDBOXED_GIT=None)

        wrong, facts = self.examine()
        self.assertIn("REPOBRIDGE_ALLOW_UNSANDBOXED_GIT=true", wrong["UNSANDBOXED GIT"])
        self.assertTrue(facts["unsandboxed_git_allowed"])

    def test_callers_without_a_token(self):
        self.host.restart(REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED="true")
        self.addCleanup(self.host.restart, REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED=None)

        wrong, facts = self.examine()
        self.assertIn("REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED=true", wrong["UNAUTHENTICATED CALLERS"])
        self.assertTrue(facts["unauthenticated_allowed"])

    def test_a_token_that_others_can_read(self):
        token = self.host.out / "front.token"
        token.chmod(0o644)
        self.addCleanup(token.chmod, 0o600)

        self.assertIn("mode 0600", self.examine()[0]["token 'default'"])

    def test_a_kernel_without_landlock(self):
        wrong, facts = self.examine(launcher=[WITHOUT, "landlock"])

        self.assertIn("git worker's sandbox", wrong)
        self.assertEqual((facts["landlock_abi"], facts["containment"]["landlock_abi"]), (0, 0))
        self.assertEqual(facts["containment"]["level"], "L2" if can_make_groups() else "L1")

    def test_no_control_groups(self):
        wrong, facts = self.examine(launcher=without_control_groups())

        self.assertIn("Delegate=yes", wrong["control groups"])
        self.assertEqual((facts["containment"]["level"], facts["cgroup_delegated"]), ("L1", False))
        self.assertIn("L1", wrong["runs"])

    def test_the_portable_supervisor(self):
        self.host.use_supervisor("repobridge-run-portable")
        self.addCleanup(self.host.use_supervisor, "repobridge-run")
        self.host.use_room("repobridge-room-portable")
        self.addCleanup(self.host.use_room, "repobridge-room")

        wrong, facts = self.examine()
        self.assertIn("L0", wrong["runs"])
        self.assertEqual(facts["containment"]["level"], "L0")

    def test_a_supervisor_that_does_not_work(self):
        self.host.use_supervisor("repobridge-git")
        self.addCleanup(self.host.use_supervisor, "repobridge-run")

        wrong, facts = self.examine()
        self.assertIn("does not work", wrong["runs"])
        self.assertIsNone(facts["containment"])
