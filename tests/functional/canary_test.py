"""What a repository's own configuration and hooks would have git run is never run.

Each canary is a program that leaves its name in a cage. It is first seen to sing for git itself; then the
bridge does the same work in silence.
"""

import os
import shutil
import subprocess

from bridge_case import BridgeCase
from harness import PATIENCE


def snapshot(directory):
    """path → content of all files below."""
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


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

    def as_hooks(self, *names, then="exit 0"):
        for name in names:
            shutil.copy(self.canary(name, then), self.repo.git_dir / "hooks" / name)

    def sung(self):
        """Who sang since this was last asked."""
        names = {entry.name for entry in self.cage.iterdir()}
        for name in names:
            (self.cage / name).unlink()
        return names

    def change(self):
        """New work in `a`, each time another."""
        self.repo.write("a", os.urandom(8).hex())

    def look_and_commit(self):
        self.change()
        self.status()
        self.diff("a")
        self.refused("PATH_NOT_FOUND", "inspect_repo", workdir="app", view="staged_diff", paths=["none"])
        self.commit("a")
        self.data("inspect_repo", workdir="app", view="actions")


class LookAndCommitTest(CanaryCase):
    def assert_silent(self, *names):
        """That the named have sung for git, and that none sings for the bridge."""
        self.assertLessEqual(set(names), self.sung())
        self.look_and_commit()
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


