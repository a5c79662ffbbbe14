"""push_repo to real servers on loopback: an ssh server whose key only an agent holds, and git over HTTPS with its own
authority and a password. Each way of not getting in has its own code, is said soon, and asks nobody."""

import shutil
import time

import remotes
from bridge_case import BridgeCase, Repository

SOON = 10.0  # seconds; a prompt or a retry would take PATIENCE, while a busy machine takes some


class RemoteCase(BridgeCase):
    def assert_nothing_arrives(self, code):
        """The details of a refusal that came soon and left the remote as it was."""
        before = self.refs()
        begun = time.monotonic()
        details = self.push_refused(code)
        self.assertLess(time.monotonic() - begun, SOON)
        self.assertEqual(self.refs(), before)
        return details

    def refs(self):
        return Repository(self.place, self.host.user).git("for-each-ref", "--format=%(refname) %(objectname)").split("\n")

    def decline(self, words="the branch is frozen until monday"):
        hook = self.place / "hooks" / "pre-receive"
        hook.write_text(f'#!/bin/sh\necho "{words}" >&2\nexit 1\n')
        hook.chmod(0o755)
        self.addCleanup(hook.unlink)

    def advance_elsewhere(self):
        """Somebody else pushes first."""
        other = self.host.path / "other"
        self.host.user.git(self.host.path, "clone", "-q", "-b", "main", self.place, other)
        self.addCleanup(shutil.rmtree, other)
        self.host.user.git(other, "commit", "-q", "--allow-empty", "-m", "from elsewhere")
        self.host.user.git(other, "push", "-q", "origin", "main")

    def configure(self, name, *values):
        """The user's global configuration, for one test."""
        self.host.user.git(self.host.path, "config", "--global", "--unset-all", name, check=False)
        for value in values:
            self.host.user.git(self.host.path, "config", "--global", "--add", name, value)


class WhateverTheWay:
    """What is the same over ssh and HTTPS."""

    def test_arrives(self):
        pushed = self.push()
        self.assertEqual((pushed["result"], pushed["to"], pushed["from"]), ("pushed", self.head, self.base))
        self.assertEqual(pushed["host"], "127.0.0.1")
        self.assertEqual(self.refs(), [f"refs/heads/main {self.head}"])
        self.assertEqual(self.repo.git("rev-parse", "refs/remotes/origin/main"), self.head)
        self.assertEqual(self.push()["result"], "up_to_date")

    def test_behind(self):
        self.advance_elsewhere()
        self.assert_nothing_arrives("REPO_PUSH_NON_FAST_FORWARD")

    def test_declined(self):
        self.decline()
        details = self.assert_nothing_arrives("REPO_PUSH_REJECTED")
        self.assertIn("the branch is frozen until monday", details["remote_says"])


