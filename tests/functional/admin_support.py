"""What the tests of the administrator's command share: a private scratch directory and the built program."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["REPOBRIDGE_BIN"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
ROOT = os.geteuid() == 0
STRANGER = 54321  # a user id that this test is not

CHECK = "#!/bin/sh\nexit 0\n"
CHECK_DIGEST = hashlib.sha256(CHECK.encode()).hexdigest()


def env_text(settings):
    return "".join(f"{name}={value}\n" for name, value in settings.items() if value is not None)


class AdminCase(unittest.TestCase):
    """A directory `out` as init makes it, a workdir `work` with a pinned program, and a second one."""

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="repobridge-test-")).resolve()
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.out = self.scratch / "out"
        self.assertEqual(self.repobridge("init", "--dir", self.out).returncode, 0)
        self.env_file = self.out / "repobridge.env"
        self.work = self.scratch / "work"
        (self.work / "tools").mkdir(parents=True)
        self.program(self.work / "tools/check", CHECK)
        self.other = self.scratch / "other"
        self.other.mkdir()
        self.bin = self.scratch / "bin"
        self.bin.mkdir()

    def program(self, path, text=CHECK):
        path.write_text(text)
        path.chmod(0o755)
        return path

    def repobridge(self, *arguments, **options):
        environment = {"PATH": f"{self.scratch}/bin:/usr/bin:/bin", "HOME": str(self.scratch)}
        environment.update(options.pop("environment", {}))
        return subprocess.run(
            [str(BIN / "repobridge"), *map(str, arguments)],
            env=environment, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, **options)

    def settings(self, **changes):
        base = {"WORKDIR_01_ALIAS": "demo", "WORKDIR_01_PATH": self.work, "WORKDIR_01_REPO_OPS_ENABLED": "true",
                "REPOBRIDGE_LOCK_DIR": self.scratch / "locks"}
        return {**base, **changes}

    def write_env(self, settings):
        self.env_file.write_text(env_text(settings))

    def render(self, settings=None, **options):
        if settings is not None:
            self.write_env(settings)
        return self.repobridge("render", "--env-file", self.env_file, "--out", self.out, **options)

    def assert_rendered(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
