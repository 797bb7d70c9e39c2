// Tests `millrace checkpoint` as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/small_checkpoint_testing.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class CheckpointCommandTest : public ProgramTest {
 protected:
  static constexpr char kFirst[] = "out/checkpoints/step-00000001";
  static constexpr char kSecond[] = "out/checkpoints/step-00000002";

  void SetUp() override {
    save({.step = 1, .metrics = {{"eval/auc", 0.5}}});
    save({.step = 2, .seed = 2, .rows = 9});
  }
  void save(const SmallCheckpoint& options) {
    ASSERT_OK(write_small_checkpoint(FileSystem::local(), path("out/checkpoints"), options));
  }
  // Flips a bit in the middle of a file.
  void damage(const std::string& name) {
    std::string content = read(name);
    content[content.size() / 2] ^= 1;
    write(name, content);
  }
  ProgramResult checkpoint(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "checkpoint");
    return millrace(std::move(arguments));
  }
  Json json_of(std::vector<std::string> arguments) {
    const ProgramResult result = checkpoint(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json json = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << result.out;
    return json;
  }
  void refused(std::vector<std::string> arguments, int exit_code, const std::string& what) {
    const std::vector<std::string> before = files_below(".");
    const ProgramResult result = checkpoint(std::move(arguments));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(what));
    EXPECT_EQ(files_below("."), before) << "nothing is left behind, nothing removed";
  }
};

TEST_F(CheckpointCommandTest, Lists) {
  for (const std::string place : {"out", "out/checkpoints"}) {
    const Json json = json_of({"list", place, "--json"});
    ASSERT_EQ(json.size(), 2);
    EXPECT_EQ(json[0]["path"], kFirst);
    EXPECT_EQ(json[0]["metrics"]["eval/auc"], 0.5);
    EXPECT_EQ(json[1]["step"], 2);
  }
  damage(absl::StrCat(kSecond, "/manifest.json"));
  const ProgramResult result = checkpoint({"list", "out"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("eval/auc 0.5"), HasSubstr("damaged: ")));
}

TEST_F(CheckpointCommandTest, ShowsTheNewestThatIsWhole) {
  Json json = json_of({"show", "out", "--json"});
  EXPECT_EQ(json["progress"]["step"], 2);
  EXPECT_EQ(json["tables"]["items"]["rows"], 9);
  EXPECT_EQ(json["content_digest"].get<std::string>().size(), 32);
  EXPECT_EQ(json_of({"show", kFirst, "--json"})["progress"]["step"], 1);
  EXPECT_THAT(checkpoint({"show", "out"}).out, HasSubstr("fc.weight"));

  damage(absl::StrCat(kSecond, "/manifest.json"));
  const ProgramResult before = checkpoint({"show", "out", "--json"});
  EXPECT_EQ(before.exit_code, 0);
  EXPECT_EQ(Json::parse(before.out)["progress"]["step"], 1);
  EXPECT_THAT(before.err, AllOf(HasSubstr("passed over"), HasSubstr("step-00000002")));
}

TEST_F(CheckpointCommandTest, VerifiesEveryByte) {
  const ProgramResult whole = checkpoint({"verify", "out"});
  EXPECT_EQ(whole.exit_code, 0);
  EXPECT_THAT(whole.out, AllOf(HasSubstr(absl::StrCat(kFirst, ": ok")),
                               HasSubstr(absl::StrCat(kSecond, ": ok"))));
  const std::string file = absl::StrCat(kSecond, "/table-items-00001-of-00002.safetensors");
  damage(file);
  EXPECT_EQ(checkpoint({"show", kSecond}).exit_code, 0) << "which does not read all bytes";
  refused({"verify", kSecond}, kBadData, file + " is damaged between bytes 0 and ");
  EXPECT_EQ(checkpoint({"verify", kSecond}).out, "") << "standard error has the finding";
  refused({"verify", kFirst, kSecond}, kBadData,
          absl::StrCat("1 of 2 checkpoints are not whole: ", kSecond));
  EXPECT_THAT(checkpoint({"verify", "out"}).out, HasSubstr(absl::StrCat(kFirst, ": ok")));
  EXPECT_EQ(checkpoint({"verify", kFirst, "--threads", "1"}).exit_code, 0);
}

