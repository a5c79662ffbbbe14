#include "policy/isolation.h"

#include <algorithm>
#include <array>

#include "policy/path_rules.h"
#include "policy/repo_path.h"

namespace repobridge::policy {
namespace {

constexpr std::array<std::string_view, 120> kCredentialPlaces = {
    // Keys and agents.
    ".ssh", ".gnupg", ".pki", ".age", ".config/age", ".config/sops", ".putty", ".config/1Password",
    ".1password", ".config/op", ".config/Bitwarden", ".config/Bitwarden CLI", ".local/share/keyrings",
    ".local/share/kwalletd", ".kde/share/apps/kwallet", ".password-store", ".local/share/password-store",
    ".keychain", ".local/share/gnupg", ".var/app",
    // Clouds, clusters and engines.
    ".aws", ".azure", ".config/gcloud", ".config/doctl", ".config/hcloud", ".oci", ".bluemix", ".kube",
    ".docker", ".config/containers", ".terraform.d", ".terraformrc", ".vault-token", ".config/helm", ".fly",
    ".config/netlify", ".databrickscfg", ".s3cfg", ".boto", ".mc", ".config/rclone", ".rclone.conf",
    ".config/scw", ".config/linode-cli", ".config/exoscale", ".config/cloudflared", ".cloudflared",
    ".config/.wrangler", ".wrangler", ".config/ngrok", ".ngrok2", ".config/stripe",
    ".local/share/com.vercel.cli", ".config/configstore", ".minikube", ".rancher", ".talos",
    ".smbcredentials", ".davfs2",
    // Forges and package registries.
    ".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub",
    ".config/glab-cli", ".config/tea", ".npmrc", ".yarnrc.yml", ".pypirc", ".config/pip",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".config/composer/auth.json", ".m2/settings-security.xml",
    ".composer/auth.json", ".bundle/config", ".local/share/gem/credentials", ".config/pypoetry/auth.toml",
    ".nuget/NuGet", ".config/NuGet", ".sbt/.credentials", ".ivy2/.credentials", ".subversion/auth", ".hgrc",
    ".config/github-copilot",
    // Databases, browsers and mail.
    ".pgpass", ".my.cnf", ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".thunderbird", ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".msmtprc", ".config/msmtp",
    ".mbsyncrc", ".fetchmailrc", ".offlineimaprc", ".mutt", ".config/mutt", ".config/neomutt", ".config/aerc",
    ".local/share/evolution", ".config/evolution",
    // What was typed.
    ".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".psql_history", ".mysql_history",
    ".python_history", ".node_repl_history", ".rediscli_history", ".local/share/atuin",
    // Ours.
    ".config/repobridge"};

constexpr std::array<std::string_view, 26> kSystemSecrets = {
    // Users and their keys.
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd",
    "/etc/krb5.keytab", "/var/lib/sss/db", "/var/lib/sss/secrets", "/var/lib/samba/private",
    // The machine's keys and networks.
    "/etc/ssh", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/wireguard",
    "/etc/openvpn", "/etc/ppp", "/etc/NetworkManager/system-connections", "/var/lib/NetworkManager",
    // Services, engines and clusters.
    "/var/lib/private", "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/etc/kubernetes",
    "/var/lib/kubelet", "/etc/rancher", "/var/lib/rancher"};

bool lies_in(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

bool is_credential(const RepoPath& path) {
  const auto holds = [&](std::string_view place) { return lies_in(path.bytes(), place); };
  if (std::ranges::any_of(kCredentialPlaces, holds)) return true;
  const auto rules = PathRules::make({.allow_hidden = true});
  return !rules || rules->denied(path.bytes());
}

// One of two words.
Result<bool> read_choice(Fields& fields, std::string_view name, std::string_view usual,
                         std::string_view other) {
  RB_TRY(const auto text, fields.optional_text(name));
  if (!text || *text == usual) return false;
  if (*text == other) return true;
  return fields.refuse_field(name, "must be " + std::string(usual) + " or " + std::string(other));
}

Result<std::vector<std::string>> read_home_read(Fields& fields) {
  RB_TRY(const auto names, fields.optional_texts("home_read"));
  if (names.size() > kMaxHomeRead) return fields.refuse_field("home_read", "names more than 64 places");
  for (const auto& name : names) {
    const auto path = RepoPath::from_bytes(name);
    if (!path)
      return fields.refuse_field("home_read", "must be paths below the home: " + path.error().message);
    if (is_credential(*path)) return fields.refuse_field("home_read", "names a place of credentials");
  }
  return names;
}

}  // namespace

Result<Isolation> read_isolation(Fields& fields) {
  Isolation isolation;
  RB_TRY(isolation.network, read_choice(fields, "network", "none", "host"));
  RB_TRY(const auto user_home, read_choice(fields, "home", "private", "user"));
  isolation.private_home = !user_home;
  RB_TRY(isolation.home_read, read_home_read(fields));
  if (user_home && !isolation.home_read.empty()) {
    return fields.refuse_field("home_read", "says nothing with the user's home");
  }
  RB_TRY(const auto best_effort, read_choice(fields, "isolation", "required", "best_effort"));
  isolation.required = !best_effort;
  return isolation;
}

void write_isolation(const Isolation& isolation, Json& action) {
  action["network"] = name_of_network(isolation);
  action["home"] = name_of_home(isolation);
  action["home_read"] = isolation.home_read;
  action["isolation"] = isolation.required ? "required" : "best_effort";
}

std::string_view name_of_network(const Isolation& isolation) { return isolation.network ? "host" : "none"; }

std::string_view name_of_home(const Isolation& isolation) {
  return isolation.private_home ? "private" : "user";
}

std::span<const std::string_view> credential_places() { return kCredentialPlaces; }

std::span<const std::string_view> system_secrets() { return kSystemSecrets; }

}  // namespace repobridge::policy
