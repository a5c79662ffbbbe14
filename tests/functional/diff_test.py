"""Views diff and staged_diff: the text that git prints, for every kind of change and of name."""

import os
import random
import shutil

from bridge_case import BridgeCase

GIT_DIFF = ("-c", "core.quotePath=false", "--literal-pathspecs", "diff", "--full-index", "--no-color",
            "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--find-renames")
LINES = "".join(f"line {i}\n" for i in range(40))
ZEROS = "0" * 40


class DiffCase(BridgeCase):
    def git_patch(self, *names, view="diff", renames=True):
        """What git itself prints of the named files; a file that it does not know yet shows as added."""
        looked_for = [] if renames else ["--no-renames"]
        index = self.repo.git_dir / "index-of-the-test"
        if (self.repo.git_dir / "index").exists():
            shutil.copy2(self.repo.git_dir / "index", index)
        environment = {"GIT_INDEX_FILE": str(index)}
        try:
            if view == "diff":
                tracked = self.repo.git("--literal-pathspecs", "ls-files", "-z", "--", *names).split("\0")
                new = [name for name in names if name not in tracked and os.path.lexists(self.repo / name)]
                self.repo.run("--literal-pathspecs", "add", "-N", "-f", "--", *new, environment=environment)
            cached = ["--cached"] if view == "staged_diff" else []
            return self.repo.run(*GIT_DIFF, *looked_for, *cached, "--", *names, environment=environment).stdout
        finally:
            index.unlink(missing_ok=True)

    def file(self, name, view="diff"):
        """The one file that a diff of that name shows."""
        shown = self.diff(name, view=view)
        self.assertEqual(len(shown["files"]), 1, shown)
        self.assertEqual(shown["truncated"], False)
        return shown["files"][0]

    def assert_as_git(self, *names, view="diff"):
        """That each of the named files shows as git prints it. Returns path → file."""
        files = {file["path"]: file for file in self.diff(*names, view=view)["files"]}
        for name in names:
            with self.subTest(name=name):
                self.assertEqual(files[name]["patch"], self.git_patch(name, view=view).decode())
        return files

    def assert_nothing(self, *names, view="diff"):
        self.assertEqual(self.diff(*names, view=view), {"files": [], "truncated": False})