TEST_F(CheckpointCommandTest, ReadsTensorsAndRows) {
  const Json tensor = json_of({"read", "out", "--tensor", "fc.weight", "--json"});
  EXPECT_EQ(tensor["shape"], Json({3, 2}));
  EXPECT_EQ(tensor["values"].size(), 6);
  EXPECT_THAT(checkpoint({"read", kFirst, "--tensor", "on"}).out, HasSubstr("on BOOL [3]"));
  const Json rows = json_of({"read", kFirst, "--table", "items", "--ids", "3,-8,5", "--json"});
  EXPECT_EQ(rows["missing"], Json({-8}));
  ASSERT_EQ(rows["rows"].size(), 2);
  EXPECT_EQ(rows["rows"][1]["id"], 5);
  EXPECT_EQ(rows["rows"][1]["weights"].size(), 3);
  refused({"read", "out", "--tensor", "fc.wieght"}, kNoInput, "did you mean \"fc.weight\"");
  refused({"read", "out", "--table", "item", "--ids", "1"}, kNoInput, "did you mean \"items\"");
  refused({"read", "out", "--table", "item", "--ids", "DE"}, kNoInput, "did you mean \"items\"");
  refused({"read", "out"}, kUsage, "--tensor, or --table");
  refused({"read", "out", "--table", "items", "--ids", "x"}, kUsage, "--ids");
}

TEST_F(CheckpointCommandTest, Differs) {
  const Json json = [&] {
    const ProgramResult result = checkpoint({"diff", kFirst, kSecond, "--json"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "");
    return Json::parse(result.out);
  }();
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["progress"][0], "step: 1 → 2");
  EXPECT_EQ(json["tables"]["items"]["added"], 4);
  EXPECT_EQ(json["tables"]["items"]["changed"], 5);
  EXPECT_EQ(json["dense"].size(), 3);
  EXPECT_THAT(checkpoint({"diff", kFirst, kSecond}).out, HasSubstr("table items: 5 → 9 rows"));

  ASSERT_OK(
      write_small_checkpoint(FileSystem::local(), path("again"), {.step = 1, .world_size = 2}));
  const ProgramResult equal = checkpoint({"diff", kFirst, "again"});
  EXPECT_EQ(equal.exit_code, 0) << equal.out;
  EXPECT_THAT(equal.out, HasSubstr("\nequal\n"));
  refused({"diff", kFirst, "nowhere"}, kNoInput, "nowhere");
  damage(absl::StrCat(kSecond, "/table-items-00001-of-00002.safetensors"));
  refused({"diff", kFirst, kSecond}, kBadData, "is damaged between bytes");
}

