"""repobridge render: what it writes, and that a refusal names its cause and changes nothing."""

import hashlib
import json
import os
import pathlib
import pwd
import socket
import stat
import unittest

from admin_support import AdminCase, CHECK_DIGEST, ROOT, STRANGER
from manifest import manifest_digest

JSON = "WORKDIR_01_REPO_ACTIONS_JSON"
FILE = "WORKDIR_01_REPO_ACTIONS_FILE"
WRITABLE = {"WORKDIR_01_READ_ONLY": "false"}


DATA_DIGEST = hashlib.sha256(b"data\n").hexdigest()


def action(**changes):
    value = {"argv": ["./tools/check"], "mutates": False, "integrity": {"tools/check": CHECK_DIGEST}, **changes}
    return {name: part for name, part in value.items() if part is not None}


def actions(**named):
    return {**WRITABLE, JSON: json.dumps(named)}


def snapshot(directory):
    """Every name below, with what it is and holds."""
    seen = {}
    for path in sorted(directory.rglob("*")):
        facts = os.lstat(path)
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        seen[str(path)] = (stat.S_IMODE(facts.st_mode), facts.st_ino, content)
    return seen


class Render(AdminCase):
    def test_writes_two_private_files_and_one_line(self):
        done = self.render(self.settings(**actions(check=action()), WORKDIR_01_DESCRIPTION="The demo"))

        self.assert_rendered(done)
        self.assertEqual(done.stdout.count("\n"), 1)
        summary = json.loads(done.stdout)
        bridge = json.loads((self.out / "bridge.json").read_text())
        front = json.loads((self.out / "front.json").read_text())
        self.assertEqual(summary["bridge"], str(self.out / "bridge.json"))
        self.assertEqual(summary["front"], str(self.out / "front.json"))
        self.assertEqual({bridge["digest"], front["digest"]}, {summary["digest"]})
        self.assertEqual(summary["workdirs"], [{"alias": "demo", "read_only": False, "actions": [
            {"name": "check", "argv_count": 1, "pins_count": 1}]}])
        for name in ("bridge.json", "front.json"):
            self.assertEqual(stat.S_IMODE(os.stat(self.out / name).st_mode), 0o600)
        self.assertEqual(sorted(os.listdir(self.out)), ["bridge.json", "bridge.key", "front.json", "front.token", "repobridge.env"])

    def test_oauth_stands_in_the_fronts_file_alone_and_whole(self):
        keys = self.out / "keys.json"
        keys.write_text('{"keys": []}')
        oauth = {"REPOBRIDGE_OAUTH_ISSUER": "https://login.example", "REPOBRIDGE_OAUTH_JWKS_FILE": keys,
                 "REPOBRIDGE_OAUTH_RESOURCE": "https://front.example/mcp", "REPOBRIDGE_OAUTH_ALLOWED_SUBJECTS": "a"}
        self.assert_rendered(self.render(self.settings()))
        self.assertIsNone(json.loads((self.out / "front.json").read_text())["oauth"])
        before = snapshot(self.out)

        for name in oauth:
            with self.subTest(without=name):
                done = self.render(self.settings(**{**oauth, name: None}))
                self.assertEqual(done.returncode, 2)
                self.assertIn("REPOBRIDGE_OAUTH_", done.stderr)
                self.env_file.write_bytes(before[str(self.env_file)][2])
                self.assertEqual(snapshot(self.out), before)
        self.assert_rendered(self.render(self.settings(**oauth)))

        self.assertNotIn("oauth", json.loads((self.out / "bridge.json").read_text()))
        self.assertEqual(json.loads((self.out / "front.json").read_text())["oauth"], {
            "issuer": "https://login.example", "resource": "https://front.example/mcp", "jwks_url": "",
            "jwks_file": str(keys), "jwks_ca_file": "", "algorithms": ["RS256", "ES256"], "allowed_subjects": ["a"],
            "login_claim": "sub", "leeway_seconds": 60})

    def test_keys_that_others_may_write_are_refused(self):
        keys = self.out / "keys.json"
        keys.write_text('{"keys": []}')
        oauth = {"REPOBRIDGE_OAUTH_ISSUER": "https://login.example", "REPOBRIDGE_OAUTH_JWKS_FILE": keys,
                 "REPOBRIDGE_OAUTH_RESOURCE": "https://front.example/mcp", "REPOBRIDGE_OAUTH_ALLOWED_SUBJECTS": "a"}
        keys.chmod(0o666)
        inside = self.work / "keys.json"
        inside.write_text('{"keys": []}')

        for path in (keys, inside, self.out / "none.json"):
            with self.subTest(path.name):
                done = self.render(self.settings(**{**oauth, "REPOBRIDGE_OAUTH_JWKS_FILE": path}))
                self.assertEqual(done.returncode, 2)
                self.assertIn("REPOBRIDGE_OAUTH_JWKS_FILE", done.stderr)

    def test_fills_in_what_lies_in_the_output_directory(self):
        self.assert_rendered(self.render(self.settings()))

        bridge = json.loads((self.out / "bridge.json").read_text())
        self.assertEqual(bridge["socket_path"], str(self.out / "run/bridge.sock"))
        self.assertEqual(bridge["state_dir"], str(self.out / "state"))
        self.assertEqual(bridge["fronts"], [{"name": "default", "key_file": str(self.out / "bridge.key"),
                                             "secret_files": [str(self.out / "front.token")],
                                             "workdirs": ["demo"], "read_only": False}])

    def test_locks_lie_in_the_users_home_whatever_the_environment_says(self):
        home = pathlib.Path(pwd.getpwuid(os.geteuid()).pw_dir)

        done = self.render(self.settings(REPOBRIDGE_LOCK_DIR=None), environment={"HOME": str(self.scratch)})

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        bridge = json.loads((self.out / "bridge.json").read_text())
        self.assertEqual(bridge["lock_dir"], str(home.resolve() / ".local/state/repobridge/locks"))

    def test_the_digest_is_over_everything_else(self):
        self.assert_rendered(self.render(self.settings()))

        bridge = json.loads((self.out / "bridge.json").read_text())
        digest = bridge.pop("digest")
        text = json.dumps(bridge, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), digest)

    def test_the_same_settings_render_to_the_same_bytes(self):
        self.assert_rendered(self.render(self.settings(**actions(check=action()))))
        first = (self.out / "bridge.json").read_bytes()

        self.assert_rendered(self.render())

        self.assertEqual((self.out / "bridge.json").read_bytes(), first)

    def test_the_front_learns_nothing_that_is_the_hosts(self):
        sentinel = "xyzzysentinel"
        work = self.scratch / f"{sentinel}-work"
        (work / "tools").mkdir(parents=True)
        self.program(work / f"tools/{sentinel}-tool")
        one = action(argv=[f"tools/{sentinel}-tool", f"--{sentinel}"], description=sentinel,
                     integrity={f"tools/{sentinel}-tool": CHECK_DIGEST})
        done = self.render(self.settings(
            WORKDIR_01_PATH=work, **actions(**{f"{sentinel}-action": one}), WORKDIR_01_DESCRIPTION="shown",
            WORKDIR_01_PUSH_URL=f"git@{sentinel}.example:a/b.git", WORKDIR_01_GIT_USER_NAME=sentinel,
            WORKDIR_01_GIT_USER_EMAIL=f"{sentinel}@example.org"))

        self.assert_rendered(done)
        front = (self.out / "front.json").read_text()
        self.assertIn("shown", front)
        for hidden in (sentinel, CHECK_DIGEST, "argv", "integrity", "actions"):
            self.assertNotIn(hidden, front)
        key = (self.out / "bridge.key").read_bytes()
        for text in (front, (self.out / "bridge.json").read_text(), done.stdout):
            self.assertNotIn(key.hex(), text)
        self.assertNotIn(str(work), done.stdout)
        self.assertNotIn(CHECK_DIGEST, done.stdout)

    def test_a_workdir_that_is_switched_off_is_checked_and_not_rendered(self):
        off = {"WORKDIR_02_ALIAS": "off", "WORKDIR_02_PATH": self.other}

        done = self.render(self.settings(**off))

        self.assert_rendered(done)
        self.assertEqual(json.loads(done.stdout)["switched_off"], ["off"])
        self.assertNotIn(str(self.other), (self.out / "bridge.json").read_text())
        broken = self.render(self.settings(**{**off, "WORKDIR_02_PATH": self.scratch / "missing"}))
        self.assertEqual(broken.returncode, 2)
        self.assertIn("WORKDIR_02_PATH", broken.stderr)

    def test_says_when_callers_will_see_nothing(self):
        done = self.render(self.settings(WORKDIR_01_REPO_OPS_ENABLED=None))

        self.assertEqual(done.returncode, 0)
        self.assertIn("REPO_OPS_ENABLED", done.stderr)

    def test_resolves_a_program_on_the_administrators_path(self):
        self.program(self.bin / "real")
        (self.bin / "tool").symlink_to("real")

        self.assert_rendered(self.render(self.settings(**actions(check=action(argv=["tool", "x"])))))

        bridge = json.loads((self.out / "bridge.json").read_text())
        self.assertEqual(bridge["workdirs"][0]["actions"]["check"]["argv"], [str(self.bin / "tool"), "x"])

    def test_the_whole_path_is_without_links(self):
        (self.scratch / "linked").symlink_to(self.work)

        self.assert_rendered(self.render(self.settings(WORKDIR_01_PATH=self.scratch / "linked")))

        bridge = json.loads((self.out / "bridge.json").read_text())
        self.assertEqual(bridge["workdirs"][0]["path"], str(self.work))

    def test_actions_may_stand_in_a_file(self):
        path = self.out / "actions.json"
        path.write_text(json.dumps({"check": action()}, indent=2))

        done = self.render(self.settings(**WRITABLE, WORKDIR_01_REPO_ACTIONS_FILE=path))

        self.assert_rendered(done)
        self.assertEqual(len(json.loads(done.stdout)["workdirs"][0]["actions"]), 1)

    def test_a_command_substitution_is_not_run(self):
        done = self.render(self.settings(WORKDIR_01_DESCRIPTION=f"'$(touch {self.scratch}/ran) `touch {self.scratch}/ran`'"))

        self.assert_rendered(done)
        self.assertFalse((self.scratch / "ran").exists())

    def test_a_password_is_not_repeated(self):
        done = self.render(self.settings(WORKDIR_01_PUSH_URL="https://me:hunter2hunter2@example.org/a.git"))

        self.assertEqual(done.returncode, 2)
        self.assertIn("WORKDIR_01_PUSH_URL", done.stderr)
        self.assertNotIn("hunter2", done.stderr + done.stdout)

    def test_colour_is_for_terminals(self):
        self.assertNotIn("\x1b", self.render(self.settings(WORKDIR_01_ALIAS="1")).stderr)