class WorktreeDiffTest(DiffCase):
    def test_one_file_in_full(self):
        self.repo.save(a="one\ntwo\n")
        self.repo.write("a", "one\n2\nthree\n")
        self.assertEqual(
            self.diff("a"),
            {
                "files": [
                    {
                        "path": "a",
                        "status": "modified",
                        "binary": False,
                        "additions": 2,
                        "deletions": 1,
                        "new_oid": self.repo.git("hash-object", "a"),
                        "patch": "diff --git a/a b/a\n"
                        f"index {self.repo.git('rev-parse', ':a')}..{self.repo.git('hash-object', 'a')} 100644\n"
                        "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n",
                        "truncated": False,
                    }
                ],
                "truncated": False,
            },
        )

    def test_kinds_of_change(self):
        before = {
            "modified": LINES,
            "deleted": LINES,
            "mode": LINES,
            "mode and content": LINES,
            "binary": b"\0\1\2",
            "becomes binary": "text\n",
            "was binary": b"\0",
            "emptied": LINES,
            "filled": "",
            "no end": "one\ntwo",
            "loses its end": "one\ntwo\n",
            "gains its end": "one\ntwo",
            "crlf": "one\r\ntwo\r\n",
            "to crlf": "one\ntwo\n",
            "far apart": LINES,
            "white space": "\tif (x) {\n\t\ty();\n\t}\n",
            "latin in utf-8": "caf\u00e9\n\U0001f600\n",
            "file to link": "target",
            "link": None,
            "link to file": None,
            "deleted mode": LINES,
        }
        for name, content in before.items():
            if content is not None:
                self.repo.write(name, content, mode=0o755 if name == "deleted mode" else None)
            else:
                (self.repo / name).symlink_to("modified")
        self.repo.save()
        after = {
            "modified": LINES.replace("line 7\n", "line seven\n"),
            "mode": LINES,
            "mode and content": LINES + "more\n",
            "binary": b"\0\1\2\3",
            "becomes binary": b"text\0\n",
            "was binary": "text\n",
            "emptied": "",
            "filled": LINES,
            "no end": "one\n2",
            "loses its end": "one\ntwo",
            "gains its end": "one\ntwo\n",
            "crlf": "one\r\n2\r\n",
            "to crlf": "one\r\ntwo\r\n",
            "far apart": LINES.replace("line 3\n", "").replace("line 30\n", "line 30\nline 30.5\n"),
            "white space": "  if (x) {\n\ty();\n  }\n",
            "latin in utf-8": "caf\u00e8\n\U0001f601\n",
            "link to file": "a file now\n",
            "added": LINES,
            "added empty": "",
            "added without end": "one",
            "added binary": b"\0",
            "sub/added deeper": "one\n",
        }
        for name in ("deleted", "deleted mode", "file to link", "link to file", "link"):
            (self.repo / name).unlink()
        for name, content in after.items():
            self.repo.write(name, content)
        (self.repo / "file to link").symlink_to("target")
        (self.repo / "link").symlink_to("elsewhere")
        (self.repo / "added link").symlink_to("nowhere")
        for name in ("mode", "mode and content", "added without end"):
            (self.repo / name).chmod(0o755)
        names = sorted(before.keys() | after.keys() | {"added link"})
        files = self.assert_as_git(*(name for name in names if "file" not in name and "link" not in name))
        self.assertEqual(files["modified"]["status"], "modified")
        self.assertEqual(files["mode"]["status"], "modified")
        self.assertEqual((files["mode"]["additions"], files["mode"]["deletions"]), (0, 0))
        self.assertEqual((files["deleted"]["status"], files["deleted"]["new_oid"]), ("deleted", ZEROS))
        self.assertEqual({files[name]["status"] for name in files if "added" in name}, {"added"})
        self.assertEqual(
            {name for name, file in files.items() if file["binary"]},
            {"binary", "becomes binary", "was binary", "added binary"},
        )
        for name in ("modified", "mode", "emptied", "binary", "sub/added deeper"):
            self.assertEqual(files[name]["new_oid"], self.repo.git("hash-object", name))
        numbers = self.repo.git("diff", "--numstat", "-z", "--", *before).split("\0")[:-1]
        for line in numbers:
            added, deleted, name = line.split("\t")
            if name in files and added != "-":
                shown = files[name]["additions"], files[name]["deletions"]
                self.assertEqual(shown, (int(added), int(deleted)))

    def test_links_and_files_in_each_others_place(self):
        self.repo.write("was file", "target")
        (self.repo / "was link").symlink_to("was file")
        (self.repo / "other target").symlink_to("was file")
        self.repo.save()
        for name in ("was file", "was link", "other target"):
            (self.repo / name).unlink()
        (self.repo / "was file").symlink_to("target")
        self.repo.write("was link", "content\n")
        (self.repo / "other target").symlink_to("was link")
        names = ("was file", "was link", "other target")
        files = {file["path"]: file for file in self.diff(*names)["files"]}
        for name in names:
            self.assertEqual(files[name]["patch"], self.git_patch(name).decode())
        self.assertEqual(
            [files[name]["status"] for name in names], ["typechange", "typechange", "modified"]
        )

    def test_directory_in_place_of_a_file(self):
        self.repo.save(**{"a": LINES, "d/x": "x\n", "d/y": "y\n"})
        (self.repo / "a").unlink()
        self.repo.write("a/b", "inside\n")
        shutil.rmtree(self.repo / "d")
        self.repo.write("d", "a file\n")
        files = self.assert_as_git("a", "a/b", "d", "d/x", "d/y")
        self.assertEqual(
            [files[name]["status"] for name in ("a", "a/b", "d", "d/x")],
            ["deleted", "added", "added", "deleted"],
        )

    def test_link_in_place_of_a_directory(self):
        self.repo.save(**{"d/x": "x\n", "e/x": "other\n"})
        shutil.rmtree(self.repo / "d")
        (self.repo / "d").symlink_to("e")
        self.assertEqual(self.file("d/x")["patch"], self.git_patch("d/x").decode())
        self.refused("REPO_PATH_BEYOND_LINK", "inspect_repo", workdir="app", view="diff", paths=["d/new"])

    def test_long_lines(self):
        self.repo.save(a="x" * 20000 + "\n" + "y" * 20000)
        self.repo.write("a", "x" * 20000 + "z\n" + "y" * 20000)
        self.assert_as_git("a")

    def test_nothing_changed(self):
        self.repo.save(a="one\n", b="two\n")
        os.utime(self.repo / "a", (1, 1))
        self.assert_nothing("a", "b")
        self.assert_nothing("a", view="staged_diff")

    def test_some_of_several(self):
        self.repo.save(a="one\n", b="two\n", c="three\n")
        self.repo.write("c", "changed\n")
        self.repo.write("a", "changed\n")
        self.repo.write("d", "not named\n")
        self.assertEqual([file["path"] for file in self.diff("c", "b", "a", "c")["files"]], ["a", "c"])

    def test_many_random_edits(self):
        chance = random.Random(20230817)
        words = ["", "{", "}", "return x;", "\tfoo(bar);", "\t}", "#include <a>", "line", "int main() {", "// --"]
        texts = {f"f{i:02}": [chance.choice(words) for _ in range(chance.randrange(80))] for i in range(60)}
        for name, lines in texts.items():
            self.repo.write(name, "\n".join(lines))
        self.repo.save()
        for name, lines in texts.items():
            for _ in range(chance.randrange(1, 12)):
                at = chance.randrange(len(lines) + 1)
                lines[at : at + chance.randrange(4)] = chance.choices(words, k=chance.randrange(4))
            self.repo.write(name, "\n".join(lines))
        changed = self.repo.git("diff", "--name-only").splitlines()
        self.assertGreater(len(changed), 50)
        self.assert_as_git(*changed)

    def test_configuration_has_no_part(self):
        self.repo.save(a=LINES)
        self.repo.write("a", LINES.replace("line 9\n", "line nine\n"))
        plain = self.git_patch("a").decode()
        for key, value in {
            "diff.noprefix": "true",
            "diff.mnemonicPrefix": "true",
            "diff.context": "0",
            "diff.algorithm": "patience",
            "diff.external": "/nonexistent",
            "diff.orderFile": "/nonexistent",
            "diff.wordRegex": ".",
            "diff.renames": "false",
            "color.ui": "always",
            "color.diff": "always",
            "core.quotePath": "true",
            "core.abbrev": "4",
        }.items():
            self.repo.config(key, value)
        self.assertEqual(self.file("a")["patch"], plain)

    def test_intent_to_add(self):
        self.repo.save(a="one\n")
        self.repo.write("new", "announced\n")
        self.repo.git("add", "-N", "new")
        self.assertEqual(self.assert_as_git("new")["new"]["status"], "added")
        self.refused("PATH_NOT_FOUND", "inspect_repo", workdir="app", view="staged_diff", paths=["new"])

    def test_files_that_git_was_told_not_to_look_at(self):
        self.repo.save(assumed="one\n", skipped="two\n", absent="three\n")
        self.repo.git("update-index", "--assume-unchanged", "assumed")
        self.repo.git("update-index", "--skip-worktree", "skipped", "absent")
        self.repo.write("assumed", "changed\n")
        self.repo.write("skipped", "changed\n")
        (self.repo / "absent").unlink()
        self.assertEqual(self.git_patch("assumed", "skipped", "absent"), b"")
        self.assert_nothing("assumed", "skipped", "absent")

    def test_ignored_file(self):
        self.repo.save(**{".gitignore": "*.o\n", "tracked.c": "one\n"})
        self.repo.write("new.o", "ignored\n")
        self.assertEqual(self.file("new.o")["status"], "added")

    def test_unborn_branch(self):
        self.repo.write("a", "one\n")
        self.assert_as_git("a")
        self.repo.git("add", "a")
        self.assert_nothing("a")
        self.assertEqual(self.assert_as_git("a", view="staged_diff")["a"]["status"], "added")

    def test_file_mode_off(self):
        self.repo.save(a="one\n", b="two\n")
        self.repo.config("core.fileMode", "false")
        for name in ("a", "b"):
            (self.repo / name).chmod(0o755)
        self.repo.write("b", "changed\n")
        self.assert_nothing("a")
        self.assert_as_git("b")

    def test_large_file(self):
        self.repo.save(a="one\n")
        self.repo.write("a", "0123456789abcde\n" * (17 << 16))
        shown = self.diff("a")["files"][0]
        self.assertEqual((shown["truncated"], shown["binary"]), (True, False))
        self.assertEqual(shown["new_oid"], self.repo.git("hash-object", "a"))

    def test_too_large_file(self):
        self.repo.save(a="one\n")
        with open(self.repo / "a", "r+b") as file:
            file.truncate((256 << 20) + 1)
        self.refused("REPO_PATH_TOO_LARGE", "inspect_repo", workdir="app", view="diff", paths=["a"])


