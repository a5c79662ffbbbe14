#include "bridge/audit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

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

// How a line begins that says: no call is at work. Keys are written in their alphabet's order.
constexpr std::string_view kAtRest = R"({"at_rest":true)";
constexpr std::size_t kEndsPerMark = 1000;
constexpr std::size_t kChunkBytes = 65536;
constexpr std::string_view kInterrupted = "INTERRUPTED";

Result<std::string> read_at(int file, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t filled = 0;
  while (filled < count) {
    const ssize_t got =
        ::pread(file, bytes.data() + filled, count - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_failure("read the audit", errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

// Where the last line begins that starts with `words`, or 0. Every line before `size` is whole.
Result<std::uint64_t> last_line_with(int file, std::uint64_t size, std::string_view words) {
  const std::string after_another = "\n" + std::string(words);
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end > kChunkBytes ? end - kChunkBytes : 0;
    // A little of the part above too: what is looked for may lie across.
    RB_TRY(const auto chunk,
           read_at(file, begin, static_cast<std::size_t>(end - begin) + after_another.size()));
    const auto found = chunk.rfind(after_another);
    if (found != std::string::npos) return begin + found + 1;
    end = begin;
  }
  return std::uint64_t{0};
}

// Calls take(line) for every line from `offset` on.
template <class Take>
Result<void> for_each_line(int file, std::uint64_t offset, Take take) {
  std::string rest;
  for (;;) {
    RB_TRY(const auto chunk, read_at(file, offset, kChunkBytes));
    if (chunk.empty()) return {};
    offset += chunk.size();
    rest += chunk;
    std::size_t begin = 0;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      take(std::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
}

// A line that was not written whole says nothing that anybody relied on.
Result<std::uint64_t> cut_torn_line(int file) {
  RB_TRY(const auto facts, platform::facts_of(file));
  std::uint64_t end = facts.size_bytes;
  while (end > 0) {
    const std::uint64_t begin = end > kChunkBytes ? end - kChunkBytes : 0;
    RB_TRY(const auto chunk, read_at(file, begin, static_cast<std::size_t>(end - begin)));
    const auto line_end = chunk.rfind('\n');
    end = begin + (line_end == std::string::npos ? 0 : line_end + 1);
    if (line_end != std::string::npos) break;
  }
  if (end != facts.size_bytes && ::ftruncate(file, static_cast<off_t>(end)) != 0) {
    return os_failure("mend the audit", errno);
  }
  return end;
}

}  // namespace

Result<Audit> Audit::open(const std::string& state_dir) {
  const std::string path = state_dir + "/audit.jsonl";
  RB_CHECK(platform::check_publishable(path));
  platform::UniqueFd file(
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid()) return os_failure("open the audit", errno);
  return Audit(std::move(file));
}

Result<void> Audit::append(const Json& line, bool durable) {
  // One write, so that a line of the administrator's command never stands in the middle of another.
  const std::string text = policy::dump_json(line) + "\n";
  if (!platform::write_all(file_.get(), text)) {
    (void)cut_torn_line(file_.get());  // else the next line would be a part of this one
    return unavailable();
  }
  if (durable && !platform::sync_file(file_.get())) return unavailable();
  return {};
}

Result<void> Audit::mark(const char* event, const std::string& generation) {
  ended_since_mark_ = 0;
  return append(Json{{"at_rest", true}, {"event", event}, {"time", utc_now()}, {"generation", generation}},
                true);
}

Result<void> Audit::start(const std::string& generation) {
  generation_ = generation;
  RB_CHECK(end_interrupted());
  return mark("start", generation);
}

Result<void> Audit::stop(const std::string& generation) { return mark("stop", generation); }

Result<void> Audit::end_interrupted() {
  RB_TRY(const auto size, cut_torn_line(file_.get()));
  RB_TRY(const auto offset, last_line_with(file_.get(), size, kAtRest));
  std::map<std::string, Json> unfinished;
  RB_CHECK(for_each_line(file_.get(), offset, [&](std::string_view text) {
    const auto line = policy::parse_json(text);
    if (!line || !line->is_object()) return;
    const auto call = line->value("call", std::string());
    const auto event = line->value("event", std::string());
    if (event == "begin") unfinished.insert_or_assign(call, *line);
    if (event == "end") unfinished.erase(call);
  }));
  for (auto& [call, line] : unfinished) {
    line["event"] = "end";
    line["time"] = utc_now();
    line["outcome"] = kInterrupted;
    RB_CHECK(append(line, true));
  }
  return {};
}

Result<void> Audit::begin(const Call& call) {
  RB_CHECK(append(line_of("begin", call), call.writes));
  ++at_work_;
  return {};
}

Result<void> Audit::end(const Call& call, const std::string& code, const Json& body,
                        std::chrono::milliseconds took) {
  Json line = line_of("end", call);
  line["outcome"] = code;
  line["took_ms"] = took.count();
  line["answer_sha256"] = platform::sha256_hex(policy::dump_json(body));
  --at_work_;
  ++ended_since_mark_;
  RB_CHECK(append(line, call.writes));
  return at_work_ == 0 && ended_since_mark_ >= kEndsPerMark ? mark("mark", generation_) : Result<void>();
}

Result<void> Audit::refused(const Call& call, const std::string& code) {
  Json line = line_of("refused", call);
  line["outcome"] = code;
  return append(line, false);
}

Result<void> Audit::recovered(const Recovery& recovery) {
  return append(Json{{"time", utc_now()},
                     {"event", "recovered"},
                     {"login", bounded(recovery.login)},
                     {"workdir", bounded(recovery.workdir)},
                     {"holder", recovery.holder},
                     {"still_alive", recovery.still_alive}},
                true);
}

}  // namespace repobridge::bridge