# Each row: what the administrator did, and what the one line on stderr must name. `case` is the test, whose
# directories a row may change; what it returns are changes to the settings.
REFUSALS = {
    # The env file.
    "unknown name": (lambda case: {"WORKDIR_01_RAED_ONLY": "false"}, ["WORKDIR_01_RAED_ONLY"]),
    "unknown global name": (lambda case: {"REPOBRIDGE_SOCKET": "/x"}, ["REPOBRIDGE_SOCKET "]),
    "slot zero": (lambda case: {"WORKDIR_00_ALIAS": "a"}, ["WORKDIR_00_ALIAS"]),
    "export": (lambda case: {"export A": "1"}, ["line 5", "export"]),
    "small letters": (lambda case: {"path": "1"}, ["line 5"]),
    "expansion": (lambda case: {"WORKDIR_01_DESCRIPTION": "$HOME"}, ["line 5"]),
    "expansion in double quotes": (lambda case: {"WORKDIR_01_DESCRIPTION": '"${HOME}"'}, ["line 5"]),
    "doubled dollar": (lambda case: {"WORKDIR_01_DESCRIPTION": "a$$b"}, ["line 5"]),
    "open quote": (lambda case: {"WORKDIR_01_DESCRIPTION": "'a"}, ["line 5", "quote"]),
    "stray quote": (lambda case: {"WORKDIR_01_DESCRIPTION": "a'b"}, ["line 5", "quote"]),
    "text after a quote": (lambda case: {"WORKDIR_01_DESCRIPTION": "'a' b"}, ["line 5", "quote"]),
    "control character": (lambda case: {"WORKDIR_01_DESCRIPTION": "a\x07b"}, ["line 5"]),
    # Values.
    "alias missing": (lambda case: {"WORKDIR_01_ALIAS": None}, ["WORKDIR_01_ALIAS", "missing"]),
    "alias with a slash": (lambda case: {"WORKDIR_01_ALIAS": "a/b"}, ["WORKDIR_01_ALIAS"]),
    "alias too long": (lambda case: {"WORKDIR_01_ALIAS": "a" * 33}, ["WORKDIR_01_ALIAS"]),
    "boolean": (lambda case: {"WORKDIR_01_READ_ONLY": "maybe"}, ["WORKDIR_01_READ_ONLY"]),
    "number": (lambda case: {"MAX_TOOL_RESPONSE_ITEMS": "0"}, ["MAX_TOOL_RESPONSE_ITEMS"]),
    "number with a sign": (lambda case: {"MAX_TOOL_RESPONSE_CHARS": "+5000"}, ["MAX_TOOL_RESPONSE_CHARS"]),
    "not a number": (lambda case: {"MAX_TOOL_RESPONSE_CHARS": "nan"}, ["MAX_TOOL_RESPONSE_CHARS"]),
    "detection mode": (lambda case: {"SECRET_DETECTION_MODE": "on"}, ["SECRET_DETECTION_MODE"]),
    "glob with a slash": (lambda case: {"WORKDIR_01_EXTRA_DENY_GLOBS": "a/b"}, ["WORKDIR_01_EXTRA_DENY_GLOBS"]),
    "empty glob": (lambda case: {"WORKDIR_01_EXTRA_DENY_GLOBS": "a,,b"}, ["WORKDIR_01_EXTRA_DENY_GLOBS"]),
    "half an identity": (lambda case: {"WORKDIR_01_GIT_USER_NAME": "me"}, ["WORKDIR_01_GIT_USER_EMAIL"]),
    "identity with brackets": (lambda case: {"WORKDIR_01_GIT_USER_NAME": "me <x>", "WORKDIR_01_GIT_USER_EMAIL": "a"},
                               ["WORKDIR_01_GIT_USER_NAME"]),
    "push by http": (lambda case: {"WORKDIR_01_PUSH_URL": "http://example.org/a"}, ["WORKDIR_01_PUSH_URL"]),
    "push prefix without slash": (lambda case: {"REPOBRIDGE_PUSH_ALLOWED": "https://example.org/a"},
                                  ["REPOBRIDGE_PUSH_ALLOWED"]),
    # Workdirs.
    "path relative": (lambda case: {"WORKDIR_01_PATH": "work"}, ["WORKDIR_01_PATH"]),
    "path missing": (lambda case: {"WORKDIR_01_PATH": case.scratch / "missing"}, ["WORKDIR_01_PATH"]),
    "path is a file": (lambda case: {"WORKDIR_01_PATH": case.work / "tools/check"}, ["WORKDIR_01_PATH"]),
    "alias twice": (lambda case: {"WORKDIR_02_ALIAS": "demo", "WORKDIR_02_PATH": case.other}, ["WORKDIR_02_ALIAS"]),
    "the same root twice": (lambda case: {"WORKDIR_02_ALIAS": "b", "WORKDIR_02_PATH": case.work}, ["WORKDIR_01_PATH"]),
    "a nested root": (lambda case: {"WORKDIR_02_ALIAS": "b", "WORKDIR_02_PATH": case.work / "tools"},
                      ["WORKDIR_02_PATH"]),
    "a nested root by a link": (lambda case: linked_root(case), ["WORKDIR_02_PATH"]),
    # Our own files.
    "socket relative": (lambda case: {"REPOBRIDGE_SOCKET_PATH": "b.sock"}, ["REPOBRIDGE_SOCKET_PATH"]),
    "socket too long": (lambda case: {"REPOBRIDGE_SOCKET_PATH": f"{case.out}/{'s' * 107}"},
                        ["REPOBRIDGE_SOCKET_PATH", "107"]),
    "socket in a workdir": (lambda case: {"REPOBRIDGE_SOCKET_PATH": f"{case.work}/b.sock"},
                            ["REPOBRIDGE_SOCKET_PATH", "WORKDIR_01_PATH"]),
    "socket directory open": (lambda case: open_directory(case, "REPOBRIDGE_SOCKET_PATH", "/b.sock", 0o755),
                              ["REPOBRIDGE_SOCKET_PATH"]),
    "state in a workdir": (lambda case: {"REPOBRIDGE_STATE_DIR": f"{case.work}/x/y"}, ["REPOBRIDGE_STATE_DIR"]),
    "state in a workdir by a link": (lambda case: linked_state(case), ["REPOBRIDGE_STATE_DIR", "WORKDIR_01_PATH"]),
    "state by dots": (lambda case: {"REPOBRIDGE_STATE_DIR": f"{case.out}/x/../../work/s"}, ["REPOBRIDGE_STATE_DIR"]),
    "state directory open": (lambda case: open_directory(case, "REPOBRIDGE_STATE_DIR", "", 0o750),
                             ["REPOBRIDGE_STATE_DIR"]),
    "state below an open directory": (lambda case: open_directory(case, "REPOBRIDGE_STATE_DIR", "/s", 0o777),
                                      ["REPOBRIDGE_STATE_DIR"]),
    "locks in a workdir": (lambda case: {"REPOBRIDGE_LOCK_DIR": case.work}, ["REPOBRIDGE_LOCK_DIR"]),
    "key in a workdir": (lambda case: {"REPOBRIDGE_KEY_FILE": f"{case.work}/key"}, ["REPOBRIDGE_KEY_FILE"]),
    "key missing": (lambda case: (case.out / "bridge.key").unlink(), ["REPOBRIDGE_KEY_FILE"]),
    "key open": (lambda case: (case.out / "bridge.key").chmod(0o640), ["REPOBRIDGE_KEY_FILE"]),
    "key short": (lambda case: void((case.out / "bridge.key").write_bytes(b"x" * 31)), ["REPOBRIDGE_KEY_FILE"]),
    "key long": (lambda case: void((case.out / "bridge.key").write_bytes(b"x" * 33)), ["REPOBRIDGE_KEY_FILE"]),
    "out in a workdir": (lambda case: {"WORKDIR_01_PATH": case.scratch}, ["--out", "WORKDIR_01_PATH"]),
    "out open": (lambda case: case.out.chmod(0o770), ["env file"]),
    # Actions.
    "actions on a read-only workdir": (lambda case: {JSON: json.dumps({"a": action()})}, ["WORKDIR_01_READ_ONLY"]),
    "both forms": (lambda case: {**actions(a=action()), FILE: "/x"}, [FILE, "JSON"]),
    "broken json": (lambda case: {**WRITABLE, JSON: "{"}, [JSON]),
    "json with a comment": (lambda case: {**WRITABLE, JSON: "{} # none"}, [JSON]),
    "json with a key twice": (lambda case: {**WRITABLE, JSON: '{"a": {}, "a": {}}'}, [JSON, "twice"]),
    "a list": (lambda case: {**WRITABLE, JSON: "[]"}, [JSON]),
    "one bad of two": (lambda case: actions(a=action(), b=action(argv=[])), [JSON, "'b.argv'"]),
    "name": (lambda case: actions(**{"a b": action()}), [JSON]),
    "kind": (lambda case: actions(a=action(kind="shell")), [JSON, "'a.kind'"]),
    "argv missing": (lambda case: actions(a=action(argv=None)), [JSON, "'a.argv'"]),
    "argv a string": (lambda case: actions(a=action(argv="ls -l")), [JSON, "'a.argv'"]),
    "argv with a number": (lambda case: actions(a=action(argv=["ls", 1])), [JSON, "'a.argv'"]),
    "argv[0] empty": (lambda case: actions(a=action(argv=[""])), [JSON, "'a.argv'"]),
    "argument": (lambda case: actions(a=action(argument="basename")), [JSON, "'a.argument'"]),
    "mutates missing": (lambda case: actions(a=action(mutates=None)), [JSON, "'a.mutates'"]),
    "mutates a number": (lambda case: actions(a=action(mutates=0)), [JSON, "'a.mutates'"]),
    "mutates a string": (lambda case: actions(a=action(mutates="false")), [JSON, "'a.mutates'"]),
    "no integrity": (lambda case: actions(a=action(integrity=None)), [JSON, "'a.integrity'"]),
    "empty integrity": (lambda case: actions(a=action(integrity={})), [JSON, "'a.integrity'"]),
    "empty digest": (lambda case: actions(a=action(integrity={"tools/check": ""})),
                     [JSON, "'a.integrity'", "'tools/check'", "pin show"]),
    "digest in capitals": (lambda case: actions(a=action(integrity={"tools/check": "A" * 64})),
                           [JSON, "'a.integrity'"]),
    "digest a number": (lambda case: actions(a=action(integrity={"tools/check": 1})), [JSON, "'a.integrity'"]),
    "absent in capitals": (lambda case: actions(a=action(integrity={"x": "ABSENT"})), [JSON, "'a.integrity'", "absent"]),
    "absent directory": (lambda case: actions(a=action(integrity={"x/": "absent"})), [JSON, "'a.integrity'", "'x/'"]),
    "a name and a directory": (lambda case: actions(a=action(integrity={"x": CHECK_DIGEST, "x/": CHECK_DIGEST})),
                               [JSON, "'a.integrity'", "twice"]),
    "pin outside": (lambda case: actions(a=action(integrity={"../x": CHECK_DIGEST})), [JSON, "'a.integrity'", "'../x'"]),
    "pin in .git": (lambda case: actions(a=action(integrity={".git/config": CHECK_DIGEST})), [JSON, "'a.integrity'"]),
    "timeout zero": (lambda case: actions(a=action(timeout_seconds=0)), [JSON, "'a.timeout_seconds'"]),
    "timeout too long": (lambda case: actions(a=action(timeout_seconds=86401)), [JSON, "'a.timeout_seconds'", "86400"]),
    "timeout beyond the longest run": (lambda case: actions(a=action(timeout_seconds=601)),
                                       [JSON, "'a.timeout_seconds'", "REPOBRIDGE_MAX_RUN_SECONDS", "600"]),
    "push timeout beyond the longest run": (lambda case: {"WORKDIR_01_PUSH_TIMEOUT_SECONDS": "601"},
                                            ["WORKDIR_01_PUSH_TIMEOUT_SECONDS", "REPOBRIDGE_MAX_RUN_SECONDS"]),
    "call waits too long": (lambda case: {"REPOBRIDGE_CALL_WAIT_SECONDS": "41"}, ["REPOBRIDGE_CALL_WAIT_SECONDS", "40"]),
    "no run at once": (lambda case: {"REPOBRIDGE_MAX_RUNS": "0"}, ["REPOBRIDGE_MAX_RUNS"]),
    "no call a minute": (lambda case: {"REPOBRIDGE_CALLS_PER_MINUTE": "0"}, ["REPOBRIDGE_CALLS_PER_MINUTE"]),
    "timeout a fraction": (lambda case: actions(a=action(timeout_seconds=1.5)), [JSON, "'a.timeout_seconds'"]),
    "output too much": (lambda case: actions(a=action(max_output_bytes=1 << 30)), [JSON, "'a.max_output_bytes'"]),
    "unknown field": (lambda case: actions(a=action(cwd="tools")), [JSON, "'a.cwd'"]),
    "variable of git's": (lambda case: actions(a=action(env={"GIT_DIR": "b"})), [JSON, "'a.env'"]),
    "variable of the bridge's": (lambda case: actions(a=action(env_passthrough=["REPOBRIDGE_X"])),
                                 [JSON, "'a.env_passthrough'"]),
    "program unknown": (lambda case: actions(a=action(argv=["no-such-program"])), [JSON, "'a.argv[0]'", "PATH"]),
    "program unpinned": (lambda case: actions(a=action(argv=["tools/check"], integrity={"a": CHECK_DIGEST})),
                         [JSON, "'a.argv[0]'", "pin"]),
    "program outside": (lambda case: actions(a=action(argv=["../x"])), [JSON, "'a.argv[0]'"]),
    "program missing": (lambda case: actions(a=action(argv=["/no/such/program"])), [JSON, "'a.argv[0]'"]),
    "program not executable": (lambda case: actions(a=action(argv=["/etc/passwd"])), [JSON, "'a.argv[0]'"]),
    "program a directory": (lambda case: actions(a=action(argv=["/usr"])), [JSON, "'a.argv[0]'"]),
    "program through a workdir": (lambda case: linked_program(case), [JSON, "'a.argv[0]'", "WORKDIR_02_PATH"]),
    "interpreter in a workdir": (lambda case: interpreted_program(case), [JSON, "'a.argv[0]'", "WORKDIR_02_PATH"]),
    # The elements behind the program.
    "argument unpinned": (lambda case: actions(a=action(argv=["cat", "data.txt"])),
                          [JSON, "'a.argv[1]'", f'{{"data.txt":"{DATA_DIGEST}"}}']),
    "argument unpinned by dots": (lambda case: actions(a=action(argv=["cat", "./tools/../data.txt"])),
                                  ["'a.argv[1]'", f'{{"data.txt":"{DATA_DIGEST}"}}']),
    "argument unpinned by its whole path": (lambda case: actions(a=action(argv=["cat", f"{case.work}/data.txt"])),
                                            ["'a.argv[1]'", '"data.txt"']),
    "argument unpinned behind an option": (lambda case: actions(a=action(argv=["make", "--file=data.txt"])),
                                           ["'a.argv[1]'", '"data.txt"']),
    "argument unpinned glued to an option": (lambda case: actions(a=action(argv=["make", "-fdata.txt"])),
                                             ["'a.argv[1]'", '"data.txt"']),
    "argument a link": (lambda case: linked_argument(case, "data.txt", "cat"), ["'a.argv[1]'", "link"]),
    "argument behind a link": (lambda case: linked_argument(case, "tools", "cat", "/check"), ["'a.argv[1]'", "link"]),
    "argument in another workdir": (lambda case: foreign_argument(case), ["'a.argv[1]'", "WORKDIR_02_PATH"]),
    "script unpinned": (lambda case: actions(a=action(argv=["sh", "-eu", "data.txt"])), ["'a.argv[2]'", "data.txt"]),
    "script missing": (lambda case: actions(a=action(argv=["sh", "later.sh"])),
                       ["'a.argv[1]'", '{"later.sh":"absent"}']),
    "script outside": (lambda case: actions(a=action(argv=["sh", "../x"])), ["'a.argv[1]'", "no path of the workdir"]),
    "script a directory": (lambda case: actions(a=action(argv=["perl", "lib"])), ["'a.argv[1]'", '"lib/"']),
    "program behind another": (lambda case: actions(a=action(argv=["env", "lib/tool"])), ["'a.argv[1]'", '"lib/tool"']),
    "program behind another in a workdir": (lambda case: linked_behind(case), ["'a.argv[1]'", "WORKDIR_02_PATH"]),
    "a path to an interpreter": (lambda case: actions(a=action(argv=["sh"], argument="path")), ["'a.argument'", "script"]),
    "a path to an interpreter with options": (
        lambda case: actions(a=action(argv=["perl", "-w", "-I", "lib"], argument="path")), ["'a.argument'"]),
    "a path to an interpreter by env": (
        lambda case: actions(a=action(argv=["/usr/bin/env", "A=b", "bash"], argument="path")), ["'a.argument'"]),
    "a path that is code": (lambda case: actions(a=action(argv=["sh", "-c"], argument="path")), ["'a.argument'"]),
    "a path that is code by env": (
        lambda case: actions(a=action(argv=["env", "perl", "-ne"], argument="path")), ["'a.argument'"]),
    "a path to what starts programs": (lambda case: actions(a=action(argv=["timeout", "5"], argument="path")),
                                       ["'a.argument'"]),
    "actions file relative": (lambda case: {**WRITABLE, FILE: "actions.json"}, [FILE, "absolute"]),
    "actions file missing": (lambda case: {**WRITABLE, FILE: f"{case.out}/none"}, [FILE]),
    "actions file open": (lambda case: actions_file(case, mode=0o620), [FILE]),
    "actions file linked": (lambda case: actions_file(case, link=True), [FILE]),
    "actions file in a workdir": (lambda case: actions_file(case, directory=case.work), [FILE, "WORKDIR_01_PATH"]),
    "actions file wrong": (lambda case: actions_file(case, text='{"a": {}}'), [FILE, "'a.argv'"]),
    # What stands where the files go.
    "bridge.json a link": (lambda case: planted(case, "bridge.json", "link"), ["bridge.json"]),
    "front.json a link": (lambda case: planted(case, "front.json", "link"), ["front.json"]),
    "bridge.json a directory": (lambda case: planted(case, "bridge.json", "directory"), ["bridge.json"]),
    "front.json a directory": (lambda case: planted(case, "front.json", "directory"), ["front.json"]),
    "bridge.json writable by all": (lambda case: (case.out / "bridge.json").chmod(0o666), ["bridge.json"]),
    "front.json writable by a group": (lambda case: (case.out / "front.json").chmod(0o660), ["front.json"]),
    "front.json a fifo": (lambda case: planted(case, "front.json", "fifo"), ["front.json"]),
    # The env file itself.
    "env file open": (lambda case: case.env_file.chmod(0o666), ["env file"]),
}
if ROOT:  # only root can give a file away
    REFUSALS.update({
        "front.json a stranger's": (lambda case: os.chown(case.out / "front.json", STRANGER, -1), ["front.json"]),
        "env file a stranger's": (lambda case: os.chown(case.env_file, STRANGER, -1), ["env file"]),
        "key a stranger's": (lambda case: os.chown(case.out / "bridge.key", STRANGER, -1), ["REPOBRIDGE_KEY_FILE"]),
        "out a stranger's": (lambda case: os.chown(case.out, STRANGER, -1), ["env file"]),
        "actions file a stranger's": (lambda case: actions_file(case, owner=STRANGER), [FILE]),
    })