class LineEndDiffTest(DiffCase):
    def test_autocrlf(self):
        self.repo.config("core.autocrlf", "true")
        self.repo.write("a", "one\r\ntwo\r\n")
        self.repo.save()
        self.assert_nothing("a")
        self.repo.write("a", "one\r\n2\r\n")
        self.assertNotIn("\r", self.assert_as_git("a")["a"]["patch"])

    def test_autocrlf_of_a_new_file(self):
        self.repo.config("core.autocrlf", "input")
        self.repo.write("a", "one\r\ntwo\r\n")
        self.assert_as_git("a")

    def test_attributes(self):
        self.repo.save(**{".gitattributes": "*.txt text\n*.bat eol=crlf\n*.bin -text\n"})
        for name in ("a.txt", "a.bat", "a.bin", "a.other"):
            self.repo.write(name, "one\r\ntwo\r\n")
        self.assert_as_git("a.txt", "a.bat", "a.bin", "a.other")

    def test_mixed_and_kept(self):
        # git leaves alone what already has CRLF in the index.
        self.repo.write("a", "one\r\ntwo\n")
        self.repo.save()
        self.repo.config("core.autocrlf", "true")
        self.repo.write("a", "one\r\ntwo\r\nthree\r\n")
        self.assert_as_git("a")

    def test_safecrlf(self):
        self.repo.config("core.autocrlf", "input")
        self.repo.config("core.safecrlf", "true")
        self.repo.save(a="one\n")
        self.repo.write("a", "one\r\ntwo\r\n")
        details = self.refused(
            "REPO_PATH_FILTERED", "inspect_repo", workdir="app", view="diff", paths=["a"]
        )
        self.assertEqual(details, {"path": "a", "attribute": "safecrlf"})


