// Checks that the reference tables of docs/configuration.md have every field of the configuration.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "proto/config.pb.h"

namespace millrace {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Words = std::set<std::string>;

// Adds the names between backticks.
void add_names(absl::string_view text, Words& names) {
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  for (size_t i = 1; i < parts.size(); i += 2) {
    std::string name;
    for (const char c : parts[i] + " ") {
      if (absl::ascii_isalnum(c) || c == '_') {
        name += c;
      } else if (!name.empty()) {
        names.insert(std::exchange(name, ""));
      }
    }
  }
}

struct Section {
  Words fields;    // of the first cells of its rows
  Words anywhere;  // in it
};

// Returns the part of a page below `heading`; with "", the whole page.
Section read_section(const std::string& page, const std::string& heading) {
  const absl::StatusOr<std::string> text = read_file(FileSystem::local(), "docs/" + page);
  EXPECT_OK(text.status());
  Section section;
  bool inside = heading.empty();
  bool found = inside;
  const std::vector<std::string> lines = absl::StrSplit(text.value_or(""), '\n');
  for (const std::string& line : lines) {
    if (!heading.empty() && absl::StartsWith(line, "#")) inside = line == heading;
    if (!inside) continue;
    found = true;
    add_names(line, section.anywhere);
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() > 2) add_names(cells[1], section.fields);
  }
  EXPECT_TRUE(found) << page << " has no " << heading;
  return section;
}

// Messages with a table or a page of their own.
const Words& described_elsewhere() {
  static const Words* names = new Words{
      "TrainConfig",    "RunConfig",       "DataConfig",           "FeatureConfig",
      "TableConfig",    "TransformConfig", "DenseOptimizerConfig", "SparseOptimizerConfig",
      "HookConfig",     "CadenceConfig",   "ModelConfig",          "SourceConfig",
      "ScheduleConfig", "TaskConfig"};
  return *names;
}

// Expects all fields of the parts of `message` anywhere in the section.
void expect_parts(const Descriptor& message, const Section& section, Words seen) {
  if (!seen.insert(message.name()).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    EXPECT_EQ(section.anywhere.count(field.name()), 1u) << field.full_name();
    const Descriptor* part = field.message_type();
    if (part == nullptr || described_elsewhere().count(part->name()) > 0) continue;
    expect_parts(*part, section, seen);
  }
}

void expect_described(const Descriptor& message, const Section& section) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    EXPECT_EQ(section.fields.count(field.name()), 1u)
        << field.full_name() << " is in no first cell of its table";
  }
  expect_parts(message, section, {});
}

TEST(ConfigurationPageTest, EveryFieldHasItsRow) {
  const std::string page = "configuration.md";
  expect_described(*TrainConfig::descriptor(), read_section(page, "### `train`"));
  expect_described(*DataConfig::descriptor(),
                   read_section(page, "### `train_data`, `eval_data.data`"));
  expect_described(*FeatureConfig::descriptor(), read_section(page, "### `feature`"));
  expect_described(*TaskConfig::descriptor(), read_section(page, "### `task`"));
  expect_described(*TableConfig::descriptor(), read_section(page, "### `table`"));
  expect_described(*RunConfig::descriptor(), read_section(page, "### `run`"));
  expect_described(*HookConfig::descriptor(), read_section(page, "### `hooks`"));
}

TEST(ConfigurationPageTest, EveryPartThatManyShareIsThere) {
  const Section feature = read_section("configuration.md", "### `feature`");
  for (int i = 0; i < TransformConfig::descriptor()->field_count(); ++i) {
    const std::string& name = TransformConfig::descriptor()->field(i)->name();
    EXPECT_EQ(feature.anywhere.count(name), 1u) << name;
  }
  const Section optimizers = read_section("configuration.md", "### Optimizers");
  expect_parts(*DenseOptimizerConfig::descriptor(), optimizers, {});
  expect_parts(*SparseOptimizerConfig::descriptor(), optimizers, {});
  expect_parts(*CadenceConfig::descriptor(), read_section("configuration.md", "### `run`"), {});
  expect_parts(*ScheduleConfig::descriptor(), read_section("schedules.md", ""), {});
  const Section model_bank = read_section("model_bank.md", "");
  expect_parts(*SourceConfig::descriptor(), model_bank, {});
}

}  // namespace
}  // namespace millrace