def void(_):
    return None


def linked_root(case):
    (case.scratch / "linked").symlink_to(case.work / "tools")
    return {"WORKDIR_02_ALIAS": "b", "WORKDIR_02_PATH": case.scratch / "linked"}


def linked_state(case):
    (case.out / "linked").symlink_to(case.work)
    return {"REPOBRIDGE_STATE_DIR": f"{case.out}/linked/state"}


def open_directory(case, variable, below, mode):
    directory = case.out / "open"
    directory.mkdir()
    directory.chmod(mode)
    return {variable: f"{directory}{below}"}


def linked_program(case):
    case.program(case.bin / "real")
    (case.other / "switch").symlink_to(case.bin / "real")
    (case.bin / "tool").symlink_to(case.other / "switch")
    return {**actions(a=action(argv=["tool"])), "WORKDIR_02_ALIAS": "b", "WORKDIR_02_PATH": case.other}


def interpreted_program(case):
    case.program(case.other / "sh")
    case.program(case.bin / "tool", f"#!{case.other}/sh\n")
    return {**actions(a=action(argv=["tool"])), "WORKDIR_02_ALIAS": "b", "WORKDIR_02_PATH": case.other}


def linked_argument(case, name, program, below=""):
    (case.work / "linked").symlink_to(name)
    return actions(a=action(argv=[program, f"linked{below}"]))


