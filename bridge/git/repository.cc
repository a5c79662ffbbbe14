#include "bridge/git/repository.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "bridge/git/layout.h"
#include "bridge/git/loose_objects.h"
#include "bridge/git/memory_file.h"
#include "platform/digest.h"
#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using platform::OpenAs;
using policy::refuse;

constexpr std::size_t kMaxConfigBytes = 1U << 20U;
constexpr std::size_t kMaxHeadBytes = 4096;
constexpr std::size_t kMaxTodoBytes = 16U << 20U;
constexpr std::size_t kMaxIndexBytes = 256U << 20U;
constexpr std::size_t kChecksumBytes = 20;
constexpr std::string_view kHeads = "refs/heads/";

// Keys whose worst value makes git convert line endings, compare times or name an author; handed on to
// libgit2.
constexpr std::array kHarmlessKeys = {"core.filemode",
                                      "core.autocrlf",
                                      "core.eol",
                                      "core.safecrlf",
                                      "core.trustctime",
                                      "core.checkstat",
                                      "core.logallrefupdates",
                                      "core.sharedrepository",
                                      "user.name",
                                      "user.email"};

// Extensions that change nothing in how we read; git refuses unknown ones and so do we.
constexpr std::array kKnownExtensions = {"noop",           "noop-v1",           "preciousobjects",
                                         "worktreeconfig", "relativeworktrees", "partialclone"};

Failure unsupported_format(const std::string& what) {
  return refuse(codes::kUnsupportedFormat,
                "the repository uses a format that is not served here; see details.format",
                policy::Json{{"format", what}});
}

Result<void> check_extension(const std::string& name, const std::optional<std::string>& value) {
  if (name == "objectformat") {
    return value == "sha1" ? Result<void>() : unsupported_format("extensions.objectFormat is not sha1");
  }
  if (name == "refstorage") {
    return value == "files" ? Result<void>() : unsupported_format("extensions.refStorage is not files");
  }
  if (std::ranges::find(kKnownExtensions, name) != kKnownExtensions.end()) return {};
  return unsupported_format("extensions." + policy::quoted_name(name));
}

Result<void> check_config(const LocalConfig& config) {
  constexpr std::string_view kExtension = "extensions.";
  const auto version = config.last("core.repositoryformatversion").value_or("0");
  if (version != "0" && version != "1") return unsupported_format("core.repositoryFormatVersion");
  for (const auto& entry : config.entries()) {
    if (!entry.key.starts_with(kExtension)) continue;
    RB_CHECK(check_extension(entry.key.substr(kExtension.size()), entry.value));
  }
  if (config.has("core.worktree")) {
    return refuse(codes::kUnsupportedLayout,
                  "core.worktree in the repository's configuration points git elsewhere; unset it");
  }
  if (config.is_true("core.bare")) {
    return refuse(codes::kUnsupportedLayout,
                  "the repository is bare (core.bare); there is no work tree to work on");
  }
  return {};
}

std::string harmless_config(const LocalConfig& config) {
  // Whatever the platform: names that other file systems would take for .git are never written.
  std::string text = "[core]\n\tprotectHFS = true\n\tprotectNTFS = true\n";
  for (const auto& entry : config.entries()) {
    if (std::ranges::find(kHarmlessKeys, entry.key) == kHarmlessKeys.end()) continue;
    text += config_text(entry);
  }
  return text;
}

// A copy keeps the original's time: what was written in the same moment as the index is compared by content.
Result<void> set_modified(int fd, std::int64_t modified_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec modified{.tv_sec = modified_ns / kSecond, .tv_nsec = modified_ns % kSecond};
  const std::array<timespec, 2> times{modified, modified};
  if (::futimens(fd, times.data()) != 0) return os_failure("set the time of the index's copy", errno);
  return {};
}

bool valid_reference(const std::string& name) {
  int valid = 0;
  return git_reference_name_is_valid(&valid, name.c_str()) == 0 && valid == 1;
}

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// The name behind "ref: "; empty when the text is something else.
std::string target_of(const std::string& head_content) {
  constexpr std::string_view kSymbolic = "ref: ";
  if (!head_content.starts_with(kSymbolic)) return {};
  return head_content.substr(
      std::min(head_content.find_first_not_of(' ', kSymbolic.size()), head_content.size()));
}