class EveryCallTest(CanaryCase):
    """What only commands of git's own run that no call of ours has anything to do with."""

    def setUp(self):
        super().setUp()
        self.follow_origin()

    def assert_silent(self, wake, *names):
        """That the named sing whenever git is given the words of `wake`, and that none sings for the bridge."""
        self.assert_awake(wake, names)
        self.look_and_commit()
        self.assertEqual(self.push()["result"], "pushed")
        self.assertEqual(self.sung(), set())
        self.assert_awake(wake, names)

    def assert_awake(self, wake, names):
        self.sung()
        self.repo.run(*wake, check=False, input=b"protocol=https\nhost=127.0.0.1\n\n")
        self.assertEqual(self.sung(), set(names))

    def test_hook_before_garbage_is_collected(self):
        self.as_hooks("pre-auto-gc", then="exit 1")  # so that there is always something to collect
        self.repo.config("gc.autoPackLimit", "1")
        self.repo.config("gc.autoDetach", "false")
        for content in ("two\n", "three\n"):
            self.repo.save(a=content)
            self.repo.git("repack", "-q")
        self.assert_silent(("commit", "-q", "--allow-empty", "-m", "by git"), "pre-auto-gc")

    def test_merge_driver(self):
        self.repo.git("switch", "-q", "-c", "other")
        self.repo.save(a="theirs\n")
        self.repo.git("switch", "-q", "main")
        self.repo.save(a="ours\n")
        self.repo.write(".git/info/attributes", "a merge=x\n")
        self.repo.config("merge.x.driver", self.canary("driver", "exit 1"))
        self.assert_silent(("merge-tree", "--write-tree", "main", "other"), "driver")

    def test_who_is_asked_for_passwords(self):
        # Over a connection that wants one: remote_test.
        for key in ("credential.helper", "credential.https://127.0.0.1.helper", "core.askPass"):
            self.repo.config(key, self.canary(key.replace("/", "")))
        self.assert_silent(
            ("credential", "fill"), "credential.helper", "credential.https:127.0.0.1.helper", "core.askPass"
        )

    def test_signatures(self):
        unsigned = self.repo.git("cat-file", "commit", "HEAD")
        signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"
        signed = self.repo.git(
            "hash-object", "-w", "-t", "commit", "--stdin", input=unsigned.replace("\n\n", "\n" + signature).encode()
        )
        self.repo.config("log.showSignature", "true")
        self.repo.config("gpg.program", self.canary("gpg", "exit 1"))
        self.assert_silent(("log", "-1", signed), "gpg")

    def test_signatures_of_ssh(self):
        self.repo.config("commit.gpgSign", "true")
        self.repo.config("gpg.format", "ssh")
        self.repo.config("gpg.ssh.defaultKeyCommand", self.canary("key", "echo ssh-ed25519 AAAA"))
        self.repo.config("gpg.ssh.program", self.canary("keygen", "exit 1"))
        self.assert_silent(("commit", "--allow-empty", "-m", "by git"), "key", "keygen")

    def test_aliases(self):
        self.repo.config("alias.zz", f"!{self.canary('alias')}")
        self.assert_silent(("zz",), "alias")

    def test_editor_of_a_sequence(self):
        self.repo.save("by git", a="two\n")
        self.repo.config("sequence.editor", self.canary("sequence", "exit 1"))
        self.assert_silent(("rebase", "-i", "HEAD~1"), "sequence")

    def test_program_for_differences(self):
        before, after = self.repo.head(), self.repo.save("by git", a="two\n")
        self.repo.write(".git/info/attributes", "a diff=x\n")
        self.repo.config("diff.x.command", self.canary("command"))
        self.assert_silent(("diff", before, after), "command")

    def test_pager(self):
        # git has one only at a terminal.
        self.repo.config("core.pager", self.canary("pager", "cat"))
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        with open(theirs, "wb") as terminal:
            subprocess.run(
                ["git", "log"],
                cwd=self.repo.path,
                env={**self.host.user.environment, "TERM": "vt100"},
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                timeout=PATIENCE,
                check=True,
            )
        self.assertEqual(self.sung(), {"pager"})
        self.look_and_commit()
        self.push()
        self.assertEqual(self.sung(), set())

    def test_update_of_submodules(self):
        other = self.aviary / "other"
        self.host.user.git(self.aviary, "clone", "-q", self.remote.path, other)
        self.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"file://{other}", "sub")
        self.repo.save("submodule")
        self.host.user.git(self.repo / "sub", "commit", "-q", "--allow-empty", "-m", "elsewhere")
        self.repo.config("submodule.sub.update", f"!{self.canary('update', 'exit 1')}")
        self.assert_silent(("submodule", "update"), "update")

    def test_traces(self):
        # git reads trace2.* from the system's and the user's configuration alone, so a repository cannot set it:
        # what is shown is that the setting is spelt right, and that nobody obeys it there.
        for kind in ("normal", "event", "perf"):
            key, trace = f"trace2.{kind}Target", self.cage / kind
            self.host.user.git(self.repo.path, "config", "--global", key, str(trace))
            self.repo.git("status")
            self.host.user.git(self.repo.path, "config", "--global", "--unset", key)
            self.assertEqual(self.sung(), {kind})
            self.repo.config(key, str(trace))
        self.assert_silent(("status",))

    def test_command_for_alternates(self):
        other = self.aviary / "other.git"
        self.host.user.git(self.aviary, "clone", "-q", "--bare", self.remote.path, other)
        self.repo.config("core.alternateRefsCommand", self.canary("alternates"))
        self.repo.write(".git/objects/info/alternates", f"{other}/objects\n")
        self.assert_awake(("fetch", "-q"), {"alternates"})
        for refused in (
            lambda: self.refused("REPO_ALTERNATES", "inspect_repo", workdir="app", view="status"),
            lambda: self.refused("REPO_ALTERNATES", "inspect_repo", workdir="app", view="diff", paths=["a"]),
            lambda: self.commit_refused("REPO_ALTERNATES", "a"),
            lambda: self.push_refused("REPO_ALTERNATES"),
        ):
            refused()
        self.assertEqual(self.sung(), set())
        (self.repo.git_dir / "objects/info/alternates").unlink()
        self.assert_silent(("fetch", "-q"))

    def test_proxy_of_gits_own_protocol(self):
        self.repo.config("core.gitProxy", self.canary("proxy", "exit 1"))
        self.repo.config("remote.daemon.url", "git://127.0.0.1:1/x")
        self.assert_silent(("ls-remote", "daemon"), "proxy")
        self.repo.config("remote.origin.url", "git://127.0.0.1:1/x")
        self.repo.save("by git", a="two\n")
        self.push_refused("REPO_PUSH_URL_INVALID")
        self.assertEqual(self.sung(), set())

    def test_ssh_command(self):
        # Over ssh itself: remote_test.
        self.repo.config("core.sshCommand", self.canary("ssh", "exit 1"))
        self.repo.config("remote.forge.url", "ssh://127.0.0.1:1/x")
        self.assert_silent(("ls-remote", "forge"), "ssh")
        self.repo.config("remote.origin.url", "ssh://127.0.0.1:1/x")
        self.push_refused("REPO_PUSH_NOT_ALLOWED")
        self.assertEqual(self.sung(), set())

    def test_filter_of_an_attributes_file_elsewhere(self):
        attributes = self.aviary / "attributes"
        attributes.write_text("a filter=x\n")
        self.repo.config("core.attributesFile", str(attributes))
        self.repo.config("filter.x.process", self.canary("process", "exit 1"))
        self.assert_awake(("hash-object", "a"), {"process"})
        self.change()
        self.assertEqual(self.entries().keys(), {"a"})
        self.refused("REPO_UNSUPPORTED_ATTRIBUTES", "inspect_repo", workdir="app", view="diff", paths=["a"])
        self.commit_refused("REPO_UNSUPPORTED_ATTRIBUTES", "a")
        self.push()
        self.assertEqual(self.sung(), set())