class NamesDiffTest(DiffCase):
    NAMES = [
        "a b", " leading", "trailing ", "tab\there", "line\nfeed", 'quo"te', "back\\slash", "bell\a\b\f\v\r",
        "delete\x7f", "caf\u00e9", "caf\u00e9 au lait", "\u6d4b\u8bd5.md", "caf\u00e9\tau lait",
        "e\u0301 decomposed", "-dash", "--output=x", ":(top)a", ":!b", "*", "[id].tsx", "!x", "$(id)", "a;b",
        "x -> y", "{a => b}", "#hash", "~tilde", "\U0001f600",
    ]

    def test_names(self):
        self.repo.write("i.tsx", "not named\n")
        for name in self.NAMES:
            self.repo.write(name, "one\n")
        self.repo.save()
        for name in self.NAMES:
            self.repo.write(name, "two\n")
        self.assert_as_git(*self.NAMES)

    def test_names_of_new_files(self):
        for name in self.NAMES:
            self.repo.write(name, "one\n")
        self.assert_as_git(*self.NAMES)

    def test_c_quoted_both_ways(self):
        names = {
            b"\xff\xfe": '"\\377\\376"',
            b"caf\xe9 1": '"caf\\351 1"',
            b'"begins': '"\\"begins"',
            b"\xff\tand\ntab": '"\\377\\tand\\ntab"',
        }
        for name in names:
            self.repo.write(name, "one\n")
        self.repo.save()
        for name in names:
            self.repo.write(name, "two\n")
        files = {file["path"]: file for file in self.diff(*names.values())["files"]}
        self.assertEqual(files.keys(), set(names.values()))
        for name, quoted in names.items():
            as_git = self.repo.git("-c", "core.quotePath=true", *GIT_DIFF[2:], "--", name)
            self.assertEqual(files[quoted]["patch"], as_git + "\n")

    def test_plain_name_in_quotes(self):
        self.repo.write("plain", "one\n")
        self.assertEqual(self.file('"plain"')["path"], "plain")
        self.assertEqual(self.file('"pl\\141in"')["path"], "plain")
        for malformed in ('"open', '"\\x"', '"a"b"', '"', '"\\400"', '"\\9"', '"a\\0"'):
            self.refused("INVALID_PATH", "inspect_repo", workdir="app", view="diff", paths=[malformed])

    def test_content_that_is_not_utf_8(self):
        self.repo.save(a=b"caf\xe9\n")
        self.repo.write("a", b"caf\xe8\n")
        # What JSON cannot hold is marked, not dropped.
        self.assertTrue(self.file("a")["patch"].endswith("-caf\ufffd\n+caf\ufffd\n"))

    def test_control_characters(self):
        self.repo.save(a="one\n")
        self.repo.write("a", "\x1b[31mred\x1b[0m \x07 \x01\n")
        self.assert_as_git("a")


