"""The main job from one end to the other: look, run the pinned action, diff, commit the named file, push."""

import getpass
import hashlib
import json

from bridge_case import BridgeCase

CHECK = "#!/bin/sh\nwc -l <notes.txt\n"


class AcceptanceCase(BridgeCase):
    """A clean workdir with a pinned action, which follows a remote."""

    settings = {
        "WORKDIR_01_DESCRIPTION": "the demonstration",
        "WORKDIR_01_REPO_ACTIONS_JSON": json.dumps(
            {
                "check": {
                    "argv": ["./tools/check"],
                    "mutates": False,
                    "integrity": {"tools/check": hashlib.sha256(CHECK.encode()).hexdigest()},
                    "description": "Counts the notes",
                }
            }
        ),
    }

    @classmethod
    def prepare(cls, host):
        host.workdirs["app"].write("tools/check", CHECK, mode=0o755)

    def setUp(self):
        super().setUp()
        self.repo.write("tools/check", CHECK, mode=0o755)
        self.repo.write("notes.txt", "first\n")
        self.base = self.repo.save("the beginning")
        self.follow_origin()


class AcceptanceTest(AcceptanceCase):
    def test_the_sequence(self):
        workdirs = self.data("inspect_repo", view="workdirs")
        self.assertEqual(
            workdirs, {"workdirs": [{"alias": "app", "description": "the demonstration", "read_only": False}]}
        )

        actions = self.data("inspect_repo", workdir="app", view="actions")["actions"]
        self.assertEqual([action["name"] for action in actions], ["check"])
        self.assertEqual(actions[0]["pins"], {"count": 1, "state": "ok"})

        self.assertEqual(self.status()["clean"], True)
        self.repo.write("notes.txt", "first\nsecond\n")
        self.repo.write("draft.txt", "not this one\n")
        status = self.status()
        self.assertEqual(status["head"], {"branch": "main", "oid": self.base, "unborn": False})
        self.assertEqual(status["upstream"], {"remote": "origin", "branch": "main", "ahead": 0, "behind": 0})
        self.assertEqual(
            status["entries"],
            [
                {"path": "draft.txt", "index": "untracked", "worktree": "untracked"},
                {"path": "notes.txt", "index": "unmodified", "worktree": "modified"},
            ],
        )

        run = self.data("run_repo_action", workdir="app", action="check")
        self.assertEqual((run["state"], run["exit_code"], run["stdout"].strip()), ("finished", 0, "2"))

        diff = self.diff("notes.txt")
        self.assertIn("+second\n", diff["files"][0]["patch"])

        expected_tree = self.repo.tree_of("notes.txt")
        made = self.commit(
            "notes.txt", message="notes: a second one", expect={"notes.txt": diff["files"][0]["new_oid"]}
        )
        self.assertEqual(made["commit"], self.repo.head())
        self.assertEqual(made["parent"], self.base)
        self.assertEqual(made["branch"], "main")
        self.assertEqual(made["paths"], ["notes.txt"])
        self.assertEqual((made["files_changed"], made["insertions"], made["deletions"]), (1, 1, 0))
        self.assertEqual(self.repo.git("rev-parse", "HEAD^{tree}"), expected_tree)
        self.assertEqual(
            self.repo.git("log", "-1", "--format=%B%an <%ae>"),
            "notes: a second one\nA U Thor <author@example.org>",
        )
        self.assertEqual(self.repo.status(), "?? draft.txt")

        pushed = self.push()
        self.assertEqual(
            pushed,
            {
                "ref": "refs/heads/main",
                "from": self.base,
                "to": made["commit"],
                "result": "pushed",
                "host": None,
                "tracking_updated": True,
                "commits": [{"oid": made["commit"], "subject": "notes: a second one", "paths_count": 1}],
            },
        )
        self.assertEqual(self.remote.git("rev-parse", "refs/heads/main"), made["commit"])
        self.assertEqual(self.repo.git("rev-parse", "refs/remotes/origin/main"), made["commit"])
        self.assertEqual(self.status()["upstream"]["ahead"], 0)
        self.assert_sound()
        self.assert_sound(self.remote)

    def test_a_second_time_changes_nothing(self):
        self.repo.write("notes.txt", "first\nsecond\n")
        made = self.commit("notes.txt")
        with self.assert_kept():
            details = self.commit_refused("REPO_NOTHING_TO_COMMIT", "notes.txt")
        self.assertEqual(details, {"head": made["commit"], "last_commit": made["commit"]})
        self.assertEqual(self.push()["result"], "pushed")
        self.assertEqual(self.push()["result"], "up_to_date")

    def test_git_goes_on_where_the_bridge_ended(self):
        self.repo.write("notes.txt", "first\nsecond\n")
        self.commit("notes.txt")
        self.push()
        later = self.repo.save("by git", **{"notes.txt": "third\n"})
        self.repo.git("push", "-q")
        self.assertEqual(self.push()["result"], "up_to_date")
        self.assertEqual(self.remote.git("rev-parse", "main"), later)

    def test_the_audit_has_a_beginning_and_an_end_of_each_call(self):
        before = len(self.host.audit())
        self.status()
        self.commit_refused("DENIED_PATH", "secret.pem")
        self.commit_refused("PATH_NOT_FOUND", "missing.txt")
        self.push()
        lines = self.host.audit()[before:]
        self.assertEqual(
            [(line["event"], line["tool"], line["detail"], line.get("outcome")) for line in lines],
            [
                ("begin", "inspect_repo", "status", None),
                ("end", "inspect_repo", "status", "ok"),
                # The denied path got no further than the front.
                ("begin", "commit_repo_changes", "", None),
                ("end", "commit_repo_changes", "", "PATH_NOT_FOUND"),
                ("begin", "push_repo", "", None),
                ("end", "push_repo", "", "ok"),
            ],
        )
        for begin, end in zip(lines[::2], lines[1::2]):
            self.assertEqual((begin["call"], begin["workdir"]), (end["call"], "app"))
            self.assertEqual(begin["caller"], {"login": getpass.getuser(), "mode": "stdio"})

    def test_a_bridge_started_again_serves_the_same_client(self):
        self.repo.write("notes.txt", "first\nsecond\n")
        made = self.commit("notes.txt")
        self.host.stop()
        self.refused("BRIDGE_UNAVAILABLE", "push_repo", workdir="app")
        self.host.start()
        self.assertEqual(self.push()["to"], made["commit"])
