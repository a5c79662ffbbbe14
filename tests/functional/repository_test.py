"""Repositories that are refused as a whole, and places in .git that are not what they seem."""

import os
import shutil

from commit_case import CommitCase

STRANGER = 54321  # a user id that this test is not


class RepositoryTest(CommitCase):
    """Repositories that are refused as a whole, by name and at once."""

    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n")
        self.repo.write("a", "changed\n")

    def refused_everywhere(self, code):
        """Status, diff, commit and push answer the same. Returns the details."""
        details = self.refused(code, "inspect_repo", workdir="app", view="status")
        self.assertEqual(self.refused(code, "inspect_repo", workdir="app", view="diff", paths=["a"]), details)
        self.assertEqual(self.commit_refused(code, "a"), details)
        self.assertEqual(self.push_refused(code), details)
        return details

    def test_no_repository(self):
        shutil.rmtree(self.repo.git_dir)
        # One further up is none of this workdir's.
        self.host.user.git(self.host.path, "init", "-q")
        self.addCleanup(shutil.rmtree, self.host.path / ".git")
        self.refused_everywhere("REPO_NOT_A_REPOSITORY")

    def test_empty_git_directory(self):
        shutil.rmtree(self.repo.git_dir)
        self.repo.git_dir.mkdir()
        self.refused_everywhere("REPO_NOT_A_REPOSITORY")

    def test_bare_repository_in_the_workdir(self):
        shutil.rmtree(self.repo.git_dir)
        self.repo.git("init", "-q", "--bare", ".")
        self.refused_everywhere("REPO_NOT_A_REPOSITORY")

    def test_workdir_gone(self):
        away = self.host.path / "away"
        self.repo.path.rename(away)
        self.addCleanup(away.rename, self.repo.path)
        self.refused_everywhere("WORKDIR_UNAVAILABLE")

    def test_redirected(self):
        away = self.host.path / "away.git"
        self.repo.git_dir.rename(away)
        self.addCleanup(shutil.rmtree, away)
        self.repo.git_dir.write_text(f"gitdir: {away}\n")
        self.refused_everywhere("REPO_UNSUPPORTED_LAYOUT")
        self.repo.git_dir.unlink()
        self.repo.git_dir.symlink_to(away)
        self.assertEqual(self.refused_everywhere("REPO_UNSAFE_LAYOUT"), {"place": ".git"})
        self.repo.git_dir.unlink()
        os.mkfifo(self.repo.git_dir)
        self.assertEqual(self.refused_everywhere("REPO_UNSAFE_LAYOUT"), {"place": ".git"})

    def test_linked_worktree(self):
        main = self.host.path / "main checkout"
        self.repo.path.rename(main)
        try:
            self.host.user.git(main, "worktree", "add", "-q", self.repo.path, "-b", "linked")
            self.refused_everywhere("REPO_UNSUPPORTED_LAYOUT")
        finally:
            shutil.rmtree(self.repo.path)
            main.rename(self.repo.path)

    def test_work_tree_elsewhere(self):
        self.repo.config("core.worktree", str(self.host.user.home))
        self.refused_everywhere("REPO_UNSUPPORTED_LAYOUT")

    def test_work_tree_elsewhere_by_worktree_configuration(self):
        self.repo.config("core.repositoryFormatVersion", "1")
        self.repo.config("extensions.worktreeConfig", "true")
        self.repo.write(".git/config.worktree", "[core]\n\tworktree = /\n")
        self.refused_everywhere("REPO_UNSUPPORTED_LAYOUT")

    def test_bare_by_configuration(self):
        self.repo.config("core.bare", "true")
        self.refused_everywhere("REPO_UNSUPPORTED_LAYOUT")

    def test_common_directory(self):
        self.repo.write(".git/commondir", "../../elsewhere\n")
        self.refused_everywhere("REPO_UNSUPPORTED_LAYOUT")

    def test_alternates(self):
        self.repo.write(".git/objects/info/alternates", f"{self.remote.path}/objects\n")
        self.refused_everywhere("REPO_ALTERNATES")

    def test_formats(self):
        config = self.repo.read(".git/config").decode()
        for key, value in {
            "extensions.refStorage": "reftable",
            "extensions.objectFormat": "sha256",
            "extensions.compatObjectFormat": "sha256",
            "extensions.unknown": "true",
            "core.repositoryFormatVersion": "2",
        }.items():
            section, _, name = key.partition(".")
            with self.subTest(key=key):
                version = "[core]\nrepositoryFormatVersion = 1\n"
                self.repo.write(".git/config", f"{config}{version}[{section}]\n{name} = {value}\n")
                details = self.refused_everywhere("REPO_UNSUPPORTED_FORMAT")
                self.assertIn(name.lower(), details["format"].lower())

    def test_sha256(self):
        self.repo.remake("--object-format=sha256")
        self.repo.save(a="one\n")
        self.assertIn("sha1", self.refused_everywhere("REPO_UNSUPPORTED_FORMAT")["format"])

    def test_split_index(self):
        self.repo.git("update-index", "--split-index")
        details = self.refused("REPO_UNSUPPORTED_FORMAT", "inspect_repo", workdir="app", view="status")
        self.assertIn("--no-split-index", details["format"])
        with self.assert_kept():
            self.assertEqual(self.commit_refused("REPO_UNSUPPORTED_FORMAT", "a"), details)
        # What it says to do helps.
        self.repo.git("update-index", "--no-split-index")
        self.assert_committed("a")

    def test_sparse_index(self):
        self.repo.save(**{"in/a": "one\n", "out/b": "two\n"})
        self.repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
        self.repo.write("a", "changed again\n")
        self.commit_refused("REPO_UNSUPPORTED_FORMAT", "a")
        self.repo.git("sparse-checkout", "reapply", "--no-sparse-index")
        self.assert_committed("a")

    def test_broken_configuration(self):
        for text in ("[core\n", "[core]\n\tbare\n = x\n", "key = in no section\n", '[a "b]\n', '[core]\nx = "\n'):
            with self.subTest(text=text):
                self.repo.write(".git/config", text)
                self.refused_everywhere("REPO_CONFIG_INVALID")

    def test_broken_head(self):
        for text, code in {
            "ref: refs/heads/../../config\n": "REPO_UNSAFE_LAYOUT",
            "ref: refs/tags/v1\n": "REPO_UNSAFE_LAYOUT",
            "ref: refs/heads/a..b\n": "REPO_UNSAFE_LAYOUT",
            "garbage\n": "REPO_NOT_A_REPOSITORY",
            "": "REPO_NOT_A_REPOSITORY",
        }.items():
            with self.subTest(text=text):
                self.repo.write(".git/HEAD", text)
                self.refused(code, "inspect_repo", workdir="app", view="status")
                self.commit_refused(code, "a")
                self.push_refused(code)

    if os.geteuid() == 0:  # only root can give a file away

        def test_foreign_owner(self):
            for place in (
                ".", ".git", ".git/HEAD", ".git/config", ".git/index", ".git/objects", ".git/refs/heads",
            ):
                os.chown(self.repo / place, STRANGER, -1)
                with self.subTest(place=place):
                    self.refused_everywhere("REPO_OWNERSHIP")
                os.chown(self.repo / place, 0, -1)
            self.assert_committed("a")