class RefusedDiffTest(DiffCase):
    settings = {"WORKDIR_01_EXTRA_DENY_GLOBS": "private/**"}

    def diff_refused(self, code, name, view="diff"):
        return self.refused(code, "inspect_repo", workdir="app", view=view, paths=[name])

    def test_paths_that_are_no_file(self):
        self.repo.save(a="one\n", **{"d/x": "x\n"})
        os.mkfifo(self.repo / "fifo")
        (self.repo / "fresh").mkdir()
        (self.repo / "link").symlink_to("d")
        self.assertEqual(self.diff_refused("PATH_NOT_FOUND", "missing"), {"path": "missing"})
        self.assertEqual(self.diff_refused("REPO_PATH_IS_DIRECTORY", "d"), {"path": "d"})
        self.assertEqual(self.diff_refused("REPO_PATH_IS_DIRECTORY", "fresh"), {"path": "fresh"})
        self.assertEqual(self.diff_refused("REPO_PATH_UNSUPPORTED_TYPE", "fifo"), {"path": "fifo"})
        self.assertEqual(self.diff_refused("REPO_PATH_BEYOND_LINK", "link/x"), {"path": "link/x"})
        self.diff_refused("PATH_NOT_FOUND", "a/below/a/file")
        self.diff_refused("PATH_NOT_FOUND", "d", view="staged_diff")
        self.diff_refused("PATH_NOT_FOUND", "missing", view="staged_diff")

    def test_one_bad_path_refuses_all(self):
        self.repo.save(a="one\n")
        self.repo.write("a", "two\n")
        self.assertEqual(
            self.refused("PATH_NOT_FOUND", "inspect_repo", workdir="app", view="diff", paths=["a", "missing"]),
            {"path": "missing"},
        )

    def test_fifo_in_place_of_a_file(self):
        self.repo.save(a="one\n")
        (self.repo / "a").unlink()
        os.mkfifo(self.repo / "a")
        self.diff_refused("REPO_PATH_UNSUPPORTED_TYPE", "a")

    def test_paths_outside(self):
        for path, code in {
            "../app/a": "PATH_OUTSIDE_WORKDIR",
            "a/../../x": "PATH_OUTSIDE_WORKDIR",
            "/etc/passwd": "PATH_OUTSIDE_WORKDIR",
            "~/x": "PATH_OUTSIDE_WORKDIR",
            "": "INVALID_PATH",
            ".": "INVALID_PATH",
            "./a": "INVALID_PATH",
            "a//b": "INVALID_PATH",
            "a/": "INVALID_PATH",
            "a/./b": "INVALID_PATH",
            "x" * 256: "INVALID_PATH",
            "a\0b": "INVALID_PATH",
            ".git/config": "DENIED_PATH",
            ".GIT/config": "DENIED_PATH",
            "sub/.git/x": "DENIED_PATH",
            "git~1/config": "DENIED_PATH",
            ".g\u200cit/config": "DENIED_PATH",
            ".git./config": "DENIED_PATH",
            ".git::$INDEX_ALLOCATION/config": "DENIED_PATH",
        }.items():
            with self.subTest(path=path):
                self.diff_refused(code, path)

    def test_hidden_and_denied(self):
        self.diff_refused("HIDDEN_PATH_NOT_ALLOWED", ".github/workflows/x.yml")
        self.diff_refused("HIDDEN_PATH_NOT_ALLOWED", "sub/.x/y")
        for path in (".env", "a/.ENV", "server.pem", "deep/.ssh/config", "private/x", "a/private/b/c", "ID_RSA"):
            with self.subTest(path=path):
                self.diff_refused("DENIED_PATH", path)
                self.diff_refused("DENIED_PATH", path, view="staged_diff")

    def test_renamed_denied_file(self):
        self.repo.save(**{"server.pem": LINES})
        self.repo.git("mv", "server.pem", "shown.txt")
        self.diff_refused("DENIED_PATH", "shown.txt", view="staged_diff")
        # Then a little different from the staged one, or not staged at all.
        self.repo.write("shown.txt", LINES + "more\n")
        self.diff_refused("DENIED_PATH", "shown.txt", view="staged_diff")
        self.repo.git("reset", "-q")
        self.assertFalse((self.repo / "server.pem").exists())
        self.diff_refused("DENIED_PATH", "shown.txt")
        self.repo.write("shown.txt", LINES.replace("line 3", "line three"))
        self.diff_refused("DENIED_PATH", "shown.txt")
        # With the denied file in its place, another of the same content is the user's own doing.
        self.repo.git("checkout", "-q", "--", "server.pem")
        self.assertEqual(self.file("shown.txt")["status"], "added")

    def test_conflict(self):
        self.repo.save(a="base\n")
        self.repo.git("switch", "-q", "-c", "other")
        self.repo.save(a="other\n", b="b\n")
        self.repo.git("switch", "-q", "main")
        self.repo.save(a="main\n")
        self.repo.run("merge", "-q", "other", check=False)
        self.diff_refused("REPO_CONFLICTS", "a")
        self.diff_refused("REPO_CONFLICTS", "a", view="staged_diff")
        self.assertEqual(self.file("b", view="staged_diff")["status"], "added")

    def test_nested_repository(self):
        self.repo.save(a="one\n")
        self.repo.write("nested/x", "x\n")
        self.repo.git("init", "-q", "nested")
        self.diff_refused("REPO_PATH_IN_NESTED_REPOSITORY", "nested/x")
        self.diff_refused("REPO_PATH_IS_DIRECTORY", "nested")
        # A linked worktree's .git is a file.
        self.repo.git("worktree", "add", "-q", "linked", "-b", "other")
        self.diff_refused("REPO_PATH_IN_NESTED_REPOSITORY", "linked/a")

    def test_submodule(self):
        self.remote.remake()
        self.remote.save(inner="inner\n")
        self.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", self.remote.url, "sub")
        for view in ("diff", "staged_diff"):
            self.assertEqual(self.diff_refused("REPO_PATH_IN_SUBMODULE", "sub", view=view), {"path": "sub"})
            self.diff_refused("REPO_PATH_IN_SUBMODULE", "sub/inner", view=view)
        # The submodule's own place may be a plain file in HEAD.
        self.repo.save()

    def test_filters(self):
        self.repo.write(".gitattributes", "*.psd filter=lfs\n*.txt working-tree-encoding=UTF-16\n*.c ident\n")
        for name, attribute in {"a.psd": "filter", "a.txt": "working-tree-encoding", "a.c": "ident"}.items():
            self.repo.write(name, "one\n")
            self.assertEqual(
                self.diff_refused("REPO_PATH_FILTERED", name), {"path": name, "attribute": attribute}
            )
        self.repo.write("a.other", "one\n")
        self.assert_as_git("a.other")

    def test_filter_in_other_places(self):
        self.repo.write("a.psd", "one\n")
        self.repo.write("deep/b.psd", "one\n")
        self.repo.write(".git/info/attributes", "a.psd filter=x\n")
        self.diff_refused("REPO_PATH_FILTERED", "a.psd")
        self.repo.write("deep/.gitattributes", "*.psd filter=x\n")
        self.diff_refused("REPO_PATH_FILTERED", "deep/b.psd")
        # Only in the index.
        self.repo.git("add", "deep/.gitattributes")
        (self.repo / "deep/.gitattributes").unlink()
        self.diff_refused("REPO_PATH_FILTERED", "deep/b.psd")
        # By a macro.
        self.repo.git("rm", "-q", "--cached", "deep/.gitattributes")
        self.repo.write(".git/info/attributes", "[attr]special filter=x\n*.psd special\n")
        self.diff_refused("REPO_PATH_FILTERED", "deep/b.psd")
        self.repo.write(".git/info/attributes", "*.psd special\n")
        self.assert_as_git("deep/b.psd")

    def test_filter_by_the_user(self):
        self.repo.write("a.psd", "one\n")
        self.host.user.home.joinpath("attributes").write_text("*.psd filter=lfs\n")
        self.host.user.git(self.repo.path, "config", "--global", "core.attributesFile", "~/attributes")
        self.addCleanup(
            self.host.user.git, self.repo.path, "config", "--global", "--unset", "core.attributesFile"
        )
        self.diff_refused("REPO_PATH_FILTERED", "a.psd")

    def test_attribute_files_of_two_meanings(self):
        self.repo.write("a.txt", "one\n")
        self.repo.write("deep/a.txt", "one\n")
        for text in ('"a\\056txt" filter=x\n', '  "a.txt" text\n', "x" * 2049 + " filter=x\n"):
            self.repo.write(".gitattributes", text)
            self.assertEqual(
                self.diff_refused("REPO_UNSUPPORTED_ATTRIBUTES", "deep/a.txt"), {"place": ".gitattributes"}
            )
        (self.repo / ".gitattributes").unlink()
        self.repo.write("attributes", "*.txt filter=x\n")
        (self.repo / "deep/.gitattributes").symlink_to("../attributes")
        self.assertEqual(
            self.diff_refused("REPO_UNSUPPORTED_ATTRIBUTES", "deep/a.txt"), {"place": "deep/.gitattributes"}
        )
        # It says nothing about files beside its directory.
        self.assert_as_git("a.txt")
        self.repo.config("core.attributesFile", "/nonexistent")
        self.assertEqual(self.diff_refused("REPO_UNSUPPORTED_ATTRIBUTES", "a.txt"), {"place": "config"})

    def test_diff_attributes(self):
        self.repo.write(".gitattributes", "*.dat -diff\n*.bin diff\n*.py diff=python\n*.svg binary\n")
        for name in ("a.dat", "a.bin", "a.py", "a.svg"):
            self.repo.write(name, b"\0one\n" if name == "a.bin" else "one\n")
        files = self.assert_as_git("a.dat", "a.bin", "a.py", "a.svg")
        self.assertEqual({name for name, file in files.items() if file["binary"]}, {"a.dat", "a.svg"})


