#include "proto/config_fingerprint.h"

#include <google/protobuf/text_format.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config_reader.h"
#include "proto/hook_configs.pb.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TrainConfig parse(const std::string& text) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

constexpr char kJob[] = R"(
  seed: 3
  train_data { path: "a/*.parquet" batch_size: 64 }
  eval_data { name: "test" data { path: "b.parquet" } }
  feature { name: "user" table: "users" }
  table { name: "users" dim: 8 }
  table { name: "items" dim: 8 }
  sparse_optimizer { learning_rate: 0.1 adam {} }
  hooks { name: "evict_rows" [millrace.evict_rows] { when { every_steps: 5 } } }
  max_steps: 100
)";

void expect_same(const TrainConfig& a, const TrainConfig& b) {
  EXPECT_EQ(config_fingerprint(a), config_fingerprint(b));
  EXPECT_THAT(config_differences(a, b), IsEmpty());
}

// Returns the job with `text` merged into it.
TrainConfig changed(const std::string& text) {
  TrainConfig config = parse(kJob);
  config.MergeFrom(parse(text));
  return config;
}

TEST(ConfigFingerprintTest, ALimitPlaysARoleWhereAScheduleHasAShareOfIt) {
  const auto steps_matter = [](const std::string& schedule) {
    return !config_differences(changed(schedule + " max_steps: 200"), changed(schedule)).empty();
  };
  const auto epochs_matter = [](const std::string& schedule) {
    return !config_differences(changed(schedule + " max_epochs: 9"), changed(schedule)).empty();
  };
  const std::string share = "{ cosine { length { share: 1 } } }";
  EXPECT_TRUE(steps_matter("optimizer { schedule " + share + " }"));
  EXPECT_FALSE(epochs_matter("optimizer { schedule " + share + " }"));
  EXPECT_TRUE(steps_matter("sparse_optimizer { schedule " + share + " }"));
  EXPECT_TRUE(steps_matter("more_optimizers { schedule " + share + " }"));
  EXPECT_TRUE(steps_matter("table { name: \"t\" optimizer { schedule " + share + " } }"));
  EXPECT_TRUE(
      epochs_matter("optimizer { schedule { unit: EPOCHS chained {"
                    " part { length { share: 0.5 } schedule { constant {} } }"
                    " part { schedule { constant {} } } } } }"));
  EXPECT_FALSE(steps_matter("optimizer { schedule { cosine { length { count: 70 } } } }"));
  // Without max_steps, the job counts the steps and examples of max_epochs.
  const std::string no_limit = " max_steps: 0";
  EXPECT_TRUE(epochs_matter("optimizer { schedule " + share + " }" + no_limit));
  EXPECT_TRUE(
      epochs_matter("optimizer { schedule { unit: EXAMPLES cosine { length { share: 1 } } "
                    "} }" +
                    no_limit));
  EXPECT_FALSE(epochs_matter("optimizer { schedule { constant {} } }" + no_limit));
  // A limit that is equal is no difference where one of the schedules alone has a share of it.
  for (const std::string& difference : config_differences(
           changed("optimizer { schedule " + share + " } max_epochs: 9" + no_limit),
           changed("optimizer { schedule { constant {} } } max_epochs: 9" + no_limit))) {
    EXPECT_THAT(difference, testing::Not(testing::HasSubstr("max_epochs")));
  }
  // A registered schedule receives all totals.
  for (const char* custom :
       {"custom { name: 'own' }", "unit: EXAMPLES custom { name: 'own' }",
        "chained { part { length { count: 5 } schedule { custom { name: 'own' } } }"
        " part { schedule { constant {} } } }"}) {
    const std::string schedule = absl::StrCat("optimizer { schedule { ", custom, " } }");
    EXPECT_TRUE(steps_matter(schedule)) << custom;
    EXPECT_TRUE(epochs_matter(schedule)) << custom;
  }
}

