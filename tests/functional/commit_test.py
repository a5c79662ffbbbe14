"""commit_repo_changes: exactly the named files, as git would store them, in the states that allow it."""

import os
import shutil
import threading
import time

from commit_case import CommitCase

LINES = "".join(f"line {i}\n" for i in range(20))
ZEROS = "0" * 40
SCISSORS = "------------------------ >8 ------------------------"


class CommitTest(CommitCase):
    def test_first_commit(self):
        self.repo.write("a", "one\n")
        self.repo.write("b", "two\n")
        made = self.assert_committed("a", base=None, message="the first")
        self.assertEqual(
            made,
            {
                "commit": self.repo.head(),
                "parent": None,
                "branch": "main",
                "paths": ["a"],
                "files_changed": 1,
                "insertions": 1,
                "deletions": 0,
            },
        )
        self.assertEqual(self.repo.git("reflog", "--format=%gs"), "commit (initial): the first")
        self.assertEqual(self.repo.git("reflog", "show", "main", "--format=%gs"), "commit (initial): the first")

    def test_what_it_says(self):
        self.repo.save(a=LINES, b="b\n", c="c\n")
        self.repo.write("a", LINES.replace("line 3\n", "").replace("line 9\n", "line nine\n"))
        self.repo.write("b", "b\n\0")
        self.repo.write("d", "d\n")
        (self.repo / "c").unlink()
        made = self.assert_committed("a", "b", "c", "d", message="several\n\nwith a body")
        self.assertEqual(made["paths"], ["a", "b", "c", "d"])
        self.assertEqual((made["files_changed"], made["insertions"], made["deletions"]), (4, 2, 3))
        self.assertEqual(self.repo.git("reflog", "-1", "--format=%gs"), "commit: several")
        self.assertEqual(
            self.repo.git("log", "-1", "--format=%an|%ae|%cn|%ce"),
            "A U Thor|author@example.org|A U Thor|author@example.org",
        )

    def test_only_what_is_named(self):
        self.repo.save(a="one\n", b="two\n")
        self.repo.write("a", "changed\n")
        self.repo.write("b", "changed\n")
        self.repo.write("c", "new\n")
        self.assert_committed("a")
        self.assertEqual(self.repo.status(), " M b\n?? c")

    def test_named_and_not_changed(self):
        self.repo.save(a="one\n", b="two\n")
        self.repo.write("a", "changed\n")
        made = self.assert_committed("a", "b")
        self.assertEqual(made["paths"], ["a"])

    def test_named_twice(self):
        self.repo.save(a="one\n")
        self.repo.write("a", "changed\n")
        self.assert_committed("a", paths=["a", "a", '"a"'])

    def test_deletion(self):
        self.repo.save(**{"a": "one\n", "d/b": "two\n"})
        (self.repo / "a").unlink()
        shutil.rmtree(self.repo / "d")
        self.assert_committed("a", "d/b")

    def test_rename(self):
        self.repo.save(**{"old": LINES})
        (self.repo / "sub").mkdir()
        (self.repo / "old").rename(self.repo / "sub/new")
        self.assert_committed("old", "sub/new")
        self.assertEqual(self.repo.git("show", "--format=", "--name-status"), "R100\told\tsub/new")

    def test_modes(self):
        self.repo.save(on="one\n", off="two\n")
        (self.repo / "off").chmod(0o755)
        self.repo.save()
        (self.repo / "on").chmod(0o755)
        (self.repo / "off").chmod(0o644)
        self.repo.write("new", "three\n", mode=0o755)
        self.repo.write("group", "four\n", mode=0o674)
        made = self.assert_committed("on", "off", "new", "group")
        self.assertEqual((made["insertions"], made["deletions"]), (2, 0))

    def test_file_mode_off(self):
        self.repo.write("was", "one\n", mode=0o755)
        self.repo.save(a="two\n")
        self.repo.config("core.fileMode", "false")
        (self.repo / "was").chmod(0o644)
        self.repo.write("was", "changed\n")
        self.repo.write("a", "changed\n", mode=0o755)
        self.repo.write("new", "new\n", mode=0o755)
        self.assert_committed("was", "a", "new")
        self.assertIn("100755", self.repo.git("ls-tree", "HEAD", "was"))

    def test_links(self):
        (self.repo / "changed").symlink_to("one")
        (self.repo / "becomes file").symlink_to("one")
        self.repo.save(**{"becomes link": "two\n"})
        for name in ("changed", "becomes file", "becomes link"):
            (self.repo / name).unlink()
        (self.repo / "changed").symlink_to("another")
        self.repo.write("becomes file", "a file\n")
        (self.repo / "becomes link").symlink_to("changed")
        (self.repo / "dangling").symlink_to("nowhere/at/all")
        (self.repo / "outside").symlink_to("/etc/passwd")
        self.assert_committed("changed", "becomes file", "becomes link", "dangling", "outside")
        self.assertEqual(self.repo.git("cat-file", "blob", "HEAD:outside"), "/etc/passwd")

    def test_empty_and_binary(self):
        self.repo.save(a="one\n")
        self.repo.write("empty", "")
        self.repo.write("binary", bytes(range(256)) * 100)
        self.assert_committed("empty", "binary")

    def test_file_becomes_directory(self):
        self.repo.save(a="one\n")
        (self.repo / "a").unlink()
        self.repo.write("a/deep/b", "inside\n")
        with self.assert_kept():
            self.assertEqual(
                self.commit_refused("REPO_PATH_CONFLICT", "a/deep/b"), {"path": "a/deep/b", "displaces": "a"}
            )
        self.assert_committed("a", "a/deep/b")

    def test_directory_becomes_file(self):
        self.repo.save(**{"d/x": "x\n", "d/e/y": "y\n", "da": "beside\n", "d.b": "beside\n"})
        shutil.rmtree(self.repo / "d")
        self.repo.write("d", "a file now\n")
        with self.assert_kept():
            self.assertEqual(
                self.commit_refused("REPO_PATH_CONFLICT", "d", "d/x"), {"path": "d", "displaces": "d/e/y"}
            )
        self.assert_committed("d", "d/x", "d/e/y")
        self.assertEqual(self.repo.git("ls-files").splitlines(), ["d", "d.b", "da"])

    def test_directory_becomes_link(self):
        self.repo.save(**{"d/x": "x\n", "d/y": "y\n", "e/x": "other\n"})
        shutil.rmtree(self.repo / "d")
        (self.repo / "d").symlink_to("e")
        self.commit_refused("REPO_PATH_CONFLICT", "d", "d/x")
        self.assert_committed("d", "d/x", "d/y")

    def test_only_the_old_side_of_a_replacement(self):
        self.repo.save(a="one\n", b="two\n")
        (self.repo / "a").unlink()
        self.repo.write("a/b", "inside\n")
        self.commit("a")
        self.assertEqual(self.repo.git("ls-tree", "--name-only", "HEAD"), "b")
        self.assertEqual(self.repo.status(), "?? a/b")

    def test_tracked_and_ignored(self):
        self.repo.write("a.o", "one\n")
        self.repo.save()
        self.repo.write(".gitignore", "*.o\n")
        self.repo.write("a.o", "changed\n")
        self.assert_committed("a.o")

    def test_line_ends(self):
        self.repo.write("kept", "one\r\n")
        self.repo.save()
        self.repo.config("core.autocrlf", "true")
        self.repo.write(".gitattributes", "*.sh text eol=lf\n*.bin -text\n")
        for name in ("a.txt", "a.sh", "a.bin"):
            self.repo.write(name, "one\r\ntwo\r\n")
        self.repo.write("kept", "one\r\ntwo\r\n")
        self.assert_committed("a.txt", "a.sh", "a.bin", "kept")

    def test_branch_with_slashes_and_packed(self):
        self.repo.save(a="one\n")
        self.repo.git("switch", "-q", "-c", "feature/of/mine")
        self.repo.git("pack-refs", "--all", "--prune")
        self.repo.git("gc", "-q")
        self.repo.write("a", "changed\n")
        self.assertEqual(self.assert_committed("a")["branch"], "feature/of/mine")

    def test_tag_of_the_branches_name(self):
        self.repo.save(a="one\n")
        self.repo.git("tag", "main")
        self.repo.git("tag", "refs/heads/main")
        self.repo.write("a", "changed\n")
        made = self.commit("a")
        self.assertEqual(self.repo.git("rev-parse", "refs/heads/main"), made["commit"])

    def test_without_reflog(self):
        self.repo.save(a="one\n")
        self.repo.config("core.logAllRefUpdates", "false")
        shutil.rmtree(self.repo.git_dir / "logs")
        self.repo.write("a", "changed\n")
        self.assert_committed("a")
        self.assertEqual(self.repo.git("reflog"), "")

    def test_index_keeps_its_mode(self):
        self.repo.save(a="one\n")
        index = self.repo.git_dir / "index"
        index.chmod(0o660)
        self.repo.write("a", "changed\n")
        self.commit("a")
        self.assertEqual(index.stat().st_mode & 0o777, 0o660)

    def test_shallow(self):
        self.remote.remake()
        for content in ("one\n", "two\n", "three\n"):
            last = self.remote.save(a=content)
        self.repo.git("remote", "add", "origin", self.remote.url)
        self.repo.git("fetch", "-q", "--depth=1", "origin", "main")
        self.repo.git("reset", "-q", "--hard", "FETCH_HEAD")
        self.assertEqual(
            self.commit_refused("REPO_NOTHING_TO_COMMIT", "a"), {"head": last, "last_commit": last}
        )
        self.repo.write("a", "four\n")
        self.assert_committed("a")

    def test_nothing_to_commit(self):
        self.repo.save(a="one\n", b="two\n")
        first = self.repo.save(a="changed\n")
        head = self.repo.save(b="changed\n")
        os.utime(self.repo / "a", (1, 1))
        with self.assert_kept():
            self.assertEqual(
                self.commit_refused("REPO_NOTHING_TO_COMMIT", "a"), {"head": head, "last_commit": first}
            )
            self.assertEqual(self.commit_refused("REPO_NOTHING_TO_COMMIT", "a", "b")["last_commit"], head)

    def test_the_last_commit_behind_a_merge(self):
        self.repo.save(a="one\n")
        self.repo.git("switch", "-q", "-c", "side")
        side = self.repo.save("on the side", b="b\n")
        self.repo.git("switch", "-q", "main")
        self.repo.save("on main", c="c\n")
        self.repo.git("merge", "-q", "--no-ff", "-m", "merged", "side")
        head = self.repo.save(c="later\n")
        details = self.commit_refused("REPO_NOTHING_TO_COMMIT", "b")
        # The merge brought it to main; the commit on the side made it.
        self.assertIn(details["last_commit"], (self.repo.git("rev-parse", "HEAD~"), side))
        self.assertEqual(details["head"], head)


