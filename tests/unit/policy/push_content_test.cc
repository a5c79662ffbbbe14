#include "policy/push_content.h"

#include <gtest/gtest.h>

namespace repobridge::policy {
namespace {

TEST(CiDefinition, IsWhatAForgeExecutesOnArrival) {
  for (const char* path : {".github/workflows/check.yml",
                           ".github/workflows/deep/er",
                           ".github/actions/build/action.yml",
                           ".gitea/workflows/check.yaml",
                           ".forgejo/workflows/check.yml",
                           ".gitlab-ci.yml",
                           ".gitlab-ci.yaml",
                           ".gitlab/ci/build.yml",
                           ".circleci/config.yml",
                           ".travis.yml",
                           ".drone.yml",
                           ".woodpecker.yml",
                           ".woodpecker/build.yaml",
                           ".buildkite/pipeline.yml",
                           ".azure-pipelines/build.yml",
                           "azure-pipelines.yml",
                           "bitbucket-pipelines.yml",
                           "Jenkinsfile",
                           "appveyor.yml",
                           ".cirrus.yml",
                           ".semaphore/semaphore.yml",
                           "action.yml"}) {
    EXPECT_TRUE(is_ci_definition(path)) << path;
  }
}

TEST(CiDefinition, IsKnownInAnyLetterCase) {
  for (const char* path : {".GitHub/Workflows/check.yml", ".GITLAB-CI.YML", "JENKINSFILE", "jenkinsfile"}) {
    EXPECT_TRUE(is_ci_definition(path)) << path;
  }
}

TEST(CiDefinition, IsNothingElse) {
  for (const char* path :
       {"", ".github", ".github/workflows", ".github/CODEOWNERS", ".github/workflows-old/check.yml",
        "docs/.github/workflows/check.yml", "sub/.gitlab-ci.yml", ".gitlab-ci.yml/file", ".gitlab-ci.yml.bak",
        "x.gitlab-ci.yml", "tools/Jenkinsfile", ".gitlab/issue_templates/bug.md", ".gitea", "action.yml/x"}) {
    EXPECT_FALSE(is_ci_definition(path)) << path;
  }
}

TEST(LfsPointer, IsShortAndBeginsAsTheSpecificationSays) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
  EXPECT_TRUE(is_lfs_pointer(pointer));
  EXPECT_TRUE(is_lfs_pointer(pointer + std::string(1023 - pointer.size(), ' ')));

  EXPECT_FALSE(is_lfs_pointer(pointer + std::string(1024 - pointer.size(), ' ')));
  EXPECT_FALSE(is_lfs_pointer(" " + pointer));
  EXPECT_FALSE(is_lfs_pointer("version https://git-lfs.github.com/"));
  EXPECT_FALSE(is_lfs_pointer(""));
}

TEST(ProviderSecret, IsAddedOnlyWhereItWasNotBefore) {
  const std::string token = "ghp_" + std::string(36, 'a');
  const std::string other = "ghp_" + std::string(36, 'b');

  EXPECT_TRUE(adds_provider_secret("token = " + token + "\n", ""));
  EXPECT_TRUE(adds_provider_secret(token, "token = \n"));
  EXPECT_TRUE(adds_provider_secret(token + "\n" + other + "\n", token));
  EXPECT_FALSE(adds_provider_secret("moved\n" + token + "\n", token + "\n"));
  EXPECT_FALSE(adds_provider_secret("nothing of the kind", ""));
  EXPECT_FALSE(adds_provider_secret("", token));
}

}  // namespace
}  // namespace repobridge::policy
