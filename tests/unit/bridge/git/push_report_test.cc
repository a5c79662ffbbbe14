#include "bridge/git/push_report.h"

#include <gtest/gtest.h>

#include "policy/json.h"

namespace repobridge::git {
namespace {

using policy::Json;
using Scheme = policy::PushUrl::Scheme;

// What git adds when ssh, or what it speaks to, ended early.
constexpr const char* kCouldNotRead =
    "fatal: Could not read from remote repository.\n"
    "\n"
    "Please make sure you have the correct access rights\n"
    "and the repository exists.\n";

std::string code_over_https(const std::string& err, Stage stage = Stage::asking) {
  return conversation_failure({.stage = stage, .scheme = Scheme::https, .err = err, .ssh_log = {}})
      .value()
      .code;
}

// With ssh's own log beside git's words.
std::string code_over_ssh(const std::string& log, const std::string& before = "",
                          Stage stage = Stage::asking) {
  const std::string err = before + kCouldNotRead;
  return conversation_failure({.stage = stage, .scheme = Scheme::ssh, .err = err, .ssh_log = log})
      .value()
      .code;
}

// Without: ssh's words stand among git's.
std::string code_over_wrapped_ssh(const std::string& words) {
  const std::string err = words + kCouldNotRead;
  return conversation_failure({.stage = Stage::asking, .scheme = Scheme::ssh, .err = err, .ssh_log = {}})
      .value()
      .code;
}

std::string unable(const std::string& why) {
  return "fatal: unable to access 'https://127.0.0.1:52055/git/a.git/': " + why + "\n";
}

struct Said {
  std::string words;
  const char* code;
};

// --- HTTPS, as git 2.39.5 with curl 7.88.1 and GnuTLS 3.7.9 says it ----------------------------------------

TEST(PushReportHttps, TellsCredentialsApart) {
  for (const auto& [words, code] : std::initializer_list<Said>{
           {"fatal: could not read Username for 'https://127.0.0.1:52055': terminal prompts disabled\n",
            "REPO_PUSH_CREDENTIALS_MISSING"},
           {"fatal: could not read Password for 'https://alice@127.0.0.1:52055': terminal prompts disabled\n",
            "REPO_PUSH_CREDENTIALS_MISSING"},
           {"fatal: Authentication failed for 'https://127.0.0.1:52055/git/a.git/'\n",
            "REPO_PUSH_CREDENTIALS_REJECTED"},
           {unable("The requested URL returned error: 403"), "REPO_PUSH_FORBIDDEN"},
           {"remote: hello server\n" + unable("The requested URL returned error: 403"),
            "REPO_PUSH_FORBIDDEN"},
       }) {
    EXPECT_EQ(code_over_https(words), code) << words;
  }
}

TEST(PushReportHttps, TellsWhatIsNotThere) {
  for (const auto& [words, code] : std::initializer_list<Said>{
           {"fatal: repository 'https://127.0.0.1:52055/git/none.git/' not found\n",
            "REPO_PUSH_REMOTE_NOT_FOUND"},
           {"remote: hello server\nfatal: repository 'https://127.0.0.1:54381/x/' not found\n",
            "REPO_PUSH_REMOTE_NOT_FOUND"},
           {"fatal: https://127.0.0.1:57969/x/info/refs not valid: is this a git repository?\n",
            "REPO_PUSH_REMOTE_NOT_FOUND"},
           {unable("The requested URL returned error: 301"), "REPO_PUSH_REDIRECTED"},
           {unable("The requested URL returned error: 302"), "REPO_PUSH_REDIRECTED"},
           {unable("The requested URL returned error: 307"), "REPO_PUSH_REDIRECTED"},
       }) {
    EXPECT_EQ(code_over_https(words), code) << words;
  }
}

TEST(PushReportHttps, TellsCertificates) {
  for (const char* why :
       {"server certificate verification failed. CAfile: none CRLfile: none",
        "SSL: certificate subject name (127.0.0.1) does not match target host name 'localhost'",
        "Problem with the SSL CA cert (path? access rights?)",
        // curl with OpenSSL:
        "SSL certificate problem: unable to get local issuer certificate",
        "SSL certificate problem: certificate has expired",
        "SSL: no alternative certificate subject name matches target host name 'localhost'",
        "error setting certificate verify locations:  CAfile: /nowhere CApath: none"}) {
    EXPECT_EQ(code_over_https(unable(why)), "REPO_PUSH_CERTIFICATE") << why;
  }
}

TEST(PushReportHttps, TellsWhatWasNotReached) {
  for (const auto& [words, code] : std::initializer_list<Said>{
           {unable("Could not resolve host: host.invalid"), "REPO_PUSH_HOST_NOT_FOUND"},
           {unable("Failed to connect to 127.0.0.1 port 51889 after 0 ms: Couldn't connect to server"),
            "REPO_PUSH_UNREACHABLE"},
           {unable("gnutls_handshake() failed: The TLS connection was non-properly terminated."),
            "REPO_PUSH_UNREACHABLE"},
           {unable("gnutls_handshake() failed: An unexpected TLS packet was received."),
            "REPO_PUSH_UNREACHABLE"},
           {unable("Recv failure: Connection reset by peer"), "REPO_PUSH_UNREACHABLE"},
           {unable("transfer closed with 100 bytes remaining to read"), "REPO_PUSH_UNREACHABLE"},
           {unable("Could not resolve proxy: host.invalid"), "REPO_PUSH_UNREACHABLE"},
           {unable("CONNECT tunnel failed, response 407"), "REPO_PUSH_UNREACHABLE"},
           {unable("Received HTTP code 407 from proxy after CONNECT"), "REPO_PUSH_UNREACHABLE"},
           {unable("The requested URL returned error: 407"), "REPO_PUSH_UNREACHABLE"},
           {unable("The requested URL returned error: 500"), "REPO_PUSH_REMOTE_ERROR"},
           {unable("The requested URL returned error: 503"), "REPO_PUSH_REMOTE_ERROR"},
           {unable("The requested URL returned error: 429"), "REPO_PUSH_REMOTE_ERROR"},
           {unable("The requested URL returned error: 400"), "REPO_PUSH_REMOTE_ERROR"},
       }) {
    EXPECT_EQ(code_over_https(words), code) << words;
  }
}

TEST(PushReportHttps, TellsWhatBrokeWhileSending) {
  const std::string hung_up =
      "send-pack: unexpected disconnect while reading sideband packet\n"
      "fatal: the remote end hung up unexpectedly\n";
  for (const auto& [words, code] : std::initializer_list<Said>{
           {"error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502\n" + hung_up,
            "REPO_PUSH_INTERRUPTED"},
           {"error: RPC failed; curl 56 Recv failure: Connection reset by peer\n" + hung_up,
            "REPO_PUSH_INTERRUPTED"},
           {"error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403\n" + hung_up,
            "REPO_PUSH_FORBIDDEN"},
           {"error: RPC failed; HTTP 401 curl 22 The requested URL returned error: 401\n" + hung_up,
            "REPO_PUSH_CREDENTIALS_REJECTED"},
           {"error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\n" + hung_up,
            "REPO_PUSH_REJECTED"},
       }) {
    EXPECT_EQ(code_over_https(words, Stage::sending), code) << words;
  }
}

// --- ssh, as OpenSSH 9.2 says it ---------------------------------------------------------------------------

const std::initializer_list<Said> kSshWords = {
    {"dev@127.0.0.1: Permission denied (publickey).\n", "REPO_PUSH_SSH_DENIED"},
    {"sign_and_send_pubkey: signing failed for ED25519 \"test\" from agent: agent refused operation\n"
     "dev@127.0.0.1: Permission denied (publickey,password).\n",
     "REPO_PUSH_SSH_DENIED"},
    {"Received disconnect from 127.0.0.1 port 56603:2: Too many authentication failures\n"
     "Disconnected from 127.0.0.1 port 56603\n",
     "REPO_PUSH_SSH_DENIED"},
    {"Host key verification failed.\n", "REPO_PUSH_HOST_KEY"},
    {"No ED25519 host key is known for [127.0.0.1]:2222 and you have requested strict checking.\n"
     "Host key verification failed.\n",
     "REPO_PUSH_HOST_KEY"},
    {"@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
     "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
     "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
     "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\n"
     "Host key for [127.0.0.1]:50741 has changed and you have requested strict checking.\n"
     "Host key verification failed.\n",
     "REPO_PUSH_HOST_KEY_CHANGED"},
    {"@       WARNING: REVOKED HOST KEY DETECTED!               @\n"
     "ED25519 host key for [127.0.0.1]:50741 was revoked and you have requested strict checking.\n"
     "Host key verification failed.\n",
     "REPO_PUSH_HOST_KEY_CHANGED"},
    {"ssh: Could not resolve hostname host.invalid: Name or service not known\n", "REPO_PUSH_HOST_NOT_FOUND"},
    {"ssh: connect to host 127.0.0.1 port 59529: Connection refused\n", "REPO_PUSH_UNREACHABLE"},
    {"ssh: connect to host 100::1 port 22: No route to host\n", "REPO_PUSH_UNREACHABLE"},
    {"ssh: connect to host 255.255.255.255 port 22: Network is unreachable\n", "REPO_PUSH_UNREACHABLE"},
    {"kex_exchange_identification: Connection closed by remote host\n", "REPO_PUSH_UNREACHABLE"},
    {"kex_exchange_identification: read: Connection reset by peer\n", "REPO_PUSH_UNREACHABLE"},
    {"Unable to negotiate with 127.0.0.1 port 43195: no matching key exchange method found. Their offer: "
     "diffie-hellman-group1-sha1,kex-strict-s-v00@openssh.com\n",
     "REPO_PUSH_UNREACHABLE"},
    {"Connection closed by 127.0.0.1 port 2222\n", "REPO_PUSH_UNREACHABLE"},
    {"/home/dev/.ssh/config: line 1: Bad configuration option: nonsense\n"
     "/home/dev/.ssh/config: terminating, 1 bad configuration options\n",
     "SSH_USER_CONFIG_INVALID"},
    {"Bad owner or permissions on /home/dev/.ssh/config\n", "SSH_USER_CONFIG_INVALID"},
    // An address that did not answer is not why the next one refused.
    {"ssh: connect to host ::1 port 22: Connection refused\ndev@localhost: Permission denied (publickey).\n",
     "REPO_PUSH_SSH_DENIED"}};

TEST(PushReportSsh, TellsCausesApart) {
  for (const auto& [words, code] : kSshWords) {
    EXPECT_EQ(code_over_ssh(words), code) << words;
    EXPECT_EQ(code_over_wrapped_ssh(words), code) << words;
  }
}

TEST(PushReportSsh, BelievesNobodyElseAboutIt) {
  for (const auto& [words, code] : kSshWords) {
    EXPECT_EQ(code_over_ssh("", words), "REPO_PUSH_FAILED") << "the remote wrote: " << words;
    EXPECT_EQ(code_over_https(words), "REPO_PUSH_FAILED") << "over https: " << words;
  }
}

TEST(PushReportSsh, TellsWhatTheOtherEndSaysOfItsRepositories) {
  for (const auto& [words, code] : std::initializer_list<Said>{
           {"fatal: '/srv/none.git' does not appear to be a git repository\n", "REPO_PUSH_REMOTE_NOT_FOUND"},
           {"ERROR: Repository not found.\n", "REPO_PUSH_REMOTE_NOT_FOUND"},
           {"ERROR: Permission to team/app.git denied to deploy key\n", "REPO_PUSH_FORBIDDEN"}}) {
    EXPECT_EQ(code_over_ssh("", words), code) << words;
    EXPECT_EQ(code_over_https(words), "REPO_PUSH_FAILED") << words;
  }
}

TEST(PushReportSsh, TellsABrokenConnectionByItsStage) {
  for (const char* log :
       {"Connection reset by 127.0.0.1 port 2222\n", "Timeout, server 127.0.0.1 not responding.\n",
        "Connection to 127.0.0.1 closed by remote host.\n"}) {
    EXPECT_EQ(code_over_ssh(log, "", Stage::asking), "REPO_PUSH_UNREACHABLE") << log;
    EXPECT_EQ(code_over_ssh(log, "", Stage::sending), "REPO_PUSH_INTERRUPTED") << log;
  }
  const std::string killed =
      "Killed\nsend-pack: unexpected disconnect while reading sideband packet\n"
      "fatal: the remote end hung up unexpectedly\n";
  EXPECT_EQ(code_over_ssh("", killed, Stage::sending), "REPO_PUSH_INTERRUPTED");
}

// --- Either ------------------------------------------------------------------------------------------------

TEST(PushReport, TellsTheUsersBrokenConfiguration) {
  for (const char* words :
       {"fatal: bad config line 1 in file /home/dev/.gitconfig\n",
        "fatal: bad config variable 'http.sslverify' in file '/home/dev/.gitconfig' at line 2\n",
        "fatal: bad boolean config value 'maybe' for 'http.sslverify'\n",
        "fatal: bad numeric config value 'many' for 'http.postbuffer'\n"}) {
    EXPECT_EQ(code_over_https(words), "GIT_USER_CONFIG_INVALID") << words;
    EXPECT_EQ(code_over_ssh("", words), "GIT_USER_CONFIG_INVALID") << words;
  }
}

TEST(PushReport, TellsAReferenceThatIsNotTheOnlyOne) {
  const std::string words = "error: dst refspec refs/heads/main matches more than one\n";
  EXPECT_EQ(code_over_https(words, Stage::sending), "REPO_AMBIGUOUS_REMOTE");
}

TEST(PushReport, FailsWithoutACauseThatIsKnown) {
  EXPECT_EQ(code_over_https(""), "REPO_PUSH_FAILED");
  EXPECT_EQ(code_over_ssh("", "sh: 1: ssh: not found\n"), "REPO_PUSH_FAILED");
}

TEST(PushReport, TakesNothingThatTheRemoteWroteForACause) {
  const std::string err =
      "remote: fatal: Authentication failed for 'https://example.org/'\n"
      "remote: Host key verification failed.\n";
  EXPECT_EQ(code_over_https(err), "REPO_PUSH_REJECTED");
  EXPECT_EQ(code_over_wrapped_ssh(err), "REPO_PUSH_REJECTED");
}

TEST(PushReport, TakesNothingBehindRepeatedWordsForACause) {
  const std::string err =
      "fatal: remote error: no way\n"
      "Host key verification failed.\n"
      "fatal: Authentication failed for 'https://example.org/'\n";
  EXPECT_EQ(code_over_https(err), "REPO_PUSH_REJECTED");
  EXPECT_EQ(code_over_wrapped_ssh(err), "REPO_PUSH_REJECTED");
  EXPECT_EQ(remote_words(err), "no way");
}

TEST(PushReport, RepeatsNoUrlPathOrUser) {
  for (const auto& [words, code] : kSshWords) {
    const auto error =
        conversation_failure({.stage = Stage::asking, .scheme = Scheme::ssh, .err = words, .ssh_log = words})
            .value();
    EXPECT_EQ(error.message.find("127.0.0.1"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("/home"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("dev@"), std::string::npos) << error.message;
    EXPECT_EQ(error.details, nullptr);
  }
}

// --- The remote's words ------------------------------------------------------------------------------------

TEST(RemoteWords, AreTheMarkedLinesAlone) {
  EXPECT_EQ(remote_words("Enumerating objects: 3\nremote: GH013: no way        \nremote: \nremote: twice\n"
                         "error: failed to push some refs to 'https://example.org/a'\n"),
            "GH013: no way\ntwice");
  EXPECT_EQ(remote_words("error: remote unpack failed: unable to create temporary object directory\n"
                         "error: failed to push some refs to 'https://example.org/a'\n"),
            "unable to create temporary object directory");
}

TEST(RemoteWords, AreMadePrintable) {
  EXPECT_EQ(remote_words("remote: hello \x1b[31mred\x1b[0m\x07 end\x1b[K\n"), "hello red? end");
  EXPECT_EQ(remote_words("remote: a\x1b]0;title\x07 \xc2\x9b"
                         "31m \xc3\xa4\x7f\n"),
            "a?]0;title? ?31m \xc3\xa4?");
  EXPECT_EQ(remote_words("remote: cut \x1b[31"), "cut");
  EXPECT_EQ(remote_words("remote: \xff\xfe\n"), "\"\\377\\376\"");
  EXPECT_EQ(remote_words("remote: \xc2\n"), "\"\\302\"");
}

TEST(RemoteWords, AreCutAtACharacterOrALine) {
  std::string err = "remote: ";
  while (err.size() < 4000) err += "\xc3\xa4";
  EXPECT_EQ(remote_words(err).size(), 2000U);
  EXPECT_EQ(remote_words("remote: a" + err.substr(8)).size(), 1999U);
  std::string lines;
  for (int i = 0; i < 100000; ++i) lines += "remote: spam\n";
  const auto words = remote_words(lines);
  EXPECT_LE(words.size(), 2000U);
  EXPECT_TRUE(words.ends_with("spam\n"));
}

// --- The report of git push --porcelain --------------------------------------------------------------------

Result<PushResult> report(const std::string& out, const std::string& err = "") {
  return read_push_report(out, {.stage = Stage::sending, .scheme = Scheme::ssh, .err = err, .ssh_log = ""},
                          "refs/heads/main");
}

std::string report_line(const std::string& rest) {
  return "To ssh://127.0.0.1:2222/srv/a.git\n" + rest + "\nDone\n";
}

constexpr const char* kOid = "9df4c5d708c5be1da0e8acb92af6ca50ed16e948";

TEST(PushReport, TellsWhatWasPushed) {
  const std::string refs = std::string(kOid) + ":refs/heads/main\t";
  EXPECT_EQ(report(report_line("*\t" + refs + "[new branch]")), PushResult::pushed);
  EXPECT_EQ(report(report_line(" \t" + refs + "9df4c5d..1234567")), PushResult::pushed);
  EXPECT_EQ(report(report_line("=\t" + refs + "[up to date]")), PushResult::up_to_date);
}

TEST(PushReport, TellsWhyAReferenceWasNotTaken) {
  const std::string refs = std::string("!\t") + kOid + ":refs/heads/main\t";
  for (const auto& [summary, code] : std::initializer_list<Said>{
           {"[rejected] (non-fast-forward)", "REPO_PUSH_NON_FAST_FORWARD"},
           {"[rejected] (fetch first)", "REPO_PUSH_NON_FAST_FORWARD"},
           {"[remote rejected] (pre-receive hook declined)", "REPO_PUSH_REJECTED"},
           {"[remote rejected] (hook declined)", "REPO_PUSH_REJECTED"},
           {"[remote rejected] (failed to update ref)", "REPO_PUSH_REJECTED"},
           {"[remote rejected] (shallow update not allowed)", "REPO_PUSH_REJECTED"},
           {"[remote failure] (remote failed to report status)", "REPO_PUSH_INTERRUPTED"}}) {
    const auto result = report(report_line(refs + summary));
    ASSERT_FALSE(result) << summary;
    EXPECT_EQ(result.error().code, code) << summary;
  }
}

TEST(PushReport, GivesTheReasonAndTheRemotesWords) {
  const auto result = report(
      report_line(std::string("!\t") + kOid + ":refs/heads/main\t[remote rejected] (no \x1b[31mway\x07)"),
      "remote: GH006: Protected branch update failed.        \n"
      "error: failed to push some refs to 'ssh://127.0.0.1:2222/srv/a.git'\n");
  ASSERT_FALSE(result);
  ASSERT_NE(result.error().details, nullptr);
  EXPECT_EQ(*result.error().details,
            (Json{{"reason", "(no way?)"}, {"remote_says", "GH006: Protected branch update failed."}}));
}

TEST(PushReport, KnowsOnlyTheReferenceThatWasPushed) {
  const auto result = report(report_line(std::string("*\t") + kOid + ":refs/heads/other\t[new branch]"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "REPO_PUSH_FAILED");
}

TEST(PushReport, FindsTheHeadsInAListing) {
  const std::string oid = kOid;
  const auto heads = parse_remote_heads(oid + "\trefs/heads/main\n" + oid + "\trefs/tags/v1\nnonsense\n" +
                                        "short\trefs/heads/x\n" + oid + " refs/heads/y\n");
  ASSERT_EQ(heads.size(), 1U);
  EXPECT_EQ(heads[0].oid, oid);
  EXPECT_EQ(heads[0].reference, "refs/heads/main");
}

}  // namespace
}  // namespace repobridge::git
