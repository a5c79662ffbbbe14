#include "bridge/runs/registry.h"

#include <unistd.h>

#include <algorithm>

#include "bridge/log.h"
#include "bridge/runs/run_json.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::runs {
namespace {

namespace codes = policy::codes;
using policy::Json;
using SystemTime = std::chrono::system_clock::time_point;

constexpr int kVersion = 1;
constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kMaxFileBytes = 8U << 20U;

std::int64_t seconds_of(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Json facts_to_json(const RunFacts& facts) {
  return Json{{"id", facts.id},           {"front", facts.owner.front}, {"caller", facts.owner.caller},
              {"workdir", facts.workdir}, {"root", facts.root},         {"tool", facts.tool},
              {"action", facts.action},   {"since", facts.since}};
}

Result<RunFacts> facts_from_json(const Json* value) {
  if (value == nullptr) return os_failure("read a run that was kept", 0);
  RB_TRY(auto fields, policy::Fields::of(*value, "run", codes::kInternalError));
  RunFacts facts;
  RB_TRY(facts.id, fields.text("id"));
  RB_TRY(facts.owner.front, fields.text("front"));
  RB_TRY(facts.owner.caller, fields.text("caller"));
  RB_TRY(facts.workdir, fields.text("workdir"));
  RB_TRY(facts.root, fields.text("root"));
  RB_TRY(facts.tool, fields.text("tool"));
  RB_TRY(facts.action, fields.text("action"));
  RB_TRY(facts.since, fields.text("since"));
  RB_CHECK(fields.nothing_else());
  return facts;
}

struct End {
  SystemTime at;
  std::chrono::milliseconds took{0};
  wire::Outcome outcome;
};

// Of an envelope only the data is kept: the rest is about the call, not about the run.
Json end_to_json(const End& end) {
  const auto& outcome = end.outcome;
  const char* kept = outcome.is_error ? "error" : "data";
  return Json{{"at", seconds_of(end.at)},
              {"duration_ms", end.took.count()},
              {"is_error", outcome.is_error},
              {"answer", outcome.body.value(kept, Json())}};
}

Result<End> end_from_json(const Json& value) {
  RB_TRY(auto fields, policy::Fields::of(value, "ended", codes::kInternalError));
  End end;
  RB_TRY(const auto at, fields.number("at", 0, INT64_MAX / 1000000000));
  RB_TRY(const auto took, fields.number("duration_ms", 0, INT64_MAX));
  RB_TRY(end.outcome.is_error, fields.flag("is_error", true));
  const Json* answer = fields.any("answer");
  if (answer == nullptr || !answer->is_object()) return fields.refuse_field("answer", "must be an object");
  RB_CHECK(fields.nothing_else());
  end.at = SystemTime(std::chrono::seconds(at));
  end.took = std::chrono::milliseconds(took);
  end.outcome.body = Json{{end.outcome.is_error ? "error" : "data", *answer}};
  return end;
}

std::string file_text(const RunFacts& facts, const std::optional<End>& end) {
  return policy::dump_json(Json{{"version", kVersion},
                                {"run", facts_to_json(facts)},
                                {"ended", end ? end_to_json(*end) : Json()}}) +
         "\n";
}

struct FromFile {
  RunFacts facts;
  std::optional<End> end;
};

Result<FromFile> parse_file(std::string_view text) {
  const auto value = policy::parse_json(text);
  if (!value) return os_failure("read a run that was kept", 0);
  RB_TRY(auto fields, policy::Fields::of(*value, "", codes::kInternalError));
  RB_CHECK(fields.number("version", kVersion, kVersion).map([](auto) {}));
  FromFile file;
  RB_TRY(file.facts, facts_from_json(fields.any("run")));
  const Json* ended = fields.any("ended");
  if (ended != nullptr && !ended->is_null()) {
    RB_TRY(file.end, end_from_json(*ended));
  }
  RB_CHECK(fields.nothing_else());
  return file;
}

Failure not_found() {
  return policy::refuse(codes::kRunNotFound,
                        "no run of yours in this workdir has that id, or it is no longer kept; view status "
                        "shows what the workdir holds now");
}

Failure too_many(const char* whose, std::size_t most) {
  return policy::refuse(codes::kTooManyRuns,
                        std::string(whose) +
                            " at work at once as the administrator allows (details.limit); call "
                            "again when one has ended",
                        Json{{"limit", most}});
}

}  // namespace

Result<Registry> Registry::open(std::string directory, policy::RunLimits limits, Clock clock) {
  RB_CHECK(platform::make_private_directory(directory));
  Registry registry(std::move(directory), limits, std::move(clock));
  registry.load();
  return registry;
}

Result<Registry::Run> Registry::admit(RunFacts facts) {
  const auto at_work = [](const Kept& kept) { return !kept.run->outcome(); };
  const auto all = std::ranges::count_if(kept_, at_work);
  const auto own = std::ranges::count_if(
      kept_, [&](const Kept& kept) { return at_work(kept) && kept.run->facts().owner == facts.owner; });
  if (static_cast<std::size_t>(own) >= limits_.at_once_per_caller) {
    return too_many("as many runs of yours are", limits_.at_once_per_caller);
  }
  if (static_cast<std::size_t>(all) >= limits_.at_once) return too_many("as many runs are", limits_.at_once);
  auto run = std::make_shared<TrackedRun>(std::move(facts));
  kept_.push_back({.run = run});
  return run;
}

void Registry::withdraw(const Run& run) {
  std::erase_if(kept_, [&](const Kept& kept) { return kept.run == run; });
  if (idle() && told_idle_) told_idle_();
}

void Registry::started(const Run& run) {
  const auto found = std::ranges::find(kept_, run, &Kept::run);
  if (found == kept_.end()) return;
  found->started = true;
  save(*found);
}

void Registry::ended(const Run& run, wire::Outcome outcome) {
  const auto found = std::ranges::find(kept_, run, &Kept::run);
  if (found == kept_.end()) return;
  run->end(std::move(outcome), run->duration());
  found->ended = clock_();
  save(*found);
  forget_the_oldest();
  if (idle() && told_idle_) told_idle_();
}

Result<Registry::Run> Registry::find(const RunOwner& owner, const std::string& workdir,
                                     const std::string& root, const std::optional<std::string>& id) const {
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    const RunFacts& facts = kept->run->facts();
    if (kept->started && facts.owner == owner && facts.workdir == workdir && facts.root == root &&
        (!id || facts.id == *id)) {
      return kept->run;
    }
  }
  return not_found();
}