class SshTest(WhateverTheWay, RemoteCase):
    @classmethod
    def prepare(cls, host):
        cls.server = remotes.SshRemote(host.path / "ssh", host.user.home)
        cls.addClassCleanup(cls.server.stop)
        host.user.environment = cls.server.environment(host.user.environment)
        cls.place = cls.server.make("app.git")
        host.settings["WORKDIR_01_PUSH_URL"] = cls.server.url("app.git")
        host.settings["REPOBRIDGE_PUSH_ALLOWED"] = "ssh://forge/"

    def setUp(self):
        super().setUp()
        shutil.rmtree(self.place)
        self.server.make("app.git")
        self.base = self.repo.save("base", a="one\n")
        self.repo.git("remote", "add", "origin", self.server.url("app.git"))
        self.repo.git("push", "-q", "-u", "origin", "main")
        self.head = self.repo.save("new", a="two\n")

    def name_a_forge(self):
        """The user's ~/.ssh/config has a host of that name, which is the server."""
        self.server.write_config(
            f"Host forge\n  HostName 127.0.0.1\n  Port {self.server.port}\n"
            f"  HostKeyAlias [127.0.0.1]:{self.server.port}\n"
        )
        self.addCleanup(self.server.write_config, "")

    def test_host_of_the_users_ssh_configuration(self):
        self.name_a_forge()
        self.repo.git("remote", "set-url", "origin", f"ssh://forge{self.place}")
        pushed = self.push()
        self.assertEqual((pushed["result"], pushed["host"]), ("pushed", "forge"))
        self.assertEqual(self.refs(), [f"refs/heads/main {self.head}"])

    def test_url_that_the_user_rewrites(self):
        """What comes of it is what the administrator must have allowed."""
        self.name_a_forge()
        for base, code in (("ssh://forge/", None), ("ssh://elsewhere/", "REPO_PUSH_NOT_ALLOWED")):
            with self.subTest(base=base):
                name = f"url.{base}.insteadOf"
                self.configure(name, f"ssh://{self.server.authority}/")
                self.addCleanup(self.configure, name)
                if code:
                    self.assert_nothing_arrives(code)
                else:
                    self.assertEqual(self.push()["host"], "forge")
                self.configure(name)

    def test_ssh_command_of_the_user(self):
        self.configure("core.sshCommand", "ssh -o PreferredAuthentications=publickey")
        self.addCleanup(self.configure, "core.sshCommand")
        self.assertEqual(self.push()["result"], "pushed")

    def test_ssh_command_of_the_repository_is_not_run(self):
        canary = self.host.path / "canary"
        self.addCleanup(lambda: canary.unlink(missing_ok=True))
        self.repo.config("core.sshCommand", f"touch {canary} && ssh")
        self.repo.config("ssh.variant", "ssh")
        self.repo.git("ls-remote", "origin")
        self.assertTrue(canary.exists())
        canary.unlink()
        self.assertEqual(self.push()["result"], "pushed")
        self.assertFalse(canary.exists())

    def test_key_that_the_server_does_not_know(self):
        stranger = self.server.stranger()
        self.server.write_config(f"IdentityAgent {stranger.socket}\n")
        self.addCleanup(self.server.write_config, "")
        self.assert_nothing_arrives("REPO_PUSH_SSH_DENIED")

    def test_no_agent(self):
        self.server.write_config("IdentityAgent none\n")
        self.addCleanup(self.server.write_config, "")
        self.assert_nothing_arrives("REPO_PUSH_SSH_DENIED")

    def test_host_key_that_is_not_known(self):
        self.server.known_hosts.write_text("")
        self.addCleanup(self.server.know_host)
        self.assert_nothing_arrives("REPO_PUSH_HOST_KEY")
        self.assertEqual(self.server.known_hosts.read_text(), "")

    def test_host_key_that_is_another(self):
        other = remotes.make_ssh_key(self.server.directory / "other_host_key")
        key = " ".join(other.with_suffix(".pub").read_text().split()[:2])
        other.unlink()
        self.server.know_host(key)
        self.addCleanup(self.server.know_host)
        self.assert_nothing_arrives("REPO_PUSH_HOST_KEY_CHANGED")

    def test_broken_configuration_of_the_user(self):
        self.server.write_config("NoSuchOption yes\n")
        self.addCleanup(self.server.write_config, "")
        self.assert_nothing_arrives("SSH_USER_CONFIG_INVALID")

    def test_repository_that_is_not_there(self):
        self.place.rename(self.place.with_suffix(".away"))
        try:
            self.push_refused("REPO_PUSH_REMOTE_NOT_FOUND")
        finally:
            self.place.with_suffix(".away").rename(self.place)


class SshWithoutServerTest(BridgeCase):
    @classmethod
    def prepare(cls, host):
        cls.held, cls.port = remotes.closed_port()
        cls.addClassCleanup(cls.held.close)
        host.settings["WORKDIR_01_PUSH_URL"] = f"ssh://127.0.0.1:{cls.port}/srv/app.git"

    def test_nobody_listens(self):
        self.repo.save("base", a="one\n")
        self.repo.git("remote", "add", "origin", f"ssh://127.0.0.1:{self.port}/srv/app.git")
        self.repo.config("branch.main.remote", "origin")
        self.repo.config("branch.main.merge", "refs/heads/main")
        self.push_refused("REPO_PUSH_UNREACHABLE")


