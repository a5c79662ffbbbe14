"""repobridge-run alone, with a test in the bridge's place: its socket, its lock and the writer's record."""

import ctypes
import dataclasses
import hashlib
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import stat
import tempfile

from harness import BIN, PATIENCE

ROOT = os.geteuid() == 0
ORDINARY = 54321  # a user id that has no name and owns nothing
MISBEHAVE = BIN / "children" / "misbehave"
WITHOUT = BIN / "children" / "without"
HIGH = 200  # descriptors are first moved up here, so that none is in another's way


def landlock_version():
    """What this kernel has; 0 when it has none."""
    create_ruleset, ask_version = 444, 1
    return max(ctypes.CDLL(None).syscall(create_ruleset, None, 0, ask_version), 0)


@dataclasses.dataclass(frozen=True)
class Level:
    """What a run may be contained by, as the supervisor gets it: nothing in it has a switch for tests."""

    group: bool = False
    landlock: bool = True
    portable: bool = False

    def expected(self):
        """What the supervisor must say of it on this machine: adopts, has a group, Landlock, signals inside."""
        version = landlock_version() if self.landlock else 0
        version = version if version >= 2 else 0
        return (0, 0, 0, 0) if self.portable else (1, int(self.group), version, int(version >= 6))


def poll_end(pid_fd, what):
    """Waits for the end of a process by the event of its end."""
    assert select.select([pid_fd], [], [], PATIENCE)[0], f"{what} does not end"


