"""push_repo over a pinned file:// remote: where it goes, what is looked at first, what the remote answers."""

import os
import shutil

from bridge_case import BridgeCase


class PushCase(BridgeCase):
    def setUp(self):
        super().setUp()
        self.base = self.repo.save("base", a="one\n")
        self.follow_origin()

    def remote_refs(self):
        """name → id, of all that the remote has."""
        lines = self.remote.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def tracked(self, branch="main"):
        return self.repo.git("rev-parse", f"refs/remotes/origin/{branch}")

    def push_refused_and_nothing_moved(self, code):
        """The details of a refusal that left the remote and what we know of it as they were."""
        remote = self.remote_refs()
        with self.assert_unchanged():
            details = self.push_refused(code)
        self.assertEqual(self.remote_refs(), remote)
        return details


class PushTest(PushCase):
    def test_one_commit(self):
        head = self.repo.save("the subject\n\nand a body", a="two\n", b="new\n")
        self.assertEqual(
            self.push(),
            {
                "ref": "refs/heads/main",
                "from": self.base,
                "to": head,
                "result": "pushed",
                "host": None,
                "tracking_updated": True,
                "commits": [{"oid": head, "subject": "the subject", "paths_count": 2}],
            },
        )
        self.assertEqual(self.remote_refs(), {"refs/heads/main": head})
        self.assertEqual(self.tracked(), head)
        self.assertIn("update by push", self.repo.git("reflog", "-1", "refs/remotes/origin/main"))
        self.assert_sound(self.remote)
        self.assert_sound()

    def test_several_commits_oldest_first(self):
        oids = [self.repo.save(f"number {i}", a=f"{i}\n") for i in range(5)]
        pushed = self.push()
        self.assertEqual([commit["oid"] for commit in pushed["commits"]], oids)
        self.assertEqual([commit["subject"] for commit in pushed["commits"]], [f"number {i}" for i in range(5)])

    def test_merge(self):
        self.repo.git("switch", "-q", "-c", "side")
        self.repo.save("on the side", b="b\n")
        self.repo.git("switch", "-q", "main")
        self.repo.save("on main", c="c\n")
        self.repo.git("merge", "-q", "--no-ff", "-m", "merged", "side")
        pushed = self.push()
        subjects = {commit["subject"] for commit in pushed["commits"]}
        self.assertEqual(subjects, {"on the side", "on main", "merged"})
        self.assertEqual(pushed["commits"][-1]["subject"], "merged")

    def test_nothing_new(self):
        with self.assert_kept():
            pushed = self.push()
        self.assertEqual((pushed["result"], pushed["from"], pushed["to"]), ("up_to_date", self.base, self.base))
        self.assertEqual(pushed["commits"], [])

    def test_other_things_stay_here(self):
        self.repo.git("tag", "v1")
        self.repo.git("branch", "other")
        self.repo.git("notes", "add", "-m", "a note")
        self.repo.config("push.followTags", "true")
        self.repo.git("tag", "-a", "-m", "annotated", "v2")
        head = self.repo.save(a="two\n")
        self.repo.git("tag", "-a", "-m", "annotated", "v3")
        self.push()
        self.assertEqual(self.remote_refs(), {"refs/heads/main": head})

    def test_work_tree_and_index_have_no_part(self):
        self.repo.save(a="two\n")
        self.repo.write("a", "not committed\n")
        self.repo.write("b", "staged\n")
        self.repo.git("add", "b")
        self.repo.write("c", "untracked\n")
        before = self.repo.status()
        self.push()
        self.assertEqual(self.repo.status(), before)

    def test_new_branch(self):
        self.repo.git("switch", "-q", "-c", "feature/of/mine")
        self.repo.config("branch.feature/of/mine.remote", "origin")
        self.repo.config("branch.feature/of/mine.merge", "refs/heads/feature/of/mine")
        head = self.repo.save("new", a="two\n")
        pushed = self.push()
        self.assertEqual((pushed["from"], pushed["ref"]), (None, "refs/heads/feature/of/mine"))
        self.assertEqual([commit["oid"] for commit in pushed["commits"]], [head])
        self.assertEqual(self.tracked("feature/of/mine"), head)

    def test_first_push_to_an_empty_remote(self):
        self.remote.remake("--bare")
        self.repo.git("update-ref", "-d", "refs/remotes/origin/main")
        head = self.repo.save(a="two\n")
        pushed = self.push()
        self.assertEqual(pushed["from"], None)
        self.assertEqual([commit["oid"] for commit in pushed["commits"]], [self.base, head])
        self.assertEqual(self.remote_refs(), {"refs/heads/main": head})

    def test_remote_has_it_already(self):
        head = self.repo.save(a="two\n")
        self.repo.git("push", "-q", self.remote.url, "main")
        self.assertEqual(self.tracked(), self.base)
        self.assertEqual(self.push()["result"], "up_to_date")
        # What the remote said is remembered.
        self.assertEqual(self.tracked(), head)

    def test_odd_subjects(self):
        self.repo.git("commit", "-q", "--allow-empty", "-m", "x" * 500)
        self.repo.git("commit", "-q", "--allow-empty", "-m", "x" + "é" * 150)
        self.repo.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
        self.repo.git("commit", "-q", "--allow-empty", "-m", "placeholder")
        raw = self.repo.run("cat-file", "commit", "HEAD").stdout
        raw = raw.replace(b"placeholder", b"\x1b[31mred\x1b[0m \xff")
        odd = self.repo.git("hash-object", "-w", "-t", "commit", "--stdin", input=raw)
        self.repo.git("update-ref", "refs/heads/main", odd)
        subjects = [commit["subject"] for commit in self.push()["commits"]]
        self.assertEqual(subjects[0], "x" * 200)
        self.assertEqual(subjects[1], "x" + "é" * 99)
        self.assertEqual(subjects[2], "")
        self.assertEqual(subjects[3], "\x1b[31mred\x1b[0m \ufffd")

    def test_packed_everything(self):
        head = self.repo.save(a="two\n")
        self.repo.git("gc", "-q")
        self.repo.git("pack-refs", "--all")
        self.push()
        self.assertEqual((self.remote_refs()["refs/heads/main"], self.tracked()), (head, head))

    def test_tag_of_the_branches_name(self):
        head = self.repo.save(a="two\n")
        self.repo.git("tag", "main", self.base)
        self.repo.git("tag", "refs/heads/main", self.base)
        self.remote.git("tag", "main", self.base)
        self.push()
        self.assertEqual(self.remote_refs(), {"refs/heads/main": head, "refs/tags/main": self.base})

    def test_remote_has_a_tag_named_like_a_branch_in_full(self):
        self.remote.git("update-ref", "refs/tags/refs/heads/main", self.base)
        self.repo.save(a="two\n")
        self.refused("REPO_AMBIGUOUS_REMOTE", "push_repo", workdir="app")
        self.assertEqual(self.remote_refs()["refs/heads/main"], self.base)

    def test_remote_of_another_name(self):
        self.repo.git("remote", "rename", "origin", "up.stream/x")
        head = self.repo.save(a="two\n")
        self.push()
        self.assertEqual(self.repo.git("rev-parse", "refs/remotes/up.stream/x/main"), head)

    def test_tracking_branch_that_is_mapped_otherwise(self):
        self.repo.config("remote.origin.fetch", "+refs/heads/*:refs/elsewhere/*")
        head = self.repo.save(a="two\n")
        self.push()
        # Only the usual mapping is followed; the push itself does not need it.
        self.assertEqual((self.remote_refs()["refs/heads/main"], self.tracked()), (head, self.base))


