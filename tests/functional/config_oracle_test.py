"""Git configuration made by chance: what our reader makes of it is what git makes of it, or it is refused."""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

from harness import BIN, PATIENCE

CASES = int(os.environ.get("REPOBRIDGE_CONFIG_CASES", "1500"))
SEED = int(os.environ.get("REPOBRIDGE_ORACLE_SEED", "1"))

SECTIONS = ("[core]", "[Core]", "[a-b]", "[a.B]", '[remote "origin"]', '[remote "O r"]', '[x "a\\"b"]', '[x "a\\\\b"]',
            "[s] k", "[s]k = v", '[x"y"]', '[x  "y"]', "[include]", "[9]", "[s] # note")  # fmt: skip
NAMES = ("bare", "url", "URL", "key-1", "k", "path")
VALUES = ("value", "true", '"quoted"', '"a ; b"', '"a # b', 'c"', "a#b", "a;b", " # note", " ; note", "\\n", "\\t", '\\"', "\\\\",
          "\\b", "\\\n", "\\\r\n", "tail  ", "  ", "\t", "\u00e9", "=", '""', "x y", "x  y")  # fmt: skip
ENDS = ("\n", "\n", "\n", "\r\n", "\n\n", " \n")
NOISE = ("[x", "[]", "[a b]", "1key", "a_b", '"open', "\\q", "\x01", "\ufeff", "v\rw", "\x0b", "=", "[core]]", '[x "a\n"]')


def line(chance):
    what = chance.random()
    if what < 0.03:
        return chance.choice(NOISE)
    if what < 0.25:
        return chance.choice(SECTIONS)
    if what < 0.35:
        return chance.choice(("# note", "; note", "", "  ", "\t# \\"))
    name = chance.choice(("", "\t", "  ")) + chance.choice(NAMES)
    if what < 0.45:
        return name
    return name + chance.choice((" = ", "=", " =", "\t=\t")) + "".join(chance.choices(VALUES, k=chance.randrange(4)))


def file_of(chance):
    lines = [chance.choice(SECTIONS), *(line(chance) for _ in range(chance.randrange(8)))]
    return "".join(one + chance.choice(ENDS) for one in lines)


class ConfigOracleTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)

    def test_by_chance(self):
        chance = random.Random(SEED)
        texts = [file_of(chance) for _ in range(CASES)]
        files = []
        for number, text in enumerate(texts):
            files.append(self.path / str(number))
            files[-1].write_bytes(text.encode())
        read = 0
        for text, file, ours in zip(texts, files, self.shown(files)):
            with self.subTest(text=text):
                if isinstance(ours, list):
                    self.assertEqual(ours, self.listed_by_git(file))
                    read += bool(ours)
                else:
                    self.assertEqual(ours, "REPO_CONFIG_INVALID")
        self.assertGreater(read, CASES // 3)

    def shown(self, files):
        done = subprocess.run(
            [BIN / "show_config", *files], capture_output=True, check=True, timeout=PATIENCE, text=True
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def listed_by_git(self, file):
        """Its entries in order; None when git refuses the file."""
        done = subprocess.run(
            ["git", "config", "--file", file, "--no-includes", "--null", "--list"],
            capture_output=True,
            timeout=PATIENCE,
            env={"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"},
        )
        if done.returncode != 0:
            return None
        entries = [entry.partition("\n") for entry in done.stdout.decode().split("\0")[:-1]]
        return [[key, value if separator else None] for key, separator, value in entries]