class StagedDiffTest(DiffCase):
    def test_kinds_of_change(self):
        self.repo.save(modified=LINES, deleted=LINES.replace("line", "row"), mode="mode\n", same="same\n")
        self.repo.write("modified", LINES + "more\n")
        self.repo.write("added", "added\n")
        (self.repo / "added link").symlink_to("x")
        (self.repo / "deleted").unlink()
        (self.repo / "mode").chmod(0o755)
        self.repo.git("add", "-A")
        self.repo.write("modified", "something else\n")
        names = ("modified", "added", "added link", "deleted", "mode")
        files = self.assert_as_git(*names, view="staged_diff")
        self.assertEqual(
            [files[name]["status"] for name in names], ["modified", "added", "added", "deleted", "modified"]
        )
        self.assertEqual(files["modified"]["new_oid"], self.repo.git("rev-parse", ":modified"))
        self.assertEqual(files["deleted"]["new_oid"], ZEROS)
        self.assert_nothing("same", view="staged_diff")

    def assert_renamed(self, old, new):
        shown = self.file(new, view="staged_diff")
        self.assertEqual(shown["patch"], self.git_patch(old, new, view="staged_diff").decode())
        self.assertEqual((shown["status"], shown["old_path"]), ("renamed", old))
        # Named with its old name it is still one file, and the old name alone is that file gone.
        self.assertEqual(self.diff(old, new, view="staged_diff")["files"], [shown])
        self.assertEqual(self.file(old, view="staged_diff")["status"], "deleted")

    def test_renamed(self):
        self.repo.save(old=LINES)
        self.repo.git("mv", "old", "new name")
        self.assert_renamed("old", "new name")

    def test_renamed_and_changed(self):
        self.repo.save(old=LINES)
        self.repo.git("mv", "old", "new")
        for changed in (1, 5, 10, 12):
            text = LINES
            for i in range(changed):
                text = text.replace(f"line {i}\n", f"something else {i}\n")
            self.repo.write("new", text)
            self.repo.git("add", "new")
            with self.subTest(changed=changed):
                self.assert_renamed("old", "new")

    def test_renamed_with_another_mode(self):
        self.repo.save(old=LINES)
        self.repo.git("mv", "old", "new")
        self.repo.write("new", LINES + "more\n", mode=0o755)
        self.repo.git("add", "new")
        self.assert_renamed("old", "new")

    def test_renamed_odd_names(self):
        self.repo.save(**{"o\tld": LINES})
        (self.repo / "sub dir").mkdir()
        self.repo.git("mv", "o\tld", "sub dir/n\u00e9w")
        self.assert_renamed("o\tld", "sub dir/n\u00e9w")

    def test_too_different_for_a_rename(self):
        self.repo.save(old=LINES)
        self.repo.git("rm", "-q", "old")
        half = "".join(f"line {i}\n" for i in range(20)) + "".join(f"another {i}\n" for i in range(20))
        self.repo.write("new", half)
        self.repo.git("add", "new")
        files = self.assert_as_git("new", "old", view="staged_diff")
        self.assertEqual([files["new"]["status"], files["old"]["status"]], ["added", "deleted"])