class Fifo:
    """A FIFO whose end of file is the end of all that hold it; it is read as lines."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        path.chmod(0o666)
        self._open()

    def _open(self):
        self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self._text = b""

    def _more(self):
        assert select.select([self._fd], [], [], PATIENCE)[0], f"nothing more from {self.path.name}: {self._text!r}"
        chunk = os.read(self._fd, 65536)
        self._text += chunk
        return bool(chunk)

    def line(self):
        while b"\n" not in self._text:
            assert self._more(), f"{self.path.name} ended: {self._text!r}"
        line, _, self._text = self._text.partition(b"\n")
        return line.decode()

    def wait_for_end(self):
        os.close(os.open(self.path, os.O_WRONLY))  # without any writer ever there is no end either
        while self._more():
            pass
        self.close()
        self._open()  # a descriptor that has seen an end sees one at once, before the next one writes

    def close(self):
        os.close(self._fd)


class GoFifo:
    """A FIFO from which a late writer waits for its cue."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        path.chmod(0o666)

    def has_reader(self):
        """Whether somebody still waits there: what the kernel says, at this moment."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
            return True
        except OSError:
            return False


class Place:
    """Where a run happens: FIFOs, a marker that nobody may write late, and programs that any user may start."""

    def __init__(self, user=None):
        self.user = user
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="repobridge-test-")).resolve()
        self.path.chmod(0o755)
        self.life = Fifo(self.path / "life")
        self.go = GoFifo(self.path / "go")
        self.room = self.path / "room"
        self.room.mkdir(mode=0o700)
        if user is not None:
            os.chown(self.room, user, user)
        self.marker = self.room / "marker"
        self.misbehave = self.copy(MISBEHAVE)

    def copy(self, program):
        """A program where another user may reach it."""
        copy = self.path / program.name
        if copy.exists():
            return copy  # and perhaps running, so that nobody may write it
        shutil.copyfile(program, copy)
        copy.chmod(copy.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        return copy

    def argv(self, mode, *arguments, beside=None):
        usual = (self.life.path, self.go.path, self.marker, *([] if beside is None else [beside]))
        return [self.misbehave, mode, *(arguments or usual)]

    def remove(self):
        self.life.close()
        shutil.rmtree(self.path)


class Run:
    """A supervisor at work. `bridge` is the test's end of its socket."""

    def __init__(self, place, program, argv, limit_ms=int(PATIENCE * 1000), environment=None, level=Level(),
                 delegated=None, room=None, workdir=None):
        self.contained = None
        self.group = delegated.path / f"repobridge-run-{os.urandom(8).hex()}" if level.group else None
        self.secret = os.urandom(16).hex()
        self.record_path = place.path / "record"
        self.bridge, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.bridge.settimeout(PATIENCE)
        digest = hashlib.sha256(self.secret.encode()).hexdigest()
        self.bridge.send(f"receipt {self.secret} {digest}".encode())
        lock = os.open(place.path / "lock", os.O_RDWR | os.O_CREAT)
        record = os.open(self.record_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        if place.user is not None:
            for fd in (out, err):
                os.fchown(fd, place.user, place.user)
        given = [null, out, err, theirs.fileno(), lock, record]
        words = [place.copy(BIN / program), str(limit_ms)]
        if not level.landlock:
            words = [place.copy(WITHOUT), "landlock", *words]
        if level.group:
            words += ["--control-group", self.group]
        launcher = delegated.launcher() if delegated else []
        if room is not None:
            workdir = workdir or place.path
            words += ["--room", "--", place.copy(BIN / "repobridge-room"), "--workdir", workdir, *room]
            words = [shutil.which("env"), "--chdir", workdir, *words]
        self.pid = self._spawn(place, launcher, [*words, "--", *argv], given, environment)
        self.pid_fd = os.pidfd_open(self.pid)
        theirs.close()
        for fd in (lock, record, null, out, err):
            os.close(fd)

    @staticmethod
    def _spawn(place, launcher, argv, given, environment):
        if place.user is not None:
            identity = ["--reuid", str(place.user), "--regid", str(place.user), "--clear-groups"]
            argv = [shutil.which("setpriv"), *identity, *argv]
        argv = [*launcher, *argv]
        actions = [(os.POSIX_SPAWN_DUP2, fd, HIGH + place_of) for place_of, fd in enumerate(given)]
        actions += [(os.POSIX_SPAWN_DUP2, HIGH + place_of, place_of) for place_of in range(len(given))]
        actions += [(os.POSIX_SPAWN_CLOSE, HIGH + place_of) for place_of in range(len(given))]
        words = [os.fspath(word) for word in argv]
        return os.posix_spawn(
            words[0],
            words,
            environment or {"PATH": "/usr/bin:/bin"},
            file_actions=actions,
            setsigdef=signal.valid_signals(),  # as the bridge does; python ignores some
        )

    def messages(self):
        """What the supervisor says until it closes its end, but for what it is contained by."""
        said = []
        while message := self.bridge.recv(256):
            words = message.decode()
            if words.startswith("contained "):
                self.contained = tuple(int(number) for number in words.split()[1:])
            else:
                said.append(words)
        return said

    def message(self):
        """The next one, and the descriptor beside it."""
        message, [*beside], _, _ = socket.recv_fds(self.bridge, 256, 1)
        return message.decode(), (beside or [None])[0]

    def stop(self):
        self.bridge.send(b"stop")

    def go(self):
        self.bridge.send(b"go")

    def bridge_dies(self):
        self.bridge.close()

    def kill(self):
        signal.pidfd_send_signal(self.pid_fd, signal.SIGKILL)

    def wait(self):
        """The supervisor's exit code, or minus the signal that ended it."""
        poll_end(self.pid_fd, "the supervisor")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pid_fd)
        self.bridge.close()
        return os.waitstatus_to_exitcode(status)

    def output(self):
        """Standard output and error to their ends, which nobody may hold up."""
        return tuple(self._drain(fd) for fd in (self._out, self._err))

    @staticmethod
    def _drain(fd):
        with open(fd, "rb", buffering=0) as stream:
            text = b""
            while True:
                assert select.select([stream], [], [], PATIENCE)[0], f"somebody holds the output: {text[:100]!r}"
                chunk = stream.read(65536)
                if not chunk:
                    return text
                text += chunk

    def confined(self):
        """Whether the record says that the program could not leave its group."""
        line = json.loads(self.record_path.read_text().splitlines()[0])
        assert line["run"]["control_group"]["path"] == str(self.group), line
        return line["run"]["control_group"]["confined"]

    def record(self):
        """The lines of the record, with what is only known by its digest put in words."""
        lines = [json.loads(line) for line in self.record_path.read_text().splitlines()]
        digest = hashlib.sha256(self.secret.encode()).hexdigest()
        for line in lines:
            if "run" in line:
                assert line["run"]["receipt_sha256"] == digest and line["run"]["started"] > 0, line
                assert line["run"]["pid"] == self.pid, line
            if "drained" in line:
                assert line["drained"] == self.secret, line
        return [next(iter(line)) for line in lines]
