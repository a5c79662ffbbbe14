#include "bridge/audit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "bridge/clock.h"
#include "platform/digest.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::bridge {
namespace {

using policy::Json;

constexpr std::size_t kMaxNameBytes = 128;

std::string bounded(std::string_view text) { return std::string(text.substr(0, kMaxNameBytes)); }

Json line_of(const char* event, const Audit::Call& call) {
  return Json{{"time", utc_now()},
              {"event", event},
              {"call", call.id},
              {"front", call.front},
              {"caller", {{"login", bounded(call.caller.login)}, {"mode", bounded(call.caller.mode)}}},
              {"tool", bounded(call.tool)},
              {"workdir", bounded(call.workdir)},
              {"detail", bounded(call.detail)},
              {"arguments_sha256", call.arguments_sha256}};
}

Failure unavailable() {
  return policy::refuse(
      policy::codes::kAuditUnavailable,
      "the bridge cannot write its audit, so it does nothing; the administrator must look at the "
      "state directory (is the disk full?)");
}

}  // namespace

Result<Audit> Audit::open(const std::string& state_dir) {
  const std::string path = state_dir + "/audit.jsonl";
  RB_CHECK(platform::check_publishable(path));
  platform::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid()) return os_failure("open the audit", errno);
  return Audit(std::move(file));
}

Result<void> Audit::append(const Json& line, bool durable) {
  // One write, so that lines of two bridges on one file never mix.
  const std::string text = policy::dump_json(line) + "\n";
  if (!platform::write_all(file_.get(), text)) return unavailable();
  if (durable && !platform::sync_file(file_.get())) return unavailable();
  return {};
}

Result<void> Audit::begin(const Call& call) { return append(line_of("begin", call), call.writes); }

Result<void> Audit::end(const Call& call, const std::string& code, const Json& body,
                        std::chrono::milliseconds took) {
  Json line = line_of("end", call);
  line["outcome"] = code;
  line["took_ms"] = took.count();
  line["answer_sha256"] = platform::sha256_hex(policy::dump_json(body));
  return append(line, call.writes);
}

Result<void> Audit::refused(const Call& call, const std::string& code) {
  Json line = line_of("refused", call);
  line["outcome"] = code;
  return append(line, false);
}

}  // namespace repobridge::bridge
