// What a fuzz target is: one function over bytes that nobody vouches for, and the properties that must hold.
//
// Each target is a file of this folder that defines one_input(). libFuzzer drives it in the preset `clang`;
// everywhere else replay_main.cc runs it over the files of corpus/<target>. A property that does not hold
// ends the process, which is how both take it for a finding.
#pragma once

#include <string_view>
#include <vector>

namespace repobridge::fuzz {

void one_input(std::string_view bytes);

// Ends the process, naming the property, unless it holds.
void must(bool holds, std::string_view property);

// The input as `count` parts, cut at its first bytes of value `separator`; parts that are missing are empty.
std::vector<std::string_view> parts_of(std::string_view bytes, std::size_t count, char separator);

}  // namespace repobridge::fuzz
