"""Real remotes on loopback, started by a test and stopped by it: an ssh server whose only key is held by an agent,
and git over HTTPS with a certificate authority, a password and the ways in which such servers say no.

Nothing of the machine's own configuration takes part, and nothing outside of the given directory is written but, for
root, the empty directory that sshd insists on. Each server is ended by its own process id.
"""

import base64
import os
import pathlib
import pwd
import shlex
import socket
import subprocess

from harness import PATIENCE, LinesOf

SSHD = "/usr/sbin/sshd"
LIGHTTPD = "/usr/sbin/lighttpd"
GIT_CORE = subprocess.run(
    ["git", "--exec-path"], check=True, capture_output=True, text=True, timeout=PATIENCE
).stdout.strip()
SERVER_PATH = "/usr/local/bin:/usr/bin:/bin"
PORT_ATTEMPTS = 5


def run(*arguments, **options):
    done = subprocess.run(
        list(map(str, arguments)), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, **options
    )
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.decode()


def listener():
    """A socket on a free port of loopback that nobody answers on: the kernel takes connections, and that is all."""
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    made.listen(64)
    return made


def closed_port():
    """A port of loopback that refuses connections as long as the returned socket is open."""
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    return made, made.getsockname()[1]


def was_called(sock):
    """Whether somebody has connected to a listener()."""
    sock.setblocking(False)
    try:
        sock.accept()[0].close()
    except BlockingIOError:
        return False
    return True


class Server:
    """A program in the foreground that is asked to end, by its id, and killed when it does not."""

    def __init__(self, argv, heard_on, **options):
        self.process = subprocess.Popen(
            list(map(str, argv)), stdin=subprocess.DEVNULL, **{heard_on: subprocess.PIPE}, **options
        )
        self.lines = LinesOf(getattr(self.process, heard_on))

    def wait_for(self, words):
        """The line that has the words; None when the program ended without."""
        while (line := self.lines.next()) is not None:
            if words in line:
                return line
        return None

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.lines.rest()


class Agent:
    """An ssh-agent with one key, whose file is gone."""

    def __init__(self, directory):
        self.socket = pathlib.Path(directory) / "agent.sock"
        self._server = Server(["ssh-agent", "-D", "-a", self.socket], "stdout", stderr=subprocess.DEVNULL)
        assert self._server.wait_for(b"SSH_AUTH_SOCK"), "no agent"

    def add(self, key_file):
        run("ssh-add", "-q", key_file, env={"PATH": SERVER_PATH, "SSH_AUTH_SOCK": str(self.socket)})
        pathlib.Path(key_file).unlink()

    def stop(self):
        self._server.stop()


def make_ssh_key(path):
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path)
    return path