class StateTest(PushCase):
    def test_no_upstream(self):
        self.repo.git("branch", "--unset-upstream")
        self.push_refused_and_nothing_moved("REPO_NO_UPSTREAM")
        self.repo.git("branch", "other")
        self.repo.git("branch", "-q", "-u", "other")
        self.push_refused_and_nothing_moved("REPO_NO_UPSTREAM")

    def test_upstream_that_is_no_branch(self):
        for value in ("refs/tags/v1", "main", "refs/heads/a..b", "refs/heads/", "--force"):
            with self.subTest(value=value):
                self.repo.config("branch.main.merge", value)
                self.push_refused_and_nothing_moved("REPO_NO_UPSTREAM")

    def test_remote_without_url(self):
        self.repo.git("config", "--unset", "remote.origin.url")
        self.push_refused_and_nothing_moved("REPO_NO_UPSTREAM")

    def test_upstream_by_url(self):
        # `git pull --set-upstream URL` may leave such an upstream.
        self.repo.config("branch.main.remote", self.remote.url)
        self.push_refused_and_nothing_moved("REPO_NO_UPSTREAM")

    def test_detached(self):
        self.repo.git("switch", "-q", "--detach")
        self.push_refused_and_nothing_moved("REPO_DETACHED_HEAD")

    def test_unborn(self):
        self.repo.git("symbolic-ref", "HEAD", "refs/heads/unborn")
        self.push_refused_and_nothing_moved("REPO_NOTHING_TO_PUSH")

    def test_remote_gone(self):
        shutil.rmtree(self.remote.path)
        self.repo.save(a="two\n")
        with self.assert_unchanged():
            self.push_refused("REPO_PUSH_REMOTE_NOT_FOUND")


