#include "platform/frozen_workdir.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "platform/files.h"

namespace repobridge::platform {
namespace {

// In a mount namespace of our own, for a moment: an overlay takes its layers from where they are mounted.
constexpr const char* kCopies = "/tmp";
constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;
constexpr std::uint64_t kPage = 4096;
constexpr int kMostLevels = 64;  // a manifest has no more
constexpr std::size_t kMostMountsBytes = std::size_t{1} << 22U;

bool lies_below(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

timespec since_epoch(std::int64_t nanos) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  const auto rest = (nanos % kNanos + kNanos) % kNanos;  // also before 1970
  return {.tv_sec = (nanos - rest) / kNanos, .tv_nsec = rest};
}

// An overlay takes the attributes of a directory from its upper layer. One that cannot be given is missed by
// whoever looks at the view, if he asks for it.
void look_like(int place, const FileFacts& facts) {
  (void)!::fchown(place, facts.owner, facts.group);  // others' files are ours, where we are not root
  const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                                      since_epoch(facts.modified_ns)};
  (void)::fchmod(place, facts.mode & kPermissions);
  (void)::futimens(place, times.data());
}

Result<UniqueFd> open_copy(int to, const std::string& name) {
  UniqueFd directory(::openat(to, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.valid()) return directory;
  return os_failure("open a copied directory", errno);
}

Result<UniqueFd> make_copy(int to, const std::string& name) {
  if (::mkdirat(to, name.c_str(), S_IRWXU) != 0) return os_failure("copy a directory", errno);
  return open_copy(to, name);
}

// A source that cannot be read to its end, or has grown beyond the memory for it, makes a copy that nobody
// takes for what it ought to be.
void copy_bytes(int from, int to) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;
  for (;;) {
    const ssize_t copied = ::sendfile(to, from, nullptr, kMostAtOnce);
    if (copied == 0 || (copied < 0 && errno != EINTR)) return;
  }
}

Result<void> copy_file(int from, const FileFacts& facts, int to, const std::string& name) {
  const UniqueFd copy(
      ::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRWXU));
  if (!copy.valid()) return os_failure("copy a file", errno);
  copy_bytes(from, copy.get());
  look_like(copy.get(), facts);
  return {};
}

Result<UniqueFd> open_file(int from, const std::string& name, FileFacts& facts) {
  RB_TRY(auto file, open_beneath(from, name, OpenAs::readable));
  RB_TRY(facts, facts_of(file.get()));
  if (facts.is_regular()) return file;
  return os_failure("open a file", EINVAL);
}

// For an overlay: nothing is here, whatever the layer below has.
Result<void> copy_nothing(int to, const std::string& name) {
  const bool done = ::mknodat(to, name.c_str(), S_IFCHR, ::makedev(0, 0)) == 0 || errno == EEXIST;
  return done ? Result<void>() : os_failure("cover a name", errno);
}

void copy_link(int from, int to, const std::string& name) {
  const auto target = read_link_beneath(from, name);
  if (target) (void)!::symlinkat(target->c_str(), to, name.c_str());
}

// A directory with all that is in it, which is to be mounted where it stands: what goes away meanwhile, what
// is none of the three, and what there is no room for is left out.
class TreeCopy {
 public:
  explicit TreeCopy(std::uint64_t most_entries) : left_(most_entries) {}

  Result<void> copy(int from, const FileFacts& facts, int to, const std::string& name, int level = 0) {
    RB_TRY(const auto copied, make_copy(to, name));
    const auto entries = level < kMostLevels ? list_directory(from) : Result<std::vector<std::string>>{};
    for (const auto& entry : entries ? *entries : std::vector<std::string>{}) {
      if (left_ == 0) break;
      --left_;
      copy_entry(from, copied.get(), entry, level);
    }
    look_like(copied.get(), facts);
    return {};
  }

