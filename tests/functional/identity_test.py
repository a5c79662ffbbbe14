"""Who commits: the user's configuration, the repository's, or the administrator's word."""

import os

from commit_case import CommitCase


class IdentityTest(CommitCase):
    """Users who told git nothing, or told it in other ways."""

    @classmethod
    def prepare(cls, host):
        host.user.config.write_text("[init]\n\tdefaultBranch = main\n")
        host.user.environment |= {"GIT_AUTHOR_NAME": "From Environment", "EMAIL": "environment@example.org"}

    def setUp(self):
        super().setUp()
        self.repo.write("a", os.urandom(8).hex())
        self.addCleanup(self.host.user.config.write_text, self.host.user.config.read_text())

    def author(self):
        self.commit("a")
        return self.repo.git("log", "-1", "--format=%an <%ae> %cn <%ce>")

    def test_none(self):
        with self.assert_kept():
            self.commit_refused("REPO_IDENTITY_MISSING", "a")
        self.host.user.config.write_text("[user]\n\tname = Only A Name\n")
        with self.assert_kept():
            self.commit_refused("REPO_IDENTITY_MISSING", "a")

    def test_local(self):
        self.repo.config("user.name", "Local Name")
        self.repo.config("user.email", "local@example.org")
        self.assertEqual(self.author(), "Local Name <local@example.org> Local Name <local@example.org>")

    def test_by_directory(self):
        included = self.host.user.home / "work.inc"
        included.write_text("[user]\n\tname = Work Name\n\temail = work@example.org\n")
        self.host.user.config.write_text(
            "[user]\n\tname = Home Name\n\temail = home@example.org\n"
            f'[includeIf "gitdir:{self.repo.path}/"]\n\tpath = work.inc\n'
            '[includeIf "gitdir:/elsewhere/"]\n\tpath = missing.inc\n'
        )
        self.assertEqual(self.author(), "Work Name <work@example.org> Work Name <work@example.org>")

    def test_by_branch(self):
        (self.host.user.home / "main.inc").write_text("[user]\n\temail = main@example.org\n")
        self.host.user.config.write_text(
            '[user]\n\tname = N\n\temail = home@example.org\n[includeIf "onbranch:main"]\n\tpath = main.inc\n'
        )
        self.assertEqual(self.author(), "N <main@example.org> N <main@example.org>")

    def test_by_remote(self):
        (self.host.user.home / "work.inc").write_text("[user]\n\temail = work@example.org\n")
        self.host.user.config.write_text(
            "[user]\n\tname = N\n\temail = home@example.org\n"
            '[includeIf "hasconfig:remote.*.url:https://work.example.org/**"]\n\tpath = work.inc\n'
        )
        self.repo.config("remote.origin.url", "https://work.example.org/a/b.git")
        self.assertEqual(self.author(), "N <work@example.org> N <work@example.org>")

    def test_xdg(self):
        place = self.host.user.home / ".config/git/config"
        place.parent.mkdir(parents=True)
        self.addCleanup(place.unlink)
        place.write_text("[user]\n\tname = X\n\temail = x@example.org\n")
        self.assertEqual(self.author(), "X <x@example.org> X <x@example.org>")

    def test_odd_names(self):
        self.repo.config("user.email", "e@example.org")
        for name, kept in {"Émile ✓": "Émile ✓", "  padded.  ": "padded"}.items():
            self.repo.config("user.name", name)
            self.repo.write("a", os.urandom(8).hex())
            self.assertEqual(self.author(), f"{kept} <e@example.org> {kept} <e@example.org>")

    def test_broken_user_configuration(self):
        self.host.user.config.write_text("[user\n")
        for tool, arguments in {"inspect_repo": {"view": "status"}, "push_repo": {}}.items():
            self.refused("GIT_USER_CONFIG_INVALID", tool, workdir="app", **arguments)
        with self.assert_kept():
            self.commit_refused("GIT_USER_CONFIG_INVALID", "a")


class AdministratorsIdentityTest(CommitCase):
    settings = {"WORKDIR_01_GIT_USER_NAME": "The Bot", "WORKDIR_01_GIT_USER_EMAIL": "bot@example.org"}

    def test_wins(self):
        self.repo.config("user.name", "Local Name")
        self.repo.write("a", "one\n")
        self.commit("a")
        self.assertEqual(
            self.repo.git("log", "-1", "--format=%an <%ae> %cn <%ce>"),
            "The Bot <bot@example.org> The Bot <bot@example.org>",
        )
        self.assertIn("The Bot <bot@example.org>", self.repo.read(".git/logs/HEAD").decode())