class DestinationTest(PushCase):
    settings = {"REPOBRIDGE_PUSH_ALLOWED": "https://git.example.org/team/"}

    def setUp(self):
        super().setUp()
        self.repo.save(a="two\n")
        self.elsewhere = self.host.path / "elsewhere.git"
        self.host.user.git(self.host.path, "clone", "-q", "--bare", self.remote.path, self.elsewhere)
        self.addCleanup(shutil.rmtree, self.elsewhere)
        self.addCleanup(self.assert_nothing_arrived_elsewhere)

    def assert_nothing_arrived_elsewhere(self):
        refs = self.host.user.git(self.elsewhere, "for-each-ref", "--format=%(objectname) %(refname)").stdout
        self.assertEqual(refs.decode(), f"{self.base} refs/heads/main\n")

    def test_another_url(self):
        self.repo.git("remote", "set-url", "origin", f"file://{self.elsewhere}")
        self.push_refused_and_nothing_moved("REPO_PUSH_NOT_ALLOWED")

    def test_another_spelling(self):
        for url in (f"file://{self.remote.path}/", "https://git.example.org/team", "https://git.example.org/tea/m",
                    "https://git.example.org.evil/team/x", "ssh://git.example.org/team/x"):
            with self.subTest(url=url):
                self.repo.config("remote.origin.url", url)
                self.push_refused_and_nothing_moved("REPO_PUSH_NOT_ALLOWED")

    def test_urls_that_are_none(self):
        for url in (
            str(self.remote.path), "../remote.git", "ext::sh -c touch% x", "fd::3", "FILE:///x", "git://x/y",
            "http://git.example.org/team/x", "https://user:secret@git.example.org/team/x",
            "https://git.example.org/team/../x", "https://git.example.org/team/%2e%2e/x", "-oProxyCommand=x:y",
            "ssh://-oProxyCommand=x/y", f"file://localhost{self.remote.path}", "https://git.example.org/team/x?y",
            "file:///a b", "",
        ):
            with self.subTest(url=url):
                self.repo.config("remote.origin.url", url)
                self.push_refused_and_nothing_moved("REPO_PUSH_URL_INVALID")

    def test_prefixes_allow_no_file(self):
        self.repo.config("remote.origin.url", f"file://{self.host.path}/elsewhere.git")
        self.push_refused_and_nothing_moved("REPO_PUSH_NOT_ALLOWED")

    def test_push_url(self):
        self.repo.config("remote.origin.pushurl", f"file://{self.elsewhere}")
        self.push_refused_and_nothing_moved("REPO_PUSH_NOT_ALLOWED")
        # The one that git would push to is the one that counts.
        self.repo.config("remote.origin.url", f"file://{self.elsewhere}")
        self.repo.config("remote.origin.pushurl", self.remote.url)
        self.assertEqual(self.push()["result"], "pushed")

    def test_several_urls(self):
        self.repo.git("remote", "set-url", "--add", "origin", f"file://{self.elsewhere}")
        self.push_refused_and_nothing_moved("REPO_AMBIGUOUS_REMOTE")
        self.repo.git("config", "--unset-all", "remote.origin.url")
        self.repo.config("remote.origin.url", self.remote.url)
        self.repo.git("remote", "set-url", "--push", "origin", self.remote.url)
        self.repo.git("remote", "set-url", "--add", "--push", "origin", f"file://{self.elsewhere}")
        self.push_refused_and_nothing_moved("REPO_AMBIGUOUS_REMOTE")

    def test_rewriting_in_the_repository(self):
        for key in ("insteadOf", "pushInsteadOf"):
            self.repo.config(f"url.file://{self.elsewhere}.{key}", self.remote.url)
        # git itself would go there.
        self.assertEqual(self.repo.git("remote", "get-url", "--push", "origin"), f"file://{self.elsewhere}")
        self.assertEqual(self.push()["result"], "pushed")

    def test_other_ways_to_lead_astray(self):
        elsewhere = f"file://{self.elsewhere}"
        for key, value in {
            "remote.evil.url": elsewhere,
            "remote.pushDefault": "evil",
            "branch.main.pushRemote": "evil",
            "remote.origin.push": "+refs/heads/*:refs/heads/*",
            "remote.origin.mirror": "true",
            "remote.origin.vcs": "evil",
            "remote.origin.proxy": "http://localhost:1",
            "push.default": "matching",
            "push.followTags": "true",
            "push.gpgSign": "true",
            "push.recurseSubmodules": "on-demand",
            "push.pushOption": "ci.skip",
        }.items():
            self.repo.config(key, value)
        self.repo.git("branch", "other")
        self.repo.git("tag", "-a", "-m", "x", "v1")
        self.push()
        self.assertEqual(self.remote_refs(), {"refs/heads/main": self.repo.head()})

    def test_configuration_included(self):
        included = self.host.path / "included"
        included.write_text(f'[remote "origin"]\n\tpushurl = file://{self.elsewhere}\n')
        self.repo.config("include.path", str(included))
        self.assertEqual(self.push()["result"], "pushed")