def foreign_argument(case):
    (case.other / "x").write_text("")
    return {**actions(a=action(argv=["cat", f"{case.other}/x"])), "WORKDIR_02_ALIAS": "b",
            "WORKDIR_02_PATH": case.other}


def linked_behind(case):
    case.program(case.other / "real")
    (case.bin / "tool").symlink_to(case.other / "real")
    return {**actions(a=action(argv=["env", "tool"])), "WORKDIR_02_ALIAS": "b", "WORKDIR_02_PATH": case.other}


def actions_file(case, mode=0o600, directory=None, link=False, text=None, owner=None):
    path = (directory or case.out) / "actions.json"
    path.write_text(text or json.dumps({"a": action()}))
    path.chmod(mode)
    if owner is not None:
        os.chown(path, owner, -1)
    if link:
        (case.out / "linked.json").symlink_to(path)
        path = case.out / "linked.json"
    return {**WRITABLE, FILE: path}


def planted(case, name, what):
    target = case.out / name
    target.unlink()
    if what == "link":
        (case.scratch / "victim").write_text("untouched")
        target.symlink_to(case.scratch / "victim")
    elif what == "directory":
        target.mkdir()
    else:
        os.mkfifo(target)


class Refusals(AdminCase):
    """One test for each row of REFUSALS, added below."""

    def setUp(self):
        super().setUp()
        (self.work / "data.txt").write_text("data\n")
        (self.work / "lib").mkdir()
        self.program(self.work / "lib/tool")

    def refuse(self, change, named):
        self.assert_rendered(self.render(self.settings()))
        self.write_env(self.settings(**(change(self) or {})))
        if change is REFUSALS["env file open"][0]:
            self.env_file.chmod(0o666)
        before = snapshot(self.scratch)

        done = self.render()

        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in named:
            self.assertIn(part, done.stderr)
        self.assertNotIn(str(self.scratch), done.stderr)
        self.assertEqual(snapshot(self.scratch), before)