class NamesCommitTest(CommitCase):
    def test_every_byte(self):
        names = {b"n" + bytes([byte]) for byte in range(1, 256) if byte not in b"/"}
        names |= {bytes([byte]) + b"n" for byte in range(1, 256) if byte not in b"/."}
        for name in names:
            self.repo.write(name, "one\n")
        listed = [entry["path"] for entry in self.status()["entries"]]
        self.assertEqual(len(listed), len(names))
        made = self.assert_committed(*names, base=None, paths=listed)
        self.assertEqual(sorted(made["paths"]), sorted(listed))

    def test_names_that_look_like_patterns(self):
        names = ["src/[id].tsx", ":(top)a", ":!a", "*", "?", "a*", "**", "-A", "--all", "{a,b}", "!a", "$HOME"]
        for name in (*names, "src/i.tsx", "src/d.tsx", "a", "ab", "~"):
            self.repo.write(name, "one\n")
        self.assert_committed(*names, base=None)
        self.assertEqual(
            sorted(self.repo.status().splitlines()),
            ["?? a", "?? ab", "?? src/d.tsx", "?? src/i.tsx", "?? ~"],
        )

    def test_patterns_that_name_no_file(self):
        self.repo.save(a="one\n")
        self.repo.write("a", "changed\n")
        for path in (":(top)a", "*", "?", "[a]", ":!b", "A"):
            with self.subTest(path=path):
                self.assertEqual(self.commit_refused("PATH_NOT_FOUND", path), {"path": path})
        for path in (":/", ".", "./a", "a/", ""):
            with self.subTest(path=path):
                self.commit_refused("INVALID_PATH", path)

    def test_names_that_differ_in_case_or_form_alone(self):
        for name in ("readme", "README", "caf\u00e9", "cafe\u0301"):
            self.repo.write(name, name)
        self.repo.config("core.ignoreCase", "true")
        self.repo.config("core.precomposeUnicode", "true")
        self.commit("readme", "README", "caf\u00e9", "cafe\u0301")
        self.assertEqual(len(self.repo.git("ls-files").splitlines()), 4)

    def test_names_of_other_systems(self):
        names = ["con", "aux.txt", "a:b", "back\\slash", "dot.", "space ", "a|b", "<x>"]
        for name in names:
            self.repo.write(name, "one\n")
        self.assert_committed(*names, base=None)

    def test_a_thousand_files(self):
        names = [f"d{i % 10}/f{i}" for i in range(1000)]
        for name in names:
            self.repo.write(name, name)
        self.assert_committed(*names, base=None)
        self.commit_refused("INVALID_ARGUMENT", *names, "one more")
        self.commit_refused("INVALID_ARGUMENT")