class BranchRulesTest(PushCase):
    def test_another_name(self):
        self.repo.git("switch", "-q", "-c", "mine", "--track", "origin/main")
        self.repo.save(a="two\n")
        self.push_refused_and_nothing_moved("REPO_PUSH_BRANCH_NOT_ALLOWED")

    def test_the_same_name(self):
        self.repo.git("switch", "-q", "-c", "topic")
        self.repo.git("push", "-q", "-u", "origin", "topic")
        self.repo.save(a="two\n")
        self.assertEqual(self.push()["ref"], "refs/heads/topic")


class BranchGlobsTest(PushCase):
    settings = {"WORKDIR_01_PUSH_BRANCHES": "topic/*,release-?"}

    def upstream(self, branch, upstream):
        self.repo.git("switch", "-q", "-C", branch, self.base)
        self.repo.config(f"branch.{branch}.remote", "origin")
        self.repo.config(f"branch.{branch}.merge", f"refs/heads/{upstream}")
        self.repo.save(branch, b=branch)

    def test_allowed(self):
        for branch, upstream in {"mine": "topic/x", "topic/y": "topic/y", "release": "release-1"}.items():
            self.upstream(branch, upstream)
            self.assertEqual(self.push()["ref"], f"refs/heads/{upstream}")

    def test_refused(self):
        refused = {"main": "main", "topic/z": "other", "release": "release-10", "a": "Topic/a"}
        for branch, upstream in refused.items():
            with self.subTest(upstream=upstream):
                self.upstream(branch, upstream)
                self.push_refused_and_nothing_moved("REPO_PUSH_BRANCH_NOT_ALLOWED")


