"""What `cmake --install` puts somewhere: all the programs, whoever installs owning them, nobody else writing them."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import BIN, PATIENCE

PROGRAMS = {"repobridge", "repobridged", "repobridge-git", "repobridge-mcp", "repobridge-room", "repobridge-run"}


class InstallTest(unittest.TestCase):
    def test_the_programs(self):
        place = pathlib.Path(tempfile.mkdtemp(prefix="repobridge-test-"))
        self.addCleanup(shutil.rmtree, place)
        before = os.umask(0)
        self.addCleanup(os.umask, before)

        done = subprocess.run(["cmake", "--install", BIN.parent, "--prefix", place, "--strip"],
                              capture_output=True, text=True, timeout=PATIENCE)

        self.assertEqual(done.returncode, 0, done.stderr)
        installed = {str(path.relative_to(place)): path.lstat() for path in place.rglob("*")}
        self.assertEqual(installed.keys(), {"bin", *(f"bin/{name}" for name in PROGRAMS)})
        for path, facts in installed.items():
            with self.subTest(path):
                self.assertEqual((facts.st_uid, facts.st_mode & 0o7777), (os.geteuid(), 0o755))
        version = subprocess.run([place / "bin/repobridge", "--version"], capture_output=True, timeout=PATIENCE)
        self.assertEqual(version.returncode, 0, version.stderr)


if __name__ == "__main__":
    unittest.main()
