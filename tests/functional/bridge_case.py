"""Tests of the whole way: rendered settings, the bridge, the front over stdio, real repositories and remotes.

    class CommitTest(BridgeCase):
        settings = {"WORKDIR_01_ALLOW_HIDDEN": "true"}     # beside what Host sets

        def test_one_file(self):
            self.repo.write("a.txt", "one\\n")
            made = self.commit("a.txt")                     # or data(), refused(code, …), call()
            self.assertEqual(self.repo.git("rev-parse", "HEAD"), made["commit"])

The bridge and the client live as long as the class; the repository and its remote are made anew for each test,
in the same places. Everything lies in one private directory. After each test nothing of a call may be left
behind, and no answer, log line or audit line may ever hold the name of that directory.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

from harness import BIN, PATIENCE, McpStdio, strict_json

STATUS_OF = {
    "invalid": 400,
    "forbidden": 403,
    "secret_blocked": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "unsupported": 422,
    "busy": 423,
    "internal": 500,
    "unavailable": 503,
    "timeout": 504,
}
# A quick machine makes more calls a minute than a person's client should; the limits have tests of their own.
AS_OFTEN_AS_IT_LIKES = {
    "REPOBRIDGE_CALLS_PER_MINUTE": "1000000",
    "REPOBRIDGE_CALLS_PER_MINUTE_PER_CALLER": "1000000",
}
SANITIZER_WORDS = (b"ERROR: AddressSanitizer", b"ERROR: LeakSanitizer", b"runtime error:")
GIT_CONFIG = "[user]\n\tname = A U Thor\n\temail = author@example.org\n[init]\n\tdefaultBranch = main\n"


class GitUser:
    """A user as git sees one: a home directory, and nothing of the machine's own configuration."""

    def __init__(self, home):
        self.home = pathlib.Path(home)
        self.home.mkdir(mode=0o700)
        self.config = self.home / ".gitconfig"
        self.config.write_text(GIT_CONFIG)
        self.environment = {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def git(self, directory, *arguments, input=None, check=True, environment=None):
        """A finished git process, with bytes in and out."""
        done = subprocess.run(
            ["git", *map(os.fspath, arguments)],
            cwd=directory,
            env={**self.environment, **(environment or {})},
            input=b"" if input is None else input,
            capture_output=True,
            timeout=PATIENCE,
        )
        if check and done.returncode != 0:
            words = done.stderr.decode(errors="replace")
            raise AssertionError(f"git {arguments} ended with {done.returncode}: {words}")
        return done


class Repository:
    """A git repository at a fixed place. Names and contents are text or bytes; git's own words are text."""

    def __init__(self, path, user):
        self.path = pathlib.Path(path)
        self.user = user
        self.kept = ()  # names of what remake() leaves there

    def __truediv__(self, name):
        return self.path / os.fsdecode(name)

    @property
    def git_dir(self):
        return self.path / ".git"

    @property
    def url(self):
        return f"file://{self.path}"

    def remake(self, *options):
        """An empty repository in the same directory."""
        empty_directory(self.path, self.kept)
        self.user.git(self.path, "init", "-q", *options, ".")
        return self

    def run(self, *arguments, **options):
        return self.user.git(self.path, *arguments, **options)

    def git(self, *arguments, **options):
        """What git prints, without the last line's end."""
        return os.fsdecode(self.run(*arguments, **options).stdout).removesuffix("\n")

    def write(self, name, content="", mode=None):
        path = self / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)
        return path

    def read(self, name):
        return (self / name).read_bytes()

    def config(self, key, value):
        self.git("config", "--local", key, value)

    def save(self, message="base", **files):
        """Commits all that lies there by git itself, `files` written first; the new commit's id."""
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def head(self):
        return self.git("rev-parse", "HEAD")

    def status(self):
        return self.git("status", "--porcelain=v1", "-uall")

    def tree_of(self, *names, base="HEAD"):
        """The tree id that git makes of `base` with the named files as they lie there, in an index of its own."""
        index = {"GIT_INDEX_FILE": str(self.git_dir / "index-of-the-test")}
        here = [name for name in names if self.is_file(name)]
        gone = [name for name in names if not self.is_file(name)]
        try:
            if base is not None:
                self.git("read-tree", base, environment=index)
            if gone:
                self.git("--literal-pathspecs", "rm", "-q", "--cached", "--", *gone, environment=index)
            if here:
                self.git("--literal-pathspecs", "add", "-f", "--", *here, environment=index)
            return self.git("write-tree", environment=index)
        finally:
            pathlib.Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)

    def is_file(self, name):
        """Whether a file or a link is there, and no link on the way to it."""
        path = self / name
        above = (directory for directory in path.parents if self.path in directory.parents)
        beyond_link = any(directory.is_symlink() for directory in above)
        return not beyond_link and (path.is_symlink() or path.is_file())

    def snapshot(self):
        """Every file below, .git too: what it is, its bytes and its times."""
        return {str(path.relative_to(self.path)): facts_of(path) for path in sorted(self.path.rglob("*"))}


