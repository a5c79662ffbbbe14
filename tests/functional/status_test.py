"""View status: each entry, head, upstream and operation said in our words, the same that git itself means."""

import os

from bridge_case import BridgeCase

WORD_OF = {
    ".": "unmodified",
    "M": "modified",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "T": "typechange",
}


def entries_of_git(repository):
    """path → what git says of it, in the words of docs/PROTOCOL.md; for names that are written as they are."""
    fields = repository.git("status", "--porcelain=v2", "-z", "--untracked-files=all").split("\0")
    entries = {}
    while (field := fields.pop(0)) != "":
        kind, _, rest = field.partition(" ")
        if kind == "?":
            entries[rest] = {"index": "untracked", "worktree": "untracked"}
        elif kind == "u":
            entries[rest.split(" ", 9)[-1]] = {"index": "conflicted", "worktree": "conflicted"}
        elif kind == "1":
            entries[rest.split(" ", 7)[-1]] = {"index": WORD_OF[rest[0]], "worktree": WORD_OF[rest[1]]}
        else:
            entries[rest.split(" ", 8)[-1]] = {
                "index": WORD_OF[rest[0]],
                "worktree": WORD_OF[rest[1]],
                "old_path": fields.pop(0),
            }
    return entries


LINES = "".join(f"line {i}\n" for i in range(20))