class HttpsTest(WhateverTheWay, RemoteCase):
    @classmethod
    def prepare(cls, host):
        cls.server = remotes.HttpsRemote(host.path / "https")
        cls.addClassCleanup(cls.server.stop)
        cls.place = cls.server.make("app.git")
        host.settings["WORKDIR_01_PUSH_URL"] = None
        host.settings["REPOBRIDGE_PUSH_ALLOWED"] = f"https://{cls.server.authority}/"

    def setUp(self):
        super().setUp()
        shutil.rmtree(self.place)
        self.server.make("app.git")
        self.configure("http.sslCAInfo", str(self.server.authority_file))
        self.configure("credential.helper", str(self.server.write_helper()))
        self.base = self.repo.save("base", a="one\n")
        self.repo.git("remote", "add", "origin", self.server.url("app.git"))
        self.repo.git("push", "-q", "-u", "origin", "main")
        self.head = self.repo.save("new", a="two\n")

    def send_to(self, below):
        self.repo.git("remote", "set-url", "origin", self.server.url("app.git", below))

    def test_helper_that_an_include_names(self):
        """A condition on the repository's own remote, which git must see although it works elsewhere."""
        self.configure("credential.helper")
        included = self.host.user.home / "of-this-forge"
        included.write_text(f"[credential]\n\thelper = {self.server.write_helper()}\n")
        name = f"includeIf.hasconfig:remote.*.url:https://{self.server.authority}/**.path"
        self.configure(name, str(included))
        self.addCleanup(self.configure, name)
        self.assertEqual(self.push()["result"], "pushed")

    def test_whom_the_repository_would_ask_is_not_asked(self):
        self.configure("credential.helper")
        canaries = {kind: self.host.path / f"canary-{kind}" for kind in ("helper", "helper-of-url", "askpass")}
        askpass = self.host.path / "askpass"
        askpass.write_text(f"#!/bin/sh\ntouch {canaries['askpass']}\n")
        askpass.chmod(0o755)
        self.repo.config("core.askPass", str(askpass))
        self.repo.config("credential.helper", f"!touch {canaries['helper']};:")
        self.repo.config(
            f"credential.https://{self.server.authority}.helper", f"!touch {canaries['helper-of-url']};:"
        )
        self.assertNotEqual(self.repo.run("push", "-q", check=False).returncode, 0)
        for canary in canaries.values():
            canary.unlink()  # git has asked them all
        self.assert_nothing_arrives("REPO_PUSH_CREDENTIALS_MISSING")
        self.assertEqual([canary for canary in canaries.values() if canary.exists()], [])

    def test_transport_settings_of_the_repository_count_for_nothing(self):
        closed, port = remotes.closed_port()
        self.addCleanup(closed.close)
        poison = {
            "http.proxy": f"http://127.0.0.1:{port}",
            "remote.origin.proxy": f"http://127.0.0.1:{port}",
            "http.sslCAInfo": "/dev/null",
            "http.curloptResolve": "127.0.0.1:443:127.0.0.2",
            "http.extraHeader": "Authorization: Basic bm9ib2R5Om5vdGhpbmc=",
            "http.cookieFile": "/etc/passwd",
            "http.sslCert": "/dev/null",
            "protocol.https.allow": "never",
            "push.pushOption": "evil",
            "remote.origin.push": "+refs/heads/*:refs/heads/*",
            "remote.origin.mirror": "true",
        }
        for name, value in poison.items():
            self.repo.config(name, value)
        self.assertNotEqual(self.repo.run("push", "-q", check=False).returncode, 0)
        self.assertEqual(self.push()["result"], "pushed")
        self.assertEqual(self.refs(), [f"refs/heads/main {self.head}"])

    def test_no_helper(self):
        self.configure("credential.helper")
        self.assert_nothing_arrives("REPO_PUSH_CREDENTIALS_MISSING")

    def test_wrong_password(self):
        self.server.write_helper(password="nobody knows")
        self.assert_nothing_arrives("REPO_PUSH_CREDENTIALS_REJECTED")
        # git tells the helper, which may then forget it.
        self.assertIn("erase", self.server.helper_log.read_text())

    def test_authority_that_is_not_known(self):
        self.configure("http.sslCAInfo")
        self.assert_nothing_arrives("REPO_PUSH_CERTIFICATE")

    def test_redirect_is_not_followed(self):
        self.send_to("moved")
        self.assert_nothing_arrives("REPO_PUSH_REDIRECTED")

    def test_may_read_but_not_write(self):
        self.send_to("closed")
        self.assert_nothing_arrives("REPO_PUSH_FORBIDDEN")

    def test_repository_that_is_not_there(self):
        self.repo.git("remote", "set-url", "origin", self.server.url("gone.git"))
        self.assert_nothing_arrives("REPO_PUSH_REMOTE_NOT_FOUND")

    def test_password_in_no_answer_and_no_record(self):
        self.server.write_helper(password="x" * 30)
        self.assert_nothing_arrives("REPO_PUSH_CREDENTIALS_REJECTED")
        for said in (self.host.log(), (self.host.state / "audit.jsonl").read_text()):
            self.assertNotIn("x" * 30, said)


class SilentServerTest(BridgeCase):
    """A server that takes the connection and says nothing."""

    @classmethod
    def prepare(cls, host):
        cls.silent = remotes.listener()
        cls.addClassCleanup(cls.silent.close)
        cls.url = f"https://127.0.0.1:{cls.silent.getsockname()[1]}/app.git"
        host.settings |= {"WORKDIR_01_PUSH_URL": cls.url, "WORKDIR_01_PUSH_TIMEOUT_SECONDS": "1"}

    def test_ends_at_the_deadline(self):
        self.repo.save("base", a="one\n")
        self.repo.git("remote", "add", "origin", self.url)
        self.repo.config("branch.main.remote", "origin")
        self.repo.config("branch.main.merge", "refs/heads/main")
        self.push_refused("REPO_PUSH_TIMEOUT")
        self.assertTrue(remotes.was_called(self.silent))
        self.assertEqual(self.entries(), {})
