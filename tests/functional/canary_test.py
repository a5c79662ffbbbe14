"""What a repository's own configuration and hooks would have git run is never run.

Each canary is a program that leaves its name in a cage. It is first seen to sing for git itself; then the
bridge does the same work in silence.
"""

import os
import shutil

from bridge_case import BridgeCase


class CanaryCase(BridgeCase):
    def setUp(self):
        super().setUp()
        self.aviary = self.host.path / "aviary"
        self.cage = self.aviary / "cage"
        self.cage.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, self.aviary)
        self.repo.save(a="one\n")

    def canary(self, name, then="exit 0"):
        program = self.aviary / name
        program.write_text(f"#!/bin/sh\ntouch {self.cage}/{name}\n{then}\n")
        program.chmod(0o755)
        return str(program)

    def as_hooks(self, *names):
        for name in names:
            shutil.copy(self.canary(name), self.repo.git_dir / "hooks" / name)

    def sung(self):
        """Who sang since this was last asked."""
        names = {entry.name for entry in self.cage.iterdir()}
        for name in names:
            (self.cage / name).unlink()
        return names


class LookAndCommitTest(CanaryCase):
    def assert_silent(self, *names):
        """That the named have sung for git, and that none sings for the bridge."""
        self.assertLessEqual(set(names), self.sung())
        self.repo.write("a", os.urandom(8).hex())
        self.status()
        self.diff("a")
        self.refused("PATH_NOT_FOUND", "inspect_repo", workdir="app", view="staged_diff", paths=["none"])
        self.commit("a")
        self.data("inspect_repo", workdir="app", view="actions")
        self.assertEqual(self.sung(), set())

    def test_hooks(self):
        hooks = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change",
                 "reference-transaction")
        self.as_hooks(*hooks)
        self.repo.save("by git", a="two\n")
        self.assert_silent(*hooks)

    def test_hooks_elsewhere(self):
        hooks = self.repo / "tools"
        hooks.mkdir()
        shutil.copy(self.canary("pre-commit"), hooks)
        self.repo.config("core.hooksPath", "tools")
        self.repo.save("by git", b="two\n")
        self.assert_silent("pre-commit")

    def test_hooks_in_configuration(self):
        # git has these from 2.54 on.
        events = ("pre-commit", "post-commit", "reference-transaction", "post-index-change")
        for event in events:
            self.repo.config(f"hook.x-{event}.command", self.canary(event))
            self.repo.config(f"hook.x-{event}.event", event)
        self.repo.save("by git", a="two\n")
        known = tuple(map(int, self.repo.git("version").split()[2].split(".")[:2])) >= (2, 54)
        self.assert_silent(*(events if known else ()))

    def test_commands_in_configuration(self):
        self.repo.config("core.fsmonitor", self.canary("fsmonitor"))
        self.repo.config("commit.gpgSign", "true")
        self.repo.config("gpg.program", self.canary("gpg", "exit 1"))
        self.repo.config("core.editor", self.canary("editor"))
        self.repo.config("diff.external", self.canary("external"))
        self.repo.write("a", "two\n")
        self.repo.git("status")
        self.repo.git("diff")
        self.repo.run("commit", "-a", "--edit", "-m", "by git", check=False)
        self.repo.git("reset", "-q")
        self.assert_silent("fsmonitor", "gpg", "editor", "external")

    def test_filters(self):
        self.repo.config("filter.x.clean", self.canary("clean", "cat"))
        self.repo.config("filter.x.smudge", self.canary("smudge", "cat"))
        self.repo.config("diff.x.textconv", self.canary("textconv", 'cat "$1"'))
        self.repo.write(".git/info/attributes", "*.x filter=x diff=x\n")
        self.repo.write("a.x", "one\n")
        self.repo.save("by git")
        self.repo.write("a.x", "two\n")
        self.repo.git("diff")
        self.assertEqual(self.sung(), {"clean", "smudge", "textconv"})
        self.commit_refused("REPO_PATH_FILTERED", "a.x")
        self.refused("REPO_PATH_FILTERED", "inspect_repo", workdir="app", view="diff", paths=["a.x"])
        self.assert_silent()

    def test_included_configuration(self):
        included = self.aviary / "included"
        self.repo.git("config", "--file", included, "core.fsmonitor", self.canary("fsmonitor"))
        self.repo.config("include.path", str(included))
        self.repo.git("status")
        self.assert_silent("fsmonitor")

    def test_configuration_of_the_worktree(self):
        self.repo.config("core.repositoryFormatVersion", "1")
        self.repo.config("extensions.worktreeConfig", "true")
        self.repo.git("config", "--worktree", "core.fsmonitor", self.canary("fsmonitor"))
        self.repo.git("status")
        self.assert_silent("fsmonitor")

    def test_submodule(self):
        self.remote.remake()
        self.remote.save(inner="inner\n")
        self.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", self.remote.url, "sub")
        self.repo.save("submodule")
        self.repo.git("-C", "sub", "config", "core.fsmonitor", self.canary("fsmonitor"))
        self.repo.write("sub/inner", "changed\n")
        self.repo.git("status")
        self.assert_silent("fsmonitor")

    def test_missing_objects(self):
        # A partial clone would fetch them, by whatever program its remote names.
        blob = self.repo.git("rev-parse", "HEAD:a")
        (self.repo.git_dir / "objects" / blob[:2] / blob[2:]).unlink()
        self.repo.config("core.repositoryFormatVersion", "1")
        self.repo.config("extensions.partialClone", "origin")
        self.repo.config("remote.origin.promisor", "true")
        self.repo.config("remote.origin.url", f"ext::{self.canary('fetch')}")
        self.repo.config("protocol.ext.allow", "always")
        self.repo.write("a", "two\n")
        self.repo.run("diff", check=False)
        self.assertEqual(self.sung(), {"fetch"})
        self.refused("REPO_OBJECT_MISSING", "inspect_repo", workdir="app", view="diff", paths=["a"])
        self.assertEqual(self.entries().keys(), {"a"})
        self.assertEqual(self.sung(), set())