class StatusTest(BridgeCase):
    def assert_entries(self, expected):
        """That status lists exactly these, and git as well. `expected`: path → (index, worktree[, old_path])."""
        named = {
            path: dict(zip(("index", "worktree", "old_path"), words)) for path, words in expected.items()
        }
        self.assertEqual(self.entries(), named)
        self.assertEqual(entries_of_git(self.repo), named)
        self.assertEqual(self.status()["clean"], not named)

    def test_nothing_to_tell(self):
        self.repo.save(a="one\n", **{"sub/b": "two\n"})
        self.assert_entries({})
        self.assertEqual(
            self.status(),
            {
                "head": {"branch": "main", "oid": self.repo.head(), "unborn": False},
                "upstream": None,
                "outgoing": [],
                "operation": None,
                "clean": True,
                "entries": [],
                "hidden_count": 0,
                "freshness": "scanned",
                "truncated": False,
            },
        )

    def test_in_the_work_tree(self):
        self.repo.save(modified="one\n", deleted="two\n", typechange="three\n", mode="four\n", touched="five\n")
        self.repo.write("modified", "one!\n")
        (self.repo / "deleted").unlink()
        (self.repo / "typechange").unlink()
        (self.repo / "typechange").symlink_to("modified")
        (self.repo / "mode").chmod(0o755)
        os.utime(self.repo / "touched", (1, 1))
        self.assert_entries(
            {
                "modified": ("unmodified", "modified"),
                "deleted": ("unmodified", "deleted"),
                "typechange": ("unmodified", "typechange"),
                "mode": ("unmodified", "modified"),
            }
        )

    def test_in_the_index(self):
        self.repo.save(modified="one\n", deleted="two\n", typechange="three\n", mode="four\n")
        self.repo.write("modified", "one!\n")
        self.repo.write("added", "five\n")
        (self.repo / "deleted").unlink()
        (self.repo / "typechange").unlink()
        (self.repo / "typechange").symlink_to("modified")
        (self.repo / "mode").chmod(0o755)
        self.repo.git("add", "-A")
        self.assert_entries(
            {
                "modified": ("modified", "unmodified"),
                "added": ("added", "unmodified"),
                "deleted": ("deleted", "unmodified"),
                "typechange": ("typechange", "unmodified"),
                "mode": ("modified", "unmodified"),
            }
        )

    def test_in_both(self):
        self.repo.save(twice="one\n", back="two\n", gone="three\n", again="four\n")
        self.repo.write("twice", "staged\n")
        self.repo.write("back", "staged\n")
        self.repo.write("new", "staged\n")
        self.repo.write("brief", "staged\n")
        self.repo.git("add", "-A")
        self.repo.write("twice", "then changed\n")
        self.repo.write("back", "two\n")
        self.repo.write("new", "then changed\n")
        (self.repo / "brief").unlink()
        self.repo.git("rm", "-q", "gone")
        self.repo.git("rm", "-q", "--cached", "again")
        self.assertEqual(
            self.entries(),
            {
                "twice": {"index": "modified", "worktree": "modified"},
                "back": {"index": "modified", "worktree": "modified"},
                "new": {"index": "added", "worktree": "modified"},
                "brief": {"index": "added", "worktree": "deleted"},
                "gone": {"index": "deleted", "worktree": "unmodified"},
                # git writes this as two entries of one name, and a name is listed once here.
                "again": {"index": "deleted", "worktree": "untracked"},
            },
        )

    def test_renamed(self):
        self.repo.save(**{"old": LINES, "from/deep": LINES.replace("line", "row"), "same": "x\n" * 30})
        self.repo.git("mv", "old", "new")
        (self.repo / "to").mkdir()
        self.repo.git("mv", "from/deep", "to/deeper")
        self.repo.write("to/deeper", LINES.replace("line", "row") + "one more\n")
        self.repo.git("add", "-A")
        self.repo.write("new", LINES + "later\n")
        self.assert_entries(
            {
                "new": ("renamed", "modified", "old"),
                "to/deeper": ("renamed", "unmodified", "from/deep"),
            }
        )

    def test_renamed_without_git(self):
        self.repo.save(old=LINES)
        (self.repo / "old").rename(self.repo / "new")
        self.assert_entries({"old": ("unmodified", "deleted"), "new": ("untracked", "untracked")})

    def test_untracked_one_by_one(self):
        self.repo.save(**{"tracked/file": "", ".gitignore": "*.o\n/built/\n"})
        self.repo.write("tracked/beside", "")
        self.repo.write("fresh/one", "")
        self.repo.write("fresh/deep/two", "")
        self.repo.write("fresh/deep/ignored.o", "")
        self.repo.write("built/three", "")
        (self.repo / "empty").mkdir()
        (self.repo / "link").symlink_to("fresh")
        self.assert_entries(
            {
                name: ("untracked", "untracked")
                for name in ("tracked/beside", "fresh/one", "fresh/deep/two", "link")
            }
        )

    def test_no_file_at_all(self):
        self.repo.save(tracked="one\n")
        (self.repo / "tracked").unlink()
        os.mkfifo(self.repo / "tracked")
        os.mkfifo(self.repo / "untracked")
        self.assert_entries({"tracked": ("unmodified", "modified")})

    def test_conflicted(self):
        names = ("both_modified", "deleted_by_us", "deleted_by_them")
        self.repo.save(**{name: LINES for name in names})
        self.repo.git("switch", "-q", "-c", "other")
        self.repo.write("both_modified", LINES + "other\n")
        self.repo.write("deleted_by_us", LINES + "other\n")
        (self.repo / "deleted_by_them").unlink()
        self.repo.save(both_added="other\n")
        self.repo.git("switch", "-q", "main")
        self.repo.write("both_modified", LINES + "main\n")
        self.repo.write("deleted_by_them", LINES + "main\n")
        (self.repo / "deleted_by_us").unlink()
        self.repo.save(both_added="main\n")
        self.repo.run("merge", "-q", "other", check=False)
        self.assert_entries({name: ("conflicted", "conflicted") for name in (*names, "both_added")})
        self.assertEqual(self.status()["operation"], "merge")

    def test_conflict_of_renames(self):
        self.repo.save(origin=LINES)
        self.repo.git("switch", "-q", "-c", "other")
        self.repo.git("mv", "origin", "theirs")
        self.repo.save()
        self.repo.git("switch", "-q", "main")
        self.repo.git("mv", "origin", "ours")
        self.repo.save()
        self.repo.run("merge", "-q", "other", check=False)
        # Deleted by both, added by us, added by them.
        self.assert_entries({name: ("conflicted", "conflicted") for name in ("origin", "ours", "theirs")})

    def test_intent_to_add(self):
        self.repo.save(tracked="one\n")
        self.repo.write("announced", "two\n")
        self.repo.git("add", "-N", "announced")
        self.assert_entries({"announced": ("unmodified", "added")})
        (self.repo / "announced").unlink()
        self.assert_entries({"announced": ("unmodified", "deleted")})

    def test_assume_unchanged(self):
        self.repo.save(quiet="one\n", absent="two\n")
        self.repo.git("update-index", "--assume-unchanged", "quiet", "absent")
        self.repo.write("quiet", "changed\n")
        (self.repo / "absent").unlink()
        self.assert_entries({})

    def test_skip_worktree(self):
        self.repo.save(changed="one\n", absent="two\n", staged="three\n")
        self.repo.write("staged", "staged\n")
        self.repo.git("add", "staged")
        self.repo.git("update-index", "--skip-worktree", "changed", "absent", "staged")
        self.repo.write("changed", "changed\n")
        (self.repo / "absent").unlink()
        (self.repo / "staged").unlink()
        self.assert_entries({"staged": ("modified", "unmodified")})

    def test_sparse_checkout(self):
        self.repo.save(**{"in/a": "one\n", "out/b": "two\n", "out/c": "three\n"})
        self.repo.git("sparse-checkout", "set", "--no-cone", "/in/")
        self.assert_entries({})
        self.repo.write("in/a", "changed\n")
        # What lies outside and is there all the same, is compared as if it were inside.
        self.repo.write("out/b", "changed\n")
        self.assert_entries({"in/a": ("unmodified", "modified"), "out/b": ("unmodified", "modified")})

    def test_submodule(self):
        self.make_submodule()
        self.repo.save()
        self.assert_entries({})
        # Not entered: a change inside stays its own affair.
        self.repo.write("sub/inner", "changed\n")
        self.assertEqual(self.entries(), {})

    def test_submodule_staged(self):
        self.repo.save(a="one\n")
        self.make_submodule()
        self.assertEqual(self.entries(), {"sub": {"index": "added", "worktree": "unmodified"}})
        self.commit_refused("REPO_STAGED_STATE", "a")
        self.repo.save()
        self.repo.git("rm", "-q", "--cached", "sub")
        self.assertEqual(self.entries()["sub"]["index"], "deleted")

    def make_submodule(self):
        self.remote.remake()
        self.remote.save(inner="inner\n")
        self.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", self.remote.url, "sub")

    def test_nested_repository(self):
        self.repo.save(a="one\n")
        nested = self.repo / "nested"
        nested.mkdir()
        self.repo.git("init", "-q", "nested")
        self.repo.write("nested/inner", "inner\n")
        self.repo.git("-C", "nested", "add", "inner")
        self.repo.git("-C", "nested", "commit", "-q", "-m", "inner")
        self.assert_entries({"nested/": ("untracked", "untracked")})

    def test_file_mode_off(self):
        self.repo.save(a="one\n")
        (self.repo / "a").chmod(0o755)
        self.repo.config("core.fileMode", "false")
        self.assert_entries({})

    def test_line_ends(self):
        self.repo.config("core.autocrlf", "true")
        self.repo.write("a", "one\r\ntwo\r\n")
        self.repo.save()
        os.utime(self.repo / "a", (1, 1))
        self.assert_entries({})

    def test_names(self):
        names = [
            b"caf\xc3\xa9", b"a b", b"x -> y", b"tab\there", b"line\nfeed", b'quo"te', b'"begins', b"back\\slash",
            b"\xff\xfe", b"-dash", b":(top)a", b"[id].tsx", b"*", b"\xe6\xb5\x8b\xe8\xaf\x95.md",
        ]
        listed = [
            "café", "a b", "x -> y", "tab\there", "line\nfeed", 'quo"te', '"\\"begins"', "back\\slash",
            '"\\377\\376"', "-dash", ":(top)a", "[id].tsx", "*", "测试.md",
        ]
        for name in names:
            self.repo.write(name, "one\n")
        self.assertEqual(set(self.entries()), set(listed))
        # What is listed can be named as it is listed.
        self.assertEqual({file["path"] for file in self.diff(*listed)["files"]}, set(listed))
        self.commit(*listed)
        self.assert_entries({})

    def test_same_second_edit(self):
        for content in ("aaaa\n", "bbbb\n", "cccc\n"):
            self.repo.save(racy=content)
            self.repo.write("racy", content.upper())
            self.assert_entries({"racy": ("unmodified", "modified")})

    def test_directories_without_end(self):
        self.repo.save(a="one\n")
        deepest = self.repo / "/".join(["d"] * 110)
        deepest.mkdir(parents=True)
        (deepest / "file").write_text("")
        self.refused("REPO_UNSUPPORTED_LAYOUT", "inspect_repo", workdir="app", view="status")
        # Files that are named are found without a look at the rest.
        self.repo.write("a", "two\n")
        self.commit("a")


