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
constexpr int kMostLevels = 64;  // a manifest has no more
constexpr std::size_t kMostMountsBytes = std::size_t{1} << 22U;

bool lies_below(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

// An overlay takes the attributes of a directory from its upper layer.
Result<void> look_like(int place, const FileFacts& facts) {
  (void)!::fchown(place, facts.owner, facts.group);  // others' files are ours, where we are not root
  constexpr long kNanos = 1'000'000'000;
  const std::array<timespec, 2> times{
      timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
      timespec{.tv_sec = facts.modified_ns / kNanos, .tv_nsec = facts.modified_ns % kNanos}};
  const bool done = ::fchmod(place, facts.mode & kPermissions) == 0 && ::futimens(place, times.data()) == 0;
  return done ? Result<void>() : os_failure("give a copy its attributes", errno);
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

// Errors are the copy's; a source that cannot be read any more is a copy that nobody will take for it.
Result<void> copy_bytes(int from, int to) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;
  for (;;) {
    const ssize_t copied = ::sendfile(to, from, nullptr, kMostAtOnce);
    if (copied == 0) return {};
    if (copied < 0 && errno != EINTR) return os_failure("copy a file", errno);
  }
}

Result<void> copy_file(int from, const FileFacts& facts, int to, const std::string& name) {
  const UniqueFd copy(
      ::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRWXU));
  if (!copy.valid()) return os_failure("copy a file", errno);
  RB_CHECK(copy_bytes(from, copy.get()));
  return look_like(copy.get(), facts);
}

// For an overlay: nothing is here, whatever the layer below has.
Result<void> copy_nothing(int to, const std::string& name) {
  const bool done = ::mknodat(to, name.c_str(), S_IFCHR, ::makedev(0, 0)) == 0 || errno == EEXIST;
  return done ? Result<void>() : os_failure("cover a name", errno);
}

Result<void> copy_link(int from, int to, const std::string& name) {
  const auto target = read_link_beneath(from, name);
  if (!target || ::symlinkat(target->c_str(), to, name.c_str()) == 0) return {};
  return os_failure("copy a link", errno);
}

Result<void> copy_tree(int from, const FileFacts& facts, int to, const std::string& name, int level = 0);

// What goes away meanwhile, and what is none of the three, is left out.
Result<void> copy_entry(int from, int to, const std::string& name, int level) {
  const auto place = open_beneath(from, name, OpenAs::location);
  const auto facts = place ? facts_of(place->get()) : Result<FileFacts>(fail(place.error()));
  if (!facts) return {};
  if (facts->is_link()) return copy_link(from, to, name);
  if (facts->is_directory()) return copy_tree(place->get(), *facts, to, name, level + 1);
  const auto file = facts->is_regular() ? open_beneath(from, name, OpenAs::readable) : os_failure("", EINVAL);
  return file ? copy_file(file->get(), *facts, to, name) : Result<void>();
}

Result<void> copy_tree(int from, const FileFacts& facts, int to, const std::string& name, int level) {
  RB_TRY(const auto copy, make_copy(to, name));
  const auto entries = level < kMostLevels ? list_directory(from) : Result<std::vector<std::string>>{};
  for (const auto& entry : entries ? *entries : std::vector<std::string>{}) {
    RB_CHECK(copy_entry(from, copy.get(), entry, level));
  }
  return look_like(copy.get(), facts);
}

// The upper layer: the names that are frozen and the directories on the way to them.
class Copies {
 public:
  static Result<Copies> begin() {
    RB_TRY(auto from, open_directory("."));
    RB_TRY(auto to, open_directory(kCopies));
    return Copies(std::move(from), std::move(to));
  }

  Result<void> add(const FrozenNames& names) {
    for (const auto& name : sorted(names.directories)) RB_CHECK(add_directory(name));
    for (const auto& name : names.files) RB_CHECK(add_file(name));
    for (const auto& name : names.absent) RB_CHECK(add_absent(name));
    return finish();
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

  static std::vector<std::string> sorted(std::vector<std::string> names) {
    std::ranges::sort(names);  // outer ones first
    return names;
  }

  [[nodiscard]] bool is_copied(const std::string& name) const {
    return std::ranges::any_of(directories_,
                               [&](const auto& one) { return name == one || lies_below(name, one); });
  }

  Result<void> add_directory(const std::string& name) {
    if (is_copied(name)) return {};
    RB_TRY(const auto place, way_to(name));
    if (!place) return {};
    const auto [source, facts] = look_at(*place);
    if (!facts.is_directory()) return copy_nothing(place->to.get(), place->name);
    directories_.push_back(name);
    return copy_tree(source.get(), facts, place->to.get(), place->name);
  }

  Result<void> add_file(const std::string& name) {
    if (is_copied(name)) return {};
    RB_TRY(const auto place, way_to(name));
    if (!place) return {};
    if (!look_at(*place).facts.is_regular()) return copy_nothing(place->to.get(), place->name);
    const auto source = open_beneath(place->from.get(), place->name, OpenAs::readable);
    const auto facts = source ? facts_of(source->get()) : Result<FileFacts>(fail(source.error()));
    if (!facts || !facts->is_regular()) return copy_nothing(place->to.get(), place->name);
    return copy_file(source->get(), *facts, place->to.get(), place->name);
  }

  Result<void> add_absent(const std::string& name) {
    if (is_copied(name)) return {};
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
  [[nodiscard]] Result<void> finish() const {
    for (const auto& [path, facts] : on_the_way_) {
      RB_TRY(const auto copy, open_copy(to_.get(), path));
      RB_CHECK(look_like(copy.get(), facts));
    }
    RB_TRY(const auto facts, facts_of(from_.get()));
    return look_like(to_.get(), facts);
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

}  // namespace

std::optional<FrozenWorkdir> freeze(const std::string& workdir, const FrozenNames& names) {
  if (has_mounts_in(workdir)) return std::nullopt;
  if (::mount("tmpfs", kCopies, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700") != 0) return std::nullopt;
  auto frozen = lay_over(names);
  (void)::umount2(kCopies, MNT_DETACH);
  if (!frozen) return std::nullopt;
  return *std::move(frozen);
}

}  // namespace repobridge::platform
