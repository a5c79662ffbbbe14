#include "bridge/admin/arguments.h"

#include <filesystem>

#include "bridge/actions/pins.h"
#include "platform/program.h"
#include "policy/codes.h"
#include "policy/invocation.h"

namespace repobridge::admin {
namespace {

using policy::Action;
using policy::Executed;
using policy::Json;
using policy::Pin;
using policy::PinKind;
using policy::RepoPath;

std::string relative_to(const Root& root, const std::string& path) {
  return path.starts_with(root.path + "/") ? path.substr(root.path.size() + 1) : std::string();
}

// What the element could name: itself, the value behind "=", the value glued to a short option.
std::vector<std::string_view> names_in(std::string_view element) {
  std::vector<std::string_view> names{element};
  if (const auto equals = element.find('='); equals != std::string_view::npos) {
    names.push_back(element.substr(equals + 1));
  }
  const bool short_option = element.size() > 2 && element[0] == '-' && element[1] != '-';
  if (short_option) names.push_back(element.substr(2));
  return names;
}

class Check {
 public:
  Check(const Action& action, const ProgramSearch& search)
      : action_(&action), search_(&search), invocation_(policy::read_invocation(action.argv)) {}

  Result<void> run() {
    RB_TRY(root_, platform::open_directory(search_->root->path));
    if (action_->argument == policy::ActionArgument::path && invocation_.next_would_be)
      return refuse_argument();
    for (std::size_t i = 1; i < action_->argv.size(); ++i) RB_CHECK(check_names(i));
    for (const auto& one : invocation_.executed) {
      if (one.element > 0) RB_CHECK(check_executed(one));
    }
    return {};
  }

 private:
  [[nodiscard]] Failure refuse(const std::string& field, const std::string& problem) const {
    const std::string argument = action_->name + "." + field;
    return policy::refuse(policy::codes::kConfigInvalidSetting,
                          std::string(search_->variable) + ": '" + argument + "' " + problem,
                          Json{{"argument", argument}});
  }

  static std::string field(std::size_t element) { return "argv[" + std::to_string(element) + "]"; }

  [[nodiscard]] Failure refuse_argument() const {
    return refuse(
        "argument",
        "must be none: the caller's file would be the one that the last program of argv executes; name "
        "the script in argv and pin it");
  }

  [[nodiscard]] Result<void> check_names(std::size_t element) const {
    for (const auto name : names_in(action_->argv[element])) {
      RB_CHECK(check_other_workdir(element, name));
      const auto named = named_in(*search_->root, name);
      if (!named) continue;
      if (named->through_link) {
        return refuse(field(element),
                      "passes a link of the workdir, which nothing can pin; name the file itself");
      }
      if (!named->directory) RB_CHECK(check_pinned(element, named->path, PinKind::file));
    }
    return {};
  }

  // Only of its own workdir can an action pin anything.
  [[nodiscard]] Result<void> check_other_workdir(std::size_t element, std::string_view name) const {
    if (!name.starts_with('/') || name.size() > policy::kMaxPathBytes) return {};
    const auto path = platform::canonical_path(std::string(name));
    if (!path) return {};
    RB_TRY(const Root* root, search_->roots->holding(*path));
    if (root == nullptr || root == search_->root) return {};
    return refuse(field(element), "names what lies inside the workdir of " + root->slot +
                                      "PATH, where this "
                                      "action can pin nothing");
  }

  [[nodiscard]] Result<void> check_executed(const Executed& one) const {
    const std::string& text = action_->argv[one.element];
    const bool on_path = one.as == Executed::As::program && text.find('/') == std::string::npos;
    if (on_path) return check_on_path(one.element, text);
    if (text.starts_with('/')) return check_outside(one, text);
    if (text == "-") return {};
    const auto path = RepoPath::from_bytes(std::filesystem::path(text).lexically_normal().string());
    if (!path)
      return refuse(field(one.element), "is executed and is no path of the workdir: " + path.error().message);
    const auto named = named_in(*search_->root, text);
    return check_pinned(one.element, *path, named && named->directory ? PinKind::directory : PinKind::file);
  }

  // One that is not there may be the program's own (an applet, a virtual environment's).
  [[nodiscard]] Result<void> check_on_path(std::size_t element, const std::string& name) const {
    const auto found = platform::find_program(name, search_->search_path);
    return found ? check_hops(*action_, element, *search_, *found) : Result<void>();
  }

  // A file of the workdir was looked at by its name.
  [[nodiscard]] Result<void> check_outside(const Executed& one, const std::string& path) const {
    return one.as == Executed::As::script ? Result<void>()
                                          : check_hops(*action_, one.element, *search_, path);
  }

  [[nodiscard]] Result<void> check_pinned(std::size_t element, const RepoPath& path, PinKind kind) const {
    if (policy::covers(action_->integrity, path)) return {};
    std::string problem = "names a file of the workdir that 'integrity' does not pin";
    if (const auto pin = pin_now(root_.get(), path, kind)) {
      problem +=
          "; add " + Json{{policy::pin_name(path, pin->kind), policy::pin_value(*pin)}}.dump(-1, ' ', true);
    }
    return refuse(field(element), problem);
  }

  const Action* action_;
  const ProgramSearch* search_;
  policy::Invocation invocation_;
  platform::UniqueFd root_;
};

}  // namespace

std::optional<Named> named_in(const Root& root, std::string_view text) {
  const bool possible = !text.empty() && text.size() <= policy::kMaxPathBytes;
  if (!possible) return std::nullopt;
  std::string path = (std::filesystem::path(root.path) / text).lexically_normal().string();
  if (path.ends_with('/')) path.pop_back();
  const auto real = platform::canonical_path(path);
  const auto facts = platform::facts_of_path(path);
  if (!facts || !*facts) return std::nullopt;
  // A link from outside may lead into the workdir: then what it leads to is meant.
  if (relative_to(root, path).empty() && real) path = *real;
  const auto relative = RepoPath::from_bytes(relative_to(root, path));
  if (!relative) return std::nullopt;
  return Named{
      .path = *relative, .directory = (*facts)->is_directory(), .through_link = !real || *real != path};
}

std::optional<Pin> pin_now(int root, const RepoPath& path, PinKind kind) {
  auto look = actions::look_at(root, path, kind);
  if (look) return std::move(look->now);
  if (look.error().code == policy::codes::kPathNotFound.name) return Pin{.kind = PinKind::absent};
  return std::nullopt;
}

Result<void> check_arguments(const Action& action, const ProgramSearch& search) {
  return Check(action, search).run();
}

}  // namespace repobridge::admin
