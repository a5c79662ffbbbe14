#include "bridge/admin/example_env.h"

namespace repobridge::admin {

const std::string_view kExampleEnv = R"env(# What Repobridge may do on this host. After each change, run
#
#     repobridge render --env-file THIS_FILE --out ITS_DIRECTORY
#
# and restart repobridged. docs/POLICY.md explains every setting. Lines are NAME=value; nothing is expanded,
# and a value with a space before '#', with quotes or with '$' stands in 'single quotes'.

# --- The first workdir: the two lines to fill in ----------------------------------------------------------

# What callers name it by: a letter, then up to 31 letters, digits, '_' and '-'.
WORKDIR_01_ALIAS=
# The repository's top directory on this host; callers never see it.
WORKDIR_01_PATH=

# --- What callers may do there ----------------------------------------------------------------------------

# Without this, the workdir is not offered at all.
WORKDIR_01_REPO_OPS_ENABLED=true
# true: callers may look. false: they may also run actions, commit named files and push.
WORKDIR_01_READ_ONLY=true
# Shown to callers beside the alias.
#WORKDIR_01_DESCRIPTION='The main project'

# Paths: dot files are out of sight unless allowed. Names of credential files are denied unless the built-in
# list is switched off; extra globs deny more (over a file's own name, or NAME/** for a directory).
#WORKDIR_01_ALLOW_HIDDEN=false
#WORKDIR_01_DISABLE_DEFAULT_DENY=false
#WORKDIR_01_EXTRA_DENY_GLOBS=*.sqlite,private/**

# Push: where to and to which branches. Without PUSH_URL (or REPOBRIDGE_PUSH_ALLOWED below) nothing is pushed.
# The URL is compared with what git makes of the upstream's own; https, ssh, user@host:path and file:/// forms,
# no password.
#WORKDIR_01_PUSH_URL=git@git.example.org:team/project.git
# Globs over the branch's name on the remote. Without them: only the local branch's own name.
#WORKDIR_01_PUSH_BRANCHES=main,topic/*
# Whether a push may change what a forge executes on arrival (.github/workflows, .gitlab-ci.yml and their like).
#WORKDIR_01_PUSH_CI_CHANGES=false
# Whether only commits that the bridge itself made may be pushed.
#WORKDIR_01_PUSH_ONLY_BRIDGE_COMMITS=false
# How many seconds a remote may take; as long as any run may, when not said.
#WORKDIR_01_PUSH_TIMEOUT_SECONDS=600

# How long a writer may wait for another one in the same workdir, 0 to 30 seconds; 0 refuses it at once.
#WORKDIR_01_LEASE_WAIT_SECONDS=0

# Who commits; without these, the user's git configuration says it.
#WORKDIR_01_GIT_USER_NAME='Repobridge on this host'
#WORKDIR_01_GIT_USER_EMAIL=repobridge@example.org

# Actions: programs that callers may run by name, with READ_ONLY=false. Each pins the files it depends on ("lib/"
# is a directory with all in it, "conftest.py": "absent" a file that must not be there); put any text for a digest
# first, then paste what `repobridge pin show ALIAS check --env-file FILE` prints.
# They run in a closed room: no network, an empty home and /tmp, nothing written but the workdir where mutates is
# true. "network": "host", "home_read": [".cache/uv"] and "home": "user" open it; docs/POLICY.md has more.
# Either on one line here, or in a file of its own (mode 0600), never both.
#WORKDIR_01_REPO_ACTIONS_JSON={"check": {"argv": ["./tools/check"], "mutates": false, "integrity": {"tools/check": "0000000000000000000000000000000000000000000000000000000000000000"}, "timeout_seconds": 30, "max_output_bytes": 65536, "description": "Runs the checks"}}
#WORKDIR_01_REPO_ACTIONS_FILE=/etc/repobridge/project-actions.json

# Further workdirs: WORKDIR_02_… to WORKDIR_99_…

# --- The host ---------------------------------------------------------------------------------------------

# Where the bridge's own files are; the defaults lie in the directory given to `render --out`, the locks in
# ~/.local/state/repobridge/locks, which every configuration of this user should share.
#REPOBRIDGE_SOCKET_PATH=/home/me/repobridge/run/bridge.sock
#REPOBRIDGE_KEY_FILE=/home/me/repobridge/bridge.key
#REPOBRIDGE_STATE_DIR=/home/me/repobridge/state
#REPOBRIDGE_LOCK_DIR=/home/me/.local/state/repobridge/locks

# URLs below which every workdir may push; each ends in '/'.
#REPOBRIDGE_PUSH_ALLOWED=https://git.example.org/team/,ssh://git@git.example.org/team/

# The process that reads repositories is confined by the kernel (Landlock and seccomp). Where the kernel cannot, git
# work is refused unless this is true.
#REPOBRIDGE_ALLOW_UNSANDBOXED_GIT=false

# How many seconds a call waits for what it started before it answers with a handle (1 to 44), and how many any run may
# take; an action may say less.
#REPOBRIDGE_CALL_WAIT_SECONDS=40
#REPOBRIDGE_MAX_RUN_SECONDS=600
# How many runs may be at work at once, altogether and for one caller.
#REPOBRIDGE_MAX_RUNS=16
#REPOBRIDGE_MAX_RUNS_PER_CALLER=4
# How many calls may come within a minute, from one front and from one of its callers.
#REPOBRIDGE_CALLS_PER_MINUTE=3000
#REPOBRIDGE_CALLS_PER_MINUTE_PER_CALLER=600

# --- The front over HTTP, where clients do not start it themselves ------------------------------------------

# Who may call: a file with a token for each caller, by the name that the audit shows. Without the line: front.token
# beside this file, as "default", where `init` has made it. Callers of the second list may look and not write.
#REPOBRIDGE_FRONT_TOKEN_FILES=laptop=/home/me/repobridge/front.token
#REPOBRIDGE_FRONT_READ_ONLY_TOKEN_FILES=dashboard=/home/me/repobridge/dashboard.token
# Whether anybody who reaches the port may call, without a token.
#REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED=false
# Whether the port may be reached from other hosts.
#REPOBRIDGE_FRONT_ALLOW_NON_LOOPBACK=false
# By which names clients and pages of a browser come, beside those of loopback.
#REPOBRIDGE_FRONT_ALLOWED_HOSTS=mcp.example.org
#REPOBRIDGE_FRONT_ALLOWED_ORIGINS=https://app.example.org
# A certificate with its chain and its key, where no proxy or tunnel in front does TLS.
#REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE=/etc/ssl/mcp.pem
#REPOBRIDGE_FRONT_TLS_KEY_FILE=/etc/ssl/private/mcp.key
# How many connections there may be, and how many calls of one caller at work.
#REPOBRIDGE_FRONT_MAX_CONNECTIONS=512
#REPOBRIDGE_FRONT_MAX_CALLS_PER_CALLER=16
# Seconds: for a client to send a header or a body, to read an answer, to think between two requests; and after how much
# silence a stream of events has a sign of life.
#REPOBRIDGE_FRONT_READ_SECONDS=10
#REPOBRIDGE_FRONT_WRITE_SECONDS=30
#REPOBRIDGE_FRONT_IDLE_SECONDS=75
#REPOBRIDGE_FRONT_KEEPALIVE_SECONDS=15

# --- Callers over a network -------------------------------------------------------------------------------

# Tokens of an OAuth authorization server. All four of these, or none: who issues them, the URL under which
# callers know this front (what tokens are made for), where the issuer's keys are, and who may call.
#REPOBRIDGE_OAUTH_ISSUER=https://login.example.org/realms/team
#REPOBRIDGE_OAUTH_RESOURCE=https://repobridge.example.org/mcp
#REPOBRIDGE_OAUTH_JWKS_URL=https://login.example.org/realms/team/protocol/openid-connect/certs
#REPOBRIDGE_OAUTH_ALLOWED_SUBJECTS=8f0f2f4c-5c39-4f0a-9a53-0f6a2f4a7a10
# The keys from a file, in place of the URL; and whose certificates prove the URL's server, if not the system's.
#REPOBRIDGE_OAUTH_JWKS_FILE=/etc/repobridge/issuer-keys.json
#REPOBRIDGE_OAUTH_JWKS_CA_FILE=/etc/repobridge/issuer-ca.pem
# How tokens may be signed, the claim that names a caller in the audit, and how far the clocks may be apart.
#REPOBRIDGE_OAUTH_ALGORITHMS=RS256,ES256
#REPOBRIDGE_OAUTH_LOGIN_CLAIM=sub
#REPOBRIDGE_OAUTH_LEEWAY_SECONDS=60

# --- Answers ----------------------------------------------------------------------------------------------

# What looks like a secret in an answer is masked, or blocks the answer, or stays (off).
#SECRET_DETECTION_MODE=mask
#MAX_TOOL_RESPONSE_ITEMS=1000
#MAX_TOOL_RESPONSE_CHARS=100000
)env";

}  // namespace repobridge::admin