class SshRemote:
    """An ssh server for this user, and the client's side of it: an agent and a `.ssh` directory with the known host.

    OpenSSH looks for `.ssh` in the account's home, whatever HOME says. So that tests stay out of that one, `bin` has
    an ssh that is OpenSSH told where its configuration is, as if `home` were the account's home.
    """

    def __init__(self, directory, home):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(mode=0o700)
        self.repositories = self.directory / "repositories"
        self.repositories.mkdir()
        self.ssh = pathlib.Path(home) / ".ssh"
        self.ssh.mkdir(mode=0o700)
        self.known_hosts = self.ssh / "known_hosts"
        self.config = self.ssh / "config"
        self.bin = self.directory / "bin"
        self.bin.mkdir(mode=0o755)
        self._agents = []
        self.agent = self._new_agent("agent", self.directory / "client_key")
        make_ssh_key(self.directory / "host_key")
        self._serve()
        self.write_config("")
        self.know_host()

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    def url(self, name):
        return f"ssh://{self.authority}{self.repositories / name}"

    def make(self, name):
        """A bare repository; its path."""
        path = self.repositories / name
        run("git", "init", "-q", "--bare", path, env={"PATH": SERVER_PATH, "HOME": str(self.directory)})
        return path

    def host_key(self):
        return " ".join((self.directory / "host_key.pub").read_text().split()[:2])

    def know_host(self, key=None):
        """The server's key, or another in its place, is what the client knows."""
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {key or self.host_key()}\n")

    def write_config(self, text):
        """The user's ~/.ssh/config."""
        self.config.write_text(text)
        self.config.chmod(0o600)

    def stranger(self):
        """An agent whose key the server does not know."""
        key = make_ssh_key(self.directory / "stranger_key")
        agent = self._agent("stranger")
        agent.add(key)
        return agent

    def environment(self, environment):
        """The same with this ssh first on the PATH and the agent at hand."""
        return {
            **environment,
            "PATH": f"{self.bin}:{environment['PATH']}",
            "SSH_AUTH_SOCK": str(self.agent.socket),
        }

    def stop(self):
        self._sshd.stop()
        for agent in self._agents:
            agent.stop()

    def _agent(self, name):
        place = self.directory / name
        place.mkdir(mode=0o700)
        agent = Agent(place)
        self._agents.append(agent)
        return agent

    def _new_agent(self, name, key):
        make_ssh_key(key)
        (self.directory / "authorized_keys").write_text(key.with_suffix(".pub").read_text())
        agent = self._agent(name)
        agent.add(key)
        client = self.bin / "ssh"
        client.write_text(
            "#!/bin/sh\n"
            f"exec /usr/bin/ssh -F {shlex.quote(str(self.config))}"
            f" -o UserKnownHostsFile={shlex.quote(str(self.known_hosts))}"
            ' -o GlobalKnownHostsFile=/dev/null -o IdentityFile=none "$@"\n'
        )
        client.chmod(0o755)
        return agent

    def _serve(self):
        if os.geteuid() == 0:
            # Where sshd confines its unprivileged half; the service makes it at its own start.
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        server = f"exec /usr/bin/env -i PATH={SERVER_PATH} HOME={self.directory} GIT_CONFIG_NOSYSTEM=1 GIT_PROTOCOL=version=2"
        for _ in range(PORT_ATTEMPTS):
            free, self.port = closed_port()
            free.close()
            (self.directory / "sshd_config").write_text(
                f"""Port {self.port}
ListenAddress 127.0.0.1
HostKey {self.directory}/host_key
AuthorizedKeysFile {self.directory}/authorized_keys
PidFile none
StrictModes no
UsePAM {"yes" if needs_pam() else "no"}
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers {pwd.getpwuid(os.geteuid()).pw_name}
ForceCommand {server} /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
            )
            self._sshd = Server([SSHD, "-D", "-e", "-f", self.directory / "sshd_config"], "stderr")
            if self._sshd.wait_for(b"Server listening on"):
                return
            self._sshd.stop()
        raise AssertionError("sshd does not start")


def needs_pam():
    """Without PAM sshd lets nobody in whose password is locked with '!', not even with a key; only root sees that."""
    if os.geteuid() != 0:
        return False
    lines = pathlib.Path("/etc/shadow").read_text().splitlines()
    return any(line.startswith("root:!") for line in lines)


class HttpsRemote:
    """git-http-backend behind lighttpd: below /git/ with a password, and below other paths as servers refuse.

    /git/NAME        USER and PASSWORD, kept by a credential helper that write_helper() makes
    /moved/NAME      permanently redirected to /git/NAME, as a renamed repository is
    /closed/NAME     anybody may read, nobody may write
    """

    USER = "alice"
    PASSWORD = "correct horse"

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(mode=0o700)
        self.repositories = self.directory / "repositories"
        self.repositories.mkdir()
        self.helper_log = self.directory / "helper.log"
        self.authority_file = self.directory / "ca.pem"
        self._make_certificates()
        self._serve()

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    def url(self, name, below="git"):
        return f"https://{self.authority}/{below}/{name}"

    def make(self, name):
        """A bare repository; its path."""
        path = self.repositories / name
        run("git", "init", "-q", "--bare", path, env={"PATH": SERVER_PATH, "HOME": str(self.directory)})
        return path

    def write_helper(self, user=USER, password=PASSWORD):
        """A credential helper; what it is asked stands in helper_log."""
        helper = self.directory / "helper"
        helper.write_text(
            "#!/bin/sh\n"
            f'echo "$1" >>{shlex.quote(str(self.helper_log))}\n'
            "cat >/dev/null\n"
            f'[ "$1" = get ] && printf "%s\\n" {shlex.quote("username=" + user)} {shlex.quote("password=" + password)}\n'
            "exit 0\n"
        )
        helper.chmod(0o755)
        return helper

    def stop(self):
        self._server.stop()
        self._listener.close()

    def _make_certificates(self):
        at = self.directory
        new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]
        run(*new, "-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", at / "ca.key", "-out", at / "ca.pem")
        run(*new, "-subj", "/CN=127.0.0.1", "-keyout", at / "server.key", "-out", at / "server.csr")
        (at / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        run("openssl", "x509", "-req", "-in", at / "server.csr", "-CA", at / "ca.pem", "-CAkey", at / "ca.key",
            "-days", "2", "-extfile", at / "names", "-out", at / "server.pem")  # fmt: skip

    def _serve(self):
        self._listener = listener()
        self.port = self._listener.getsockname()[1]
        at = self.directory
        (at / "passwords").write_text(f"{self.USER}:{self.PASSWORD}\n")
        (at / "lighttpd.conf").write_text(
            f"""server.modules = ("mod_auth", "mod_authn_file", "mod_redirect", "mod_alias", "mod_setenv", "mod_cgi", "mod_openssl")
server.document-root = "{at}"
server.bind = "127.0.0.1"
server.port = {self.port}
server.systemd-socket-activation = "enable"
server.errorlog = "{at}/lighttpd.log"
server.upload-dirs = ("{at}")
ssl.engine = "enable"
ssl.pemfile = "{at}/server.pem"
ssl.privkey = "{at}/server.key"
auth.backend = "plain"
auth.backend.plain.userfile = "{at}/passwords"
auth.require = ("/git/" => ("method" => "basic", "realm" => "git", "require" => "valid-user"))
url.redirect-code = 301
url.redirect = ("^/moved/(.*)$" => "https://127.0.0.1:{self.port}/git/$1")
alias.url = ("/git" => "{GIT_CORE}/git-http-backend", "/closed" => "{GIT_CORE}/git-http-backend")
setenv.set-environment = ("GIT_PROJECT_ROOT" => "{self.repositories}", "GIT_HTTP_EXPORT_ALL" => "",
  "PATH" => "{SERVER_PATH}", "HOME" => "{at}", "GIT_CONFIG_NOSYSTEM" => "1")
cgi.assign = ("" => "")
"""
        )
        # The socket is open already, so there is no moment at which the server is not there yet.
        activated = f'LISTEN_FDS=1 LISTEN_PID=$$ exec {LIGHTTPD} -D -f "$0" 3<&{self._listener.fileno()}'
        self._server = Server(
            ["/bin/sh", "-c", activated, at / "lighttpd.conf"],
            "stderr",
            stdout=subprocess.DEVNULL,
            pass_fds=[self._listener.fileno()],
        )