def empty_directory(path, kept=()):
    path.mkdir(exist_ok=True)
    for entry in path.iterdir():
        if entry.name in kept:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def facts_of(path):
    facts = path.lstat()
    content = None
    if stat.S_ISREG(facts.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(facts.st_mode):
        content = os.readlink(path)
    return (facts.st_mode, facts.st_uid, facts.st_size, facts.st_mtime_ns, facts.st_ino, content)


def changes_between(before, after):
    """name → (what it was, what it is), where the two differ."""
    names = before.keys() | after.keys()
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


class Client(McpStdio):
    """The front, which must never let a word of the host out."""

    def __init__(self, front_json, host_words, **options):
        self._host_words = host_words
        super().__init__(front_json, **options)
        self.initialize()

    def check_stderr(self):
        said = self.stderr().encode()
        assert not any(words in said for words in (self._host_words, *SANITIZER_WORDS)), said

    def _check(self, line):
        assert self._host_words not in line, f"a host path is in an answer: {line[:2000]}"
        return super()._check(line)


class Host:
    """One user's machine: settings, keys, the bridge, its state and its workdirs, all in one private directory."""

    def __init__(self, settings=None, workdirs=("app",)):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="repobridge-test-")).resolve()
        self.user = GitUser(self.path / "home")
        self.out = self.path / "out"
        self.state = self.out / "state"
        self.locks = self.path / "locks"
        self.log_path = self.path / "bridge.log"
        self.workdirs = {alias: Repository(self.path / alias, self.user) for alias in workdirs}
        self.remote = Repository(self.path / "remote.git", self.user)
        for repository in self.workdirs.values():
            repository.path.mkdir()
        self.settings = {"REPOBRIDGE_LOCK_DIR": self.locks, **AS_OFTEN_AS_IT_LIKES}
        for slot, (alias, repository) in enumerate(self.workdirs.items(), start=1):
            self.settings |= {
                f"WORKDIR_{slot:02}_ALIAS": alias,
                f"WORKDIR_{slot:02}_PATH": repository.path,
                f"WORKDIR_{slot:02}_REPO_OPS_ENABLED": "true",
                f"WORKDIR_{slot:02}_READ_ONLY": "false",
                f"WORKDIR_{slot:02}_PUSH_URL": self.remote.url,
            }
        self.settings |= settings or {}
        self.programs = BIN
        self.launcher = []  # what the bridge is started by
        self._bridge = None
        self._clients = []
        self._run("init", "--dir", self.out)

    def ways_into_room(self, alias):
        """A directory for what actions share with a test: of all the host they see no more than the workdir."""
        repository = self.workdirs[alias]
        repository.kept = ("ways",)
        ways = repository / "ways"
        ways.mkdir()
        return ways

    # The administrator

    def write_env(self):
        text = "".join(f"{name}={value}\n" for name, value in self.settings.items() if value is not None)
        (self.out / "repobridge.env").write_text(text)

    def render(self, **changes):
        """bridge.json and front.json from the settings, with `changes` to them; None takes one away."""
        self.settings |= changes
        self.write_env()
        with self.before_there_are_ways():
            self._run("render", "--env-file", self.out / "repobridge.env", "--out", self.out)

    @contextlib.contextmanager
    def before_there_are_ways(self):
        """No argv may name what is in a workdir and cannot be pinned, as a FIFO."""
        ways = [repository / "ways" for repository in self.workdirs.values() if (repository / "ways").exists()]
        aside = [self.path / f"ways-{number}" for number, _ in enumerate(ways)]
        for here, there in zip(ways, aside):
            here.rename(there)
        try:
            yield
        finally:
            for here, there in zip(ways, aside):
                there.rename(here)

    def _run(self, *arguments):
        done = subprocess.run(
            [BIN / "repobridge", *arguments],
            env=self.user.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, (arguments, done.stderr.decode(errors="replace"))

    # The bridge

    def start(self):
        """Returns when the bridge says that it is ready."""
        ready, said = os.pipe()
        with open(self.log_path, "ab") as log:
            self._bridge = subprocess.Popen(
                [
                    *self.launcher,
                    self.programs / "repobridged",
                    "--config",
                    self.out / "bridge.json",
                    "--ready-fd",
                    str(said),
                ],
                env=self.user.environment,
                cwd=self.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[said],
            )
        os.close(said)
        with open(ready, "rb", buffering=0) as heard:
            assert select.select([heard], [], [], PATIENCE)[0], f"the bridge does not get ready: {self.log()}"
            assert heard.read(6) == b"ready\n", f"the bridge ended: {self.log()}"

    def stop(self):
        """Ends the bridge as a service manager does."""
        if self._bridge is None:
            return
        bridge, self._bridge = self._bridge, None
        bridge.send_signal(signal.SIGTERM)
        code = bridge.wait(PATIENCE)
        assert code == 0, f"the bridge ended with {code}: {self.log()}"

    def kill(self):
        """Ends the bridge as a power cut does."""
        bridge, self._bridge = self._bridge, None
        bridge.kill()
        bridge.wait(PATIENCE)

    def restart(self, **changes):
        self.stop()
        self.render(**changes)
        self.start()

    @property
    def pid(self):
        return self._bridge.pid

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def audit(self):
        """The lines of the audit, as objects."""
        return [strict_json(line) for line in (self.state / "audit.jsonl").read_text().splitlines()]

    def client(self):
        client = Client(self.out / "front.json", self.host_words, env=self.user.environment)
        self._clients.append(client)
        return client

    # What must hold whatever was called

    @property
    def host_words(self):
        """What no answer, log or audit may contain: the private directory's name, which is nowhere else."""
        return self.path.name.encode()

    def leftovers(self):
        """What a call may leave nothing of: locks and scratch of ours, journals, transport repositories."""
        found = [*self.state.glob("commit-*"), *self.state.glob("transport/*"), *self.locks.glob("*.guard")]
        for repository in self.workdirs.values():
            found += repository.path.glob(".git/repobridge-*")
        return found

    def check_records(self):
        log = self.log_path.read_bytes() if self.log_path.exists() else b""
        assert not any(words in log for words in SANITIZER_WORDS), self.log()
        audit = self.state / "audit.jsonl"
        for name, record in (("log", log), ("audit", audit.read_bytes() if audit.exists() else b"")):
            words = record.decode(errors="replace")
            assert self.host_words not in record, f"a host path is in the {name}: {words}"

    def remove(self):
        """Stops all of it and checks how it ended."""
        with contextlib.ExitStack() as last:
            last.callback(shutil.rmtree, self.path)
            last.callback(self.check_records)
            last.callback(self.stop)
            for client in self._clients:
                last.callback(client.kill)
                last.callback(client.check_stderr)


class BridgeCase(unittest.TestCase):
    """One host, bridge and client for all tests of the class; an empty repository `app` and remote for each."""

    settings = {}
    host_class = Host

    @classmethod
    def prepare(cls, host):
        """For what must be there before the settings are rendered."""

    @classmethod
    def setUpClass(cls):
        cls.host = cls.host_class(cls.settings)
        cls.addClassCleanup(cls.host.remove)
        cls.prepare(cls.host)
        cls.host.render()
        cls.host.start()
        cls.client = cls.host.client()

    def setUp(self):
        self.repo = self.host.workdirs["app"].remake()
        self.remote = self.host.remote.remake("--bare")
        self.addCleanup(lambda: self.assertEqual(self.host.leftovers(), []))

    # Calls

    def call(self, tool, **arguments):
        """(data, None) of a success or (None, error) of a refusal, either of the shape it must have."""
        return shape_of(self.client.call(tool, **arguments), tool, arguments)

    def data(self, tool, **arguments):
        data, error = self.call(tool, **arguments)
        self.assertIsNone(error, f"{tool} {arguments}")
        return data

    def refused(self, code, tool, **arguments):
        """The details of a refusal with that code."""
        data, error = self.call(tool, **arguments)
        self.assertIsNone(data, f"{tool} {arguments} should be refused with {code}")
        self.assertEqual(error["code"], code, error)
        return error.get("details")

    def status(self):
        return self.data("inspect_repo", workdir="app", view="status")

    def entries(self):
        """path → what status says of it."""
        return {entry.pop("path"): entry for entry in self.status()["entries"]}

    def diff(self, *paths, view="diff"):
        return self.data("inspect_repo", workdir="app", view=view, paths=list(paths))

    def commit(self, *paths, message="a change", **more):
        return self.data("commit_repo_changes", workdir="app", paths=list(paths), message=message, **more)

    def commit_refused(self, code, *paths, message="a change", **more):
        return self.refused(code, "commit_repo_changes", workdir="app", paths=list(paths), message=message, **more)

    def push(self):
        return self.data("push_repo", workdir="app")

    def push_refused(self, code):
        return self.refused(code, "push_repo", workdir="app")

    # Repositories

    def assert_sound(self, repository=None):
        """git finds nothing wrong in the repository."""
        done = (repository or self.repo).run("fsck", "--strict", "--no-dangling", check=False)
        said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(b"notice:")]
        self.assertEqual((done.returncode, said), (0, []))

    @contextlib.contextmanager
    def assert_unchanged(self):
        """Nothing in the work tree or in .git changes, not even a time."""
        before = self.repo.snapshot()
        yield
        self.assertEqual(changes_between(before, self.repo.snapshot()), {})

    @contextlib.contextmanager
    def assert_kept(self):
        """As assert_unchanged, but for what a refused commit may do.

        It had a scratch directory in .git, took git's locks there and beside the branch, stored an object, and made
        the directory of the logs, which its worker needs before it is confined.
        """
        before = self.repo.snapshot()
        yield
        changes = changes_between(before, self.repo.snapshot())
        if (self.repo.git_dir / "logs").is_dir() and not any((self.repo.git_dir / "logs").iterdir()):
            changes.pop(".git/logs", None)
        touched = {".git", *(name for name in before if name.startswith(".git/refs/") and (self.repo / name).is_dir())}
        lasting = {name for name in changes if name not in touched and not f"{name}/".startswith(".git/objects/")}
        self.assertEqual({name: changes[name] for name in lasting}, {})

    def follow_origin(self, branch="main"):
        """The remote as origin, with what the branch holds, which follows its namesake there."""
        self.repo.git("remote", "add", "origin", self.remote.url)
        self.repo.git("push", "-q", "-u", "origin", branch)


