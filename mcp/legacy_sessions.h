// What lets a client of a legacy revision cancel a call over HTTP, where its ids are not its alone: a name
// for the client, given at initialize, and the calls at work that came under it.
//
// Promise: a name is signed for one caller with a key of this run of the program and nothing is kept for it.
// Whatever else comes as one (another caller's, one of an earlier run, one that was made up) is as if there
// were none, and nothing but cancelling ever depends on it. Owns: the calls' cancels, each as long as its
// place. Threads: the event loop's one. Source: MCP 2025-03-26 to 2025-11-25, "Session Management",
// "Cancellation".
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "mcp/call.h"
#include "mcp/json_rpc.h"

namespace repobridge::mcp {

class LegacySessions {
 public:
  LegacySessions();

  // Visible ASCII. Nothing when the system gives no random bytes; then nobody can cancel.
  [[nodiscard]] std::optional<std::string> new_id(const std::string& login) const;

  // A call that its client may cancel as long as this lives.
  class Place;
  // Null for a call that came under no name of ours.
  std::shared_ptr<Place> place_for(const std::string& login, const std::optional<std::string>& session,
                                   const RpcId& id);

  void cancel(const std::string& login, const std::optional<std::string>& session, const RpcId& id) const;

 private:
  using Key = std::tuple<std::string, std::string, RpcId>;
  using Table = std::multimap<Key, CancelCall>;

  [[nodiscard]] bool is_ours(const std::string& login, const std::string& session) const;
  [[nodiscard]] std::string signature(const std::string& login, std::string_view nonce) const;

  std::string key_;  // empty when there could be none
  std::shared_ptr<Table> table_;
};

class LegacySessions::Place {
 public:
  Place(const std::shared_ptr<Table>& table, Table::iterator at) : table_(table), at_(at) {}
  Place(Place&&) = delete;
  Place& operator=(Place&&) = delete;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place();

  void set(CancelCall cancel);

 private:
  // Weak, since what cancels a call may hold what holds us.
  std::weak_ptr<Table> table_;
  Table::iterator at_;
};

}  // namespace repobridge::mcp
