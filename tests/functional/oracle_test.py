"""Repositories made by chance, each compared with git itself: what status lists, the text of every diff, the tree of
a commit. A case is its seed, so that a failure can be had again:

    REPOBRIDGE_ORACLE_SEED=17 REPOBRIDGE_ORACLE_CASES=1 python3 -m unittest oracle_test
"""

import os
import random
import subprocess

from commit_case import CommitCase
from diff_test import DiffCase
from status_test import entries_of_git

FIRST = int(os.environ.get("REPOBRIDGE_ORACLE_SEED", "1"))
CASES = int(os.environ.get("REPOBRIDGE_ORACLE_CASES", "40"))
ROUNDS = 2  # of edits and a commit in one repository

NAMES = (
    "a", "b", "c.txt", "deep/er/a", "deep/er/b", "deep/c", "with space", "-dash", "st*r", "qu?stion", "[x]", "caf\u00e9",
    "cafe\u0301", "\U0001f600/d", "a b/c d", "Makefile", "x" * 100, "tab\there", "back\\slash", "quo\"te", "\"quoted\"",
)  # fmt: skip
LINES = [f"{word} {number}\n" for number in range(12) for word in ("alpha", "beta", "\tgamma", "")]
# Before 2.44 git left a last line without its newline out of what makes two files alike.
GIT_VERSION = tuple(map(int, subprocess.check_output(["git", "version"], text=True).split()[2].split(".")[:2]))
ENDS = ("\n", "\r\n", "") if GIT_VERSION >= (2, 44) else ("\n", "\r\n")
MODES = (0o644, 0o755)


class Chance:
    """One case's repository and what happens to it."""

    def __init__(self, seed, repository):
        self.random = random.Random(seed)
        self.repo = repository

    def content(self):
        kind = self.random.random()
        if kind < 0.05:
            return b""
        if kind < 0.12:
            return b"\0" + self.random.randbytes(self.random.randrange(1, 400)) + self.end()
        if kind < 0.17:
            return ("long " * self.random.randrange(1, 4000)).encode() + self.end()
        lines = self.random.choices(LINES, k=self.random.randrange(1, 60))
        return "".join(lines).rstrip("\n").encode() + self.end()

    def end(self):
        return self.random.choice(ENDS).encode()

    def edited(self, content):
        """Some lines of it removed, changed, moved and added."""
        lines = content.splitlines(keepends=True)
        for _ in range(self.random.randrange(1, 5)):
            at = self.random.randrange(len(lines) + 1)
            what = self.random.random()
            if what < 0.4:
                lines.insert(at, self.random.choice(LINES).encode())
            elif what < 0.7 and lines:
                del lines[min(at, len(lines) - 1)]
            elif lines:
                lines.append(lines.pop(min(at, len(lines) - 1)))
        return b"".join(lines)

    def free_for_a_file(self, name):
        """Whether a file can be there: no file stands on the way, and no directory in its place."""
        path = self.repo / name
        return not path.is_dir() and not any(
            above.is_symlink() or above.is_file() for above in path.parents if self.repo.path in above.parents
        )

    def write(self, name, content):
        path = self.repo / name
        path.unlink(missing_ok=True)
        self.repo.write(name, content, mode=self.random.choice(MODES))

    def change(self, name):
        path = self.repo / name
        if not self.free_for_a_file(name):
            return
        what = self.random.random()
        plain = path.is_file() and not path.is_symlink()
        if what < 0.08:
            path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(self.random.choice(("a", "deep", "../nowhere", "caf\u00e9")))
        elif what < 0.22:
            path.unlink(missing_ok=True)
        elif what < 0.34 and plain:
            path.chmod(self.random.choice(MODES))
        elif what < 0.46 and plain:
            self.write(self.random.choice([n for n in NAMES if self.free_for_a_file(n)]), self.edited(path.read_bytes()))
            path.unlink(missing_ok=True)
        elif what < 0.75 and plain:
            self.write(name, self.edited(path.read_bytes()))
        else:
            self.write(name, self.content())

    def change_some(self):
        for name in self.random.sample(NAMES, self.random.randrange(1, 9)):
            self.change(name)

    def stage_some(self):
        changed = [name for name in NAMES if self.random.random() < 0.5]
        there = [name for name in changed if os.path.lexists(self.repo / name) and not (self.repo / name).is_dir()]
        self.repo.git("--literal-pathspecs", "add", "-f", "--", *there)
        if self.random.random() < 0.5:
            self.repo.git("add", "-u")


class OracleTest(CommitCase, DiffCase):
    maxDiff = 10000

    def test_by_chance(self):
        for seed in range(FIRST, FIRST + CASES):
            with self.subTest(seed=seed):
                self.repo.remake()
                self.one_case(Chance(seed, self.repo))

    def one_case(self, chance):
        chance.change_some()
        self.repo.save()
        for _ in range(ROUNDS):
            chance.change_some()
            chance.stage_some()
            self.assert_entries_as_git()
            self.assert_staged_as_git()
            self.repo.git("reset", "-q")
            changed = self.assert_entries_as_git()
            self.assert_diffs_as_git(changed)
            self.commit_some(chance, changed)

    def assert_entries_as_git(self):
        named = entries_of_git(self.repo)
        self.assertEqual(self.entries_by_bytes(), named)
        return sorted(named)

    def entries_by_bytes(self):
        return {unquoted(path): with_plain_old_path(entry) for path, entry in self.entries().items()}

    def assert_staged_as_git(self):
        names = self.repo.git("diff", "--cached", "--name-only", "--no-renames", "-z").split("\0")[:-1]
        if names:
            self.assert_patches_as_git(names, "staged_diff")

    def assert_diffs_as_git(self, names):
        if names:
            self.assert_patches_as_git(names, "diff")

    def assert_patches_as_git(self, names, view):
        files = self.diff(*map(quoted, names), view=view)["files"]
        shown = "".join(file["patch"] for file in sorted(files, key=lambda file: unquoted(file["path"]).encode()))
        self.assertEqual(shown, self.git_patch(*names, view=view, renames=view == "staged_diff").decode())

    def commit_some(self, chance, changed):
        if not changed:
            return
        names = chance.random.sample(changed, chance.random.randrange(1, len(changed) + 1))
        tree = self.repo.tree_of(*names)
        made = self.commit(*map(quoted, names))
        self.assertEqual(self.repo.git("rev-parse", "HEAD^{tree}"), tree)
        self.assertEqual(made["commit"], self.repo.head())
        self.assertEqual(self.repo.git("diff", "--cached", "--name-only"), "")


def quoted(name):
    """As docs/PROTOCOL.md writes a path that begins with a quote."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' if name.startswith('"') else name


def unquoted(text):
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\") if text.startswith('"') else text


def with_plain_old_path(entry):
    return {**entry, "old_path": unquoted(entry["old_path"])} if "old_path" in entry else entry