 private:
  void copy_entry(int from, int to, const std::string& name, int level) {
    const auto place = open_beneath(from, name, OpenAs::location);
    auto facts = place ? facts_of(place->get()) : Result<FileFacts>(fail(place.error()));
    if (!facts) return;
    if (facts->is_link()) return copy_link(from, to, name);
    if (facts->is_directory()) return (void)copy(place->get(), *facts, to, name, level + 1);
    if (!facts->is_regular()) return;
    const auto file = open_file(from, name, *facts);
    if (file) (void)copy_file(file->get(), *facts, to, name);
  }

  std::uint64_t left_;
};

// The upper layer: the names that are frozen and the directories on the way to them.
class Copies {
 public:
  static Result<Copies> begin() {
    RB_TRY(auto from, open_directory("."));
    RB_TRY(auto to, open_directory(kCopies));
    return Copies(std::move(from), std::move(to));
  }

  // Whole directories come last, of which somebody may have made more than there is memory for.
  Result<void> add(const FrozenNames& names) {
    const auto outermost = outermost_of(names.directories);
    for (const auto& name : names.files) {
      if (!lies_below_any(name, outermost)) RB_CHECK(add_file(name));
    }
    for (const auto& name : names.absent) {
      if (!lies_below_any(name, outermost)) RB_CHECK(add_absent(name));
    }
    TreeCopy tree(names.most_bytes / kPage);
    for (const auto& name : outermost) RB_CHECK(add_directory(name, tree));
    finish();
    return {};
  }

  // Those that were copied.
  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }

 private:
  // Where a name stands, in the workdir and in the copy.
  struct Place {
    UniqueFd from;  // none: it is not there any more
    UniqueFd to;
    std::string name;
  };

  Copies(UniqueFd from, UniqueFd to) : from_(std::move(from)), to_(std::move(to)) {}

  // What lies in one of them is as it is in the copy of that one.
  static std::vector<std::string> outermost_of(std::vector<std::string> names) {
    std::ranges::sort(names);
    std::vector<std::string> outermost;
    for (const auto& name : names) {
      if (!lies_below_any(name, outermost)) outermost.push_back(name);
    }
    return outermost;
  }

  static bool lies_below_any(const std::string& name, const std::vector<std::string>& directories) {
    return std::ranges::any_of(directories, [&](const auto& one) { return lies_below(name, one); });
  }

  Result<void> add_directory(const std::string& name, TreeCopy& tree) {
    RB_TRY(const auto place, way_to(name));
    if (!place) return {};
    const auto [source, facts] = look_at(*place);
    if (!facts.is_directory()) return copy_nothing(place->to.get(), place->name);
    directories_.push_back(name);
    return tree.copy(source.get(), facts, place->to.get(), place->name);
  }

  Result<void> add_file(const std::string& name) {
    RB_TRY(const auto place, way_to(name));
    if (!place) return {};
    FileFacts facts;
    const auto source = open_file(place->from.get(), place->name, facts);
    if (!source) return copy_nothing(place->to.get(), place->name);
    return copy_file(source->get(), facts, place->to.get(), place->name);
  }

  Result<void> add_absent(const std::string& name) {
    RB_TRY(const auto place, way_to(name));
    return place ? copy_nothing(place->to.get(), place->name) : Result<void>();
  }

  struct Source {
    UniqueFd fd;
    FileFacts facts;  // of nothing: neither a file nor a directory
  };
  static Source look_at(const Place& place) {
    auto fd = open_beneath(place.from.get(), place.name, OpenAs::location);
    if (!fd) return {};
    const auto facts = facts_of(fd->get());
    return facts ? Source{.fd = *std::move(fd), .facts = *facts} : Source{};
  }

  // nullopt: there is no way to it, and in the view there will be none.
  Result<std::optional<Place>> way_to(const std::string& name) {
    RB_TRY(auto from, open_beneath(from_.get(), ".", OpenAs::location));
    RB_TRY(auto to, open_copy(to_.get(), "."));
    Place place{.from = std::move(from), .to = std::move(to), .name = name};
    for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      place.name = name.substr(name.rfind('/', slash - 1) + 1);
      place.name.resize(place.name.find('/'));
      RB_TRY(const bool goes_on, enter(place, name.substr(0, slash)));
      if (!goes_on) return std::optional<Place>();
    }
    place.name = name.substr(name.rfind('/') + 1);
    return std::optional(std::move(place));
  }

  // `path`: of the directory that place.name is, from the top.
  Result<bool> enter(Place& place, const std::string& path) {
    auto [source, facts] = look_at(place);
    auto copy = open_copy(place.to.get(), place.name);
    if (!copy && !facts.is_directory()) {
      RB_CHECK(copy_nothing(place.to.get(), place.name));
      return false;
    }
    if (!copy) {
      if (copy.error().os_code != ENOENT) return false;  // it is covered already
      copy = make_copy(place.to.get(), place.name);
      on_the_way_.emplace(path, facts);
    }
    RB_TRY(place.to, std::move(copy));
    place.from = facts.is_directory() ? std::move(source) : UniqueFd();
    return true;
  }

  // When nothing is added to them any more, since that changes their times.
  void finish() const {
    for (const auto& [path, facts] : on_the_way_) {
      if (const auto copy = open_copy(to_.get(), path)) look_like(copy->get(), facts);
    }
    if (const auto facts = facts_of(from_.get())) look_like(to_.get(), *facts);
  }

  UniqueFd from_;
  UniqueFd to_;
  std::vector<std::string> directories_;
  std::map<std::string, FileFacts> on_the_way_;
};

