// What may leave in a push, judged from a path and from bytes: definitions that a forge executes on arrival,
// pointers to files that would not come along, and secrets in the formats of known providers.
//
// Promise: paths are compared without regard to letter case, as some forges do. Only formats that a provider
// makes recognisable count as secrets here; a guess would keep honest work from leaving. Source:
// docs/POLICY.md, "Push"; the forges' own documentation of where they look.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace repobridge::policy {

// .github/workflows/, .gitlab-ci.yml and their like.
bool is_ci_definition(std::string_view path_bytes);

// A Git LFS pointer in place of a file's content.
bool is_lfs_pointer(std::string_view content);

// Secrets in `content` that are not in `before`, what the file held until then.
bool adds_provider_secret(std::string_view content, std::string_view before);

}  // namespace repobridge::policy