def add_tests():
    for name, (change, named) in REFUSALS.items():
        slug = "".join(c if c.isalnum() else "_" for c in name)
        setattr(Refusals, f"test_{slug}", lambda self, c=change, n=named: self.refuse(c, n))


class Arguments(AdminCase):
    """What argv may hold behind the program."""

    def assert_accepted(self, **changes):
        self.assertEqual(self.render(self.settings(**actions(a=action(**changes)))).returncode, 0)

    def test_what_is_pinned_may_be_named(self):
        (self.work / "data.txt").write_text("data\n")
        pins = {"tools/check": CHECK_DIGEST, "data.txt": DATA_DIGEST}
        self.assert_accepted(argv=["cat", "data.txt", "./data.txt", f"{self.work}/data.txt"], integrity=pins)
        self.assert_accepted(argv=["sh", "tools/check"])
        self.assert_accepted(argv=["sh", "tools/check"], integrity={"tools/": CHECK_DIGEST})
        self.assert_accepted(argv=["env", "tools/check", "-x"])

    def test_what_names_no_file_of_a_workdir_may_be_named(self):
        self.assert_accepted(argv=["cat", "no-such-file", "--option=x", "/etc/passwd", "-", ".", "tools", "", "a\nb"])

    def test_a_path_behind_a_script_is_an_argument(self):
        self.assert_accepted(argv=["sh", "-eu", "tools/check"], argument="path")
        self.assert_accepted(argv=["sh", "-c", "cat \"$1\"", "sh"], argument="path")
        self.assert_accepted(argv=["./tools/check"], argument="path")
        self.assert_accepted(argv=["wc", "-l"], argument="path")