class HelperOnThePathTest(CanaryCase):
    """A remote that names a helper: git looks for git-remote-NAME on the PATH, the bridge's too in this test."""

    @classmethod
    def prepare(cls, host):
        host.user.environment["PATH"] = f"{host.path}/aviary:{host.user.environment['PATH']}"

    def setUp(self):
        super().setUp()
        self.follow_origin()
        self.canary("git-remote-evil", "exit 1")

    def assert_git_finds_it(self):
        self.repo.run("push", "-q", check=False)
        self.assertEqual(self.sung(), {"git-remote-evil"})

    def test_named_by_the_remote(self):
        self.repo.config("remote.origin.vcs", "evil")
        self.repo.save("by git", a="two\n")
        self.assert_git_finds_it()
        self.assertEqual(self.push()["result"], "pushed")
        self.assertEqual(self.sung(), set())

    def test_named_by_the_url(self):
        self.repo.save("by git", a="two\n")
        for url in ("evil::x", "evil://127.0.0.1/x"):
            self.repo.config("remote.origin.url", url)
            self.assert_git_finds_it()
            self.push_refused("REPO_PUSH_URL_INVALID")
            self.assertEqual(self.sung(), set())

    def test_the_helper_that_starts_programs(self):
        self.repo.config("protocol.ext.allow", "always")
        self.repo.config("remote.origin.vcs", "ext")
        self.repo.config("remote.origin.url", self.canary("git-remote-evil", "exit 1"))
        self.repo.save("by git", a="two\n")
        self.assert_git_finds_it()
        self.push_refused("REPO_PUSH_URL_INVALID")
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

    def test_tracking_branch_beyond_a_link(self):
        self.follow_origin()
        for place in ("refs/remotes/origin", "refs/remotes", "logs/refs/remotes/origin", "logs/refs/remotes"):
            with self.subTest(place=place):
                inside, outside = self.repo.git_dir / place, self.aviary / place
                outside.parent.mkdir(parents=True, exist_ok=True)
                inside.rename(outside)
                inside.symlink_to(outside)
                self.repo.save("by git", a=os.urandom(8).hex())
                before = snapshot(outside)
                self.repo.git("push", "-q")
                self.assertNotEqual(snapshot(outside), before)
                self.repo.save("by us", a=os.urandom(8).hex())
                before = snapshot(outside)
                pushed = self.push()
                self.assertEqual((pushed["result"], pushed["tracking_updated"]), ("pushed", False))
                self.assertEqual(snapshot(outside), before)
                inside.unlink()
                outside.rename(inside)

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

    def test_objects_that_stand_for_others(self):
        self.follow_origin()
        base = self.repo.head()
        forged = self.repo.git("hash-object", "-w", "--stdin", input=b"forged\n")
        self.repo.git("replace", "HEAD:a", forged)
        orphan = self.repo.git("commit-tree", "-m", "forged", "HEAD^{tree}")
        self.repo.git("replace", base, orphan)
        self.repo.write("a", "two\n")
        self.assertIn("-forged", self.repo.git("diff"))
        self.assertEqual(self.repo.git("log", "--format=%s"), "forged")

        [file] = self.diff("a")["files"]
        self.assertIn("-one", file["patch"])
        made = self.commit("a")["commit"]
        self.push()

        self.assertEqual(self.remote.git("rev-list", "main"), f"{made}\n{base}")
        self.assertEqual(self.remote.git("show", f"{base}:a"), "one")
        self.assertEqual(self.remote.git("for-each-ref", "--format=%(refname)"), "refs/heads/main")

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