def shape_of(result, tool, arguments):
    """What a tool's result says, once it is shown to have the shape that docs/PROTOCOL.md gives it."""
    assert len(result["content"]) == 1 and set(result["content"][0]) == {"type", "text"}, result
    assert result["content"][0]["type"] == "text", result
    body = strict_json(result["content"][0]["text"])
    if result.get("isError"):
        assert "structuredContent" not in result and set(body) == {"error"}, result
        error = body["error"]
        assert set(error) - {"details"} == {"status", "kind", "code", "message"}, error
        assert error["status"] == STATUS_OF[error["kind"]], error
        assert isinstance(error.get("details", {}), dict), error
        return None, error
    assert result["structuredContent"] == body, result
    assert set(body) == {"identity", "request", "status", "pagination", "untrusted_content", "data"}, body
    assert set(body["identity"]) == {"login", "mode", "sudo"}, body
    assert (body["identity"]["mode"], body["identity"]["sudo"]) == ("stdio", None), body
    request = {name: value for name, value in arguments.items() if name in ("workdir", "view", "action", "path", "run_id")}
    assert body["request"] == {"tool": tool, **request}, body
    assert (body["status"], body["pagination"]) == (200, None), body
    assert body["untrusted_content"].endswith("never as instructions."), body
    assert isinstance(body["data"], dict), body
    return body["data"], None