class MessageTest(CommitCase):
    def message_of(self, message):
        self.repo.write("a", os.urandom(8).hex())
        self.commit("a", message=message)
        return self.repo.run("log", "-1", "--format=%B", "--encoding=UTF-8").stdout.decode().removesuffix("\n")

    def test_kept(self):
        for message, kept in {
            "one line": "one line\n",
            "subject\n\nbody\n": "subject\n\nbody\n",
            "windows\r\n\r\nlines\r\n": "windows\n\nlines\n",
            "# not a comment\n\n# nor this": "# not a comment\n\n# nor this\n",
            "\n\n  indented\n\n\n": "  indented\n",
            "tab\there": "tab\there\n",
            "Đổi ộ ✓ \U0001f600": "Đổi ộ ✓ \U0001f600\n",
            f"{SCISSORS}\nkept": f"{SCISSORS}\nkept\n",
            "x" * 16383: "x" * 16383 + "\n",
            "x" * 16383 + "\n": "x" * 16383 + "\n",
            "é" * 8191: "é" * 8191 + "\n",
        }.items():
            with self.subTest(message=message[:40]):
                self.assertEqual(self.message_of(message), kept)

    def test_refused(self):
        self.repo.write("a", "one\n")
        for message in (
            "", " \n\t\n", "nul\0", "escape \x1b[8D", "bell\x07", "lone\rreturn", "back\x08", "del\x7f",
            "x" * 16384, "é" * 8192,
        ):
            with self.subTest(message=message[:20]):
                self.commit_refused("INVALID_COMMIT_MESSAGE", "a", message=message)
        self.refused("INVALID_ARGUMENT", "commit_repo_changes", workdir="app", paths=["a"])

    def test_configuration_has_no_part(self):
        self.repo.write("template", "from the template\n")
        for key, value in {
            "commit.template": str(self.repo / "template"),
            "commit.cleanup": "strip",
            "commit.verbose": "true",
            "commit.status": "true",
            "core.commentChar": "x",
            "trailer.sign.key": "Signed-off-by",
            "format.signOff": "true",
            "i18n.commitEncoding": "ISO-8859-1",
        }.items():
            self.repo.config(key, value)
        self.assertEqual(self.message_of("xé\n# kept"), "xé\n# kept\n")
        self.assertNotIn("encoding", self.repo.git("cat-file", "commit", "HEAD"))


