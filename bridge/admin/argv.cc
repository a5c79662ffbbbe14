#include "bridge/admin/argv.h"

#include "platform/program.h"
#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::admin {
namespace {

using policy::Action;
using policy::RepoPath;

Failure refuse_program(const Action& action, const ProgramSearch& search, const std::string& problem,
                       std::size_t element = 0) {
  const std::string argument = action.name + ".argv[" + std::to_string(element) + "]";
  return policy::refuse(policy::codes::kConfigInvalidSetting,
                        std::string(search.variable) + ": '" + argument + "' " + problem,
                        policy::Json{{"argument", argument}});
}

// "./tools/check" and "tools/check": a file of the workdir, which must be pinned.
Result<std::string> workdir_program(const Action& action, const ProgramSearch& search) {
  std::string_view name = action.argv.front();
  while (name.starts_with("./")) name.remove_prefix(2);
  const auto path = RepoPath::from_bytes(name);
  if (!path) return refuse_program(action, search, "is no path of the workdir: " + path.error().message);
  if (!policy::covers(action.integrity, *path)) {
    return refuse_program(action, search, "is a file of the workdir, so 'integrity' must pin it");
  }
  return "./" + path->bytes();
}

bool pinned(const std::string& path, const Action& action, const Root& root) {
  if (!path.starts_with(root.path + "/")) return false;
  const auto relative = RepoPath::from_bytes(std::string_view(path).substr(root.path.size() + 1));
  return relative && policy::covers(action.integrity, *relative);
}

}  // namespace

Result<void> check_hops(const Action& action, std::size_t element, const ProgramSearch& search,
                        const std::string& program) {
  const auto hops = platform::follow_program(program, search.search_path);
  if (!hops) return refuse_program(action, search, "cannot be used: " + hops.error().message, element);
  for (const auto& hop : *hops) {
    RB_TRY(const Root* root, search.roots->holding(hop.path));
    if (root == nullptr) continue;
    if (hop.runs && root == search.root && pinned(hop.path, action, *root)) continue;
    return refuse_program(
        action, search,
        (hop.runs ? "runs a file inside the workdir of " : "passes a link inside the workdir of ") +
            root->slot + "PATH that 'integrity' does not pin",
        element);
  }
  return {};
}

Result<void> settle_program(Action& action, const ProgramSearch& search) {
  std::string& name = action.argv.front();
  if (name.starts_with('/')) return check_hops(action, 0, search, name);
  if (name.find('/') != std::string::npos) {
    RB_TRY(name, workdir_program(action, search));
    return check_hops(action, 0, search, search.root->path + name.substr(1));
  }
  auto found = platform::find_program(name, search.search_path);
  if (!found) return refuse_program(action, search, "cannot be used: " + found.error().message);
  if (!policy::is_utf8(*found)) return refuse_program(action, search, "leads to a path that is not UTF-8");
  name = *std::move(found);
  return check_hops(action, 0, search, name);
}

}  // namespace repobridge::admin