class TruncatedDiffTest(DiffCase):
    settings = {"MAX_TOOL_RESPONSE_CHARS": 8000}

    def cut(self, *names):
        shown = self.diff(*names)
        self.assertEqual(shown["truncated"], True)
        return {file["path"]: file for file in shown["files"]}

    def test_cut_at_a_line(self):
        self.repo.save(a="")
        self.repo.write("a", "".join(f"row {i} of many\n" for i in range(2000)))
        shown = self.cut("a")["a"]
        whole = self.git_patch("a").decode()
        self.assertTrue(whole.startswith(shown["patch"]))
        self.assertTrue(shown["patch"].endswith("\n"))
        self.assertGreater(len(shown["patch"]), 5000)
        self.assertEqual((shown["truncated"], shown["additions"], shown["deletions"]), (True, 2000, 0))

    def test_never_inside_a_character(self):
        for shift in range(4):
            self.repo.write("a", "x" * shift + "\U0001f600" * 5000 + "\n" + "\u00e9" * 3000 + "\n")
            shown = self.cut("a")["a"]
            self.assertTrue(self.git_patch("a").decode().startswith(shown["patch"]))

    def test_share_of_each_file(self):
        self.repo.write("a", "".join(f"row {i} of many\n" for i in range(2000)))
        self.repo.write("b", "short\n")
        self.repo.write("c", "".join(f"row {i} of many\n" for i in range(2000)))
        files = self.cut("a", "b", "c")
        self.assertEqual(files["b"]["patch"], self.git_patch("b").decode())
        self.assertEqual(
            {name: file["truncated"] for name, file in files.items()}, {"a": True, "b": False, "c": True}
        )
        self.assertGreater(len(files["c"]["patch"]), 1000)

    def test_one_endless_line(self):
        self.repo.save(a="x" * 100000)
        self.repo.write("a", "x" * 100000 + "y")
        shown = self.cut("a")["a"]
        self.assertEqual((shown["additions"], shown["deletions"], shown["truncated"]), (1, 1, True))
        self.assertTrue(self.git_patch("a").decode().startswith(shown["patch"]))

    def test_many_small_files(self):
        names = [f"file number {i:03}" for i in range(200)]
        for name in names:
            self.repo.write(name, "one\n")
        shown = self.diff(*names)
        self.assertEqual(shown["truncated"], True)
        self.assertGreater(len(shown["files"]), 10)
        self.assertEqual([file["path"] for file in shown["files"]], names[: len(shown["files"])])


class FewItemsTest(DiffCase):
    settings = {"MAX_TOOL_RESPONSE_ITEMS": 3}

    def test_more_files_than_items(self):
        for name in "abcde":
            self.repo.write(name, "one\n")
        shown = self.diff(*"abcde")
        self.assertEqual([file["path"] for file in shown["files"]], ["a", "b", "c"])
        self.assertEqual(shown["truncated"], True)
        self.assertEqual(self.diff(*"abc")["truncated"], False)