class RemoteSaysNoTest(PushCase):
    def other_clone(self):
        """Somebody else's clone, who pushes before us."""
        clone = self.host.path / "clone"
        self.host.user.git(self.host.path, "clone", "-q", self.remote.path, clone)
        self.addCleanup(shutil.rmtree, clone)
        return clone

    def pushed_by_other(self):
        clone = self.other_clone()
        (clone / "theirs").write_text("theirs\n")
        self.host.user.git(clone, "add", "theirs")
        self.host.user.git(clone, "commit", "-q", "-m", "theirs")
        self.host.user.git(clone, "push", "-q")
        return self.remote.git("rev-parse", "main")

    def test_ahead_with_commits_unknown_here(self):
        tip = self.pushed_by_other()
        self.repo.save(b="ours\n")
        self.assertEqual(self.push_refused_and_nothing_moved("REPO_PUSH_NON_FAST_FORWARD"), {"remote_tip": tip})
        # What it says to do helps.
        self.repo.git("pull", "-q", "--rebase")
        self.assertEqual(self.push()["result"], "pushed")

    def test_ahead_with_commits_known_here(self):
        tip = self.pushed_by_other()
        self.repo.git("fetch", "-q")
        self.repo.save(b="ours\n")
        self.assertEqual(self.push_refused_and_nothing_moved("REPO_PUSH_NON_FAST_FORWARD"), {"remote_tip": tip})

    def test_only_behind(self):
        tip = self.pushed_by_other()
        self.repo.git("fetch", "-q")
        self.assertEqual(self.push_refused_and_nothing_moved("REPO_PUSH_NON_FAST_FORWARD"), {"remote_tip": tip})

    def test_rewritten_history(self):
        self.repo.git("commit", "-q", "--amend", "-m", "amended")
        self.assertEqual(
            self.push_refused_and_nothing_moved("REPO_PUSH_NON_FAST_FORWARD"), {"remote_tip": self.base}
        )

    def hook(self, name, script):
        hook = self.remote.path / "hooks" / name
        hook.write_text("#!/bin/sh\n" + script)
        hook.chmod(0o755)

    def test_hook_declines(self):
        colour = "printf 'two\\033[31m red \\377\\a\\n' >&2\n"
        self.hook("pre-receive", "echo 'protected: ask \"Ann\"' >&2\n" + colour + "exit 1\n")
        self.repo.save(a="two\n")
        says = self.push_refused_and_nothing_moved("REPO_PUSH_REJECTED")["remote_says"]
        self.assertEqual(says.splitlines()[0], 'protected: ask "Ann"')
        self.assertIn("two", says)
        self.assertNotIn("\x1b", says)
        self.assertNotIn("\x07", says)

    def test_update_hook_declines(self):
        self.hook("update", 'echo "no $1" >&2\nexit 1\n')
        self.repo.save(a="two\n")
        self.assertEqual(
            self.push_refused_and_nothing_moved("REPO_PUSH_REJECTED"),
            {
                "reason": "(hook declined)",
                "remote_says": "no refs/heads/main\nerror: hook declined to update refs/heads/main",
            },
        )

    def test_hook_says_much(self):
        self.hook("pre-receive", 'for i in $(seq 0 500); do echo "line $i é" >&2; done\nexit 1\n')
        self.repo.save(a="two\n")
        says = self.push_refused_and_nothing_moved("REPO_PUSH_REJECTED")["remote_says"]
        self.assertTrue(says.startswith("line 0 é\nline 1 é\n"))
        self.assertLessEqual(len(says.encode()), 2000)
        self.assertNotIn("\ufffd", says)

    def test_hook_says_something_and_accepts(self):
        self.hook("post-receive", "echo 'remote: thank you' >&2\n")
        self.repo.save(a="two\n")
        self.assertEqual(self.push()["result"], "pushed")

    def test_settings_of_the_remote(self):
        self.remote.config("receive.denyDeletes", "true")
        self.remote.config("receive.denyNonFastForwards", "true")
        self.remote.config("receive.fsckObjects", "true")
        self.repo.save(a="two\n")
        self.assertEqual(self.push()["result"], "pushed")

    def test_branch_checked_out_there(self):
        self.remote.remake()
        self.repo.git("push", "-q", self.remote.url, "main:other")
        self.remote.git("reset", "-q", "--hard", "other")
        self.repo.save(a="two\n")
        self.push_refused_and_nothing_moved("REPO_PUSH_REJECTED")

    def test_remote_refuses_the_branch_name(self):
        # There is a branch main/x there, so main cannot be.
        self.remote.git("branch", "-m", "main", "main/x")
        self.repo.save(a="two\n")
        self.push_refused_and_nothing_moved("REPO_PUSH_REJECTED")


