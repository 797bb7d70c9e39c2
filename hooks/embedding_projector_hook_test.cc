#include "hooks/embedding_projector_hook.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "hook/hook_registry.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

EmbeddingProjectorConfig config_of(const std::string& text) {
  EmbeddingProjectorConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// The suite's trainers have tables that are not given to the hook.
[[maybe_unused]] const bool kEmbeddingProjectorHook = register_hook_conformance(
    "EmbeddingProjectorHook", {.make = [] {
      static MemoryFileSystem files;
      static const auto* const trainer = [] {
        TinyTrainerOptions options;
        options.train.sparse = 1;
        return new TrainerParts(tiny_parts(options));
      }();
      return std::make_unique<EmbeddingProjectorHook>(files, "out", collections_of(*trainer->model),
                                                      config_of("table { table: 'items' }"));
    }});

class EmbeddingProjectorHookTest : public testing::Test {
 protected:
  std::vector<std::vector<std::string>> rows(const std::string& name) {
    std::vector<std::vector<std::string>> rows;
    const auto text = read_file(files_, "out/tensorboard/" + name);
    EXPECT_OK(text);
    if (!text.ok()) return rows;
    for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      rows.push_back(absl::StrSplit(line, '\t'));
    }
    return rows;
  }
  // Trains with the hook.
  absl::Status train(const std::string& config) {
    TinyTrainerOptions options;
    options.train.sparse = 1;
    TrainerParts parts = tiny_parts(options);
    std::vector<EmbeddingCollection*> collections = collections_of(*parts.model);
    auto trainer = Trainer::create(options.trainer, std::move(parts));
    if (!trainer.ok()) return trainer.status();
    absl::Status status = (*trainer)->add_hook(
        std::make_unique<EmbeddingProjectorHook>(files_, "out", collections, config_of(config)));
    if (status.ok()) status = (*trainer)->train().status();
    return status;
  }

  MemoryFileSystem files_;
};

TEST_F(EmbeddingProjectorHookTest, WritesTheRowsThatAreLookedUpMostOften) {
  ASSERT_OK(train("table { table: 'items' rows: 3 }"));
  const auto vectors = rows("projector_items.tsv");
  ASSERT_EQ(vectors.size(), 3);
  for (const auto& row : vectors) {
    ASSERT_EQ(row.size(), 4) << "dim";
    for (const std::string& weight : row) {
      double number = 0;
      EXPECT_TRUE(absl::SimpleAtod(weight, &number)) << weight;
    }
  }
  const auto ids = rows("projector_items_ids.tsv");
  ASSERT_EQ(ids.size(), 4);
  EXPECT_EQ(ids[0], (std::vector<std::string>{"id", "lookups"}));
  int64_t before = std::numeric_limits<int64_t>::max();
  for (size_t i = 1; i < ids.size(); ++i) {
    int64_t lookups = 0;
    ASSERT_TRUE(absl::SimpleAtoi(ids[i][1], &lookups));
    EXPECT_LE(lookups, before);
    EXPECT_GT(lookups, 0);
    before = lookups;
  }
  EXPECT_EQ(*read_file(files_, "out/tensorboard/projector_config.pbtxt"),
            "embeddings {\n  tensor_name: \"items\"\n  tensor_path: \"projector_items.tsv\"\n"
            "  metadata_path: \"projector_items_ids.tsv\"\n}\n");
}

TEST_F(EmbeddingProjectorHookTest, NoOtherRowIsLookedUpMoreOften) {
  ASSERT_OK(train("table { table: 'items' rows: 3 }"));
  auto three = rows("projector_items_ids.tsv");
  ASSERT_OK(train("table { table: 'items' rows: 1000 }"));
  auto all = rows("projector_items_ids.tsv");
  ASSERT_EQ(three.size(), 4);
  ASSERT_GT(all.size(), 4);
  all.resize(4);
  EXPECT_EQ(three, all);
}

TEST_F(EmbeddingProjectorHookTest, EachRankWritesItsPart) {
  const auto train_rank = [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
    TinyTrainerOptions options;
    options.train.sparse = 1;
    options.train.rank = collectives->rank();
    options.train.world_size = 2;
    TrainerParts parts = tiny_parts(options);
    parts.collectives = std::move(collectives);
    std::vector<EmbeddingCollection*> collections = collections_of(*parts.model);
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::create(options.trainer, std::move(parts)));
    RETURN_IF_ERROR(trainer->add_hook(std::make_unique<EmbeddingProjectorHook>(
        files_, "out", collections, config_of("table { table: 'items' }"))));
    return trainer->train().status();
  };
  EXPECT_THAT(run_thread_ranks({.world_size = 2}, train_rank), testing::Each(IsOk()));
  std::set<std::string> ids;
  size_t lines = 0;
  for (const char* folder : {"", "rank-1/"}) {
    const auto part = rows(absl::StrCat(folder, "projector_items_ids.tsv"));
    ASSERT_GT(part.size(), 1) << folder;
    EXPECT_EQ(rows(absl::StrCat(folder, "projector_items.tsv")).size(), part.size() - 1);
    for (size_t i = 1; i < part.size(); ++i) ids.insert(part[i][0]);
    lines += part.size() - 1;
  }
  EXPECT_EQ(ids.size(), lines) << "no row is in two parts";
  EXPECT_THAT(*read_file(files_, "out/tensorboard/projector_config.pbtxt"),
              HasSubstr("tensor_name: \"items, rank 1\"\n  tensor_path: "
                        "\"rank-1/projector_items.tsv\""));
}

TEST_F(EmbeddingProjectorHookTest, ATableThatIsNotThereIsNamed) {
  EXPECT_THAT(train("table { table: 'itmes' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("no table \"itmes\""), HasSubstr("items"))));
}

// Fails before the first step, although the hook's errors are warnings by default.
TEST_F(EmbeddingProjectorHookTest, TheHookOfATableThatIsNotThereIsNotMade) {
  TinyTrainerOptions options;
  options.train.sparse = 1;
  const TrainerParts parts = tiny_parts(options);
  const std::vector<EmbeddingCollection*> collections = collections_of(*parts.model);
  const auto made = [&](const std::string& tables) {
    HookConfig config;
    config.set_name("embedding_projector");
    *config.MutableExtension(embedding_projector) = config_of(tables);
    return create_hook(config, {files_, Clock::real(), "out", collections}).status();
  };
  EXPECT_OK(made("table { table: 'items' }"));
  EXPECT_THAT(made("table { table: 'itmes' } table { table: 'users' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("the model has no table \"itmes\""),
                             HasSubstr("\n[millrace.embedding_projector]: the model has no table "
                                       "\"users\""))));
}

TEST_F(EmbeddingProjectorHookTest, EachMistakeHasALine) {
  EXPECT_THAT(EmbeddingProjectorHook::check(config_of("")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("table is missing")));
  EXPECT_THAT(EmbeddingProjectorHook::check(config_of(
                  "table { rows: 0 } table { table: 'a/b' } table { table: 'a_b' } directory: ''")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("table[0]: table is missing"), HasSubstr("rows is 0"),
                             HasSubstr("table[2]: table \"a_b\" has the files"),
                             HasSubstr("directory is \"\""))));
}

}  // namespace
}  // namespace millrace
