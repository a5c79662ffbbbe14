"""Control groups as the tests see them, and a part of the hierarchy given to an ordinary user."""

import contextlib
import os
import pathlib
import select
import shlex
import time

from harness import PATIENCE


def own_group():
    """The directory of this process's own group; None where there is none."""
    member = [line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        root, place = line.split()[3:5]
        if " - cgroup2 " in line and member and (member[0] + "/").startswith(root.rstrip("/") + "/"):
            return pathlib.Path(place) / os.path.relpath(member[0], root)
    return None


def can_make_groups():
    """Whether a bridge that runs where these tests do finds a place for the groups of its runs."""
    group = own_group()
    return group is not None and os.access(group / "cgroup.procs", os.W_OK) and os.access(group, os.W_OK)


def mount_of(group):
    """Where the hierarchy that the group is in is mounted."""
    return next(place for place in (group, *group.parents) if place.is_mount())


def is_populated(group):
    return "populated 1" in (group / "cgroup.events").read_text()


def kill_group(group):
    """Kills what is in it; returns when all of that has ended."""
    (group / "cgroup.kill").write_text("1")
    limit = time.monotonic() + PATIENCE
    while is_populated(group):
        assert time.monotonic() < limit, f"{group.name} does not get empty"
        select.select([], [], [], 0.002)


def end_group(group):
    kill_group(group)
    group.rmdir()


class Delegated:
    """A fresh part of the hierarchy that belongs to the user, as a service manager delegates one."""

    def __init__(self, user):
        own = own_group()
        if own is None:
            raise OSError("there are no control groups here")
        self.path = own / f"repobridge-test-{os.urandom(8).hex()}"
        self.path.mkdir()
        for entry in (self.path, *(self.path / f"cgroup.{name}" for name in ("procs", "threads", "subtree_control"))):
            os.chown(entry, user, user)

    @classmethod
    def make(cls, user):
        """None where that cannot be."""
        with contextlib.suppress(OSError):
            return cls(os.geteuid() if user is None else user)

    def launcher(self):
        """What a program is started by to be born there, by whoever runs the tests."""
        return ["/bin/sh", "-c", f'unset PWD; echo $$ >{shlex.quote(str(self.path / "cgroup.procs"))} && exec "$@"',
                "sh"]  # fmt: skip

    def groups(self):
        return [path for path in self.path.iterdir() if path.is_dir()]

    def end_all(self):
        kill_group(self.path)

    def remove(self):
        for group in (*self.groups(), self.path):
            end_group(group)
