#include "bridge/git/attributes.h"

#include <array>

#include "policy/codes.h"
#include "policy/json.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;

constexpr std::size_t kMaxAttributeFileBytes = 1U << 20U;

constexpr std::array kConverting = {"filter", "working-tree-encoding", "ident"};

Failure unsupported(const std::string& place, const std::string& problem) {
  return policy::refuse(codes::kUnsupportedAttributes,
                        "an attribute file cannot be trusted to mean one thing: " + problem,
                        policy::Json{{"place", policy::path_text(place)}});
}

bool converts(const char* value) {
  const auto kind = git_attr_value(value);
  return kind == GIT_ATTR_VALUE_TRUE || kind == GIT_ATTR_VALUE_STRING;
}

}  // namespace

Result<void> check_attribute_text(std::string_view text, const std::string& place) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (const auto& line : policy::split(text, '\n')) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos && line[begin] == '"') {
      return unsupported(place, "it has a quoted pattern; write the pattern without quotes");
    }
    if (line.size() > kMaxAttributeLineBytes) {
      return unsupported(place, "it has a line of more than 2048 bytes");
    }
  }
  return {};
}

Result<void> Attributes::check_file(const std::string& place) {
  if (!checked_.insert(place).second) return {};
  auto in_work_tree = platform::read_beneath_if_present(repository_->root(), place, kMaxAttributeFileBytes);
  if (!in_work_tree) return unsupported(place, "it is a link, no regular file, or larger than 1 MiB");
  if (*in_work_tree) RB_CHECK(check_attribute_text(**in_work_tree, place));
  const git_index_entry* entry = git_index_get_bypath(index_, place.c_str(), 0);
  if (entry == nullptr) return {};
  OwnedBlob blob;
  RB_CHECK(git_check(git_blob_lookup(into(blob), repository_->get(), &entry->id), "read an attribute file"));
  const std::string_view bytes(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                               static_cast<std::size_t>(git_blob_rawsize(blob.get())));
  if (bytes.size() > kMaxAttributeFileBytes) return unsupported(place, "it is larger than 1 MiB");
  return check_attribute_text(bytes, place);
}

Result<void> Attributes::check_info() {
  const std::string place = "info/attributes";
  if (!checked_.insert(".git/" + place).second) return {};
  if (repository_->config().has("core.attributesfile")) {
    return unsupported("config", "core.attributesFile is set in the repository's configuration; unset it");
  }
  RB_TRY(const auto text,
         platform::read_beneath_if_present(repository_->git_directory(), place, kMaxAttributeFileBytes));
  return check_attribute_text(text.value_or(""), place);
}

Result<void> Attributes::check_files_for(const policy::RepoPath& path) {
  RB_CHECK(check_info());
  RB_CHECK(check_file(".gitattributes"));
  std::string directory;
  const auto components = path.components();
  for (std::size_t i = 0; i + 1 < components.size(); ++i) {
    directory += components[i] + "/";
    RB_CHECK(check_file(directory + ".gitattributes"));
  }
  return {};
}

Result<void> Attributes::check(const policy::RepoPath& path) {
  RB_CHECK(check_files_for(path));
  // Work tree first or index first: git takes either, by what it does, so neither may name a filter.
  for (const std::uint32_t order :
       {0U + GIT_ATTR_CHECK_FILE_THEN_INDEX, 0U + GIT_ATTR_CHECK_INDEX_THEN_FILE}) {
    for (const char* name : kConverting) {
      const char* value = nullptr;
      RB_CHECK(git_check(git_attr_get(&value, repository_->get(), order, path.bytes().c_str(), name),
                         "read attributes"));
      if (!converts(value)) continue;
      return policy::refuse(
          codes::kPathFiltered,
          "git would pass this file through a filter or another encoding (LFS is one), which is "
          "not done here; commit it with git itself",
          policy::Json{{"path", path.text()}, {"attribute", name}});
    }
  }
  return {};
}

Result<std::string> Attributes::to_stored(const policy::RepoPath& path, std::string bytes) const {
  OwnedFilters filters;
  RB_CHECK(git_check(git_filter_list_load(into(filters), repository_->get(), nullptr, path.bytes().c_str(),
                                          GIT_FILTER_TO_ODB, GIT_FILTER_DEFAULT),
                     "find line-ending rules"));
  if (!filters) return bytes;
  Buffer converted;
  const int code =
      git_filter_list_apply_to_buffer(converted.get(), filters.get(), bytes.data(), bytes.size());
  if (code < 0) {
    (void)git_failure(code, "convert line endings");
    return policy::refuse(
        codes::kPathFiltered,
        "core.safecrlf refuses the conversion of this file's line endings; make them uniform",
        policy::Json{{"path", path.text()}, {"attribute", "safecrlf"}});
  }
  return std::string(converted.view());
}

std::optional<bool> Attributes::text_for_diff(const policy::RepoPath& path) const {
  const char* value = nullptr;
  const int code =
      git_attr_get(&value, repository_->get(), GIT_ATTR_CHECK_FILE_THEN_INDEX, path.bytes().c_str(), "diff");
  if (code < 0) return std::nullopt;
  switch (git_attr_value(value)) {
    case GIT_ATTR_VALUE_FALSE:
      return false;
    case GIT_ATTR_VALUE_TRUE:
      return true;
    case GIT_ATTR_VALUE_STRING:  // a driver's name; drivers are not run
    case GIT_ATTR_VALUE_UNSPECIFIED:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace repobridge::git