// What an upper layer may say in extended attributes, nobody may have us follow.
Result<UniqueFd> mount_over() {
  const UniqueFd context(::fsopen("overlay", FSOPEN_CLOEXEC));
  if (!context.valid()) return os_failure("open an overlay", errno);
  const auto set = [&context](const char* key, const std::string& value) {
    return ::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) == 0;
  };
  if (!set("lowerdir", std::string(kCopies) + ":.") || !set("redirect_dir", "nofollow") ||
      !set("metacopy", "off") || !set("index", "off") ||
      ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return os_failure("configure an overlay", errno);
  }
  UniqueFd tree(
      ::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (tree.valid()) return tree;
  return os_failure("mount an overlay", errno);
}

Result<FrozenWorkdir> lay_over(const FrozenNames& names) {
  RB_TRY(auto copies, Copies::begin());
  RB_CHECK(copies.add(names));
  FrozenWorkdir frozen;
  RB_TRY(frozen.tree, mount_over());
  for (const auto& name : copies.directories()) {
    const auto path = std::string(kCopies) + "/" + name;
    UniqueFd tree(::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (!tree.valid()) return os_failure("keep a copied directory", errno);
    frozen.directories.push_back({.name = name, .tree = std::move(tree)});
  }
  return frozen;
}

// mountinfo writes a space as \040.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  constexpr int kOctal = 8;
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + kDigits < text.size()) {
      plain += static_cast<char>(std::stoi(std::string(text.substr(at + 1, kDigits)), nullptr, kOctal));
      at += kDigits;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// The fifth word of each line. An overlay would not show what is mounted in its layers.
bool has_mounts_in(const std::string& workdir) {
  const auto mounts = read_if_present("/proc/self/mountinfo", kMostMountsBytes);
  if (!mounts || !*mounts) return true;
  std::string_view rest = **mounts;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::string_view words = line;
    for (int word = 1; word < 5; ++word) words.remove_prefix(std::min(words.size(), words.find(' ') + 1));
    if (lies_below(unescaped(words.substr(0, words.find(' '))), workdir)) return true;
  }
  return false;
}

std::uint64_t half_of_memory() {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L));
  return pages / 2 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::optional<FrozenWorkdir> freeze(const std::string& workdir, const FrozenNames& names) {
  if (has_mounts_in(workdir) || names.most_bytes > half_of_memory()) return std::nullopt;
  // As many files as TreeCopy lets be.
  const auto options =
      "mode=700,nr_inodes=0,size=" + std::to_string(std::max<std::uint64_t>(names.most_bytes, kPage));
  if (::mount("tmpfs", kCopies, "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) return std::nullopt;
  auto frozen = lay_over(names);
  (void)::umount2(kCopies, MNT_DETACH);
  if (!frozen) return std::nullopt;
  return *std::move(frozen);
}

}  // namespace repobridge::platform
