// What the administrator decided, as values: the host's side for the bridge and the caller's side for the
// front.
//
// Promise: both are made from one rendering and carry its digest, by which a front and a bridge that were
// rendered apart notice it. The front's side has no path of a workdir, no action and no pin. Reading back is
// strict: an unknown key or a value out of bounds is refused (CONFIG_INVALID), so a file written by another
// version does not mean something else here.
// Source: docs/POLICY.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/result.h"
#include "policy/actions.h"
#include "policy/http_policy.h"
#include "policy/json.h"
#include "policy/oauth.h"
#include "policy/path_rules.h"
#include "policy/push_target.h"

namespace repobridge::policy {

enum class SecretDetection : std::uint8_t { mask, block, off };

struct Limits {
  static constexpr std::size_t kMostItems = 100000;
  static constexpr std::size_t kLeastChars = 2000;
  // Both the text item and structuredContent hold the answer, and a frame from the bridge is at most 4 MiB.
  static constexpr std::size_t kMostChars = 1000000;

  SecretDetection secret_detection = SecretDetection::mask;
  std::size_t max_response_items = 1000;
  std::size_t max_response_chars = 100000;  // bytes of the serialised answer
};

// How long what a call starts may take, and how much of it there may be.
struct RunLimits {
  static constexpr std::chrono::seconds kLongestWait{40};  // with a turn waited for, within 45
  static constexpr std::size_t kMostAtOnce = 256;
  static constexpr std::size_t kMostCalls = 1000000;

  std::chrono::seconds call_wait{40};  // after it a call answers with a handle, and the run goes on
  std::chrono::seconds longest{600};
  std::size_t at_once = 16;
  std::size_t at_once_per_caller = 4;
  std::size_t calls_per_minute = 3000;  // of one front
  std::size_t calls_per_minute_per_caller = 600;
};

struct GitIdentity {
  std::string name;
  std::string email;
};

struct PushPolicy {
  std::optional<PushUrl> url;                   // the one URL, if the administrator named one
  std::vector<std::string> branches;            // globs; empty: the local branch's own name
  bool ci_changes = false;                      // whether what a forge executes on arrival may change
  bool only_bridge_commits = false;             // whether every commit must have been made by the bridge
  std::optional<std::chrono::seconds> timeout;  // absent: as long as any run may take
};

struct Workdir {
  static constexpr std::chrono::seconds kLongestLeaseWait{30};

  std::string alias;
  std::string description;
  bool read_only = true;
  PathRules rules;
  std::string path;  // absolute, without links
  Actions actions;
  PushPolicy push;
  std::optional<GitIdentity> identity;  // overrides the user's git configuration
  std::chrono::seconds lease_wait{0};   // how long a writer may wait for another; 0: not at all
};

// One front: the key that proves it, and what it may ask for.
struct Front {
  std::string name;
  std::string key_file;
  std::vector<std::string> secret_files;  // what its own callers or its server are known by
  std::vector<std::string> workdirs;      // aliases; empty: all
  bool read_only = false;
};

struct BridgePolicy {
  std::string digest;
  std::string socket_path;
  std::string state_dir;
  std::string lock_dir;
  Limits limits;
  RunLimits runs;
  std::vector<Front> fronts;
  std::vector<PushAllowance> push_allowed;
  bool allow_unsandboxed_git = false;  // where the kernel has no sandbox for the git worker
  std::map<std::string, Workdir, std::less<>> workdirs;
};

struct FrontWorkdir {
  std::string alias;
  std::string description;
  bool read_only = true;
  PathRules rules;
};

// How a front reaches a bridge.
struct BridgeAddress {
  std::string name;
  std::string socket_path;
  std::string key_name;
  std::string key_file;
};

struct FrontPolicy {
  std::string digest;
  BridgeAddress bridge;
  Limits limits;
  HttpPolicy http;  // absent in a file rendered before: serves nobody
  std::map<std::string, FrontWorkdir, std::less<>> workdirs;
  std::optional<OauthPolicy> oauth;  // absent: no token of an authorization server lets anybody in
};

// The digest stands in the result and covers everything else in it.
Json to_json(const BridgePolicy& policy);
Json to_json(const FrontPolicy& policy);
// What the digest of a policy is taken over.
std::string digest_input(const BridgePolicy& policy);

Result<BridgePolicy> bridge_policy_from_json(const Json& value);
Result<FrontPolicy> front_policy_from_json(const Json& value);

// The caller's side of a bridge's policy; who may call over a network is not the bridge's, and not in it.
FrontPolicy front_side(const BridgePolicy& policy, const Front& front);

Result<SecretDetection> parse_secret_detection(std::string_view text);
std::string_view name_of(SecretDetection detection);

bool is_alias(std::string_view text);

}  // namespace repobridge::policy