class HeadTest(BridgeCase):
    def test_unborn(self):
        self.repo.write("a", "one\n")
        status = self.status()
        self.assertEqual(status["head"], {"branch": "main", "oid": None, "unborn": True})
        self.repo.git("add", "a")
        self.assertEqual(self.entries(), {"a": {"index": "added", "worktree": "unmodified"}})
        self.assertEqual([f["status"] for f in self.diff("a", view="staged_diff")["files"]], ["added"])

    def test_branch_with_slashes(self):
        oid = self.repo.save(a="one\n")
        self.repo.git("switch", "-q", "-c", "feature/of/mine")
        self.assertEqual(self.status()["head"], {"branch": "feature/of/mine", "oid": oid, "unborn": False})

    def test_packed_branch(self):
        oid = self.repo.save(a="one\n")
        self.repo.git("pack-refs", "--all")
        self.assertEqual(self.status()["head"]["oid"], oid)

    def test_detached(self):
        oid = self.repo.save(a="one\n")
        self.repo.git("switch", "-q", "--detach")
        self.assertEqual(self.status()["head"], {"branch": None, "oid": oid, "unborn": False})
        self.assertEqual(self.status()["upstream"], None)

    def test_ahead_and_behind(self):
        self.repo.save(a="one\n")
        self.follow_origin()
        self.assertEqual(self.upstream(), (0, 0))
        self.repo.save(a="two\n")
        self.assertEqual(self.upstream(), (1, 0))
        self.repo.git("push", "-q")
        self.repo.git("reset", "-q", "--hard", "HEAD~")
        self.assertEqual(self.upstream(), (0, 1))
        self.repo.save(a="three\n")
        self.repo.save(a="four\n")
        self.assertEqual(self.upstream(), (2, 1))

    def test_commits_that_have_not_left(self):
        self.repo.save(a="one\n")
        self.follow_origin()
        first = self.repo.save("the first", a="two\n", b="two\n")
        second = self.repo.save("the second", a="three\n")
        expected = [
            {"oid": first, "subject": "the first", "paths_count": 2},
            {"oid": second, "subject": "the second", "paths_count": 1},
        ]
        self.assertEqual(self.status()["outgoing"], expected)
        # As far as the last fetch knows, like `ahead`; what a push asks the remote is another matter.
        self.repo.git("push", "-q", self.remote.url, "main")
        self.assertEqual(self.status()["outgoing"], expected)
        self.repo.git("fetch", "-q")
        self.assertEqual(self.status()["outgoing"], [])

    def test_many_commits_that_have_not_left(self):
        self.repo.save(a="one\n")
        self.follow_origin()
        author = "committer A U Thor <author@example.org> 1700000000 +0000"
        line = "".join(
            f"commit refs/heads/main\n{author}\ndata 1\nx\n" + ("from refs/heads/main^0\n" if i == 0 else "")
            for i in range(60)
        )
        self.repo.git("fast-import", "--quiet", input=line.encode())
        status = self.status()
        self.assertEqual(status["upstream"]["ahead"], 60)
        oldest = self.repo.git("rev-list", "--reverse", "origin/main..main").split("\n")[:50]
        self.assertEqual([commit["oid"] for commit in status["outgoing"]], oldest)

    def test_unrelated_histories(self):
        self.repo.save(a="one\n")
        self.follow_origin()
        self.repo.git("checkout", "-q", "--orphan", "fresh")
        self.repo.save(a="two\n")
        self.repo.git("branch", "-q", "-M", "main")
        self.repo.git("branch", "-q", "-u", "origin/main")
        self.assertEqual(self.upstream(), (1, 1))

    def upstream(self):
        upstream = self.status()["upstream"]
        self.assertEqual((upstream["remote"], upstream["branch"]), ("origin", "main"))
        return upstream["ahead"], upstream["behind"]

    def test_upstream_gone(self):
        self.repo.save(a="one\n")
        self.follow_origin()
        self.repo.git("update-ref", "-d", "refs/remotes/origin/main")
        self.assertEqual(self.upstream(), (None, None))

    def test_upstream_of_another_name(self):
        self.repo.save(a="one\n")
        self.follow_origin()
        self.repo.git("switch", "-q", "-c", "mine", "--track", "origin/main")
        self.assertEqual(self.status()["head"]["branch"], "mine")
        self.assertEqual(self.upstream(), (0, 0))

    def test_upstream_of_an_unborn_branch(self):
        self.repo.git("remote", "add", "origin", self.remote.url)
        self.repo.config("branch.main.remote", "origin")
        self.repo.config("branch.main.merge", "refs/heads/main")
        self.assertEqual(self.upstream(), (None, None))

    def test_upstream_that_is_local(self):
        self.repo.save(a="one\n")
        self.repo.git("branch", "other")
        self.repo.git("branch", "-q", "-u", "other")
        self.assertEqual(self.status()["upstream"], None)

    def test_shallow(self):
        self.remote.remake()
        for content in ("one\n", "two\n", "three\n"):
            self.remote.save(a=content)
        self.repo.git("remote", "add", "origin", self.remote.url)
        self.repo.git("fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
        self.repo.git("switch", "-q", "-C", "main", "--track", "origin/main")
        self.repo.save(a="four\n")
        self.assertEqual(self.upstream(), (1, 0))


class OperationTest(BridgeCase):
    """Two branches that change the same line, and what git is in the middle of when they meet."""

    def setUp(self):
        super().setUp()
        self.repo.save(a="base\n")
        self.repo.git("switch", "-q", "-c", "other")
        self.repo.save("other 1", a="other 1\n")
        self.repo.save("other 2", a="other 2\n")
        self.repo.git("switch", "-q", "main")
        self.repo.save("main", a="main\n")

    def assert_operation(self, name):
        self.assertEqual(self.status()["operation"], name)
        self.assertEqual(self.commit_refused("REPO_OPERATION_IN_PROGRESS", "a"), {"operation": name})

    def stopped(self, *arguments, **options):
        self.assertNotEqual(self.repo.run(*arguments, check=False, **options).returncode, 0, arguments)

    def test_merge(self):
        self.stopped("merge", "-q", "other")
        self.assert_operation("merge")
        # All conflicts resolved, and still no ordinary commit.
        self.repo.write("a", "both\n")
        self.repo.git("add", "a")
        self.assert_operation("merge")
        self.repo.git("commit", "-q", "-m", "merged")
        self.assertEqual(self.status()["operation"], None)

    def test_rebase(self):
        self.stopped("rebase", "-q", "--merge", "other")
        self.assert_operation("rebase")

    def test_rebase_by_patches(self):
        self.stopped("rebase", "-q", "--apply", "other")
        self.assert_operation("rebase")

    def test_rebase_of_a_merge(self):
        self.repo.git("switch", "-q", "-c", "side", "main~")
        self.repo.save("side", a="side\n")
        self.stopped("merge", "-q", "main")
        self.repo.save("merged by hand", a="both\n")
        self.repo.git("switch", "-q", "-c", "again", "main~")
        self.repo.save("new base", b="new base\n")
        self.stopped("rebase", "-q", "--rebase-merges", "again", "side")
        self.assertTrue((self.repo.git_dir / "MERGE_HEAD").exists())
        self.assert_operation("rebase")

    def test_cherry_pick(self):
        self.stopped("cherry-pick", "other~")
        self.assert_operation("cherry_pick")

    def test_cherry_pick_of_several(self):
        self.stopped("cherry-pick", "other~", "other")
        self.repo.git("checkout", "-q", "--theirs", "a")
        self.repo.git("commit", "-q", "-am", "resolved")
        # CHERRY_PICK_HEAD is gone, the rest of the work is not.
        self.assert_operation("cherry_pick")

    def test_revert(self):
        self.repo.save("again", a="again\n")
        self.stopped("revert", "--no-edit", "HEAD~")
        self.assert_operation("revert")

    def test_revert_of_several(self):
        for content in ("1\n", "2\n", "3\n"):
            self.repo.save(a=content)
        self.stopped("revert", "--no-edit", "HEAD~2", "HEAD~")
        self.repo.write("a", "resolved\n")
        self.repo.git("commit", "-q", "-am", "resolved")
        self.assert_operation("revert")

    def test_bisect(self):
        self.repo.git("bisect", "start", "other", "main~")
        self.assert_operation("bisect")
        self.repo.git("bisect", "reset")
        self.assertEqual(self.status()["operation"], None)

    def test_bisect_on_a_branch(self):
        self.repo.git("bisect", "start")
        self.assert_operation("bisect")

    def test_am(self):
        patch = self.repo.run("format-patch", "--stdout", "-1", "other~").stdout
        self.stopped("am", "-q", input=patch)
        self.assert_operation("am")


class HiddenTest(BridgeCase):
    """What policy hides is counted and not named."""

    settings = {"WORKDIR_01_EXTRA_DENY_GLOBS": "private/**,*.sqlite"}

    def hidden(self):
        status = self.status()
        return [entry["path"] for entry in status["entries"]], status["hidden_count"], status["clean"]

    def test_hidden_and_denied_files(self):
        self.repo.save(**{"a": "one\n", ".config/b": "two\n", "key.pem": "three\n"})
        self.repo.write("a", "changed\n")
        self.repo.write(".config/b", "changed\n")
        self.repo.write("key.pem", "changed\n")
        new = (".env", "sub/ID_RSA", "private/deep/er", "x.SQLite", "deep/.ssh/known", "credentials.json")
        for name in new:
            self.repo.write(name, "new\n")
        self.assertEqual(self.hidden(), (["a"], 2 + len(new), False))

    def test_all_that_changed_is_hidden(self):
        self.repo.save(a="one\n")
        self.repo.write(".env", "new\n")
        self.assertEqual(self.hidden(), ([], 1, False))

    def test_renames(self):
        rows, bees = LINES.replace("line", "row"), LINES.replace("line", "bee")
        self.repo.save(**{"key.pem": LINES, "plain": rows, "b": bees})
        self.repo.git("mv", "key.pem", "shown")
        self.repo.git("mv", "plain", "private.key")
        self.repo.git("mv", "b", "c")
        self.assertEqual(self.hidden(), (["c"], 2, False))

    def test_conflicts(self):
        self.repo.save(**{"key.pem": "base\n"})
        self.repo.git("switch", "-q", "-c", "other")
        self.repo.save(**{"key.pem": "other\n"})
        self.repo.git("switch", "-q", "main")
        self.repo.save(**{"key.pem": "main\n"})
        self.repo.run("merge", "-q", "other", check=False)
        self.assertEqual(self.hidden(), ([], 1, False))


class TruncatedTest(BridgeCase):
    settings = {"MAX_TOOL_RESPONSE_ITEMS": 5}

    def test_at_the_limit(self):
        for i in range(5):
            self.repo.write(f"{i}", "")
        self.assertEqual((len(self.status()["entries"]), self.status()["truncated"]), (5, False))
        self.repo.write(".hidden", "")
        self.assertEqual(self.status()["truncated"], False)
        self.repo.write("5", "")
        status = self.status()
        self.assertEqual([entry["path"] for entry in status["entries"]], list("01234"))
        self.assertEqual((status["truncated"], status["hidden_count"], status["clean"]), (True, 1, False))


class OnlyLookingTest(BridgeCase):
    """Looking changes nothing, not even where git itself would refresh what it knows."""

    def test_every_view(self):
        self.repo.save(**{"touched": "one\n", "racy": "two\n", "staged": "three\n", "sub/d": "four\n"})
        os.utime(self.repo / "touched", (1, 1))
        self.repo.write("racy", "TWO\n")
        self.repo.write("staged", "changed\n")
        self.repo.git("add", "staged")
        self.repo.git("mv", "sub/d", "sub/e")
        self.repo.write("new", "new\n")
        self.follow_origin()
        names = ["touched", "racy", "staged", "sub/e", "new"]
        with self.assert_unchanged():
            self.status()
            self.diff(*names)
            self.diff("staged", "sub/e", view="staged_diff")
            self.data("inspect_repo", workdir="app", view="actions")
            self.data("inspect_repo", view="workdirs")

    def test_refusals(self):
        self.repo.save(a="one\n")
        with self.assert_unchanged():
            self.refused("PATH_NOT_FOUND", "inspect_repo", workdir="app", view="diff", paths=["missing"])
            self.refused("DENIED_PATH", "inspect_repo", workdir="app", view="diff", paths=["a.key"])

    def test_without_an_index(self):
        self.repo.save(a="one\n")
        (self.repo.git_dir / "index").unlink()
        with self.assert_unchanged():
            self.assertEqual(self.entries(), {"a": {"index": "deleted", "worktree": "untracked"}})

    def test_beside_locks_of_others(self):
        self.repo.save(a="one\n")
        self.repo.write(".git/index.lock", "someone's")
        self.repo.write(".git/HEAD.lock", "someone's")
        with self.assert_unchanged():
            self.assertEqual(self.entries(), {})
