"""A closed room, step by step, with a test in the bridge's place: whoever of it is killed, and whatever grows in the
workdir meanwhile."""

import errno
import os
import shutil
import signal
import subprocess
import unittest

from crash_case import adopt_orphans, children_of, wait_until
from harness import PATIENCE
from supervisor_case import ORDINARY, ROOT, Place, Run, poll_end

SLEEP = ["/bin/sleep", "1000"]
NOT_STARTED = f"failed {errno.ECHILD}"
KILLED = f"signalled {int(signal.SIGKILL)}"


class Steps(unittest.TestCase):
    user = None

    @classmethod
    def setUpClass(cls):
        adopt_orphans()

    def setUp(self):
        self.place = Place(self.user)
        self.addCleanup(self.place.remove)
        self.processes = {}
        self.addCleanup(lambda: [os.close(process) for process in self.processes.values()])

    def start(self, *options, **more):
        return Run(self.place, "repobridge-run", SLEEP, room=options, **more)

    def until(self, run, word):
        """What else was said, and the descriptor beside that word."""
        said = []
        while True:
            message, beside = run.message()
            self.assertTrue(message, (word, said))
            if message.split()[0] == word:
                return said, beside
            said.append(message)

    def know(self, run):
        """Descriptors of whoever is there of the room, by what they are."""
        above = run.pid
        for name in ("outside", "first", "program"):
            below = children_of(above)
            if not below:
                break
            [above] = below
            self.processes[name] = os.pidfd_open(above)
        self.processes["supervisor"] = os.dup(run.pid_fd)

    def kill(self, name):
        signal.pidfd_send_signal(self.processes[name], signal.SIGKILL)

    def assert_nobody_is_left(self, run):
        """Who lost his parent is given to us."""
        for name, process in self.processes.items():
            poll_end(process, name)
        self.reap()
        self.assertEqual(children_of(os.getpid()), set())

    @staticmethod
    def reap():
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def steps(self):
        """Each: until where it goes, and what then is said of the end."""
        frozen = ("--freeze-absent", "nothing")
        return {
            "waits for a word": (lambda run: self.until(run, "frozen"), frozen, NOT_STARTED),
            "at work": (lambda run: self.until(run, "started"), (), KILLED),
            "before anything": (self.seen_outside, frozen, NOT_STARTED),
            "furnished": (lambda run: self.until(run, "room"), frozen, NOT_STARTED),
        }

    @staticmethod
    def seen_outside(run):
        wait_until("somebody of the room is there", lambda: children_of(run.pid))

    def test_whoever_is_killed(self):
        for step, (go_there, options, end) in self.steps().items():
            for victim in ("outside", "first"):
                with self.subTest(step, victim=victim):
                    run = self.start(*options)
                    go_there(run)
                    if victim == "first":
                        wait_until("it is there", lambda: [1 for one in children_of(run.pid) if children_of(one)])
                    self.know(run)
                    self.kill(victim)

                    said = run.messages()

                    self.assertIn(end, said)
                    self.assertEqual(said[-1].split()[0], "drained", said)
                    self.assertEqual(run.wait(), 0)
                    self.assert_nobody_is_left(run)
                    self.assertEqual(run.record(), ["run", "drained"])
                    self.forget()

    def test_a_killed_supervisor(self):
        for step, (go_there, options, _) in self.steps().items():
            with self.subTest(step):
                run = self.start(*options)
                go_there(run)
                self.know(run)
                self.kill("supervisor")

                self.assertEqual(run.wait(), -signal.SIGKILL)
                wait_until("all have ended", lambda: self.reap() or not children_of(os.getpid()))
                self.assert_nobody_is_left(run)
                self.assertEqual(run.record(), ["run"])
                self.forget()

    def test_a_stop_or_a_lost_bridge_while_it_waits(self):
        for end in (Run.stop, Run.bridge_dies):
            with self.subTest(end.__name__):
                run = self.start("--freeze-absent", "nothing")
                _, view = self.until(run, "frozen")
                os.close(view)
                self.know(run)
                end(run)

                if end is Run.stop:
                    said = run.messages()
                    self.assertEqual([said[0], said[-1]], ["ended-by stop", "drained 0"], said)
                    self.assertFalse({"started", NOT_STARTED} & set(said), said)
                self.assertEqual(run.wait(), 0)
                self.assert_nobody_is_left(run)
                self.forget()

    def forget(self):
        for process in self.processes.values():
            os.close(process)
        self.processes = {}

    # What is copied while somebody writes to it

    def view_of(self, *options, **more):
        """The frozen workdir's descriptor."""
        run = self.start(*options, **more)
        _, view = self.until(run, "frozen")

        def end():
            os.close(view)
            run.stop()
            run.messages()
            run.wait()

        self.addCleanup(end)
        return view

    def test_a_file_that_has_grown_is_cut_off(self):
        """Memory is not filled with it, and it does not keep anything from being frozen."""
        for size in (1 << 20, 1 << 42):
            (self.place.path / "file").write_bytes(b"")
            os.truncate(self.place.path / "file", size)
            (self.place.path / "small").write_bytes(b"small")
            view = self.view_of("--freeze-bytes", "8192", "--freeze-file", "file", "--freeze-file", "small",
                                "--freeze-absent", "nothing")  # fmt: skip

            self.assertLessEqual(os.stat("file", dir_fd=view).st_size, 8192)
            self.assertEqual(os.stat("small", dir_fd=view).st_dev, os.stat("file", dir_fd=view).st_dev)

    def test_a_directory_that_has_grown_is_cut_off(self):
        directory = self.place.path / "directory"
        for below in (directory / "deep" / "deeper", directory / ("n" * 255)):
            below.mkdir(parents=True)
            for name in range(100):
                (below / str(name)).write_bytes(b"")
        (self.place.path / "small").write_bytes(b"small")
        view = self.view_of("--freeze-bytes", str(10 * 4096), "--freeze-directory", "directory",
                            "--freeze-file", "small")  # fmt: skip
        found = [name for _, names, files, _ in os.fwalk("directory", dir_fd=view) for name in (*names, *files)]

        self.assertEqual(len(found), 10)
        with open(os.open("small", os.O_RDONLY, dir_fd=view)) as small:
            self.assertEqual(small.read(), "small")

    def test_a_path_that_would_mean_something_to_a_mount(self):
        for name in ("a:b", "a,b=c", "a\\b", "a\\040b", "a b\nc", "\udcff", "lowerdir=x,upperdir=y"):
            with self.subTest(name):
                workdir = self.place.path / name / "work dir"
                workdir.mkdir(parents=True)
                (workdir / "file").write_bytes(b"frozen")
                view = self.view_of("--freeze-bytes", "8192", "--freeze-file", "file", workdir=workdir)
                (workdir / "file").write_bytes(b"changed")

                with open(os.open("file", os.O_RDONLY, dir_fd=view)) as file:
                    self.assertEqual(file.read(), "frozen")

    def test_more_than_the_machine_has_is_not_frozen(self):
        (self.place.path / "file").write_bytes(b"")
        run = self.start("--freeze-bytes", str(1 << 50), "--freeze-file", "file")
        said, _ = self.until(run, "started")
        self.know(run)
        run.stop()
        run.messages()

        self.assertNotIn("frozen", said)
        self.assertEqual(run.wait(), 0)
        self.assert_nobody_is_left(run)