TEST(ConfigFingerprintTest, LimitsPathsAndDefaultsPlayNoRole) {
  expect_same(parse(kJob), changed("max_steps: 7 max_epochs: 0 max_seconds: 3"));
  expect_same(parse(kJob), changed("train_data { path: \"c\" drop_remainder: false }"));
  expect_same(changed("train_data { windows { directory { path: \"a\" } } } max_windows: 3"),
              changed("train_data { windows { directory { path: \"b\" } idle_seconds: 5 } }"));
  expect_same(changed("train_data { windows { time { path: \"a\" end: \"b\" } } }"),
              changed("train_data { windows { time {} } }"));
  expect_same(changed("train_data { sample { rate: 1 } }"), parse(kJob));
  expect_same(changed("train_data { mix { source { data { path: \"a\" } proportion: 1 } } }"),
              changed("train_data { mix { source { data { path: \"b\" } proportion: 1 } } }"));
  expect_same(changed("model_bank { source { path: \"a\" dynamic: true } }"),
              changed("model_bank { source { path: \"b\" dynamic: true } }"));
  expect_same(
      changed("feature { name: \"a\" transform { vocabulary { path: \"b\" other_ids: 2 } } }"),
      changed("feature { name: \"a\" transform { vocabulary { path: \"c\" other_ids: 2 } } }"));
  TrainConfig config = parse(kJob);
  config.mutable_eval_data(0)->mutable_data()->set_path(0, "elsewhere");
  config.mutable_table(0)->set_row_dtype(FLOAT32);
  config.mutable_sparse_optimizer()->mutable_adam()->set_beta1(0.9);
  expect_same(parse(kJob), config);
  EXPECT_EQ(config_fingerprint(config).size(), 32u);
}

TEST(ConfigFingerprintTest, BoundsOfASplitThatSayTheSameAreTheSame) {
  expect_same(changed("train_data { split { from: 0 to: 1 } }"),
              changed("train_data { split {} }"));
  expect_same(changed("train_data { split { from: 0 to: 0.9 } }"),
              changed("train_data { split { to: 0.9 } }"));
  // Older checkpoints hold the fingerprint of this text.
  EXPECT_EQ(
      identity_of(changed("train_data { split { to: 0.9 } }")).train_data().ShortDebugString(),
      "batch_size: 64 split { to: 0.9 }");
  const std::string order = "train_data { split { by: ORDER_OF_COLUMN column: 'day' to: 20 ";
  EXPECT_THAT(config_differences(changed(order + "from: 0 } }"), changed(order + "} }")),
              ElementsAre("train_data.split.from: not set → -inf"));
}

// A resumed run reads none of these fields.
TEST(ConfigFingerprintTest, WhatTrainingBeganWithPlaysNoRole) {
  expect_same(parse(kJob), changed("initialize_from: \"a\""));
  expect_same(changed("initialize_from: \"a\""), changed("initialize_from: \"b\""));
  expect_same(parse(kJob), changed("model_bank { source { path: \"a\" load: \"b\" } }"));
  expect_same(parse(kJob), changed("model_bank { source { rows { table: \"users\" } } }"));
}

TEST(ConfigFingerprintTest, WhatDecidesTheResultDoes) {
  for (const char* text :
       {"seed: 4", "micro_batches: 2", "train_data { windows { files: 2 } }",
        "train_data { sample { rate: 0.5 } }", "train_data { mix { source { proportion: 2 } } }",
        "max_steps_per_window: 1", "max_steps_per_epoch: 5", "train_data { batch_size: 65 }",
        "sparse_optimizer { adam { beta1: 0.8 } }", "sparse_optimizer { sgd {} }",
        "moving_average {}", "moving_average { decay: 0.9 }",
        "sparse_optimizer { duplicate_gradients: MEAN }", "table { name: \"more\" }",
        "feature { default_value: 0 }", "binary_labels: false",
        "model_bank { source { load: \"a\" dynamic: true } }",
        "model_bank { source { load: \"a\" } source { dynamic: true } }"}) {
    EXPECT_NE(config_fingerprint(parse(kJob)), config_fingerprint(changed(text))) << text;
    EXPECT_EQ(config_differences(parse(kJob), changed(text)).empty(), false) << text;
  }
}

TEST(ConfigFingerprintTest, APluginIsItsDigestAndNotItsPath) {
  const auto job = [](const std::string& path, const std::string& digest) {
    return changed("hooks { name: 'guard' plugin { path: '" + path + "' hook: 'guard' sha256: '" +
                   digest + "' } }");
  };
  expect_same(job("/a/guard.so", "12"), job("/b/other.so", "12"));
  EXPECT_THAT(config_differences(job("/a/guard.so", "12"), job("/a/guard.so", "34")),
              ElementsAre("hooks[guard].plugin.sha256: \"12\" → \"34\""));
  EXPECT_NE(config_fingerprint(job("/a/guard.so", "12")),
            config_fingerprint(job("/a/guard.so", "34")));
}