TEST_F(CheckpointCommandTest, Exports) {
  const ProgramResult result = checkpoint({"export", "out", "--output", "model"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("model/table-items.safetensors: 9 rows"));
  EXPECT_THAT(files_below("model"), ElementsAre("dense.safetensors", "table-items.safetensors"));
  EXPECT_EQ(checkpoint({"export", kFirst, "--table", "items", "--output", "i.parquet"}).exit_code,
            0);
  EXPECT_EQ(read("i.parquet").substr(0, 4), "PAR1");
  EXPECT_EQ(checkpoint({"verify", "out"}).exit_code, 0) << "nothing has changed there";

  refused({"export", "out", "--output", "model"}, kCannotWrite, "model is there already");
  refused({"export", "out", "--output", "no/model"}, kCannotWrite,
          "there is no directory no; make it");
  refused({"export", "out", "--output", "m", "--format", "csv"}, kUsage, "\"csv\"");
  refused({"export", "out", "--output", "m", "--table", "item"}, kNoInput,
          "did you mean \"items\"");
  refused({"export", "out", "--output", "m.csv", "--table", "items"}, kUsage,
          "--output: m.csv: the extension is .csv, but safetensors is written");
  refused({"export", "out", "--output", "m", "--delta"}, kUsage, "is no delta");
  refused({"export", "out", "--output", absl::StrCat(kFirst, "/m")}, kCannotWrite, "and damage it");
  damage(absl::StrCat(kSecond, "/table-items-00001-of-00002.safetensors"));
  refused({"export", kSecond, "--output", "m"}, kBadData, "is damaged between bytes");
  const ProgramResult older = checkpoint({"export", "out", "--output", "older"});
  EXPECT_EQ(older.exit_code, 0) << older.err;
  EXPECT_THAT(older.err, HasSubstr("table-items-00001-of-00002.safetensors is damaged"));
  EXPECT_THAT(older.out, HasSubstr(absl::StrCat("exported ", kFirst)));
}

TEST_F(CheckpointCommandTest, WhatIsNoCheckpoint) {
  refused({"show", "nowhere"}, kNoInput, "nowhere");
  fs::create_directory(path("empty"));
  refused({"list", "empty"}, kNoInput, "empty is neither a checkpoint");
  write("file", "x");
  refused({"verify", "file"}, kUsage, "file is a file");
  fs::create_directories(path("none/checkpoints"));
  refused({"verify", "none"}, kNoInput, "there is no checkpoint in none/checkpoints");
  EXPECT_EQ(checkpoint({"list", "none"}).out, "no checkpoints\n");
  refused({"list", kFirst}, kUsage, "list takes the folder");
  refused({}, kUsage, "checkpoint --help");
}

TEST_F(CheckpointCommandTest, WhatIsWrongWithOne) {
  const std::string shard = absl::StrCat(kFirst, "/table-items-00000-of-00002.safetensors");
  fs::rename(path(shard), path("aside"));
  refused({"verify", kFirst}, kBadData, shard + " is missing");
  fs::create_symlink(path("aside"), path(shard));
  refused({"verify", kFirst}, kBadData, shard + " is not a regular file");
  fs::remove(path(shard));
  fs::rename(path("aside"), path(shard));
  EXPECT_EQ(checkpoint({"verify", kFirst}).exit_code, 0) << "as before";

  // The name shows a lost checkpoint; a missing path shows nothing.
  const std::string manifest = absl::StrCat(kFirst, "/manifest.json");
  fs::rename(path(manifest), path("aside"));
  for (const char* command : {"verify", "show"}) {
    refused({command, kFirst}, kBadData,
            absl::StrCat("millrace: ", kFirst, " is damaged: it has no manifest.json"));
    refused({command, "out/checkpoints/step-00000009"}, kNoInput, "step-00000009");
  }
  const ProgramResult all = checkpoint({"verify", "out"});
  EXPECT_EQ(all.exit_code, kBadData);
  EXPECT_THAT(all.out, HasSubstr(absl::StrCat("\n", kSecond, ": ok")));
  EXPECT_THAT(all.out, testing::StartsWith(absl::StrCat(kFirst, " is damaged")));
  fs::rename(path("aside"), path(manifest));

  fs::create_directory_symlink(path(kFirst), path("out/checkpoints/step-00000003"));
  refused({"show", "out/checkpoints/step-00000003"}, kBadData, "is a symbolic link");
  write(absl::StrCat(kFirst, "/extra"), "");
  refused({"show", kFirst}, kBadData, "extra does not belong to the checkpoint");
}

// A manifest of a newer program.
TEST_F(CheckpointCommandTest, ANewerFormat) {
  const std::string file = absl::StrCat(kFirst, "/manifest.json");
  std::string text = read(file);
  const std::string version = "\"format_version\": 3";
  text.replace(text.find(version), version.size(), "\"format_version\": 9");
  text.replace(14, 32, 32, '0');
  text.replace(14, 32, format_digest(xxh3_128(text)));
  write(file, text);
  refused({"show", kFirst}, kUsage, "format version 9");
  refused({"verify", kFirst}, kUsage, "format version 9");
  EXPECT_EQ(json_of({"list", "out", "--json"})[0]["status"], "damaged");
}

}  // namespace
}  // namespace millrace
