"""Refusals that need a host in a bad way, and what a push may not carry."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess

from bridge_case import BIN, BridgeCase

LAYERS = ("landlock", "seccomp")

class FullDisk(BridgeCase):
    """What cannot be written down is not done."""

    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n")

    def limit_files(self, size):
        """Over the limit the kernel answers a write as a full disk does."""
        subprocess.run(["prlimit", f"--pid={self.host.pid}", f"--fsize={size}:"], check=True)

    def test_nothing_is_done_without_the_audit(self):
        self.repo.write("a", "two\n")
        head = self.repo.head()
        self.limit_files((self.host.state / "audit.jsonl").stat().st_size)

        self.commit_refused("AUDIT_UNAVAILABLE", "a")
        self.refused("AUDIT_UNAVAILABLE", "inspect_repo", workdir="app", view="status")

        self.assertEqual(self.repo.head(), head)
        self.limit_files("unlimited")
        self.commit("a")


class NoSandbox(BridgeCase):
    """Each layer of the sandbox is needed."""

    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n")

    def restart_without(self, layer, **changes):
        self.host.stop()
        self.host.render(**changes)
        self.host.launcher = [BIN / "children" / "without", layer]
        self.host.start()
        # The front was told of the other rendering.
        self.client = self.host.client()

    def test_no_repository_is_read(self):
        for layer in LAYERS:
            with self.subTest(layer):
                self.restart_without(layer, REPOBRIDGE_ALLOW_UNSANDBOXED_GIT=None)

                self.refused("REPO_SANDBOX_UNAVAILABLE", "inspect_repo", workdir="app", view="status")
                self.commit_refused("REPO_SANDBOX_UNAVAILABLE", "a")

    def test_unless_the_administrator_waives_it(self):
        for layer in LAYERS:
            with self.subTest(layer):
                self.restart_without(layer, REPOBRIDGE_ALLOW_UNSANDBOXED_GIT="true")

                self.assertTrue(self.status()["clean"])


class ProgramGone(BridgeCase):
    """An action whose program was there when the settings were rendered."""

    @classmethod
    def prepare(cls, host):
        cls.program = host.user.home / "check"
        cls.program.write_text("#!/bin/sh\nexit 0\n")
        cls.program.chmod(0o755)
        pin = host.workdirs["app"].write("notes.txt", "noted\n")
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps(
            {
                "check": {
                    "argv": [str(cls.program)],
                    "mutates": False,
                    "integrity": {"notes.txt": hashlib.sha256(pin.read_bytes()).hexdigest()},
                    "description": "Does nothing",
                }
            }
        )

    def test_not_executable_any_more(self):
        self.repo.save(**{"notes.txt": "noted\n"})
        self.data("run_repo_action", workdir="app", action="check")
        self.program.chmod(0o644)

        self.refused("REPO_ACTION_START_FAILED", "run_repo_action", workdir="app", action="check")

        self.program.chmod(0o755)
        self.data("run_repo_action", workdir="app", action="check")


class PushCase(BridgeCase):
    def setUp(self):
        super().setUp()
        self.repo.save("base", a="one\n")
        self.follow_origin()
        self.tip = self.remote.git("rev-parse", "main")

    def push_refused(self, code):
        details = super().push_refused(code)
        self.assertEqual(self.remote.git("rev-parse", "main"), self.tip)
        return details


class WhatAPushMayNotCarry(PushCase):
    def test_a_providers_secret(self):
        commit = self.repo.save(**{"b.txt": "token = ghp_" + "a" * 36 + "\n"})
        self.repo.save("taken out again", **{"b.txt": "\n"})

        self.assertEqual(self.push_refused("REPO_PUSH_SECRET"), {"commit": commit, "path": "b.txt"})

    def test_what_the_forge_executes(self):
        commit = self.repo.save(**{".github/workflows/check.yml": "on: push\n"})

        # The path is hidden, so it is not named.
        self.assertEqual(self.push_refused("REPO_PUSH_CI_CHANGE"), {"commit": commit})

    def test_a_pointer_without_its_content(self):
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12\n"
        commit = self.repo.save(**{"big.bin": pointer})

        self.assertEqual(self.push_refused("REPO_PUSH_LFS_UNSUPPORTED"), {"commit": commit, "path": "big.bin"})

    def test_more_commits_than_are_looked_at(self):
        author = "committer A U Thor <author@example.org> 1700000000 +0000\n"
        line = "".join(f"commit refs/heads/main\n{author}data 1\nx\n" + ("from refs/heads/main^0\n" if i == 0 else "")
                       for i in range(10001))
        self.repo.git("fast-import", "--quiet", input=line.encode())

        self.push_refused("REPO_PUSH_TOO_MANY_COMMITS")


class LoudRemote(PushCase):
    def test_more_words_than_are_read(self):
        hook = self.remote.path / "hooks/pre-receive"
        hook.write_text("#!/bin/sh\nyes 'so much to say' >&2\n")
        hook.chmod(0o755)
        self.repo.save(a="two\n")

        self.push_refused("REPO_PUSH_OUTPUT_LIMIT")


class OnlyWhatTheBridgeMade(PushCase):
    settings = {"WORKDIR_01_PUSH_ONLY_BRIDGE_COMMITS": "true"}

    def test_a_commit_made_by_git(self):
        self.repo.write("a", "two\n")
        self.commit("a")
        foreign = self.repo.save(a="three\n")

        self.assertEqual(self.push_refused("REPO_PUSH_FOREIGN_COMMIT"), {"commit": foreign})

    def test_a_commit_made_here(self):
        self.repo.write("a", "two\n")
        made = self.commit("a")

        self.assertEqual(self.push()["to"], made["commit"])


class SilentWorker(BridgeCase):
    def test_git_work_is_stopped_in_time(self):
        self.repo.save(a="one\n")
        self.status()  # a worker is kept now
        children = pathlib.Path(f"/proc/{self.host.pid}/task/{self.host.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)
        os.kill(int(children[0]), signal.SIGSTOP)

        self.refused("REPO_GIT_TIMEOUT", "inspect_repo", workdir="app", view="status")

        self.assertTrue(self.status()["clean"])