std::vector<Registry::Run> Registry::all() const {
  std::vector<Run> runs;
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) runs.push_back(kept->run);
  return runs;
}

Result<Registry::Run> Registry::find_any(const std::string& id) const {
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.run->facts().id == id; });
  if (found == kept_.end()) return not_found();
  return found->run;
}

void Registry::stop_all() {
  // A run may end, and be forgotten, while it hears of it.
  for (const auto& run : all()) run->stop();
}

bool Registry::idle() const {
  return std::ranges::all_of(kept_, [](const Kept& kept) { return kept.run->outcome().has_value(); });
}

void Registry::load() {
  const auto directory = platform::open_directory(directory_);
  if (!directory) return bridge::log_fault(directory.error());
  const auto names = platform::list_directory(directory->get());
  if (!names) return bridge::log_fault(names.error());
  for (const auto& name : *names) load_one(name);
  std::ranges::stable_sort(kept_, {}, [](const Kept& kept) { return kept.run->facts().since; });
  forget_the_oldest();
}

void Registry::load_one(const std::string& name) {
  const std::string path = directory_ + "/" + name;
  const auto text = platform::read_trusted_file(path, kMaxFileBytes);
  auto file = text ? parse_file(*text) : Result<FromFile>(fail(text.error()));
  if (!file || name != file->facts.id + std::string(kSuffix)) {
    // A file that was being written when the bridge died, or one that is not ours.
    if (name.find(kSuffix) != std::string::npos) (void)::unlink(path.c_str());
    return;
  }
  auto run = std::make_shared<TrackedRun>(file->facts);
  const bool cut_off = !file->end;
  auto end = cut_off ? End{.at = clock_(), .outcome = {.body = Json{{"data", interrupted_json(file->facts)}}}}
                     : *std::move(file->end);
  run->end(std::move(end.outcome), end.took);
  kept_.push_back({.run = std::move(run), .started = true, .ended = end.at, .bytes = text->size()});
  if (cut_off) save(kept_.back());
}

void Registry::save(Kept& kept) const {
  const TrackedRun& run = *kept.run;
  std::optional<End> end;
  if (run.outcome()) end = End{.at = kept.ended, .took = run.duration(), .outcome = *run.outcome()};
  const std::string text = file_text(run.facts(), end);
  if (end) kept.bytes = text.size();
  const auto saved = platform::replace_file(path_of(run.facts().id), text, 0600);
  // It is still known as long as this bridge lives.
  if (!saved) bridge::log_fault(saved.error());
}

void Registry::drop(std::size_t index) {
  (void)::unlink(path_of(kept_[index].run->facts().id).c_str());
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Registry::forget_the_oldest() {
  const auto limit = clock_() - kLongestKept;
  std::size_t number = 0;
  std::size_t bytes = 0;
  // From the latest on: whatever is too much is the oldest.
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (!kept_[i].run->outcome()) continue;
    ++number;
    bytes += kept_[i].bytes;
    if (number > kMostKept || bytes > kMostKeptBytes || kept_[i].ended < limit) drop(i);
  }
}

std::string Registry::path_of(const std::string& id) const {
  return directory_ + "/" + id + std::string(kSuffix);
}

}  // namespace repobridge::runs