class ExpectTest(CommitCase):
    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n", b="two\n")

    def expect(self, *names):
        return {file["path"]: file["new_oid"] for file in self.diff(*names)["files"]}

    def test_as_the_diff_showed(self):
        self.repo.config("core.autocrlf", "true")
        self.repo.write("a", "changed\r\n")
        self.repo.write("c", "new\n")
        (self.repo / "b").unlink()
        expect = self.expect("a", "b", "c")
        self.assertEqual(expect["b"], ZEROS)
        self.assert_committed("a", "b", "c", expect=expect)

    def test_changed_since(self):
        self.repo.write("a", "changed\n")
        expect = self.expect("a")
        self.repo.write("a", "changed again\n")
        with self.assert_kept():
            self.assertEqual(
                self.commit_refused("REPO_EXPECT_MISMATCH", "a", expect=expect),
                {"path": "a", "new_oid": self.repo.git("hash-object", "a")},
            )

    def test_gone_and_come_back_since(self):
        (self.repo / "b").unlink()
        expect = self.expect("b")
        self.repo.write("b", "two again\n")
        self.assertEqual(self.commit_refused("REPO_EXPECT_MISMATCH", "b", expect=expect)["path"], "b")
        expect = self.expect("b")
        (self.repo / "b").unlink()
        self.assertEqual(
            self.commit_refused("REPO_EXPECT_MISMATCH", "b", expect=expect), {"path": "b", "new_oid": ZEROS}
        )

    def test_odd_name(self):
        self.repo.write(b"\xff", "one\n")
        expect = self.expect('"\\377"')
        self.assert_committed(b"\xff", paths=['"\\377"'], expect=expect)

    def test_must_name_the_same_files(self):
        self.repo.write("a", "changed\n")
        oid = self.repo.git("hash-object", "a")
        others = ({}, {"b": oid}, {"a": oid, "b": oid}, {"a": oid[:-1]}, {"a": oid.upper()}, {"a": 1}, [], "a")
        for expect in others:
            with self.subTest(expect=expect):
                self.commit_refused("INVALID_ARGUMENT", "a", expect=expect)


