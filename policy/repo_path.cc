#include "policy/repo_path.h"

#include <algorithm>
#include <array>

#include "policy/codes.h"
#include "policy/json.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

constexpr std::size_t kMaxComponentBytes = 255;

struct Escape {
  char letter;
  char value;
};
constexpr std::array<Escape, 9> kEscapes{{{'a', '\a'},
                                          {'b', '\b'},
                                          {'t', '\t'},
                                          {'n', '\n'},
                                          {'v', '\v'},
                                          {'f', '\f'},
                                          {'r', '\r'},
                                          {'"', '"'},
                                          {'\\', '\\'}}};

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Code points that HFS+ ignores when it compares names, so that ".g\u200cit" opens ".git" there.
constexpr std::array<std::string_view, 16> kIgnoredByHfs = {
    "\xe2\x80\x8c", "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab",
    "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xaa", "\xe2\x81\xab", "\xe2\x81\xac",
    "\xe2\x81\xad", "\xe2\x81\xae", "\xe2\x81\xaf", "\xef\xbb\xbf"};

std::string without_ignored(std::string_view component) {
  std::string kept;
  while (!component.empty()) {
    const auto* ignored = std::ranges::find_if(
        kIgnoredByHfs, [&](std::string_view sequence) { return component.starts_with(sequence); });
    if (ignored != kIgnoredByHfs.end()) {
      component.remove_prefix(ignored->size());
    } else {
      kept += component.front();
      component.remove_prefix(1);
    }
  }
  return kept;
}

// NTFS drops trailing dots and spaces and takes what follows a colon for the name of a stream.
std::string_view ntfs_name(std::string_view component) {
  component = component.substr(0, component.find(':'));
  const auto end = component.find_last_not_of(". ");
  return end == std::string_view::npos ? std::string_view{} : component.substr(0, end + 1);
}

Failure refuse_path(const Code& code, std::string message, std::string_view bytes) {
  return refuse(code, std::move(message),
                nlohmann::json{{"path", path_text(bytes.substr(0, kMaxPathBytes))}});
}

Result<void> check_component(std::string_view component, std::string_view path) {
  if (component.empty() || component == ".") {
    return refuse_path(codes::kInvalidPath,
                       "write the path without './', doubled slashes and a slash at its end", path);
  }
  if (component == "..") {
    return refuse_path(codes::kPathOutsideWorkdir, "a path must stay inside the workdir; '..' is refused",
                       path);
  }
  if (component.size() > kMaxComponentBytes) {
    return refuse_path(codes::kInvalidPath, "a component of the path has more than 255 bytes", path);
  }
  if (is_dot_git(component)) {
    return refuse_path(codes::kDeniedPath, "git's own data (.git in any spelling) is never a path here",
                       path);
  }
  return {};
}

}  // namespace

bool is_dot_git(std::string_view component) {
  // As HFS+ compares names, and git does to protect it: for git a byte that is not UTF-8 ends the name.
  if (lower_ascii(without_ignored(utf8_prefix(component))) == ".git") return true;
  // A backslash separates components on NTFS, so each part is a name there.
  return std::ranges::any_of(split(component, '\\'), [](const std::string& part) {
    const std::string name = lower_ascii(ntfs_name(part));
    return name == ".git" || name == "git~1";
  });
}

std::string c_quoted(std::string_view bytes, HighBytes high) {
  std::string out = "\"";
  for (const char c : bytes) {
    const auto* escape = std::ranges::find(kEscapes, c, &Escape::value);
    const auto value = static_cast<unsigned char>(c);
    if (escape != kEscapes.end()) {
      out += '\\';
      out += escape->letter;
    } else if (value < 0x20 || value == 0x7F || (value > 0x7F && high == HighBytes::escaped)) {
      out += '\\';
      out += static_cast<char>('0' + (value >> 6U));
      out += static_cast<char>('0' + ((value >> 3U) & 7U));
      out += static_cast<char>('0' + (value & 7U));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Result<std::string> c_unquoted(std::string_view quoted) {
  const auto malformed = [&] {
    return refuse_path(codes::kInvalidPath,
                       "a path that begins with a double quote must be in git's C-quoted form", quoted);
  };
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') return malformed();
  std::string_view rest = quoted.substr(1, quoted.size() - 2);
  std::string bytes;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return malformed();
    if (c != '\\') {
      bytes += c;
      continue;
    }
    if (rest.empty()) return malformed();
    const auto* escape = std::ranges::find(kEscapes, rest.front(), &Escape::letter);
    if (escape != kEscapes.end()) {
      bytes += escape->value;
      rest.remove_prefix(1);
    } else if (rest.size() >= 3 && rest[0] <= '3' && is_octal(rest[0]) && is_octal(rest[1]) &&
               is_octal(rest[2])) {
      bytes += static_cast<char>((rest[0] - '0') * 64 + (rest[1] - '0') * 8 + (rest[2] - '0'));
      rest.remove_prefix(3);
    } else {
      return malformed();
    }
  }
  return bytes;
}

std::string path_text(std::string_view bytes) {
  const bool plain = is_utf8(bytes) && !bytes.starts_with('"');
  return plain ? std::string(bytes) : c_quoted(bytes);
}

Result<RepoPath> RepoPath::parse(std::string_view text) {
  if (!text.starts_with('"')) return from_bytes(text);
  RB_TRY(const auto bytes, c_unquoted(text));
  return from_bytes(bytes);
}

Result<RepoPath> RepoPath::from_bytes(std::string_view bytes) {
  if (bytes.empty()) return refuse_path(codes::kInvalidPath, "a path must not be empty", bytes);
  if (bytes.size() > kMaxPathBytes) {
    return refuse_path(codes::kInvalidPath, "a path must have at most 4096 bytes", bytes);
  }
  if (bytes.find('\0') != std::string_view::npos) {
    return refuse_path(codes::kInvalidPath, "a path must not hold a NUL byte", bytes);
  }
  if (bytes.front() == '/' || bytes == "~" || bytes.starts_with("~/")) {
    return refuse_path(codes::kPathOutsideWorkdir, "a path must be relative to the workdir", bytes);
  }
  for (const auto& component : split(bytes, '/')) RB_CHECK(check_component(component, bytes));
  return RepoPath(std::string(bytes));
}

std::string RepoPath::text() const { return path_text(bytes_); }

std::vector<std::string> RepoPath::components() const { return split(bytes_, '/'); }

std::string RepoPath::parent() const {
  const auto slash = bytes_.rfind('/');
  return slash == std::string::npos ? std::string() : bytes_.substr(0, slash);
}

std::string RepoPath::name() const { return bytes_.substr(bytes_.rfind('/') + 1); }

}  // namespace repobridge::policy