// This reads no configuration at all.
Result<OwnedRepository> open_bare(const std::string& root) {
  const std::string git_path = root + "/.git";
  OwnedRepository repository;
  const int opened = git_repository_open_bare(into(repository), git_path.c_str());
  if (opened >= 0) return repository;
  (void)git_failure(opened, "open the repository");
  return refuse(codes::kNotARepository, "the workdir's .git directory is not a git repository");
}

bool present(int directory, const char* name) {
  const auto facts = platform::facts_at(directory, name);
  return !facts || facts->has_value();
}

}  // namespace

std::string Head::branch() const {
  return reference.starts_with(kHeads) ? reference.substr(kHeads.size()) : std::string();
}

std::string Upstream::branch() const { return reference.substr(kHeads.size()); }

std::string with_checksum(std::string index_bytes) {
  if (index_bytes.size() <= kChecksumBytes) return index_bytes;
  const std::size_t body = index_bytes.size() - kChecksumBytes;
  const bool skipped = index_bytes.find_first_not_of('\0', body) == std::string::npos;
  if (skipped) {
    index_bytes.replace(body, kChecksumBytes,
                        platform::sha1_bytes(std::string_view(index_bytes).substr(0, body)));
  }
  return index_bytes;
}

Result<Repository> Repository::open(const std::string& root, const UserConfig& user) {
  Repository opened;
  RB_CHECK(opened.open_directories(root));
  RB_CHECK(audit_layout(opened.git_directory(), {}));
  RB_CHECK(opened.read_config());
  RB_CHECK(opened.open_library(root, user));
  return opened;
}

Result<Situation> audit_workdir(const std::string& root) {
  Repository looked_at;
  RB_CHECK(looked_at.open_directories(root));
  RB_CHECK(audit_layout(looked_at.git_directory(), {}));
  RB_CHECK(looked_at.read_config());
  RB_TRY(const auto head, looked_at.head_content());
  const auto reference = target_of(head);
  return Situation{.git_directory = root + "/.git",
                   .branch = reference.starts_with(kHeads) ? reference.substr(kHeads.size()) : "",
                   .remote_urls = looked_at.remote_urls()};
}

Result<void> Repository::open_directories(const std::string& root) {
  auto root_fd = platform::open_directory(root);
  if (!root_fd) {
    return refuse(
        codes::kWorkdirUnavailable,
        "the workdir's directory cannot be opened; the administrator must look after WORKDIR_XX_PATH");
  }
  root_ = *std::move(root_fd);
  RB_TRY(const auto root_facts, platform::facts_of(root_.get()));
  RB_TRY(const auto git_facts, platform::facts_at(root_.get(), ".git"));
  if (!git_facts) {
    return refuse(codes::kNotARepository,
                  "the workdir has no .git directory; a repository further up is not used on purpose");
  }
  if (git_facts->is_regular()) {
    return refuse(
        codes::kUnsupportedLayout,
        "the workdir's .git is a file (a linked worktree, a submodule or a separate git directory); use "
        "the main checkout as the workdir");
  }
  if (!git_facts->is_directory()) {
    return refuse(codes::kUnsafeLayout, "the workdir's .git is neither a directory nor a file",
                  policy::Json{{"place", ".git"}});
  }
  if (root_facts.owner != ::geteuid() || git_facts->owner != ::geteuid()) {
    return refuse(
        codes::kOwnership,
        "the repository belongs to another user; the bridge works only on its own user's repositories, "
        "so have its owner run the bridge or change the owner");
  }
  RB_TRY(git_directory_, platform::open_beneath(root_.get(), ".git", OpenAs::directory));
  if (present(git_directory_.get(), "commondir")) {
    return refuse(codes::kUnsupportedLayout, "a commondir file in .git points git elsewhere; remove it");
  }
  return {};
}

