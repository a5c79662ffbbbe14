#include "platform/room_mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>

#include "platform/files.h"
#include "platform/frozen_workdir.h"

namespace repobridge::platform {
namespace {

constexpr std::uint64_t kHarmless = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kReadOnly = kHarmless | MOUNT_ATTR_RDONLY;
constexpr std::uint64_t kReadOnlyDevice = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;

// What programs expect of /dev, and nothing that leads to a disk, a memory or another's terminal.
constexpr std::array kDevices = {"null", "zero", "full", "random", "urandom", "tty"};
struct DeviceLink {
  const char* name;
  const char* target;
};
constexpr std::array kDeviceLinks = {
    DeviceLink{"/dev/fd", "/proc/self/fd"}, DeviceLink{"/dev/stdin", "/proc/self/fd/0"},
    DeviceLink{"/dev/stdout", "/proc/self/fd/1"}, DeviceLink{"/dev/stderr", "/proc/self/fd/2"},
    DeviceLink{"/dev/ptmx", "pts/ptmx"}};
constexpr const char* kResolver = "/etc/resolv.conf";

// /tmp, /var/tmp, /run and /dev.
constexpr std::size_t kSystemPlaces = 4;
constexpr mode_t kForAll = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
constexpr mode_t kToRead = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;

bool lies_in(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

constexpr unsigned kItself = 0;
constexpr unsigned kWithAllBelow = AT_RECURSIVE;

Result<void> set_attributes(int place, const std::string& path, std::uint64_t attributes, unsigned which) {
  mount_attr wanted{};
  wanted.attr_set = attributes;
  const unsigned flags = which | (path.empty() ? static_cast<unsigned>(AT_EMPTY_PATH) : 0U);
  if (::mount_setattr(place, path.c_str(), flags, &wanted, sizeof wanted) == 0) return {};
  return os_failure("change what a mount allows", errno);
}

Result<void> mount_tmpfs(const std::string& path, const char* options) {
  if (::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options) == 0) return {};
  return os_failure("mount a private directory", errno);
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// All of them above it. What is there already, perhaps read-only, stays as it is; whoever needs the others
// fails.
void make_directories_above(const std::string& path) {
  for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    (void)::mkdir(path.substr(0, slash).c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
  }
}

// A file or a directory, with what is mounted below it, as it was before anything is laid over it.
class Kept {
 public:
  static Result<Kept> take(int place, const std::string& path_there, std::string path) {
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
                           (path_there.empty() ? static_cast<unsigned>(AT_EMPTY_PATH) : 0U);
    UniqueFd tree(::open_tree(place, path_there.c_str(), flags));
    if (!tree.valid()) return os_failure("keep a place", errno);
    return of(std::move(tree), std::move(path));
  }
  // A mount that is nowhere yet.
  static Result<Kept> of(UniqueFd tree, std::string path) {
    RB_TRY(const auto facts, facts_of(tree.get()));
    return Kept(std::move(tree), std::move(path), facts);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FileIdentity& identity() const { return facts_.identity; }

  // At its path; what leads there is made.
  [[nodiscard]] Result<void> put(std::uint64_t attributes) const {
    make_way();
    RB_CHECK(set_attributes(tree_.get(), "", attributes, kWithAllBelow));
    if (::move_mount(tree_.get(), "", AT_FDCWD, path_.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0) return {};
    return os_failure("put a place back", errno);
  }

 private:
  Kept(UniqueFd tree, std::string path, const FileFacts& facts)
      : tree_(std::move(tree)), path_(std::move(path)), facts_(facts) {}

  void make_way() const {
    make_directories_above(path_);
    if (facts_.is_directory()) {
      (void)::mkdir(path_.c_str(), S_IRWXU);
    } else {
      const UniqueFd made(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR));
    }
  }

  UniqueFd tree_;
  std::string path_;
  FileFacts facts_;
};

class Furnishing {
 public:
  Furnishing(const RoomPlan& plan, const RoomPlaces& places) : plan_(&plan), places_(&places) {}

  // From what is put over everything to what is put into it again; what lies in the workdir comes last.
  Result<Furnished> carry_out(const std::string& program) {
    RB_CHECK(keep(program));
    RB_CHECK(set_attributes(AT_FDCWD, "/", kReadOnly, kWithAllBelow));
    RB_CHECK(cover_system());
    RB_CHECK(cover_homes(false));
    RB_CHECK(put_back_what_may_be_read());
    RB_CHECK(hide(false));
    RB_CHECK(put_workdir());
    RB_CHECK(cover_homes(true));
    RB_CHECK(hide(true));
    for (const auto& path : to_seal_) RB_CHECK(set_attributes(AT_FDCWD, path, kReadOnly, kItself));
    return Furnished{.writable = std::move(writable_), .frozen = frozen_};
  }

 private:
  Result<void> keep(const std::string& program) {
    RB_CHECK(keep_workdir());
    for (const char* name : kDevices) {
      const std::string path = std::string("/dev/") + name;
      if (auto device = Kept::take(AT_FDCWD, path, path)) devices_.push_back(*std::move(device));
    }
    RB_CHECK(keep_of_home());
    RB_CHECK(keep_to_read(program));
    const auto resolver = canonical_path(kResolver);  // often a link into /run
    return plan_->network && resolver ? keep_to_read(*resolver) : Result<void>();
  }

  Result<void> keep_workdir() {
    auto frozen = plan_->frozen.none() ? std::nullopt : freeze(plan_->workdir, plan_->frozen);
    frozen_ = frozen.has_value();
    if (!frozen) {
      RB_TRY(workdir_, Kept::take(AT_FDCWD, ".", plan_->workdir));
      return {};
    }
    RB_TRY(workdir_, Kept::of(std::move(frozen->tree), plan_->workdir));
    for (auto& directory : frozen->directories) {
      RB_TRY(auto kept, Kept::of(std::move(directory.tree), plan_->workdir + "/" + directory.name));
      frozen_directories_.push_back(std::move(kept));
    }
    return {};
  }

  // For when it turns out to lie below a private directory; what is not there is not missed.
  Result<void> keep_to_read(const std::string& path) {
    if (auto kept = Kept::take(AT_FDCWD, path, path)) readable_.push_back(*std::move(kept));
    return {};
  }

  // What is not there yet cannot be read either. A link on the way is an error: it may lead anywhere.
  Result<void> keep_of_home() {
    if (plan_->homes.empty() || (plan_->private_home && plan_->home_read.empty())) return {};
    RB_TRY(const auto path, canonical_path(plan_->homes.front()));
    if (!plan_->private_home) return keep_to_read(path);
    RB_TRY(const auto home, open_directory(path));
    for (const auto& name : plan_->home_read) {
      const auto place = open_beneath(home.get(), name, OpenAs::location);
      if (!place && is_absent(place.error())) continue;
      if (!place) return fail(place.error());
      RB_TRY(auto kept, Kept::take(place->get(), "", path + "/" + name));
      readable_.push_back(std::move(kept));
    }
    return {};
  }

  Result<void> cover_system() {
    RB_CHECK(make_memory());
    for (const char* path : {"/tmp", "/var/tmp"}) RB_CHECK(cover(path, kForAll));
    RB_CHECK(cover("/run", kToRead));
    RB_CHECK(cover("/dev", kToRead));
    // Read-only devices are written to as ever; it is their modes and times that are the machine's.
    for (const auto& device : devices_) RB_CHECK(device.put(kReadOnlyDevice));
    for (const auto& link : kDeviceLinks) (void)!::symlink(link.target, link.name);
    (void)::mkdir("/dev/shm", S_IRWXU);
    (void)::mkdir("/dev/pts", S_IRWXU);
    // Terminals of one's own are a comfort; a room without them is no less closed.
    (void)::mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                  "newinstance,ptmxmode=0666,mode=620");
    return {};
  }

  // One for all that is private, so that together they take no more than one may: by default half of the
  // machine's. It stands in the tree for a moment, since of no other mount a part can be had.
  Result<void> make_memory() {
    constexpr const char* kPlace = "/tmp";
    RB_CHECK(mount_tmpfs(kPlace, "mode=700"));
    auto made = make_parts(kPlace);
    if (::umount2(kPlace, MNT_DETACH) != 0) return os_failure("put a private directory away", errno);
    return made;
  }

  Result<void> make_parts(const std::string& memory) {
    const auto most = kSystemPlaces + places_->homes.size();
    for (std::size_t one = 0; one < most; ++one) {
      const auto path = memory + "/" + std::to_string(one);
      if (::mkdir(path.c_str(), S_IRWXU) != 0) return os_failure("make a private directory", errno);
      RB_TRY(UniqueFd part, part_of_tree(path));
      parts_.push_back(std::move(part));
    }
    return {};
  }

  static Result<UniqueFd> part_of_tree(const std::string& path) {
    UniqueFd part(::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (part.valid()) return part;
    return os_failure("make a private directory", errno);
  }

  // Links in place of one of these lead to another of them, or to what is read-only.
  Result<void> cover(const std::string& path, mode_t mode) {
    RB_TRY(const auto facts, facts_of_path(path));
    if (!facts || !facts->is_directory()) return {};
    RB_TRY(const auto part, Kept::of(std::move(parts_.back()), path));
    parts_.pop_back();
    RB_CHECK(part.put(kHarmless));
    if (::chmod(path.c_str(), mode) != 0) return os_failure("open a private directory", errno);
    writable_.push_back(path);
    return {};
  }

  Result<void> cover_homes(bool in_workdir) {
    if (!plan_->private_home) return {};
    for (const auto& home : places_->homes) {
      if (within_workdir(home) != in_workdir) continue;
      RB_CHECK(hold_way_to(home));
      if (is_there(home)) RB_CHECK(cover(home, S_IRWXU));
      // One that lay in another private directory is made anew in there.
      if (!is_there(home)) make_directories_above(home + "/");
    }
    return {};
  }

  [[nodiscard]] Result<void> put_back_what_may_be_read() const {
    for (const auto& kept : readable_) {
      if (!is_there(kept.path())) RB_CHECK(kept.put(kReadOnly));
    }
    return {};
  }

  Result<void> hide(bool in_workdir) {
    for (const auto& path : places_->hidden) {
      if (within_workdir(path) == in_workdir && path != plan_->workdir) RB_CHECK(hide_one(path));
    }
    return {};
  }

  Result<void> hide_one(const std::string& path) {
    RB_TRY(const auto facts, facts_of_path(path));
    if (!facts) return {};  // what covers its directory hides it already
    RB_CHECK(hold_way_to(path));
    if (facts->is_directory()) {
      to_seal_.push_back(path);  // later: the workdir may have to be put into it
      return mount_tmpfs(path, "mode=755,size=64k");
    }
    // A device that no device may be opened on.
    RB_TRY(const auto nothing, Kept::take(AT_FDCWD, "/dev/null", path));
    return nothing.put(kReadOnly);
  }

  // In a workdir that is written, a directory above what is hidden could be moved, and what is hidden with it
  // to where the next room would not look for it. Nobody moves what something is mounted on.
  Result<void> hold_way_to(const std::string& path) {
    if (!plan_->writable || !within_workdir(path)) return {};
    const auto top = plan_->workdir.size() + 1;
    for (auto slash = path.find('/', top); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const auto above = path.substr(0, slash);
      if (!is_there(above) || !held_.insert(above).second) continue;
      if (::mount(above.c_str(), above.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
        return os_failure("hold a directory", errno);
      }
    }
    return {};
  }

  Result<void> put_workdir() {
    RB_CHECK(workdir_->put(plan_->writable ? kHarmless : kReadOnly));
    for (const auto& directory : frozen_directories_) RB_CHECK(directory.put(kReadOnly));
    if (plan_->writable) writable_.push_back(plan_->workdir);
    if (::chdir(plan_->workdir.c_str()) != 0) return os_failure("enter the workdir", errno);
    RB_TRY(const auto facts, facts_of_path("."));
    const bool same = facts && facts->identity == workdir_->identity();
    return same ? Result<void>() : os_failure("enter the workdir", ESTALE);
  }

  [[nodiscard]] bool within_workdir(const std::string& path) const {
    return path != plan_->workdir && lies_in(path, plan_->workdir);
  }

  const RoomPlan* plan_;
  const RoomPlaces* places_;
  std::optional<Kept> workdir_;
  std::vector<Kept> frozen_directories_;
  bool frozen_ = false;
  std::vector<Kept> devices_;
  std::vector<Kept> readable_;
  std::vector<std::string> writable_;
  std::vector<std::string> to_seal_;
  std::vector<UniqueFd> parts_;  // of the private memory, each for one place
  std::set<std::string> held_;
};

// Parents first, each once. A root for a home is none.
std::vector<std::string> canonical(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const auto& path : paths) {
    if (auto real = canonical_path(path); real && *real != "/") found.push_back(*std::move(real));
  }
  std::ranges::sort(found);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  return found;
}

}  // namespace

bool detach_mounts() {
  // The youngest of the calls that furnish() needs; with nothing to change it is EINVAL.
  const bool known = ::mount_setattr(AT_FDCWD, "/", 0, nullptr, 0) == 0 || errno != ENOSYS;
  return known && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool mount_own_proc() {
  return ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, nullptr) == 0;
}

RoomPlaces places_of(const RoomPlan& plan) {
  return {.homes = canonical(plan.homes), .hidden = canonical(plan.hidden)};
}

Result<Furnished> furnish(const RoomPlan& plan, const RoomPlaces& places, const std::string& program) {
  return Furnishing(plan, places).carry_out(program);
}

}  // namespace repobridge::platform
