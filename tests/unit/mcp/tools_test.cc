#include "mcp/tools.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>

namespace repobridge::mcp {
namespace {

using policy::Json;

std::string golden_path() { return std::string(RB_TESTS_DIR) + "/golden/tools_list.json"; }

const Json& tool(const Json& table, std::string_view name) {
  for (const Json& one : table) {
    if (one["name"] == name) return one;
  }
  ADD_FAILURE() << "no tool " << name;
  return table.front();
}

// Every schema in `schema`, itself first.
void each_schema(const Json& schema, const std::function<void(const Json&)>& visit) {
  visit(schema);
  if (!schema.is_object()) return;
  if (schema.contains("properties")) {
    for (const auto& [name, property] : schema["properties"].items()) each_schema(property, visit);
  }
  if (schema.contains("items")) each_schema(schema["items"], visit);
  if (schema.contains("anyOf")) {
    for (const Json& branch : schema["anyOf"]) each_schema(branch, visit);
  }
}

TEST(Tools, AreWhatClientsOnceReadThem) {
  const std::string table = tool_table().dump(2) + "\n";
  if (std::getenv("REPOBRIDGE_ACCEPT_GOLDEN") != nullptr) {
    std::ofstream(golden_path()) << table;
  }
  std::stringstream golden;
  golden << std::ifstream(golden_path()).rdbuf();

  EXPECT_EQ(table, golden.str())
      << "clients keep these names; if the change is meant and compatible, run this "
         "test with REPOBRIDGE_ACCEPT_GOLDEN=1";
}

TEST(Tools, StandInOneOrder) {
  Json names = Json::array();
  for (const Json& one : tool_table()) names.push_back(one["name"]);

  EXPECT_EQ(names, Json::array({"inspect_repo", "run_repo_action", "commit_repo_changes", "push_repo"}));
}

TEST(Tools, SayEveryHint) {
  const auto hints = [](std::string_view name) {
    const Json table = tool_table();
    const Json& said = tool(table, name)["annotations"];
    return std::vector<bool>{said["readOnlyHint"], said["destructiveHint"], said["idempotentHint"],
                             said["openWorldHint"]};
  };

  EXPECT_EQ(hints("inspect_repo"), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(hints("run_repo_action"), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(hints("commit_repo_changes"), (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(hints("push_repo"), (std::vector<bool>{false, true, true, true}));
}

TEST(Tools, HavePlainSchemasThatEveryClientTakes) {
  for (const Json& one : tool_table()) {
    for (const auto* kind : {"inputSchema", "outputSchema"}) {
      const Json& root = one[kind];
      EXPECT_EQ(root["type"], "object") << one["name"];
      EXPECT_FALSE(root.contains("anyOf") || root.contains("oneOf") || root.contains("allOf")) << one["name"];
      each_schema(root, [&](const Json& schema) {
        ASSERT_TRUE(schema.is_object()) << schema.dump();
        EXPECT_TRUE(schema.contains("type") || schema.contains("anyOf")) << schema.dump();
        EXPECT_FALSE(schema.contains("type") && !schema["type"].is_string()) << schema.dump();
        EXPECT_FALSE(schema.contains("$ref") || schema.contains("pattern")) << schema.dump();
      });
    }
  }
}

TEST(Tools, CloseTheirArgumentsAndDescribeEachOne) {
  for (const Json& one : tool_table()) {
    const Json& input = one["inputSchema"];
    EXPECT_EQ(input["additionalProperties"], false) << one["name"];
    for (const auto& [name, property] : input["properties"].items()) {
      EXPECT_FALSE(property["description"].get<std::string>().empty()) << one["name"] << " " << name;
    }
    for (const Json& required : input["required"]) {
      EXPECT_TRUE(input["properties"].contains(required.get<std::string>()))
          << one["name"] << " " << required;
    }
  }
}

TEST(Tools, KeepWithinTheNamesAndSizesOfClients) {
  const std::regex name("[A-Za-z0-9_.-]{1,64}");
  for (const Json& one : tool_table()) {
    EXPECT_TRUE(std::regex_match(one["name"].get<std::string>(), name));
    EXPECT_LT(one["description"].get<std::string>().size(), 1024U) << one["name"];
    EXPECT_LT(one.dump().size(), 8000U) << one["name"];
    for (const auto* kind : {"inputSchema", "outputSchema"}) {
      each_schema(one[kind], [&](const Json& schema) {
        if (!schema.contains("properties")) return;
        for (const auto& [property, value] : schema["properties"].items()) {
          EXPECT_TRUE(std::regex_match(property, name)) << property;
        }
      });
    }
  }
}

TEST(Tools, DescribeTheEnvelopeWithOneOpenDataObject) {
  for (const Json& one : tool_table()) {
    const Json& output = one["outputSchema"];
    const Json& data = output["properties"]["data"];
    EXPECT_EQ(output["required"],
              Json::array({"identity", "request", "status", "pagination", "untrusted_content", "data"}));
    EXPECT_EQ(data["type"], "object") << one["name"];
    EXPECT_FALSE(data.contains("required")) << one["name"];
    each_schema(output, [&](const Json& schema) { EXPECT_FALSE(schema.contains("additionalProperties")); });
  }
}

}  // namespace
}  // namespace repobridge::mcp
