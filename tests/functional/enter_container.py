"""Runs a program as a container engine would: on an image's files and nothing else but what is named.

    unshare --mount --pid --ipc --uts --net --fork -- python3 enter_container.py --user UID [--show PATH]...
        [--share PATH]... LAYER.tar PLACE PROGRAM [ARGUMENT]...

PLACE is an empty directory; what is mounted there goes with the namespaces. What is shown can be read, what is shared
written too. The root cannot be written, the program has no capability and an empty environment, and /proc and
/dev/null are there, since every engine has them.
"""

import argparse
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import tarfile

SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def show(place, path, *options):
    """The same path inside. The directories on the way are the root's and empty."""
    inside = place + path
    if os.path.isdir(path):
        os.makedirs(inside)
    else:
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
    mount("--bind", path, inside)
    mount("-o", ",".join(("remount,bind,nosuid,noexec", *options)), inside)


def furnish(given):
    os.umask(0o022)
    mount("-t", "tmpfs", "-o", "mode=755,nodev,nosuid", "none", given.place)
    with tarfile.open(given.layer) as tar:
        tar.extractall(given.place)
    os.mkdir(given.place + "/proc")
    mount("-t", "proc", "-o", "nosuid,nodev,noexec", "none", given.place + "/proc")
    show(given.place, "/dev/null")
    for path in given.show:
        show(given.place, path, "nodev", "ro")
    for path in given.share:
        show(given.place, path, "nodev")
    mount("-o", "remount,ro", given.place)


def loopback_up():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))


def leave_the_machine_behind(place):
    os.chdir(place)
    checked(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."))
    checked(libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def become(user):
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    checked(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", type=int, required=True)
    parser.add_argument("--show", action="append", default=[])
    parser.add_argument("--share", action="append", default=[])
    parser.add_argument("layer")
    parser.add_argument("place")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    furnish(given)
    loopback_up()
    leave_the_machine_behind(given.place)
    become(given.user)
    os.execve(given.program[0], given.program, {})


if __name__ == "__main__":
    main()
