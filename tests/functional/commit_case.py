"""What the tests of commits share: a commit that is proven to be the one git would make."""

from bridge_case import BridgeCase


class CommitCase(BridgeCase):
    def assert_committed(self, *names, base="HEAD", paths=None, **more):
        """Commits the files and proves it to be the commit that git would make of them. Returns the answer."""
        tree = self.repo.tree_of(*names, base=base)
        parent = None if base is None else self.repo.head()
        made = self.commit(*(paths or names), **more)
        self.assertEqual(made["commit"], self.repo.head())
        self.assertEqual(made["parent"], parent)
        self.assertEqual(self.repo.git("rev-parse", "HEAD^{tree}"), tree)
        # The index followed: nothing is staged, and the named files are what was committed.
        self.assertEqual(self.repo.git("diff", "--cached", "--name-only"), "")
        self.assertEqual(self.repo.git("--literal-pathspecs", "status", "--porcelain", "--", *names), "")
        self.assert_sound()
        return made
