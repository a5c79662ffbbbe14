// What verifying pins costs, as a ratio to sha256sum of the same bytes in the same run.
//
//   bench_pins DIRECTORY      an empty directory, which needs room for 1 GB and is left as it was
//
// Each round takes the time of both, one after the other, so that what else the machine does meets both.
// Printed are the medians and the quartiles of the rounds.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "bridge/actions/pins.h"
#include "platform/child_process.h"
#include "platform/files.h"

namespace {

using namespace repobridge;  // NOLINT(google-build-using-namespace): this is the program
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int kRounds = 15;

struct Case {
  const char* name;
  int files;
  std::size_t bytes;  // of each
  bool directory;     // one pin for all of them
};

double time_of(const std::function<bool()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  if (!work()) std::fprintf(stderr, "it failed\n");
  return Milliseconds(std::chrono::steady_clock::now() - begin).count();
}

std::string name_of(int file) { return "tree/" + std::to_string(file / 100) + "/" + std::to_string(file); }

void write_files(const std::string& root, const Case& one) {
  std::string chunk(std::min(one.bytes, std::size_t{1} << 20U), '\0');
  for (int file = 0; file < one.files; ++file) {
    const std::filesystem::path path = root + "/" + name_of(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    for (std::size_t left = one.bytes; left > 0; left -= std::min(left, chunk.size())) {
      std::ranges::generate(chunk, [at = file]() mutable { return static_cast<char>(at += 7); });
      out.write(chunk.data(), static_cast<std::streamsize>(std::min(left, chunk.size())));
    }
  }
}

policy::Action action_for(int root, const Case& one) {
  policy::Action action{.name = "bench"};
  const auto pin = [&](const std::string& name, policy::PinKind kind) {
    const auto path = policy::RepoPath::from_bytes(name).value();
    action.integrity.emplace(path, actions::look_at(root, path, kind).value().now);
  };
  if (one.directory) {
    pin("tree", policy::PinKind::directory);
  } else {
    for (int file = 0; file < one.files; ++file) pin(name_of(file), policy::PinKind::file);
  }
  return action;
}

bool sha256sum(int root, const Case& one) {
  platform::SpawnRequest request{.program = "/usr/bin/sha256sum", .argv = {"sha256sum"}};
  for (int file = 0; file < one.files; ++file) request.argv.push_back(name_of(file));
  request.working_directory = root;
  auto child = platform::ChildProcess::spawn(request);
  return child && child->reap().success();
}

std::string spread(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  constexpr std::size_t kEnough = 80;
  std::string text(kEnough, '\0');
  text.resize(static_cast<std::size_t>(
      std::snprintf(text.data(), text.size(), "%.2f (%.2f to %.2f)", at(2), at(1), at(3))));
  return text;
}

void measure(const std::string& directory, const Case& one) {
  write_files(directory, one);
  const auto root = platform::open_directory(directory).value();
  const auto action = action_for(root.get(), one);
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    ours.push_back(time_of([&] { return actions::verify_pins(root.get(), action).has_value(); }));
    theirs.push_back(time_of([&] { return sha256sum(root.get(), one); }));
    ratios.push_back(ours.back() / theirs.back());
  }
  std::filesystem::remove_all(directory + "/tree");
  std::printf("%-24s pins %s ms, sha256sum %s ms, ratio %s\n", one.name, spread(ours).c_str(),
              spread(theirs).c_str(), spread(ratios).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: bench_pins DIRECTORY\n"), 2;
  for (const auto& one :
       {Case{"1 pin of 4 KiB", 1, 4096, false}, Case{"1000 pins of 4 KiB", 1000, 4096, false},
        Case{"1 pin of 1000 files", 1000, 4096, true}, Case{"1 pin of 1 GB", 1, 1000000000, false}}) {
    measure(argv[1], one);
  }
  return 0;
}
