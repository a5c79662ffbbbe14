// libgit2's objects with owners, and its errors as ours. The git room's only view of libgit2's memory.
//
// Errors: git_failure() turns a return code into REPO_OBJECT_MISSING, REPO_OBJECT_DAMAGED,
// REPO_REF_LOCKED or REPO_GIT_FAILED.
// libgit2's own text may hold host paths, so it goes to the worker's log and never into a message.
#pragma once

#include <git2.h>
#include <git2/sys/repository.h>

#include <memory>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::git {

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* object) const { Free(object); }
};
template <class T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, Freed<T, Free>>;

using OwnedRepository = Owned<git_repository, git_repository_free>;
using OwnedConfig = Owned<git_config, git_config_free>;
using OwnedIndex = Owned<git_index, git_index_free>;
using OwnedReference = Owned<git_reference, git_reference_free>;
using OwnedCommit = Owned<git_commit, git_commit_free>;
using OwnedTree = Owned<git_tree, git_tree_free>;
using OwnedTreeEntry = Owned<git_tree_entry, git_tree_entry_free>;
using OwnedBlob = Owned<git_blob, git_blob_free>;
using OwnedDiff = Owned<git_diff, git_diff_free>;
using OwnedPatch = Owned<git_patch, git_patch_free>;
using OwnedStatusList = Owned<git_status_list, git_status_list_free>;
using OwnedSignature = Owned<git_signature, git_signature_free>;
using OwnedFilters = Owned<git_filter_list, git_filter_list_free>;
using OwnedRevwalk = Owned<git_revwalk, git_revwalk_free>;

// libgit2 hands objects out through a pointer to a pointer; this is one for an Owned to be filled.
template <class O>
class Into {
 public:
  explicit Into(O& owner) : owner_(&owner) {}
  Into(const Into&) = delete;
  Into& operator=(const Into&) = delete;
  ~Into() { owner_->reset(raw_); }
  operator typename O::pointer *() { return &raw_; }  // NOLINT(google-explicit-constructor)

 private:
  O* owner_;
  typename O::pointer raw_ = nullptr;
};
template <class O>
Into<O> into(O& owner) {
  return Into<O>(owner);
}

// A git_buf that is given back.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { git_buf_dispose(&buffer_); }
  git_buf* get() { return &buffer_; }
  [[nodiscard]] std::string_view view() const { return {buffer_.ptr, buffer_.size}; }

 private:
  git_buf buffer_ = GIT_BUF_INIT;
};

// `code` is what the libgit2 function returned, negative. `doing` is a plain phrase: "read the index".
Failure git_failure(int code, std::string_view doing);

// libgit2 has no codes for some refusals that callers should understand.
bool last_error_says(std::string_view words);

inline Result<void> git_check(int code, std::string_view doing) {
  if (code < 0) return git_failure(code, doing);
  return {};
}

std::string hex_of(const git_oid& oid);
Result<git_oid> oid_from(std::string_view hex);

}  // namespace repobridge::git