class LayoutTest(CommitCase):
    """Links and FIFOs inside .git: each refused by name, without a wait, and nothing is written through them."""

    FILES = (
        "HEAD", "index", "config", "packed-refs", "shallow", "logs/HEAD", "info/exclude", "info/attributes",
        "refs/heads/main", "logs/refs/heads/main", "config.worktree", "objects/info/commit-graph",
    )
    DIRECTORIES = (
        "objects", "objects/pack", "objects/info", "objects/00", "refs", "refs/heads", "logs", "logs/refs",
        "logs/refs/heads", "info",
    )

    def setUp(self):
        super().setUp()
        self.repo.save(a="one\n")
        self.repo.write("a", "changed\n")
        self.away = self.host.path / "away"
        self.away.mkdir()
        self.addCleanup(shutil.rmtree, self.away)

    def assert_refused(self, name, replacement):
        """With the place put aside and something else in its stead."""
        place = self.repo.git_dir / name
        kept = self.away / "kept"
        there = os.path.lexists(place)
        if there:
            place.rename(kept)
        replacement(place, kept)
        try:
            with self.subTest(name=name), self.assert_kept():
                self.assertEqual(self.commit_refused("REPO_UNSAFE_LAYOUT", "a"), {"place": name})
                self.refused("REPO_UNSAFE_LAYOUT", "inspect_repo", workdir="app", view="status")
        finally:
            place.unlink()
            if there:
                kept.rename(place)

    def test_links_to_files(self):
        for name in self.FILES:
            self.assert_refused(name, lambda place, kept: place.symlink_to(kept))

    def test_links_to_directories(self):
        for name in self.DIRECTORIES:
            self.assert_refused(name, lambda place, kept: place.symlink_to(kept))

    def test_fifos(self):
        for name in self.FILES:
            self.assert_refused(name, lambda place, kept: os.mkfifo(place))

    def test_fifos_in_the_work_tree(self):
        self.repo.write("d/new", "new\n")
        os.mkfifo(self.repo / "d/.gitignore")
        self.assertEqual(self.commit_refused("REPO_UNSAFE_LAYOUT", "d/new"), {"place": "d/.gitignore"})
        (self.repo / "d/.gitignore").unlink()
        (self.repo / "d/.gitignore").symlink_to("../a")
        self.assertEqual(self.commit_refused("REPO_UNSAFE_LAYOUT", "d/new"), {"place": "d/.gitignore"})
        os.mkfifo(self.repo / ".gitattributes")
        for path in ("d/new", "a"):
            self.assertEqual(
                self.commit_refused("REPO_UNSUPPORTED_ATTRIBUTES", path), {"place": ".gitattributes"}
            )

    def test_included_fifo(self):
        os.mkfifo(self.away / "fifo")
        self.repo.config("include.path", str(self.away / "fifo"))
        self.assertEqual(self.entries().keys(), {"a"})
        self.commit("a")