class HangingRemoteTest(PushCase):
    settings = {"WORKDIR_01_PUSH_TIMEOUT_SECONDS": "2"}

    def test_hook_that_hangs(self):
        hook = self.remote.path / "hooks" / "pre-receive"
        told = self.host.path / "pid"
        hook.write_text(f"#!/bin/sh\necho $$ >{told}\nexec sleep 600\n")
        hook.chmod(0o755)
        self.repo.save(a="two\n")
        self.push_refused("REPO_PUSH_TIMEOUT")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(told.read_text()), 0)
        self.assertEqual(self.remote_refs()["refs/heads/main"], self.base)
        hook.unlink()
        self.assertEqual(self.push()["result"], "pushed")

    def test_hook_that_talks_without_end(self):
        hook = self.remote.path / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\nexec yes 'still here' >&2\n")
        hook.chmod(0o755)
        self.repo.save(a="two\n")
        data, error = self.call("push_repo", workdir="app")
        self.assertIsNone(data)
        self.assertIn(error["code"], ("REPO_PUSH_OUTPUT_LIMIT", "REPO_PUSH_TIMEOUT"))
        self.assertLess(len(str(error)), 4000)


class RaceTest(PushCase):
    """What happens in the workdir while git speaks to the remote, done by a hook of the remote."""

    def during(self, script):
        """The hook runs this in the workdir; it knows HERE, the workdir, and THERE, what git was told to push from."""
        self.result = self.host.path / "during"
        self.addCleanup(lambda: self.result.unlink(missing_ok=True))
        self.hook(
            "pre-receive",
            f"unset GIT_DIR GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
            f"HERE={self.repo.path}\nTHERE=$(echo {self.host.state}/transport/*)\ncd $HERE\nexec >{self.result} 2>&1\n"
            f"{script}\nexit 0\n",
        )

    def hook(self, name, script):
        hook = self.remote.path / "hooks" / name
        hook.write_text(f"#!/bin/sh\n{script}")
        hook.chmod(0o755)

    def test_branch_moves(self):
        captured = self.repo.save("captured", a="two\n")
        self.during("git commit -q --amend -m another && git rev-parse HEAD")
        pushed = self.push()
        self.assertEqual(pushed["to"], captured)
        self.assertEqual(self.remote_refs()["refs/heads/main"], captured)
        self.assertEqual(self.result.read_text().strip(), self.repo.head())
        self.assertNotEqual(self.repo.head(), captured)

    def test_branch_goes_and_everything_is_packed(self):
        captured = self.repo.save("captured", a="two\n")
        self.during(
            "git reset -q --hard HEAD~ && git reflog expire --expire=all --all && git gc -q --prune=now && echo packed"
        )
        pushed = self.push()
        self.assertEqual(self.result.read_text().strip(), "packed")
        self.assertEqual((pushed["to"], self.remote_refs()["refs/heads/main"]), (captured, captured))
        # The commit is not here any more, so that nothing can name it.
        self.assertEqual(pushed["tracking_updated"], False)
        self.assert_sound(self.remote)

    def test_alternates_appear(self):
        """What another repository holds is out of git's reach, as it is not for git in the workdir."""
        other = self.host.path / "other.git"
        self.host.user.git(self.host.path, "init", "-q", "--bare", other)
        self.addCleanup(shutil.rmtree, other)
        secret = self.host.user.git(other, "hash-object", "-w", "--stdin", input=b"secret\n").stdout.decode().strip()
        self.repo.save("captured", a="two\n")
        self.during(
            f"echo {other}/objects >.git/objects/info/alternates\n"
            f"git cat-file -e {secret} && echo here\n"
            f"git --git-dir=$THERE cat-file -e HEAD 2>/dev/null\n"
            f"git --git-dir=$THERE cat-file -e {self.base} && echo base there\n"
            f"git --git-dir=$THERE cat-file -e {secret} 2>/dev/null || echo not there"
        )
        self.assertEqual(self.push()["tracking_updated"], False)
        said = self.result.read_text().splitlines()
        self.assertEqual([line for line in said if "nesting" not in line], ["here", "base there", "not there"])


