"""Paths that a commit may not take: each refused by name, and nothing of the call is done."""

import os
import shutil
import socket
import threading

from commit_case import CommitCase

LINES = "".join(f"line {i}\n" for i in range(20))


class RefusedPathTest(CommitCase):
    settings = {"WORKDIR_01_EXTRA_DENY_GLOBS": "private/**"}

    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n")
        self.repo.write("a", "changed\n")

    def assert_refused(self, code, path, named=None):
        """Together with a good path, and neither is committed."""
        with self.assert_kept():
            details = self.commit_refused(code, path, "a")
        self.assertEqual(details["path"], named or path)
        return details

    def test_no_such_file(self):
        self.assert_refused("PATH_NOT_FOUND", "missing")
        self.assert_refused("PATH_NOT_FOUND", "missing/deeper")

    def test_no_regular_file(self):
        os.mkfifo(self.repo / "fifo")
        with socket.socket(socket.AF_UNIX) as unix:
            here = os.getcwd()
            os.chdir(self.repo.path)
            self.addCleanup(os.chdir, here)
            unix.bind("socket")
            self.assert_refused("REPO_PATH_UNSUPPORTED_TYPE", "socket")
        self.assert_refused("REPO_PATH_UNSUPPORTED_TYPE", "fifo")
        self.repo.write("d/x", "x\n")
        self.assert_refused("REPO_PATH_IS_DIRECTORY", "d")

    def test_ignored(self):
        self.repo.write(".gitignore", "*.o\n/build/\n")
        self.repo.write("x.o", "one\n")
        self.repo.write("build/y", "two\n")
        self.assert_refused("REPO_PATH_IGNORED", "x.o")
        self.assert_refused("REPO_PATH_IGNORED", "build/y")
        self.repo.write(".git/info/exclude", "z\n")
        self.repo.write("z", "three\n")
        self.assert_refused("REPO_PATH_IGNORED", "z")

    def test_hard_link(self):
        self.repo.write("b", "two\n")
        os.link(self.repo / "b", self.repo / "c")
        self.assert_refused("REPO_HARD_LINK", "b")
        (self.repo / "c").unlink()
        self.assert_committed("b")

    def test_beyond_a_link(self):
        self.repo.write("real/f", "one\n")
        (self.repo / "link").symlink_to("real")
        (self.repo / "out").symlink_to("/etc")
        self.assert_refused("REPO_PATH_BEYOND_LINK", "link/f")
        self.assert_refused("REPO_PATH_BEYOND_LINK", "out/passwd")

    def test_nested_repository(self):
        self.repo.write("nested/deep/x", "x\n")
        self.repo.git("init", "-q", "nested")
        self.assert_refused("REPO_PATH_IN_NESTED_REPOSITORY", "nested/deep/x")
        self.assert_refused("REPO_PATH_IS_DIRECTORY", "nested")
        self.repo.git("worktree", "add", "-q", "linked", "-b", "other")
        self.assert_refused("REPO_PATH_IN_NESTED_REPOSITORY", "linked/a")

    def test_submodule(self):
        self.remote.remake()
        self.remote.save(inner="inner\n")
        self.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", self.remote.url, "sub")
        self.repo.git("commit", "-q", "-m", "submodule")
        self.repo.write("sub/inner", "changed\n")
        self.assert_refused("REPO_PATH_IN_SUBMODULE", "sub/inner")
        self.assert_refused("REPO_PATH_IN_SUBMODULE", "sub")
        shutil.rmtree(self.repo / "sub")
        self.assert_refused("REPO_PATH_IN_SUBMODULE", "sub")

    def test_index_flags(self):
        self.repo.save(skipped="one\n", assumed="two\n")
        self.repo.write("a", "changed again\n")
        self.repo.git("update-index", "--skip-worktree", "skipped")
        self.repo.git("update-index", "--assume-unchanged", "assumed")
        for name, flag in {"skipped": "skip-worktree", "assumed": "assume-unchanged"}.items():
            self.repo.write(name, "changed\n")
            self.assertEqual(self.assert_refused("REPO_PATH_SPARSE", name)["flag"], flag)
        # Other paths are committed, and the flags stay.
        self.assert_committed("a")
        self.assertEqual(self.repo.git("ls-files", "-v").splitlines(), ["H a", "h assumed", "S skipped"])

    def test_sparse_checkout(self):
        self.repo.save(**{"in/a": "one\n", "out/b": "two\n"})
        self.repo.git("sparse-checkout", "set", "--no-cone", "/in/", "/a")
        self.repo.write("in/a", "changed\n")
        self.repo.write("a", "changed again\n")
        self.assert_refused("REPO_PATH_SPARSE", "out/b")
        self.repo.write("out/b", "changed\n")
        self.assert_refused("REPO_PATH_SPARSE", "out/b")
        (self.repo / "out/b").unlink()
        self.assert_committed("in/a")

    def test_filters(self):
        lfs = "filter=lfs diff=lfs merge=lfs -text"
        self.repo.write(".gitattributes", f"*.psd {lfs}\n*.c ident\n*.u working-tree-encoding=UTF-16\n")
        for name, attribute in {"x.psd": "filter", "x.c": "ident", "x.u": "working-tree-encoding"}.items():
            self.repo.write(name, "one\n")
            self.assertEqual(self.assert_refused("REPO_PATH_FILTERED", name)["attribute"], attribute)
        # A link has no content to filter, and neither has a file that goes.
        (self.repo / "link.psd").symlink_to("a")
        self.assert_committed("link.psd")

    def test_deletion_of_a_filtered_file(self):
        self.repo.save(**{"x.psd": "one\n"})
        self.repo.write(".gitattributes", "*.psd filter=lfs\n")
        (self.repo / "x.psd").unlink()
        self.assert_committed("x.psd")

    def test_quoted_attributes(self):
        self.repo.write(".gitattributes", '"b\\056txt" filter=x\n')
        self.repo.write("b.txt", "one\n")
        with self.assert_kept():
            self.assertEqual(
                self.commit_refused("REPO_UNSUPPORTED_ATTRIBUTES", "b.txt"), {"place": ".gitattributes"}
            )

    def test_denied(self):
        for path, code in {
            ".env": "DENIED_PATH",
            "x.pem": "DENIED_PATH",
            "private/x": "DENIED_PATH",
            ".git/config": "DENIED_PATH",
            ".hidden": "HIDDEN_PATH_NOT_ALLOWED",
            "../x": "PATH_OUTSIDE_WORKDIR",
        }.items():
            self.assert_refused(code, path)

    def test_renamed_denied_file(self):
        self.repo.save(**{"x.pem": LINES})
        (self.repo / "x.pem").rename(self.repo / "shown")
        self.repo.write("a", "changed again\n")
        self.assert_refused("DENIED_PATH", "shown")

    def test_denied_file_in_the_way(self):
        self.repo.save(**{"d/x.pem": "secret\n", "d/y": "y\n"})
        shutil.rmtree(self.repo / "d")
        self.repo.write("d", "a file\n")
        with self.assert_kept():
            # The path that is in the way is not named when policy hides it.
            self.assertEqual(self.commit_refused("REPO_PATH_CONFLICT", "d", "d/y"), {"path": "d"})

    def test_too_large(self):
        with open(self.repo / "huge", "wb") as file:
            file.truncate((256 << 20) + 1)
        self.assert_refused("REPO_PATH_TOO_LARGE", "huge")

    def test_changed_while_it_is_read(self):
        self.repo.write("a", b"a" * (48 << 20))
        stop = threading.Event()

        def rewrite():
            with open(self.repo / "a", "r+b", buffering=0) as file:
                while not stop.is_set():
                    for content in (b"b", b"c"):
                        file.seek(0)
                        file.write(content * 4096)

        writer = threading.Thread(target=rewrite)
        writer.start()
        try:
            head = self.repo.head()
            self.assertEqual(self.commit_refused("REPO_PATH_CHANGED", "a"), {"path": "a"})
            self.assertEqual(self.repo.head(), head)
        finally:
            stop.set()
            writer.join()
        self.assertEqual(self.commit("a")["paths"], ["a"])