class Warnings(AdminCase):
    """What a tool reads unasked is told, with the pins to add, and nothing is refused for it."""

    def warned(self, **changes):
        """reader → (pins, what cannot be pinned)."""
        done = self.render(self.settings(**actions(check=action(**changes))))
        self.assertEqual(done.returncode, 0, done.stderr)
        warnings = json.loads(done.stdout)["warnings"]
        self.assertEqual(done.stderr.count("\n"), len(warnings))
        for warning, line in zip(warnings, done.stderr.splitlines()):
            self.assertEqual((warning["workdir"], warning["action"]), ("demo", "check"))
            self.assertTrue(line.startswith("repobridge render: action 'check' of 'demo': "), line)
            self.assertIn(json.dumps(warning["pins"], separators=(",", ":"), sort_keys=True), line)
        return {one["reader"]: (one["pins"], one.get("not_pinnable", [])) for one in warnings}

    def tool(self, name):
        self.program(self.bin / name)
        return name

    def test_the_pins_to_add_are_those_of_now(self):
        (self.work / "package.json").write_text("{}\n")
        modules = self.work / "node_modules"
        (modules / "a").mkdir(parents=True)
        (modules / "a/index.js").write_text("x\n")
        (modules / "link").symlink_to("a")

        warned = self.warned(argv=[self.tool("npm"), "test"])

        pins = {"package.json": hashlib.sha256(b"{}\n").hexdigest(), "node_modules/": manifest_digest(modules),
                ".npmrc": "absent", "package-lock.json": "absent"}
        self.assertEqual(warned, {"npm": (pins, [])})
        self.assertEqual(self.warned(argv=["npm", "test"], integrity={"tools/check": CHECK_DIGEST, **pins}), {})

    def test_what_cannot_be_pinned_is_named(self):
        (self.work / "uv.toml").symlink_to("elsewhere")
        (self.work / ".venv/.git").mkdir(parents=True)

        pins, not_pinnable = self.warned(argv=[self.tool("uv"), "sync"])["uv"]

        self.assertEqual(pins["uv.lock"], "absent")
        self.assertEqual(sorted(not_pinnable), [".venv/", "uv.toml"])

    def test_a_tool_is_found_behind_what_starts_it(self):
        self.tool("python3.11")
        self.tool("pytest")
        self.tool("make")
        for argv, readers in ((["env", "python3.11", "-m", "pytest"], {"python", "pytest"}),
                              (["timeout", "5", "make", "all"], {"make"}),
                              (["sh", "-c", "make all"], {"make"}),
                              ([f"{self.bin}/python3.11", "-c", "1"], {"python"}),
                              (["echo", "make"], set())):
            with self.subTest(argv):
                self.assertEqual(set(self.warned(argv=argv)), readers)

    def test_the_interpreter_of_a_script_reads_too(self):
        self.tool("python3")
        text = f"#!{self.bin}/python3\n"
        self.program(self.work / "tools/check", text)

        pins, _ = self.warned()["python"]

        self.assertEqual((pins["conftest.py"], pins["__pycache__"]), ("absent", "absent"))
        self.assertEqual(pins["tools/"], manifest_digest(self.work / "tools"))
        self.assertIn("tools/", self.warned(argv=["python3", "tools/check"])["python"][0])

    def test_python_finds_modules_at_the_top(self):
        """Of code, of "-m" and of a script that lies there; the top itself cannot be pinned."""
        self.tool("python3")
        (self.work / "data.txt").write_text("data\n")
        pins = {"tools/check": CHECK_DIGEST, "data.txt": DATA_DIGEST}
        for words, top, module in (("-m tools.check", ["./"], True), ("-c 1", ["./"], False),
                                   ("data.txt", ["./"], False), ("-I data.txt", [], False),
                                   ("-Pm tools", [], True), ("tools/check", [], False)):
            with self.subTest(words):
                found, not_pinnable = self.warned(argv=["python3", *words.split()], integrity=pins)["python"]
                self.assertEqual((not_pinnable, "tools.py" in found), (top, module))

    def test_a_makefile_names_more(self):
        (self.work / "Makefile").write_text("include rules.mk $(MORE)\n-include gone.mk ../up.mk\n")
        (self.work / "rules.mk").write_text("include deep.mk rules.mk\n")

        pins, _ = self.warned(argv=[self.tool("make")])["make"]

        self.assertEqual(pins, {"Makefile": hashlib.sha256((self.work / "Makefile").read_bytes()).hexdigest(),
                                "GNUmakefile": "absent", "makefile": "absent",
                                "rules.mk": hashlib.sha256((self.work / "rules.mk").read_bytes()).hexdigest(),
                                "deep.mk": "absent", "gone.mk": "absent"})

    def test_directories_and_code_are_looked_at(self):
        (self.work / "data.txt").write_text("data\n")

        warned = self.warned(argv=["sh", "-c", "cat data.txt none.txt", "tools"], integrity={"x": CHECK_DIGEST})

        self.assertEqual(warned, {"argv[2]": ({"data.txt": DATA_DIGEST}, []),
                                  "argv[3]": ({"tools/": manifest_digest(self.work / "tools")}, [])})

    def test_names_are_escaped(self):
        (self.work / "evil\x1b[2J").write_text("x")

        self.write_env(self.settings(**actions(check=action(argv=["sh", "-c", "cat evil\x1b[2J"]))))
        done = self.render()

        self.assertNotIn("\x1b", done.stderr + done.stdout)
        self.assertIn("evil", done.stderr)


