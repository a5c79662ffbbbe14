#include "bridge/git/patch.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "policy/repo_path.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

// Above this a difference is not computed: its time grows with the square of what differs.
constexpr std::size_t kMaxComparedBytes = 16U << 20U;
// git looks for a NUL byte this far.
constexpr std::size_t kBinaryProbeBytes = 8000;

std::string name_in_header(const std::string& prefix, const std::string& path) {
  const std::string name = prefix + path;
  if (!policy::is_utf8(name)) return policy::c_quoted(name);
  const bool quote = std::ranges::any_of(name, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '"' || c == '\\';
  });
  return quote ? policy::c_quoted(name, policy::HighBytes::kept) : name;
}

std::string octal(git_filemode_t mode) {
  std::array<char, 8> text{};
  (void)std::snprintf(text.data(), text.size(), "%06o", static_cast<unsigned>(mode));
  return text.data();
}

// What stands behind --- and +++: git ends a name that holds a space with a tab.
std::string file_line(std::string_view marker, const std::optional<Side>& side, const std::string& prefix) {
  std::string line(marker);
  if (!side) return line + " /dev/null\n";
  const std::string name = name_in_header(prefix, side->path);
  const bool space = name.find(' ') != std::string::npos;
  return line + " " + name + (space ? "\t\n" : "\n");
}

std::string header(const Sides& sides) {
  const auto& [before, after, similarity] = sides;
  const std::string& old_path = before ? before->path : after->path;
  const std::string& new_path = after ? after->path : before->path;
  std::string text =
      "diff --git " + name_in_header("a/", old_path) + " " + name_in_header("b/", new_path) + "\n";
  if (!before) text += "new file mode " + octal(after->mode) + "\n";
  if (!after) text += "deleted file mode " + octal(before->mode) + "\n";
  const bool mode_changed = before && after && before->mode != after->mode;
  if (mode_changed) text += "old mode " + octal(before->mode) + "\nnew mode " + octal(after->mode) + "\n";
  if (old_path != new_path) {
    text += "similarity index " + std::to_string(similarity) + "%\n";
    text +=
        "rename from " + name_in_header("", old_path) + "\nrename to " + name_in_header("", new_path) + "\n";
  }
  const git_oid none{};
  const git_oid& old_oid = before ? before->oid : none;
  const git_oid& new_oid = after ? after->oid : none;
  if (git_oid_equal(&old_oid, &new_oid) != 0) return text;
  text += "index " + hex_of(old_oid) + ".." + hex_of(new_oid);
  if (before && after && !mode_changed) text += " " + octal(after->mode);
  return text + "\n";
}

bool looks_binary(const std::optional<Side>& side) {
  return side &&
         std::string_view(side->bytes).substr(0, kBinaryProbeBytes).find('\0') != std::string_view::npos;
}

// Appends whole lines until the patch would grow past its limit.
class LineAppender {
 public:
  LineAppender(Patch& patch, std::size_t max_bytes) : patch_(&patch), max_bytes_(max_bytes) {}

  void append(std::string_view line) {
    if (patch_->truncated) return;
    if (patch_->text.size() + line.size() > max_bytes_) {
      patch_->truncated = true;
      return;
    }
    patch_->text.append(line);
  }

 private:
  Patch* patch_;
  std::size_t max_bytes_;
};

std::string line_text(const git_diff_line& line) {
  const bool of_a_side = line.origin == GIT_DIFF_LINE_CONTEXT || line.origin == GIT_DIFF_LINE_ADDITION ||
                         line.origin == GIT_DIFF_LINE_DELETION;
  std::string text;
  if (of_a_side) text += line.origin;
  return text.append(line.content, line.content_len);
}

Result<void> append_hunks(git_patch* raw, LineAppender& lines) {
  for (std::size_t h = 0; h < git_patch_num_hunks(raw); ++h) {
    const git_diff_hunk* hunk = nullptr;
    std::size_t count = 0;
    RB_CHECK(git_check(git_patch_get_hunk(&hunk, &count, raw, h), "read a hunk"));
    const auto* hunk_header = static_cast<const char*>(hunk->header);
    lines.append(std::string_view(hunk_header, hunk->header_len));
    // A line without its newline comes with the note about it as the next line.
    std::string pending;
    for (std::size_t l = 0; l < count; ++l) {
      const git_diff_line* line = nullptr;
      RB_CHECK(git_check(git_patch_get_line_in_hunk(&line, raw, h, l), "read a line"));
      pending += line_text(*line);
      if (!pending.ends_with('\n')) continue;
      lines.append(pending);
      pending.clear();
    }
    lines.append(pending);
  }
  return {};
}

Result<OwnedPatch> compare(const std::string& before, const std::string& after) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC;
  OwnedPatch patch;
  RB_CHECK(git_check(git_patch_from_buffers(into(patch), before.data(), before.size(), nullptr, after.data(),
                                            after.size(), nullptr, &options),
                     "compare two versions of a file"));
  return patch;
}

}  // namespace

Result<Patch> make_patch(const Sides& sides, std::optional<bool> text, std::size_t max_bytes) {
  const auto& [before, after, similarity] = sides;
  Patch patch{.text = header(sides)};
  static const std::string kNothing;
  const std::string& old_bytes = before ? before->bytes : kNothing;
  const std::string& new_bytes = after ? after->bytes : kNothing;
  if (old_bytes == new_bytes) return patch;
  if (!text.value_or(!looks_binary(before) && !looks_binary(after))) {
    patch.binary = true;
    patch.text += "Binary files " + (before ? name_in_header("a/", before->path) : "/dev/null") + " and " +
                  (after ? name_in_header("b/", after->path) : "/dev/null") + " differ\n";
    return patch;
  }
  if (old_bytes.size() > kMaxComparedBytes || new_bytes.size() > kMaxComparedBytes) {
    patch.truncated = true;
    return patch;
  }
  RB_TRY(const auto raw, compare(old_bytes, new_bytes));
  RB_CHECK(
      git_check(git_patch_line_stats(nullptr, &patch.additions, &patch.deletions, raw.get()), "count lines"));
  LineAppender lines(patch, max_bytes);
  lines.append(file_line("---", before, "a/") + file_line("+++", after, "b/"));
  RB_CHECK(append_hunks(raw.get(), lines));
  return patch;
}

}  // namespace repobridge::git
