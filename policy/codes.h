// Every code a caller or an administrator can meet, in one table: name, kind and whether only the command
// line shows it. docs/ERRORS.md has a row for each; a test compares the two.
//
// A refusal is made with refuse(codes::kName, "what to do", details). Its message is fixed text of ours plus
// policy names (aliases, actions, arguments); text from the repository, a remote or a child stands in
// `details`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::policy {

struct Code {
  std::string_view name;
  Kind kind;
};

// clang-format off
#define RB_POLICY_CODES(X) \
  /* What the call itself says. */ \
  X(kInvalidArgument, "INVALID_ARGUMENT", invalid) \
  X(kInvalidPath, "INVALID_PATH", invalid) \
  X(kPathOutsideWorkdir, "PATH_OUTSIDE_WORKDIR", forbidden) \
  X(kHiddenPath, "HIDDEN_PATH_NOT_ALLOWED", forbidden) \
  X(kDeniedPath, "DENIED_PATH", forbidden) \
  X(kInvalidMessage, "INVALID_COMMIT_MESSAGE", invalid) \
  /* What policy says. */ \
  X(kWorkdirNotFound, "WORKDIR_NOT_FOUND", not_found) \
  X(kWorkdirReadOnly, "WORKDIR_READ_ONLY", forbidden) \
  X(kCallerReadOnly, "CALLER_READ_ONLY", forbidden) \
  X(kActionNotFound, "REPO_ACTION_NOT_FOUND", not_found) \
  X(kSecretBlocked, "SECRET_BLOCKED", secret_blocked) \
  /* The doorway and the bridge. */ \
  X(kOauthKeysUnavailable, "OAUTH_KEYS_UNAVAILABLE", unavailable) \
  X(kBridgeUnavailable, "BRIDGE_UNAVAILABLE", unavailable) \
  X(kPolicyOutOfDate, "POLICY_OUT_OF_DATE", unavailable) \
  X(kProtocolVersionUnsupported, "PROTOCOL_VERSION_UNSUPPORTED", unsupported) \
  X(kInvalidRequest, "INVALID_REQUEST", invalid) \
  X(kRequestTooLarge, "REQUEST_TOO_LARGE", too_large) \
  X(kAuditUnavailable, "AUDIT_UNAVAILABLE", unavailable) \
  X(kPeerUnproven, "PEER_UNPROVEN", forbidden) \
  X(kWireTimeout, "WIRE_TIMEOUT", timeout) \
  X(kKeyUnsafe, "KEY_UNSAFE", forbidden) \
  X(kKeyUnreadable, "KEY_UNREADABLE", unavailable) \
  X(kInternalError, "INTERNAL_ERROR", internal) \
  X(kCallCancelled, "CALL_CANCELLED", conflict) \
  /* The workdir and its lease. */ \
  X(kWorkdirUnavailable, "WORKDIR_UNAVAILABLE", unavailable) \
  X(kWorkdirBusy, "WORKDIR_BUSY", busy) \
  X(kWorkdirRecoveryRequired, "WORKDIR_RECOVERY_REQUIRED", busy) \
  X(kActionEnvironment, "REPO_ACTION_ENVIRONMENT", forbidden) \
  X(kWorkdirLockUnusable, "WORKDIR_LOCK_UNUSABLE", unavailable) \
  /* How much at once, and how often. */ \
  X(kTooManyRuns, "TOO_MANY_RUNS", busy) \
  X(kTooManyCalls, "TOO_MANY_CALLS", busy) \
  X(kTooManyCallsAtOnce, "TOO_MANY_CALLS_AT_ONCE", busy) \
  /* Runs of approved actions. */ \
  X(kPinMismatch, "REPO_PIN_MISMATCH", conflict) \
  X(kActionStartFailed, "REPO_ACTION_START_FAILED", unavailable) \
  X(kIsolationUnavailable, "REPO_ISOLATION_UNAVAILABLE", unavailable) \
  X(kCleanupUnproven, "REPO_CLEANUP_UNPROVEN", internal) \
  X(kRunNotFound, "RUN_NOT_FOUND", not_found) \
  /* The repository as it is. */ \
  X(kNotARepository, "REPO_NOT_A_REPOSITORY", not_found) \
  X(kOwnership, "REPO_OWNERSHIP", forbidden) \
  X(kUnsafeLayout, "REPO_UNSAFE_LAYOUT", unsupported) \
  X(kUnsupportedLayout, "REPO_UNSUPPORTED_LAYOUT", unsupported) \
  X(kAlternates, "REPO_ALTERNATES", unsupported) \
  X(kUnsupportedFormat, "REPO_UNSUPPORTED_FORMAT", unsupported) \
  X(kConfigInvalid, "REPO_CONFIG_INVALID", unsupported) \
  X(kUserConfigInvalid, "GIT_USER_CONFIG_INVALID", unavailable) \
  X(kObjectMissing, "REPO_OBJECT_MISSING", not_found) \
  X(kObjectDamaged, "REPO_OBJECT_DAMAGED", unsupported) \
  X(kSandboxUnavailable, "REPO_SANDBOX_UNAVAILABLE", unavailable) \
  X(kGitTimeout, "REPO_GIT_TIMEOUT", timeout) \
  X(kGitFailed, "REPO_GIT_FAILED", internal) \
  X(kDetachedHead, "REPO_DETACHED_HEAD", conflict) \
  X(kOperationInProgress, "REPO_OPERATION_IN_PROGRESS", conflict) \
  X(kConflicts, "REPO_CONFLICTS", conflict) \
  X(kStagedState, "REPO_STAGED_STATE", conflict) \
  X(kIndexLocked, "REPO_INDEX_LOCKED", busy) \
  X(kHeadLocked, "REPO_HEAD_LOCKED", busy) \
  X(kRefLocked, "REPO_REF_LOCKED", busy) \
  X(kHeadMoved, "REPO_HEAD_MOVED", conflict) \
  /* Paths named for a diff or a commit. */ \
  X(kPathNotFound, "PATH_NOT_FOUND", not_found) \
  X(kPathIsDirectory, "REPO_PATH_IS_DIRECTORY", invalid) \
  X(kPathBeyondLink, "REPO_PATH_BEYOND_LINK", forbidden) \
  X(kPathUnsupportedType, "REPO_PATH_UNSUPPORTED_TYPE", unsupported) \
  X(kPathInSubmodule, "REPO_PATH_IN_SUBMODULE", unsupported) \
  X(kPathInNestedRepository, "REPO_PATH_IN_NESTED_REPOSITORY", unsupported) \
  X(kPathIgnored, "REPO_PATH_IGNORED", forbidden) \
  X(kPathConflict, "REPO_PATH_CONFLICT", conflict) \
  X(kPathSparse, "REPO_PATH_SPARSE", unsupported) \
  X(kPathFiltered, "REPO_PATH_FILTERED", unsupported) \
  X(kUnsupportedAttributes, "REPO_UNSUPPORTED_ATTRIBUTES", unsupported) \
  X(kHardLink, "REPO_HARD_LINK", forbidden) \
  X(kPathChanged, "REPO_PATH_CHANGED", conflict) \
  X(kExpectMismatch, "REPO_EXPECT_MISMATCH", conflict) \
  X(kPathTooLarge, "REPO_PATH_TOO_LARGE", too_large) \
  /* Commit and push. */ \
  X(kNothingToCommit, "REPO_NOTHING_TO_COMMIT", conflict) \
  X(kIdentityMissing, "REPO_IDENTITY_MISSING", unavailable) \
  X(kNoUpstream, "REPO_NO_UPSTREAM", conflict) \
  X(kNothingToPush, "REPO_NOTHING_TO_PUSH", conflict) \
  X(kAmbiguousRemote, "REPO_AMBIGUOUS_REMOTE", unsupported) \
  X(kPushUrlInvalid, "REPO_PUSH_URL_INVALID", forbidden) \
  X(kPushNotAllowed, "REPO_PUSH_NOT_ALLOWED", forbidden) \
  X(kPushBranchNotAllowed, "REPO_PUSH_BRANCH_NOT_ALLOWED", forbidden) \
  X(kPushDeniedPath, "REPO_PUSH_DENIED_PATH", forbidden) \
  X(kPushSecret, "REPO_PUSH_SECRET", secret_blocked) \
  X(kPushCiChange, "REPO_PUSH_CI_CHANGE", forbidden) \
  X(kPushLfs, "REPO_PUSH_LFS_UNSUPPORTED", unsupported) \
  X(kPushForeignCommit, "REPO_PUSH_FOREIGN_COMMIT", forbidden) \
  X(kPushTooManyCommits, "REPO_PUSH_TOO_MANY_COMMITS", too_large) \
  X(kPushNonFastForward, "REPO_PUSH_NON_FAST_FORWARD", conflict) \
  X(kPushRejected, "REPO_PUSH_REJECTED", forbidden) \
  X(kPushFailed, "REPO_PUSH_FAILED", unavailable) \
  X(kPushTimeout, "REPO_PUSH_TIMEOUT", timeout) \
  X(kPushInterrupted, "REPO_PUSH_INTERRUPTED", timeout) \
  X(kPushOutputLimit, "REPO_PUSH_OUTPUT_LIMIT", unavailable) \
  /* The way to the remote. */ \
  X(kPushHostNotFound, "REPO_PUSH_HOST_NOT_FOUND", unavailable) \
  X(kPushUnreachable, "REPO_PUSH_UNREACHABLE", unavailable) \
  X(kPushCertificate, "REPO_PUSH_CERTIFICATE", unavailable) \
  X(kPushHostKey, "REPO_PUSH_HOST_KEY", unavailable) \
  X(kPushHostKeyChanged, "REPO_PUSH_HOST_KEY_CHANGED", unavailable) \
  X(kPushSshDenied, "REPO_PUSH_SSH_DENIED", unavailable) \
  X(kPushCredentialsMissing, "REPO_PUSH_CREDENTIALS_MISSING", unavailable) \
  X(kPushCredentialsRejected, "REPO_PUSH_CREDENTIALS_REJECTED", unavailable) \
  X(kPushForbidden, "REPO_PUSH_FORBIDDEN", forbidden) \
  X(kPushRemoteNotFound, "REPO_PUSH_REMOTE_NOT_FOUND", not_found) \
  X(kPushRedirected, "REPO_PUSH_REDIRECTED", unavailable) \
  X(kPushRemoteError, "REPO_PUSH_REMOTE_ERROR", unavailable) \
  X(kUserSshConfigInvalid, "SSH_USER_CONFIG_INVALID", unavailable) \
  /* The administrator's commands, and the start of front and bridge. */ \
  X(kTokenFileUnusable, "TOKEN_FILE_UNUSABLE", unavailable) \
  X(kTlsFilesUnusable, "TLS_FILES_UNUSABLE", unavailable) \
  X(kListenAddressInvalid, "LISTEN_ADDRESS_INVALID", invalid) \
  X(kListenNotLoopback, "LISTEN_ADDRESS_NOT_LOOPBACK", forbidden) \
  X(kListenAddressTaken, "LISTEN_ADDRESS_TAKEN", conflict) \
  X(kBridgeRunning, "BRIDGE_ALREADY_RUNNING", conflict) \
  X(kConfigInvalidSetting, "CONFIG_INVALID", invalid) \
  X(kConfigTargetUnsafe, "CONFIG_TARGET_UNSAFE", forbidden) \
  X(kConfigUnreadable, "CONFIG_UNREADABLE", invalid)
// clang-format on

namespace codes {
#define RB_POLICY_CODE(constant, text, kind_name) inline constexpr Code constant{text, Kind::kind_name};
RB_POLICY_CODES(RB_POLICY_CODE)
#undef RB_POLICY_CODE
}  // namespace codes

// All of the above, for the test against docs/ERRORS.md and for reading codes off the wire.
std::span<const Code> all_codes();
const Code* find_code(std::string_view name);

Failure refuse(const Code& code, std::string message);
// `details` is a JSON object.
Failure refuse(const Code& code, std::string message, nlohmann::json details);

std::string_view name_of(Kind kind);
int status_of(Kind kind);

}  // namespace repobridge::policy