class RedirectionTest(CanaryCase):
    """Where git itself is led astray, and the bridge refuses by name."""

    def test_log_that_is_a_link(self):
        startup = self.aviary / "startup-file"
        startup.write_text("")
        log = self.repo.git_dir / "logs/refs/heads/main"
        log.unlink()
        log.symlink_to(startup)
        self.repo.save("written by git", a="two\n")
        self.assertIn("written by git", startup.read_text())
        startup.write_text("")
        self.repo.write("a", "three\n")
        self.assertEqual(self.commit_refused("REPO_UNSAFE_LAYOUT", "a"), {"place": "logs/refs/heads/main"})
        self.refused("REPO_UNSAFE_LAYOUT", "inspect_repo", workdir="app", view="status")
        self.assertEqual(startup.read_text(), "")

    def test_work_tree_elsewhere(self):
        elsewhere = self.aviary / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "a").write_text("not ours\n")
        self.repo.config("core.worktree", str(elsewhere))
        self.assertIn("+not ours", self.repo.git("diff"))
        self.refused("REPO_UNSUPPORTED_LAYOUT", "inspect_repo", workdir="app", view="diff", paths=["a"])

    def test_objects_of_another_repository(self):
        other = self.aviary / "other.git"
        self.host.user.git(self.aviary, "init", "-q", "--bare", other)
        hashed = self.host.user.git(other, "hash-object", "-w", "--stdin", input=b"top secret\n")
        secret = hashed.stdout.decode().strip()
        self.repo.write(".git/objects/info/alternates", f"{other}/objects\n")
        self.assertEqual(self.repo.git("cat-file", "-p", secret), "top secret")
        self.refused("REPO_ALTERNATES", "inspect_repo", workdir="app", view="status")
        self.commit_refused("REPO_ALTERNATES", "a")

    def test_url_rewritten_by_the_repository(self):
        self.follow_origin()
        evil = self.aviary / "evil.git"
        self.host.user.git(self.aviary, "init", "-q", "--bare", evil)
        self.repo.config(f"url.file://{evil}.insteadOf", self.remote.url)
        self.repo.save("by git", a="two\n")
        self.repo.git("push", "-q")
        branch = self.host.user.git(evil, "rev-parse", "refs/heads/main").stdout.decode().strip()
        self.assertEqual(branch, self.repo.head())
        head = self.repo.save("by us", a="three\n")
        self.push()
        self.assertEqual(self.remote.git("rev-parse", "refs/heads/main"), head)
        self.assertEqual(self.host.user.git(evil, "rev-parse", "refs/heads/main").stdout.decode().strip(), branch)


class PushTest(CanaryCase):
    def setUp(self):
        super().setUp()
        self.follow_origin()

    def assert_silent(self, *names):
        """That a push by git wakes the named, and a push by the bridge none."""
        self.repo.save("by git", a=os.urandom(8).hex())
        self.sung()
        self.repo.run("push", "-q", check=False)
        self.assertEqual(self.sung(), set(names))
        self.repo.save("by us", a=os.urandom(8).hex())
        self.sung()
        self.assertEqual(self.push()["result"], "pushed")
        self.assertEqual(self.sung(), set())

    def test_programs_of_the_remote(self):
        self.repo.config("remote.origin.receivepack", self.canary("receivepack", 'exec git-receive-pack "$1"'))
        self.repo.config("remote.origin.uploadpack", self.canary("uploadpack", 'exec git-upload-pack "$1"'))
        self.repo.git("fetch", "-q")
        self.assertEqual(self.sung(), {"uploadpack"})
        self.assert_silent("receivepack")

    def test_hooks(self):
        self.as_hooks("pre-push", "reference-transaction")
        self.assert_silent("pre-push", "reference-transaction")

    def test_hooks_elsewhere(self):
        self.canary("pre-push")
        self.repo.config("core.hooksPath", str(self.aviary))
        self.assert_silent("pre-push")

    def test_signed_push(self):
        self.remote.config("receive.certNonceSeed", "x")
        self.repo.config("push.gpgSign", "true")
        self.repo.config("gpg.program", self.canary("gpg", "exit 1"))
        self.assert_silent("gpg")

    def test_remote_helper(self):
        # A URL that names a program is no URL here.
        self.repo.config("protocol.ext.allow", "always")
        self.repo.config("remote.origin.url", f"ext::{self.canary('helper', 'exit 1')}")
        self.repo.run("push", "-q", check=False)
        self.assertEqual(self.sung(), {"helper"})
        self.push_refused("REPO_PUSH_URL_INVALID")
        self.assertEqual(self.sung(), set())

    def test_programs_that_a_file_remote_does_not_need(self):
        for key in ("core.sshCommand", "core.gitProxy", "core.askPass", "credential.helper",
                    "core.alternateRefsCommand", "core.fsmonitor", "core.pager", "alias.push"):
            self.repo.config(key, self.canary(key))
        self.repo.save("by us", a="two\n")
        self.sung()
        self.push()
        self.assertEqual(self.sung(), set())
