#include "bridge/git/renames.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "bridge/git/similarity.h"

namespace repobridge::git {
namespace {

constexpr std::uint64_t kEnough = Spans::kMostSimilar / 2;
// For files that are alike in name too, so that no other candidate is looked at.
constexpr std::uint64_t kEnoughByName = Spans::kMostSimilar * 3 / 4;
constexpr std::size_t kMostLeft = 1000;
constexpr std::size_t kCandidates = 4;  // kept for each new file

struct File {
  RenameSide side;
  bool taken = false;
  std::optional<Spans> spans;
};

std::string_view basename(const File& file) {
  return std::string_view(file.side.path).substr(file.side.path.rfind('/') + 1);
}

bool is_regular(const File& file) {
  return file.side.mode == GIT_FILEMODE_BLOB || file.side.mode == GIT_FILEMODE_BLOB_EXECUTABLE;
}

struct Candidate {
  File* gone = nullptr;
  File* fresh = nullptr;
  std::uint64_t score = 0;
  bool same_name = false;
  [[nodiscard]] bool better_than(const Candidate& other) const {
    if ((fresh != nullptr) != (other.fresh != nullptr)) return fresh != nullptr;
    return score != other.score ? score > other.score : same_name && !other.same_name;
  }
};

class Matcher {
 public:
  Matcher(const Repository& repository, std::vector<RenameSide> gone, std::vector<RenameSide> fresh)
      : repository_(&repository) {
    for (auto& side : gone) gone_.push_back({.side = std::move(side)});
    for (auto& side : fresh) fresh_.push_back({.side = std::move(side)});
  }

  Result<Renames> match() && {
    match_identical();
    RB_CHECK(match_names());
    RB_CHECK(match_similar());
    return std::move(renames_);
  }

 private:
  void take(File& gone, File& fresh, std::uint64_t score) {
    gone.taken = fresh.taken = true;
    renames_.emplace(fresh.side.path,
                     Rename{.old_path = gone.side.path,
                            .similarity = static_cast<unsigned>(score * 100 / Spans::kMostSimilar)});
  }

  void match_identical() {
    std::map<std::string, std::vector<File*>> by_content;
    for (auto& file : gone_) by_content[hex_of(file.side.oid)].push_back(&file);
    for (auto& file : fresh_) {
      File* best = nullptr;
      for (File* candidate : by_content[hex_of(file.side.oid)]) {
        const bool same_kind = is_regular(file) && is_regular(*candidate);
        if (candidate->taken || (!same_kind && candidate->side.mode != file.side.mode)) continue;
        if (best == nullptr || (basename(*candidate) == basename(file) && basename(*best) != basename(file)))
          best = candidate;
      }
      if (best != nullptr) take(*best, file, Spans::kMostSimilar);
    }
  }

  // nullptr stands for a name that more than one file has.
  static std::map<std::string_view, File*> by_unique_name(std::vector<File>& files) {
    std::map<std::string_view, File*> named;
    for (auto& file : files) {
      if (file.taken) continue;
      const auto [at, first] = named.emplace(basename(file), &file);
      if (!first) at->second = nullptr;
    }
    return named;
  }

  Result<void> match_names() {
    auto gone = by_unique_name(gone_);
    for (const auto& [name, file] : by_unique_name(fresh_)) {
      const auto found = gone.find(name);
      if (file == nullptr || found == gone.end() || found->second == nullptr) continue;
      RB_TRY(const auto score, similarity(*found->second, *file));
      if (score >= kEnoughByName) take(*found->second, *file, score);
    }
    return {};
  }

  Result<void> match_similar() {
    const auto left = [](const std::vector<File>& files) {
      return static_cast<std::size_t>(std::ranges::count(files, false, &File::taken));
    };
    if (left(gone_) * left(fresh_) > kMostLeft * kMostLeft) return {};
    std::vector<Candidate> candidates;
    for (auto& fresh : fresh_) {
      if (fresh.taken) continue;
      std::array<Candidate, kCandidates> best;
      for (auto& gone : gone_) {
        if (gone.taken) continue;
        RB_TRY(const auto score, similarity(gone, fresh));
        const Candidate one{
            .gone = &gone, .fresh = &fresh, .score = score, .same_name = basename(gone) == basename(fresh)};
        auto* worst = std::ranges::max_element(
            best, [](const Candidate& a, const Candidate& b) { return a.better_than(b); });
        if (one.better_than(*worst)) *worst = one;
      }
      candidates.insert(candidates.end(), best.begin(), best.end());
    }
    std::ranges::stable_sort(candidates,
                             [](const Candidate& a, const Candidate& b) { return a.better_than(b); });
    for (const auto& one : candidates) {
      if (one.fresh == nullptr || one.score < kEnough) break;
      if (!one.fresh->taken && !one.gone->taken) take(*one.gone, *one.fresh, one.score);
    }
    return {};
  }

  Result<std::uint64_t> similarity(File& gone, File& fresh) {
    if (!is_regular(gone) || !is_regular(fresh)) return 0U;
    RB_CHECK(read(gone));
    RB_CHECK(read(fresh));
    return gone.spans->similarity(*fresh.spans);
  }

  Result<void> read(File& file) {
    if (file.spans) return {};
    OwnedBlob blob;
    RB_CHECK(
        git_check(git_blob_lookup(into(blob), repository_->get(), &file.side.oid), "read a stored file"));
    file.spans = Spans::of({static_cast<const char*>(git_blob_rawcontent(blob.get())),
                            static_cast<std::size_t>(git_blob_rawsize(blob.get()))});
    return {};
  }

  const Repository* repository_;
  std::vector<File> gone_;
  std::vector<File> fresh_;
  Renames renames_;
};

}  // namespace

Result<Renames> find_renames(const Repository& repository, std::vector<RenameSide> gone,
                             std::vector<RenameSide> fresh) {
  if (gone.empty() || fresh.empty()) return Renames();
  return Matcher(repository, std::move(gone), std::move(fresh)).match();
}

}  // namespace repobridge::git