class OtherRefusals(AdminCase):
    def test_an_env_file_that_is_a_link(self):
        self.write_env(self.settings())
        (self.out / "linked.env").symlink_to(self.env_file)

        done = self.repobridge("render", "--env-file", self.out / "linked.env", "--out", self.out)

        self.assertEqual(done.returncode, 2)
        self.assertIn("env file", done.stderr)

    def test_an_env_file_inside_a_workdir(self):
        inside = self.work / "repobridge.env"
        inside.write_text("".join(f"{name}={value}\n" for name, value in self.settings().items()))
        inside.chmod(0o600)

        done = self.repobridge("render", "--env-file", inside, "--out", self.out)

        self.assertEqual(done.returncode, 2)
        self.assertIn("--env-file", done.stderr)

    def test_a_byte_order_mark_and_crlf_are_fine(self):
        text = "".join(f"{name}={value}\r\n" for name, value in self.settings().items())
        self.env_file.write_bytes(b"\xef\xbb\xbf" + text.encode())

        self.assert_rendered(self.render())

    def test_bytes_that_are_not_utf8(self):
        self.env_file.write_bytes(b"WORKDIR_01_ALIAS=\xff\n")

        done = self.render()

        self.assertEqual(done.returncode, 2)
        self.assertIn("line 1", done.stderr)

    def test_an_output_directory_that_is_missing(self):
        self.write_env(self.settings())

        done = self.repobridge("render", "--env-file", self.env_file, "--out", self.scratch / "missing")

        self.assertEqual(done.returncode, 2)
        self.assertIn("--out", done.stderr)
        self.assertFalse((self.scratch / "missing").exists())

    def test_paths_that_json_cannot_hold(self):
        self.write_env(self.settings())
        strange = os.fsencode(self.scratch) + b"/\xff"
        os.mkdir(strange, 0o700)
        (self.scratch / "linked").symlink_to(os.fsdecode(strange))

        for change, named in ((dict(WORKDIR_01_PATH=self.scratch / "linked"), "WORKDIR_01_PATH"),
                              (dict(REPOBRIDGE_STATE_DIR=self.scratch / "linked/s"), "REPOBRIDGE_STATE_DIR")):
            done = self.render(self.settings(**change))
            self.assertEqual(done.returncode, 2)
            self.assertIn(named, done.stderr)
            self.assertIn("UTF-8", done.stderr)
        self.write_env(self.settings())
        os.rename(self.out / "bridge.key", strange + b"/bridge.key")
        done = self.repobridge("render", "--env-file", self.env_file, "--out", self.scratch / "linked")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--out", done.stderr)
        self.assertEqual(os.listdir(strange), [b"bridge.key"])

    def test_options_that_are_missing_or_unknown(self):
        for arguments in (["render"], ["render", "--env-file", "x"], ["render", "--frob"], [], ["frob"]):
            with self.subTest(arguments):
                done = self.repobridge(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_a_socket_path_of_107_bytes_is_fine_and_one_more_is_not(self):
        fits = f"{self.out}/run/" + "s" * (107 - len(f"{self.out}/run/"))

        self.assert_rendered(self.render(self.settings(REPOBRIDGE_SOCKET_PATH=fits)))
        self.assertEqual(self.render(self.settings(REPOBRIDGE_SOCKET_PATH=fits + "s")).returncode, 2)
        with socket.socket(socket.AF_UNIX) as listener:
            (self.out / "run").mkdir()
            listener.bind(fits)


add_tests()

if __name__ == "__main__":
    unittest.main()
