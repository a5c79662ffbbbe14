// Runs a fuzz target over the files of a corpus, where there is no libFuzzer to do it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

namespace fs = std::filesystem;

int replay(const fs::path& corpus) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(corpus)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::cout << file.filename().string() << std::endl;  // the last line names the input of a finding
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(stream), {});
    repobridge::fuzz::one_input(bytes);
  }
  if (!files.empty()) return 0;
  std::cerr << "the corpus is empty\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " CORPUS\n";
    return 2;
  }
  return replay(argv[1]);
}
