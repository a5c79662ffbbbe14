// Making an answer fit: a caller's context is small, and what does not fit in it helps nobody.
//
// Promise: after bound() the serialised envelope has at most max_response_chars bytes and no list in its
// data, at any depth, more than max_response_items elements. Long texts give way first and evenly, each cut
// at the end of a line where it has one and never inside a character; then lists lose elements from their
// end. What was asked for gives way before, down to a quarter. Whatever was cut says so: a text `x` in
// `x_truncated` or, for a patch, in its file's `truncated`; a list in the `truncated` of the data or the
// request. Data that cannot be cut goes altogether, and says so too. An error's lists are cut without a mark,
// since its message says what to do without them. Units: bytes of UTF-8 JSON.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "policy/json.h"
#include "policy/policy.h"

namespace repobridge::wire {

void bound(policy::Json& body, const policy::Limits& limits);

// The longest beginning of `text` that takes at most `max_bytes` in JSON, ending with a line if there is one.
std::string_view cut_text(std::string_view text, std::size_t max_bytes);

// The largest cap under which texts of these sizes together take no more than `budget`.
std::size_t even_cap(std::vector<std::size_t> sizes, std::size_t budget);

}  // namespace repobridge::wire