class OutgoingTest(PushCase):
    """Every commit that the remote lacks is looked at, whatever the repository says about the remote."""

    settings = {"WORKDIR_01_EXTRA_DENY_GLOBS": "private/**"}

    def assert_denied(self, oid):
        self.assertEqual(self.push_refused_and_nothing_moved("REPO_PUSH_DENIED_PATH"), {"commit": oid})

    def test_denied_path(self):
        for name in ("server.pem", "deep/.ssh/config", "private/x", "sub/.ENV"):
            with self.subTest(name=name):
                self.repo.git("reset", "-q", "--hard", self.base)
                self.assert_denied(self.repo.save("denied", **{name: "secret\n"}))

    def test_added_and_removed_again(self):
        oid = self.repo.save("denied", **{"server.pem": "secret\n"})
        (self.repo / "server.pem").unlink()
        self.repo.save("removed")
        self.assert_denied(oid)

    def test_renamed_from_a_denied_path(self):
        self.repo.save("denied", **{"server.pem": "secret\n"})
        self.repo.git("push", "-q")
        self.repo.git("mv", "server.pem", "shown")
        self.assert_denied(self.repo.save("renamed"))

    def test_removed_denied_file_that_the_remote_has(self):
        self.repo.save("denied", **{"server.pem": "secret\n"})
        self.repo.git("push", "-q")
        self.repo.save("fine", a="two\n")
        self.assertEqual(self.push()["result"], "pushed")
        (self.repo / "server.pem").unlink()
        self.assert_denied(self.repo.save("removed"))

    def test_in_a_merged_branch(self):
        self.repo.git("switch", "-q", "-c", "side")
        oid = self.repo.save("denied", **{"server.pem": "secret\n"})
        (self.repo / "server.pem").unlink()
        self.repo.save("removed")
        self.repo.git("switch", "-q", "main")
        self.repo.git("merge", "-q", "--no-ff", "-m", "merged", "side")
        self.assert_denied(oid)

    def test_in_a_merge_itself(self):
        self.repo.git("switch", "-q", "-c", "side")
        self.repo.save("side", b="b\n")
        self.repo.git("switch", "-q", "main")
        self.repo.save("main", c="c\n")
        self.repo.git("merge", "-q", "--no-commit", "--no-ff", "side")
        self.assert_denied(self.repo.save("evil merge", **{"server.pem": "secret\n"}))

    def test_on_an_unrelated_branch(self):
        self.repo.git("switch", "-q", "-c", "other")
        self.repo.save("denied", **{"server.pem": "secret\n"})
        self.repo.git("switch", "-q", "main")
        self.repo.save(a="two\n")
        self.assertEqual(len(self.push()["commits"]), 1)

    def test_hidden_path(self):
        # Hidden is for looking and naming; what git tracks may be pushed.
        self.repo.save("hidden", **{".editorconfig": "root = true\n"})
        self.assertEqual(self.push()["result"], "pushed")

    def test_forged_tracking_branch(self):
        oid = self.repo.save("denied", **{"server.pem": "secret\n"})
        (self.repo / "server.pem").unlink()
        head = self.repo.save("removed")
        for forged in (oid, head):
            self.repo.git("update-ref", "refs/remotes/origin/main", forged)
            self.repo.git("update-ref", "refs/remotes/origin/HEAD", forged)
            self.assert_denied(oid)

    def test_forged_history(self):
        oid = self.repo.save("denied", **{"server.pem": "secret\n"})
        (self.repo / "server.pem").unlink()
        head = self.repo.save("removed")
        self.repo.write(".git/info/grafts", f"{head} {self.base}\n")
        self.assert_denied(oid)
        (self.repo / ".git/info/grafts").unlink()
        harmless = self.repo.git("commit-tree", "-m", "harmless", "-p", self.base, f"{self.base}^{{tree}}")
        self.repo.git("replace", "-f", oid, harmless)
        self.assert_denied(oid)

    def test_forged_shallow_file(self):
        oid = self.repo.save("denied", **{"server.pem": "secret\n"})
        (self.repo / "server.pem").unlink()
        head = self.repo.save("removed")
        self.repo.write(".git/shallow", f"{head}\n")
        # Its parents are here all the same, and git would send them: nothing gets past the check.
        remote = self.remote_refs()
        data, error = self.call("push_repo", workdir="app")
        self.assertIsNone(data)
        self.assertIn(error["code"], ("REPO_PUSH_DENIED_PATH", "REPO_PUSH_NON_FAST_FORWARD"))
        self.assertEqual(self.remote_refs(), remote)
        self.assertNotEqual(self.remote.run("cat-file", "-e", oid, check=False).returncode, 0)

    def test_broken_shallow_file(self):
        for text in ("not a commit\n", f"{self.base}\nx\n", f"{self.base[:-1]}\n"):
            self.repo.write(".git/shallow", text)
            self.assertEqual(self.push_refused_and_nothing_moved("REPO_UNSAFE_LAYOUT"), {"place": "shallow"})

    def test_submodule_moved_on(self):
        other = self.host.path / "submodule"
        other.mkdir()
        self.addCleanup(shutil.rmtree, other)
        self.host.user.git(other, "init", "-q")
        self.host.user.git(other, "commit", "-q", "--allow-empty", "-m", "inner")
        self.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
        self.repo.save("a submodule")
        self.assertEqual(self.push()["commits"][0]["paths_count"], 2)

    def test_missing_object(self):
        self.repo.save(b="b\n")
        tree = self.repo.git("rev-parse", "HEAD^{tree}")
        self.repo.save(b="c\n")
        (self.repo.git_dir / "objects" / tree[:2] / tree[2:]).unlink()
        self.push_refused_and_nothing_moved("REPO_OBJECT_MISSING")