@unittest.skipUnless(ROOT, "whoever is not root is ordinary already")
class StepsOfAnOrdinaryUser(Steps):
    user = ORDINARY

    def as_user(self, *words):
        return subprocess.run(
            [shutil.which("setpriv"), f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip

    def enter(self, process, namespace):
        return self.as_user("nsenter", "--preserve-credentials", "--target", str(process), namespace, "true")

    def test_no_other_process_of_the_user_enters_by_what_is_ours_of_it(self):
        """By the program it can: that is the user's, who may trace it too."""
        run = self.start()
        self.until(run, "started")
        self.know(run)
        for name in ("supervisor", "outside", "first"):
            for namespace in ("--user", "--mount", "--pid", "--net", "--ipc"):
                with self.subTest(name, namespace=namespace):
                    self.assertIn("Permission denied", self.enter(pid_of(self.processes[name]), namespace).stderr)
        run.stop()
        run.messages()
        self.assertEqual(run.wait(), 0)
        self.assert_nobody_is_left(run)

    def test_what_is_no_room_can_be_entered(self):
        """So that the test above can fail."""
        words = [shutil.which("setpriv"), f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups",
                 "unshare", "--user", "sh", "-c", "echo there; exec sleep 1000"]  # fmt: skip
        with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
            self.assertEqual(other.stdout.readline(), b"there\n")
            self.assertEqual(self.enter(other.pid, "--user").stderr, "")
            other.kill()


def pid_of(process):
    """Of a descriptor of one."""
    facts = dict(line.split(":\t") for line in open(f"/proc/self/fdinfo/{process}"))
    return int(facts["Pid"])


if __name__ == "__main__":
    unittest.main()