Result<void> Repository::read_config() {
  const auto read = [this](const char* name) -> Result<LocalConfig> {
    RB_TRY(const auto text, platform::read_beneath_if_present(git_directory_.get(), name, kMaxConfigBytes));
    return LocalConfig::parse(text.value_or(""));
  };
  RB_TRY(config_, read("config"));
  if (config_.is_true("extensions.worktreeconfig")) {
    RB_TRY(auto of_worktree, read("config.worktree"));
    config_.append(std::move(of_worktree));
  }
  return check_config(config_);
}

Result<void> Repository::open_library(const std::string& root, const UserConfig& user) {
  RB_TRY(repository_, open_bare(root));
  RB_TRY(config_copy_, memory_file(harmless_config(config_)));
  OwnedConfig config;
  RB_CHECK(git_check(git_config_new(into(config)), "make a configuration"));
  const auto add = [&](const std::string& path, git_config_level_t level) {
    return git_check(git_config_add_file_ondisk(config.get(), path.c_str(), level, repository_.get(), 0),
                     "hand on the configuration");
  };
  RB_CHECK(add(user.path(), GIT_CONFIG_LEVEL_GLOBAL));
  RB_CHECK(add(path_of_descriptor(config_copy_.get()), GIT_CONFIG_LEVEL_LOCAL));
  RB_CHECK(git_check(git_repository_set_config(repository_.get(), config.get()), "set the configuration"));
  // Not before: asked for the object store, libgit2 reads the configuration that it has.
  RB_TRY(objects_, platform::open_beneath(git_directory_.get(), "objects", OpenAs::location));
  RB_CHECK(read_loose_objects(repository_.get(), objects_.get()));
  return git_check(git_repository_set_workdir(repository_.get(), root.c_str(), 0), "set the work tree");
}

// "ref: " and a name, or an id.
Result<std::string> Repository::head_content() const {
  RB_TRY(const auto text, platform::read_beneath_if_present(git_directory_.get(), "HEAD", kMaxHeadBytes));
  return without_line_end(text.value_or(""));
}

std::vector<std::string> Repository::remote_urls() const {
  std::vector<std::string> urls;
  for (const auto& entry : config_.entries()) {
    if (entry.key.starts_with("remote.") && entry.key.ends_with(".url") && entry.value) {
      urls.push_back(*entry.value);
    }
  }
  return urls;
}

Result<Head> Repository::head() const {
  RB_TRY(const auto content, head_content());
  Head head;
  head.reference = target_of(content);
  if (head.reference.empty()) {
    auto oid = oid_from(content);
    if (!oid) return refuse(codes::kNotARepository, "HEAD is neither a branch nor a commit");
    head.oid = *oid;
    return head;
  }
  if (!head.reference.starts_with(kHeads) || !valid_reference(head.reference)) {
    return refuse(codes::kUnsafeLayout, "HEAD names something that is not a branch",
                  policy::Json{{"place", "HEAD"}});
  }
  RB_CHECK(audit_layout(git_directory_.get(), {head.reference}));
  RB_TRY(head.oid, value_of(head.reference));
  return head;
}

Result<std::optional<git_oid>> Repository::value_of(const std::string& reference) const {
  git_oid oid{};
  const int code = git_reference_name_to_id(&oid, repository_.get(), reference.c_str());
  if (code == GIT_ENOTFOUND) return std::nullopt;
  RB_CHECK(git_check(code, "read a branch"));
  return oid;
}

Result<std::optional<std::string>> Repository::operation() const {
  const int git = git_directory_.get();
  // A rebase comes first: it may be stopped in a merge or a pick of its own.
  if (present(git, "rebase-apply")) {
    const auto applying = platform::open_beneath(git, "rebase-apply/applying", OpenAs::location);
    return applying ? "am" : "rebase";
  }
  if (present(git, "rebase-merge")) return "rebase";
  if (present(git, "MERGE_HEAD")) return "merge";
  if (present(git, "CHERRY_PICK_HEAD")) return "cherry_pick";
  if (present(git, "REVERT_HEAD")) return "revert";
  // Several commits are picked or reverted, and it stopped between two of them.
  if (present(git, "sequencer")) {
    RB_TRY(const auto todo, platform::read_beneath_if_present(git, "sequencer/todo", kMaxTodoBytes));
    return todo && todo->starts_with("revert") ? "revert" : "cherry_pick";
  }
  if (present(git, "BISECT_LOG")) return "bisect";
  return std::nullopt;
}