TEST(ConfigFingerprintTest, DifferencesAreReadable) {
  TrainConfig now = parse(kJob);
  now.clear_seed();
  now.mutable_train_data()->set_shuffle_rows(1000);
  now.mutable_table(1)->set_dim(32);
  now.mutable_table(1)->set_row_dtype(BFLOAT16);
  now.mutable_table(0)->mutable_admission()->mutable_count()->set_min_count(2);
  now.mutable_sparse_optimizer()->mutable_sgd();
  now.mutable_hooks(0)->MutableExtension(evict_rows)->mutable_when()->set_every_steps(6);
  EXPECT_THAT(config_differences(parse(kJob), now),
              ElementsAre("seed: 3 → 1", "train_data.shuffle_rows: 0 → 1000",
                          "table[users].admission.count: not there → there",
                          "table[items].dim: 8 → 32", "table[items].row_dtype: FLOAT32 → BFLOAT16",
                          "sparse_optimizer.sgd: not there → there",
                          "sparse_optimizer.adam: there → not there",
                          "hooks[evict_rows].[millrace.evict_rows].when.every_steps: 5 → 6"));
  EXPECT_THAT(config_differences(now, parse(kJob)),
              testing::Contains("table[items].row_dtype: BFLOAT16 → FLOAT32"));
}

TEST(ConfigFingerprintTest, AGlobalBatchSizeStandsForWhatFollowsFromIt) {
  TrainConfig global = parse(kJob);
  global.mutable_train_data()->clear_batch_size();
  global.set_global_batch_size(256);
  EXPECT_THAT(config_differences(parse(kJob), global), ElementsAre("global_batch_size: 0 → 256"));
  EXPECT_THAT(config_differences(changed("micro_batches: 4"), global),
              ElementsAre("global_batch_size: 0 → 256"));
  EXPECT_THAT(config_differences(parse(kJob), changed("micro_batches: 4")),
              ElementsAre("micro_batches: 1 → 4"));
}

TEST(ConfigFingerprintTest, DefaultsThatAreWrittenOutAreTheSameJob) {
  const TrainConfig written = parse(to_text_with_defaults(parse(kJob)));
  EXPECT_THAT(config_differences(parse(kJob), written), testing::IsEmpty());
  EXPECT_EQ(config_fingerprint(parse(kJob)), config_fingerprint(written));
}

TEST(ConfigFingerprintTest, ListsWithoutNamesShowPlaces) {
  EXPECT_THAT(config_differences(parse("metric: \"auc\" metric: \"ne\""),
                                 parse("metric: \"auc\" metric: \"logloss\" metric: \"ne\"")),
              ElementsAre("metric[1]: \"ne\" → \"logloss\"", "metric[2]: not set → \"ne\""));
}

TEST(ConfigFingerprintTest, AJobContinuesWithOtherRatesBatchesAndLimitsAlone) {
  const TrainConfig job = parse(kJob);
  for (const char* text :
       {"sparse_optimizer { learning_rate: 0.2 }", "train_data { batch_size: 8 }",
        "sparse_optimizer { schedule { cosine { length { count: 5 } } } }",
        "sparse_optimizer { adam { weight_decay: 0.1 } }", "optimizer { learning_rate: 0.2 }",
        "optimizer { adam { weight_decay: 0.1 } }", "micro_batches: 2", "clipping { max_norm: 1 }",
        "non_finite { policy: SKIP }", "max_steps_per_epoch: 7", "max_evaluation_steps: 7"}) {
    EXPECT_TRUE(can_continue_as(job, changed(text))) << text;
    EXPECT_THAT(fixed_differences(job, changed(text)), IsEmpty()) << text;
    EXPECT_FALSE(config_differences(job, changed(text)).empty()) << text;
  }
  const TrainConfig other_kind = changed("sparse_optimizer { ftrl {} }");
  EXPECT_FALSE(can_continue_as(job, other_kind));
  EXPECT_THAT(fixed_differences(job, other_kind),
              ElementsAre("sparse_optimizer.adam: there → not there",
                          "sparse_optimizer.ftrl: not there → there"));
  EXPECT_THAT(fixed_differences(job, changed("seed: 4 train_data { batch_size: 8 }")),
              ElementsAre("seed: 3 → 4"));
  TrainConfig swapped = job;
  swapped.mutable_table()->SwapElements(0, 1);
  EXPECT_FALSE(can_continue_as(job, swapped)) << "weights would meet other columns";
  EXPECT_THAT(fixed_differences(job, swapped), IsEmpty());
}

}  // namespace
}  // namespace millrace