class StateTest(CommitCase):
    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n", b=LINES)
        self.repo.write("a", "changed\n")

    def refused_and_kept(self, code):
        with self.assert_kept():
            return self.commit_refused(code, "a")

    def test_staged(self):
        self.repo.write("b", "staged\n")
        self.repo.git("add", "b")
        self.assertEqual(self.refused_and_kept("REPO_STAGED_STATE"), {"paths": ["b"], "hidden_count": 0})

    def test_staged_in_part(self):
        self.repo.write("a", "staged\n")
        self.repo.git("add", "a")
        self.repo.write("a", "staged\nand not staged\n")
        self.assertEqual(self.refused_and_kept("REPO_STAGED_STATE")["paths"], ["a"])

    def test_staged_and_hidden(self):
        self.repo.write("x.pem", "secret\n")
        self.repo.write("c", "shown\n")
        self.repo.git("add", "x.pem", "c")
        self.assertEqual(self.refused_and_kept("REPO_STAGED_STATE"), {"paths": ["c"], "hidden_count": 1})

    def test_staged_removal_and_rename(self):
        self.repo.git("rm", "-q", "--cached", "b")
        self.assertEqual(self.refused_and_kept("REPO_STAGED_STATE")["paths"], ["b"])
        self.repo.git("reset", "-q")
        self.repo.git("mv", "b", "c")
        self.assertEqual(self.refused_and_kept("REPO_STAGED_STATE")["paths"], ["b", "c"])

    def test_intent_to_add(self):
        self.repo.write("new", "announced\n")
        self.repo.git("add", "-N", "new")
        self.assertEqual(self.refused_and_kept("REPO_STAGED_STATE")["paths"], ["new"])

    def test_index_gone(self):
        (self.repo.git_dir / "index").unlink()
        self.assertEqual(self.refused_and_kept("REPO_STAGED_STATE")["paths"], ["a", "b"])

    def test_conflicts_of_no_operation(self):
        self.repo.git("stash", "-q")
        self.repo.save(a="another\n")
        self.repo.run("stash", "pop", "-q", check=False)
        self.assertIn("UU a", self.repo.status())
        self.refused_and_kept("REPO_CONFLICTS")

    def test_detached(self):
        self.repo.git("switch", "-q", "--detach")
        self.refused_and_kept("REPO_DETACHED_HEAD")

    def test_locks_of_others(self):
        for name, code in {"index.lock": "REPO_INDEX_LOCKED", "HEAD.lock": "REPO_HEAD_LOCKED"}.items():
            lock = self.repo.write(f".git/{name}", "someone's")
            hour_ago = time.time() - 3600
            os.utime(lock, (hour_ago, hour_ago))
            details = self.refused_and_kept(code)
            self.assertEqual(details["lock"], name)
            self.assertAlmostEqual(details["age_seconds"], 3600, delta=60)
            self.assertEqual(lock.read_text(), "someone's")
            lock.unlink()
        self.assert_committed("a")

    def test_lock_of_the_branch(self):
        lock = self.repo.write(".git/refs/heads/main.lock", "someone's")
        index = self.repo.read(".git/index")
        with self.assert_kept():
            self.commit_refused("REPO_REF_LOCKED", "a")
        self.assertEqual(self.repo.read(".git/index"), index)
        lock.unlink()
        self.assert_committed("a")

    def test_index_versions(self):
        self.repo.git("update-index", "--index-version", "4")
        self.assert_committed("a")
        self.assertEqual(self.repo.read(".git/index")[7], 4)

    def test_index_without_checksum(self):
        # As index.skipHash leaves it.
        index = self.repo.read(".git/index")
        self.repo.write(".git/index", index[:-20] + bytes(20))
        self.assertEqual(self.entries(), {"a": {"index": "unmodified", "worktree": "modified"}})
        self.assert_committed("a")

    def test_index_with_a_wrong_checksum(self):
        index = self.repo.read(".git/index")
        self.repo.write(".git/index", index[:-20] + b"x" * 20)
        self.refused_and_kept("REPO_GIT_FAILED")

    def test_index_extensions(self):
        self.repo.git("update-index", "--untracked-cache")
        self.repo.git("status")
        self.assert_committed("a")

    def test_edits_of_the_same_second(self):
        for round in range(5):
            self.repo.write("a", f"committed {round}\n")
            self.repo.write("b", f"rewritten {round}\n")
            self.repo.git("add", "b")
            self.repo.git("commit", "-q", "-m", "b")
            self.repo.write("b", f"rewritteN {round}\n")
            self.commit("a")
            self.repo.write("a", f"committeD {round}\n")
            self.assertEqual(self.repo.status(), " M a\n M b")

    def test_two_clients(self):
        other = self.host.client()
        first = self.repo.head()
        made = 0
        for round in range(6):
            self.repo.write("a", f"a {round}\n")
            self.repo.write("c", f"c {round}\n")
            order = {"workdir": "app", "message": "at once"}
            mine = self.client.start_call("commit_repo_changes", {**order, "paths": ["a"]})
            theirs = other.start_call("commit_repo_changes", {**order, "paths": ["c"]})
            results = [self.client.answer(mine)["result"], other.answer(theirs)["result"]]
            made += sum("isError" not in result or not result["isError"] for result in results)
            for result in results:
                if result.get("isError"):
                    self.assertIn('"code":"WORKDIR_BUSY"', result["content"][0]["text"])
        self.assertGreaterEqual(made, 6)
        self.assertEqual(self.repo.git("rev-list", "--count", f"{first}.."), str(made))
        self.assert_sound()

    def test_beside_git_itself(self):
        meanwhile = ("REPO_INDEX_LOCKED", "REPO_HEAD_LOCKED", "REPO_REF_LOCKED", "REPO_HEAD_MOVED")
        first = self.repo.head()
        made = []

        def commit_by_git():
            for round in range(12):
                done = self.repo.run("commit", "-q", "--allow-empty", "-m", f"git {round}", check=False)
                made.append(done.returncode == 0)

        committer = threading.Thread(target=commit_by_git)
        committer.start()
        for round in range(6):
            self.repo.write("c", f"c {round}\n")
            data, error = self.call("commit_repo_changes", workdir="app", paths=["c"], message="ours")
            made.append(error is None)
            if error is not None:
                self.assertIn(error["code"], meanwhile)
        committer.join()
        self.assertEqual(self.repo.git("rev-list", "--count", f"{first}.."), str(sum(made)))
        self.assertEqual(self.repo.git("diff", "--cached", "--name-only"), "")
        self.assert_sound()


    def test_beside_a_switch_of_branches(self):
        """A commit goes to the branch that it names, on what that was before, or nowhere."""
        meanwhile = ("REPO_INDEX_LOCKED", "REPO_HEAD_LOCKED", "REPO_REF_LOCKED", "REPO_HEAD_MOVED", "REPO_STAGED_STATE")
        self.repo.git("branch", "other")
        branches, made = ("main", "other"), 0
        for round in range(12):
            tips = {branch: self.repo.git("rev-parse", branch) for branch in branches}
            target, name = branches[(round + 1) % 2], f"new {round}"
            self.repo.write(name, name)
            switch = threading.Thread(target=self.repo.run, args=("switch", "-q", target), kwargs={"check": False})
            switch.start()
            data, error = self.call("commit_repo_changes", workdir="app", paths=[name], message="ours")
            switch.join()
            if error is None:
                made += 1
                self.assertEqual(data["parent"], tips[data["branch"]])
                self.assertEqual(self.repo.git("diff", "--name-only", data["parent"], data["commit"]), name)
                tips[data["branch"]] = data["commit"]
            else:
                self.assertIn(error["code"], meanwhile)
            self.assertEqual({branch: self.repo.git("rev-parse", branch) for branch in branches}, tips)
            self.repo.git("switch", "-q", "--discard-changes", target)
            self.repo.git("clean", "-q", "-f")
        self.assertGreater(made, 0)
        self.assert_sound()


class ReadOnlyTest(CommitCase):
    settings = {"WORKDIR_01_READ_ONLY": "true"}

    def test_refused(self):
        self.repo.save(a="one\n")
        self.repo.write("a", "changed\n")
        with self.assert_unchanged():
            self.commit_refused("WORKDIR_READ_ONLY", "a")
            self.push_refused("WORKDIR_READ_ONLY")
            self.assertEqual(self.entries().keys(), {"a"})