std::optional<Upstream> Repository::upstream_of(const Head& head) const {
  if (head.detached()) return std::nullopt;
  const std::string section = "branch." + head.branch() + ".";
  const auto remote = config_.last(section + "remote");
  const auto merge = config_.last(section + "merge");
  if (!remote || !merge || remote->empty() || *remote == "." || !merge->starts_with(kHeads) ||
      !valid_reference(*merge)) {
    return std::nullopt;
  }
  Upstream upstream{.remote = *remote, .reference = *merge, .tracking = ""};
  // Only the plain mapping that git itself sets up; any other refspec could point anywhere.
  const std::string plain = "refs/heads/*:refs/remotes/" + *remote + "/*";
  for (auto refspec : config_.all("remote." + *remote + ".fetch")) {
    if (refspec.starts_with('+')) refspec.erase(0, 1);
    const std::string tracking = "refs/remotes/" + *remote + "/" + upstream.branch();
    if (refspec == plain && valid_reference(tracking)) upstream.tracking = tracking;
  }
  return upstream;
}

// The bytes of the index, and in `copy` what the file looked like; nullopt when there is none.
Result<std::optional<std::string>> Repository::index_bytes(IndexCopy& copy) const {
  auto fd = platform::open_beneath(git_directory_.get(), "index", OpenAs::readable);
  if (!fd && platform::is_absent(fd.error())) return std::nullopt;
  if (!fd) return fail(std::move(fd).error());
  RB_TRY(copy.original, platform::facts_of(fd->get()));
  RB_TRY(auto bytes, platform::read_regular(fd->get(), kMaxIndexBytes));
  return std::optional<std::string>(with_checksum(std::move(bytes)));
}

Result<void> Repository::open_index(IndexCopy& copy, const std::string& path) const {
  const int code = git_index_open(into(copy.index), path.c_str());
  if (code < 0) {
    if (last_error_says("mandatory extension")) {
      return unsupported_format(
          "a split or sparse index; `git update-index --no-split-index` or "
          "`git sparse-checkout reapply --no-sparse-index` makes it a plain one");
    }
    return git_failure(code, "read the index");
  }
  return git_check(git_repository_set_index(repository_.get(), copy.index.get()), "use the index");
}

Result<Repository::IndexCopy> Repository::read_index() const {
  IndexCopy copy;
  RB_TRY(const auto bytes, index_bytes(copy));
  if (!bytes) {
    RB_CHECK(git_check(git_index_new(into(copy.index)), "make an index"));
    RB_CHECK(git_check(git_repository_set_index(repository_.get(), copy.index.get()), "use the index"));
    return copy;
  }
  RB_TRY(copy.memory, memory_file(*bytes));
  RB_CHECK(set_modified(copy.memory.get(), copy.original->modified_ns));
  RB_CHECK(open_index(copy, path_of_descriptor(copy.memory.get())));
  if (config_.is_true("core.sparsecheckout")) show_present_files(copy.index.get());
  return copy;
}

// In a sparse checkout git looks at a file that is there all the same as if it were wanted.
void Repository::show_present_files(git_index* index) const {
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index, i);
    if ((entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) == 0) continue;
    if (!platform::open_beneath(root_.get(), entry->path, OpenAs::location)) continue;
    // The index is ours and is never written back; adding the entry anew would reset more than this flag.
    const_cast<git_index_entry*>(entry)->flags_extended &=  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        static_cast<std::uint16_t>(~static_cast<unsigned>(GIT_INDEX_ENTRY_SKIP_WORKTREE));
  }
}

Result<Repository::IndexCopy> Repository::copy_index_to(const std::string& path) const {
  IndexCopy copy;
  RB_TRY(const auto bytes, index_bytes(copy));
  if (bytes) {
    RB_CHECK(platform::create_file(path, *bytes, S_IRUSR | S_IWUSR));
    platform::UniqueFd file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) return os_failure("open the index's copy", errno);
    RB_CHECK(set_modified(file.get(), copy.original->modified_ns));
  }
  RB_CHECK(open_index(copy, path));
  return copy;
}

}  // namespace repobridge::git
