#include "bridge/admin/unasked.h"

#include <algorithm>

#include "bridge/admin/arguments.h"
#include "platform/files.h"
#include "platform/program.h"
#include "policy/invocation.h"
#include "policy/text.h"
#include "policy/tools.h"

namespace repobridge::admin {
namespace {

using policy::Action;
using policy::PinKind;
using policy::RepoPath;

constexpr std::size_t kMaxMakefileBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxMakefiles = 100;

bool are_flags(std::string_view option) {
  return option.size() > 1 && option[0] == '-' &&
         option.find_first_not_of("bBdEhiIOPqsSuvVxm", 1) == std::string_view::npos;
}

// Python's "-m", alone or behind other letters.
bool is_module_option(std::string_view option) { return are_flags(option) && option.ends_with('m'); }

// Python's "-I" and "-P": neither beside its script nor at the top.
bool finds_modules_elsewhere(std::string_view option) {
  return are_flags(option) && option.find_first_of("IP") != std::string_view::npos;
}

class Reads {
 public:
  Reads(const Action& action, const ProgramSearch& search, int root)
      : action_(&action), search_(&search), root_(root), invocation_(policy::read_invocation(action.argv)) {}

  std::vector<Unpinned> all() {
    for (const auto& program : programs()) add_tool(program);
    for (std::size_t i = 1; i < action_->argv.size(); ++i) add_element(i);
    std::erase_if(found_, [](const Unpinned& one) { return one.pins.empty() && one.not_pinnable.empty(); });
    return std::move(found_);
  }

 private:
  // argv[0], the interpreters behind it, and where it may start others any word that could name one: rather
  // one too many.
  [[nodiscard]] std::vector<std::string> programs() const {
    std::vector<std::string> names{action_->argv.front()};
    const auto hops = platform::follow_program(absolute_program(), search_->search_path);
    if (hops) {
      for (const auto& hop : *hops) names.push_back(hop.path);
    }
    const std::string& first = action_->argv.front();
    if (!policy::starts_others(first) && policy::read_unasked(first).tool.empty()) return names;
    for (const auto& element : action_->argv) {
      for (const auto& word : policy::split(element, ' ')) names.push_back(word);
    }
    return names;
  }

  [[nodiscard]] std::string absolute_program() const {
    const std::string& program = action_->argv.front();
    return program.starts_with("./") ? search_->root->path + program.substr(1) : program;
  }

  void add_tool(const std::string& program) {
    const auto reads = policy::read_unasked(program);
    const bool known = std::ranges::find(found_, reads.tool, &Unpinned::reader) != found_.end();
    if (reads.tool.empty() || known) return;
    Unpinned unpinned{.reader = reads.tool};
    for (const auto& name : reads.names) add_name(name, unpinned);
    if (reads.beside_script) add_beside_script(unpinned);
    if (reads.tool == "make" || reads.tool == "gmake") add_includes(reads.names, unpinned);
    found_.push_back(std::move(unpinned));
  }

  void add_name(const std::string& name, Unpinned& unpinned) const {
    const bool directory = name.ends_with('/');
    const auto path = RepoPath::from_bytes(directory ? name.substr(0, name.size() - 1) : name);
    if (path) add(*path, directory ? PinKind::directory : PinKind::file, unpinned);
  }

  void add(const RepoPath& path, PinKind kind, Unpinned& unpinned) const {
    if (policy::covers(action_->integrity, path) || unpinned.pins.contains(path)) return;
    if (auto pin = pin_now(root_, path, kind)) {
      unpinned.pins.emplace(path, *std::move(pin));
    } else {
      unpinned.not_pinnable.push_back(policy::pin_name(path, kind));
    }
  }

  // A module there is found before the interpreter's own: beside the script, or for code and "-m" at the top,
  // which nothing can pin.
  void add_beside_script(Unpinned& unpinned) const {
    std::string script = action_->argv.front();
    bool inside = script.starts_with("./");
    for (const auto& one : invocation_.executed) {
      if (one.as != policy::Executed::As::script) continue;
      script = action_->argv[one.element];
      inside = true;
    }
    if (!inside) add_module(unpinned);
    const auto named = named_in(*search_->root, script);
    const auto directory = RepoPath::from_bytes(named ? named->path.parent() : "");
    if (directory) {
      add(*directory, PinKind::directory, unpinned);
    } else if ((named || !inside) && std::ranges::none_of(action_->argv, finds_modules_elsewhere)) {
      unpinned.not_pinnable.emplace_back("./");
    }
  }

  // What "-m tests.run" may find at the top.
  void add_module(Unpinned& unpinned) const {
    const auto& argv = action_->argv;
    const auto option = std::ranges::find_if(argv, is_module_option);
    if (option == argv.end() || option + 1 == argv.end()) return;
    const std::string module = (option + 1)->substr(0, (option + 1)->find('.'));
    add_name(module + ".py", unpinned);
    add_name(module + "/", unpinned);
  }

  // What is included may include more.
  void add_includes(std::vector<std::string> makefiles, Unpinned& unpinned) const {
    for (std::size_t i = 0; i < makefiles.size() && i < kMaxMakefiles; ++i) {
      const auto text = platform::read_beneath_if_present(root_, makefiles[i], kMaxMakefileBytes);
      if (!text || !*text) continue;
      for (const auto& included : policy::makefile_includes(**text)) {
        add_name(included, unpinned);
        if (std::ranges::find(makefiles, included) == makefiles.end()) makefiles.push_back(included);
      }
    }
  }

  // A directory that it names, and names among the words of a piece of code.
  void add_element(std::size_t element) {
    Unpinned unpinned{.reader = "argv[" + std::to_string(element) + "]"};
    for (const auto& word : policy::split(action_->argv[element], ' ')) {
      const auto named = named_in(*search_->root, word);
      if (named) add(named->path, named->directory ? PinKind::directory : PinKind::file, unpinned);
    }
    found_.push_back(std::move(unpinned));
  }

  const Action* action_;
  const ProgramSearch* search_;
  int root_;
  policy::Invocation invocation_;
  std::vector<Unpinned> found_;
};

}  // namespace

std::vector<Unpinned> unpinned_reads(const Action& action, const ProgramSearch& search) {
  const auto root = platform::open_directory(search.root->path);
  if (!root) return {};
  return Reads(action, search, root->get()).all();
}

}  // namespace repobridge::admin
