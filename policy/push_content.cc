#include "policy/push_content.h"

#include <algorithm>
#include <array>

#include "policy/secrets.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

// Everything below.
constexpr std::array<std::string_view, 10> kCiDirectories = {
    ".github/workflows/", ".github/actions/", ".gitea/",      ".forgejo/",         ".gitlab/ci/",
    ".circleci/",         ".buildkite/",      ".woodpecker/", ".azure-pipelines/", ".semaphore/"};
// At the top.
constexpr std::array<std::string_view, 14> kCiFiles = {
    ".gitlab-ci.yml",          ".gitlab-ci.yaml", ".travis.yml",  ".drone.yml",    ".woodpecker.yml",
    ".woodpecker.yaml",        "jenkinsfile",     "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml",
    "bitbucket-pipelines.yml", ".cirrus.yml",     "action.yml",   "action.yaml"};

constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";
constexpr std::size_t kMaxPointerBytes = 1024;

}  // namespace

bool is_ci_definition(std::string_view path_bytes) {
  const std::string path = lower_ascii(path_bytes);
  return std::ranges::any_of(kCiDirectories,
                             [&](std::string_view prefix) { return path.starts_with(prefix); }) ||
         std::ranges::find(kCiFiles, path) != kCiFiles.end();
}

bool is_lfs_pointer(std::string_view content) {
  return content.size() < kMaxPointerBytes && content.starts_with(kLfsPointer);
}

bool adds_provider_secret(std::string_view content, std::string_view before) {
  return std::ranges::any_of(provider_secrets(content), [&](std::string_view secret) {
    return before.find(secret) == std::string_view::npos;
  });
}

}  // namespace repobridge::policy
