#include "bridge/git/wildmatch.h"

#include <gtest/gtest.h>

#include <string>

namespace repobridge::git {
namespace {

using policy::LetterCase;

struct Case {
  const char* pattern;
  const char* text;
};

// As git's own wildmatch answers with WM_PATHNAME (its test t3070).
constexpr Case kMatches[] = {
    {"foo", "foo"},
    {"", ""},
    {"???", "foo"},
    {"*", "foo"},
    {"f*", "foo"},
    {"*foo*", "foo"},
    {"*ob*a*r*", "foobar"},
    {"*ab", "aaaaaaabababab"},
    {"foo\\*", "foo*"},
    {"f\\\\oo", "f\\oo"},
    {"*[al]?", "ball"},
    {"**[!te]", "ten"},
    {"t[a-g]n", "ten"},
    {"t[!a-g]n", "ton"},
    {"t[^a-g]n", "ton"},
    {"a[]]b", "a]b"},
    {"a[]-]b", "a-b"},
    {"a[]-]b", "a]b"},
    {"a[]a-]b", "aab"},
    {"]", "]"},
    {"foo/bar", "foo/bar"},
    {"foo/*", "foo/bar"},
    {"**/foo", "foo"},
    {"**/foo", "XXX/foo"},
    {"**/foo", "bar/baz/foo"},
    {"foo/**", "foo/bb/aa"},
    {"foo/**/bar", "foo/bar"},
    {"foo/**/**/bar", "foo/b/a/z/bar"},
    {"**/bar*", "deep/foo/bar"},
    {"**/bar**", "foo/bar"},
    {"deep/*/*/*", "deep/foo/bar/baz"},
    {"**/*a*b*g*n*t", "abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txt"},
    {"*/*/*", "foo/bb/aa"},
    {"[[:alpha:]][[:digit:]][[:upper:]]", "a1B"},
    {"[[:digit:][:upper:][:space:]]", "A"},
    {"[[:xdigit:]]", "f"},
    {"[a-c[:digit:]x-z]", "5"},
    {"[a-c[:digit:]x-z]", "y"},
    {"[\\\\-^]", "]"},
    {"[\\]]", "]"},
    {"[A-\\\\]", "G"},
    {"-*-*-*-*-*-*-12-*-*-*-m-*-*-*", "-adobe-courier-bold-o-normal--12-120-75-75-m-70-iso8859-1"},
    {"https://example.org/**", "https://example.org/team/app.git"},
    {"https://*.example.org/**", "https://git.example.org/app.git"},
    {"git@example.org:team/*", "git@example.org:team/app.git"},
};

constexpr Case kDiffers[] = {
    {"bar", "foo"},
    {"??", "foo"},
    {"*f", "foo"},
    {"", "a"},
    {"[ten]", "ten"},
    {"t[a-g]n", "ton"},
    {"a[]-]b", "aab"},
    {"a[]b", "a]b"},
    {"foo/*", "foo/bb/aa"},
    {"foo*", "foo/bba/arr"},
    {"foo?bar", "foo/bar"},
    {"foo[/]bar", "foo/bar"},
    {"foo[^a]bar", "foo/bar"},
    {"foo**", "foo/bba/arr"},
    {"**foo", "a/foo"},
    {"foo/**/bar", "foo/b"},
    {"*/*/*", "foo/bar"},
    {"f[^eiu][^eiu][^eiu][^eiu][^eiu]r", "foo/bar"},
    {"[[:digit:][:upper:][:space:]]", "a"},
    {"[[:unknown:]]", "a"},
    {"[a", "a"},
    {"a\\", "a"},
    {"XXX/\\", "XXX/\\"},
    {"https://example.org/*", "https://example.org/team/app.git"},
    {"-*-*-*-*-*-*-12-*-*-*-m-*-*-*", "-adobe-courier-bold-o-normal--12-120-75-75-X-70-iso8859-1"},
};

TEST(Wildmatch, MatchesWhatGitMatches) {
  for (const auto& [pattern, text] : kMatches)
    EXPECT_TRUE(wildmatch(pattern, text)) << pattern << " " << text;
}

TEST(Wildmatch, RefusesWhatGitRefuses) {
  for (const auto& [pattern, text] : kDiffers)
    EXPECT_FALSE(wildmatch(pattern, text)) << pattern << " " << text;
}

TEST(Wildmatch, TakesLettersAsAlikeOnRequestOnly) {
  EXPECT_FALSE(wildmatch("**/Work/**", "/home/me/work/a/.git"));
  EXPECT_TRUE(wildmatch("**/Work/**", "/home/me/work/a/.git", LetterCase::alike));
  EXPECT_TRUE(wildmatch("[A-Z]", "a", LetterCase::alike));
  EXPECT_TRUE(wildmatch("[[:upper:]]", "a", LetterCase::alike));
}

TEST(Wildmatch, EndsSoonWhateverThePattern) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "**/*a";
  EXPECT_FALSE(wildmatch(pattern, std::string(1000, 'a') + "b"));
}

TEST(Wildmatch, HasALongestLength) {
  EXPECT_TRUE(wildmatch("**", std::string(kMaxWildmatchBytes, 'a')));
  EXPECT_FALSE(wildmatch("**", std::string(kMaxWildmatchBytes + 1, 'a')));
  EXPECT_FALSE(wildmatch(std::string(kMaxWildmatchBytes + 1, '*'), "a"));
}

}  // namespace
}  // namespace repobridge::git
