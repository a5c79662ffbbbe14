"""The tests of a file once more, where root runs them, by a user who owns nothing but what he makes."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import BIN, PATIENCE
from supervisor_case import ORDINARY


def assert_passes_as_an_ordinary_user(case, *names):
    """`names`: modules, or what of them is to run."""
    with tempfile.TemporaryDirectory(prefix="repobridge-test-") as place:
        directory = pathlib.Path(place)
        directory.chmod(0o755)
        copy_programs(directory / "bin")
        tests = pathlib.Path(__file__).parent
        shutil.copytree(tests, directory / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        done = subprocess.run(
            [shutil.which("setpriv"), f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups",
             sys.executable, "-B", "-m", "unittest", "-v", *names],
            cwd=directory / "tests",
            env={**os.environ, "REPOBRIDGE_BIN": str(directory / "bin"), "HOME": "/nonexistent"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * PATIENCE,
        )  # fmt: skip
    case.assertEqual(done.returncode, 0, done.stderr)


def copy_programs(place):
    """Where another user may reach them."""
    names = [path for path in BIN.iterdir() if path.is_file() and path.name.startswith("repobridge")]
    for directory, programs in ((place, names), (place / "children", (BIN / "children").iterdir())):
        directory.mkdir()
        for program in programs:
            shutil.copy2(program, directory)