class ShallowTest(PushCase):
    def setUp(self):
        super().setUp()
        for i in range(3):
            self.base = self.repo.save(f"history {i}", a=f"{i}\n")
        self.repo.git("push", "-q")
        self.repo.remake()
        self.repo.git("remote", "add", "origin", self.remote.url)
        self.repo.git("fetch", "-q", "--depth=2", "origin", "main:refs/remotes/origin/main")
        self.repo.git("switch", "-q", "-C", "main", "--track", "origin/main")
        self.assertTrue((self.repo.git_dir / "shallow").exists())

    def test_push(self):
        oids = [self.repo.save("ours", b="b\n"), self.repo.save("and more", c="c\n")]
        pushed = self.push()
        self.assertEqual([commit["oid"] for commit in pushed["commits"]], oids)
        self.assertEqual((pushed["from"], self.tracked()), (self.base, oids[-1]))
        self.assert_sound(self.remote)
        self.assertEqual(self.push()["result"], "up_to_date")

    def test_denied_path(self):
        oid = self.repo.save("denied", **{"server.pem": "secret\n"})
        self.assertEqual(self.push_refused_and_nothing_moved("REPO_PUSH_DENIED_PATH"), {"commit": oid})

    def test_new_branch(self):
        self.repo.git("switch", "-q", "-c", "topic")
        self.repo.config("branch.topic.remote", "origin")
        self.repo.config("branch.topic.merge", "refs/heads/topic")
        oid = self.repo.save("ours", b="b\n")
        self.assertEqual([commit["oid"] for commit in self.push()["commits"]], [oid])

    def test_remote_ahead(self):
        self.repo.git("reset", "-q", "--hard", "HEAD~")
        self.repo.save("ours", b="b\n")
        self.push_refused_and_nothing_moved("REPO_PUSH_NON_FAST_FORWARD")

    def test_to_a_remote_that_lacks_the_rest(self):
        self.remote.remake("--bare")
        self.repo.save("ours", b="b\n")
        # A remote takes no history without its beginning.
        self.push_refused_and_nothing_moved("REPO_PUSH_REJECTED")
