#include "framework/report/slice_metrics.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/random/philox.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Values = std::map<std::string, double>;

struct Example {
  int64_t id = 0;
  bool present = true;
  float prediction = 0, label = 0;
};

SliceMetrics make(const SliceOptions& options, size_t tasks = 1) {
  return *SliceMetrics::create(options, tasks, {});
}

void add(absl::Span<const Example> examples, SliceMetrics& slices) {
  std::vector<int64_t> ids;
  std::vector<float> predictions, labels;
  const auto present = std::make_unique<bool[]>(examples.size());
  for (const Example& example : examples) {
    present[ids.size()] = example.present;
    ids.push_back(example.id);
    predictions.push_back(example.prediction);
    labels.push_back(example.label);
  }
  const SliceMetrics::Ids of{ids, absl::MakeConstSpan(present.get(), ids.size())};
  slices.add_ids(of);
  slices.update(0, {.predictions = predictions, .labels = labels}, of);
}

Values compute(const SliceMetrics& slices) {
  Values values;
  slices.compute({""}, values);
  return values;
}

TEST(SliceMetricsTest, EachIdHasItsOwn) {
  SliceMetrics slices = make({.name = "country", .metrics = {"mean"}});
  add({{7, true, 0.5f}, {3, true, 0.25f}, {7, true, 0.75f}, {0, false, 1.0f}}, slices);
  EXPECT_THAT(compute(slices),
              ElementsAre(Pair("country=3/examples", 1), Pair("country=3/mean", 0.25),
                          Pair("country=7/examples", 2), Pair("country=7/mean", 0.625),
                          Pair("country=none/examples", 1), Pair("country=none/mean", 1)));
  slices.reset();
  EXPECT_THAT(compute(slices), ElementsAre());
}

TEST(SliceMetricsTest, IdsStayOverReports) {
  SliceMetrics slices = make({.name = "c", .max_ids = 2, .metrics = {"mean"}});
  add({{1, true, 0.5f}, {2, true, 0.5f}}, slices);
  slices.reset();
  add({{2, true, 0.25f}, {7, true, 0.75f}}, slices);
  EXPECT_THAT(compute(slices),
              ElementsAre(Pair("c=2/examples", 1), Pair("c=2/mean", 0.25),
                          Pair("c=other/examples", 1), Pair("c=other/mean", 0.75)));
}

TEST(SliceMetricsTest, NamedIdsHaveASliceAndNoOthers) {
  SliceMetrics slices = make({.name = "c", .ids = {9, -1}, .metrics = {"mean"}});
  add({{9, true, 0.5f}, {3, true, 0.25f}, {4, true, 0.75f}}, slices);
  EXPECT_THAT(compute(slices), ElementsAre(Pair("c=9/examples", 1), Pair("c=9/mean", 0.5),
                                           Pair("c=other/examples", 2), Pair("c=other/mean", 0.5)));
}

TEST(SliceMetricsTest, IdsMayHaveNames) {
  SliceMetrics slices =
      make({.name = "c", .ids = {9, 3}, .metrics = {"mean"}, .id_names = {{9, "DE"}}});
  add({{9, true, 0.5f}, {3, true, 0.25f}}, slices);
  EXPECT_THAT(compute(slices), ElementsAre(Pair("c=3/examples", 1), Pair("c=3/mean", 0.25),
                                           Pair("c=DE/examples", 1), Pair("c=DE/mean", 0.5)));
}

TEST(SliceMetricsTest, AnIdThatASmallerOneReplacesIsOther) {
  SliceMetrics slices = make({.name = "c", .max_ids = 2, .metrics = {"mean"}});
  add({{5, true, 0.5f}, {6, true, 0.25f}}, slices);
  add({{1, true, 1.0f}, {6, true, 0.75f}}, slices);
  EXPECT_THAT(compute(slices), ElementsAre(Pair("c=1/examples", 1), Pair("c=1/mean", 1),
                                           Pair("c=5/examples", 1), Pair("c=5/mean", 0.5),
                                           Pair("c=other/examples", 2), Pair("c=other/mean", 0.5)));
}

TEST(SliceMetricsTest, TasksArePrefixes) {
  SliceMetrics slices = make({.name = "c", .metrics = {"mean"}}, 2);
  const int64_t id = 4;
  const bool present = true;
  const float prediction = 0.5f, label = 1;
  const SliceMetrics::Ids ids{absl::MakeConstSpan(&id, 1), absl::MakeConstSpan(&present, 1)};
  slices.add_ids(ids);
  slices.update(1, {.predictions = {&prediction, 1}, .labels = {&label, 1}}, ids);
  Values values;
  slices.compute({"click/", "buy/"}, values);
  EXPECT_EQ(values.at("c=4/examples"), 1) << "an example of two tasks is one";
  EXPECT_EQ(values.at("c=4/buy/mean"), 0.5);
  EXPECT_TRUE(std::isnan(values.at("c=4/click/mean")));
}

// auc is equal to the last bit for every order of examples.
TEST(SliceMetricsTest, AnyOrderAndAnyCutOverRanksGiveTheSame) {
  const SliceOptions options{.name = "c", .max_ids = 3, .metrics = {"auc"}};
  uint64_t drawn = 0;
  const auto next = [&] { return philox64(5, 0, drawn++); };
  std::vector<Example> examples(300);
  for (Example& example : examples) {
    example.id = static_cast<int64_t>(next() % 7);
    example.present = next() % 10 > 0;
    example.prediction = static_cast<float>(next() % 16) / 16;
    example.label = static_cast<float>(next() % 2);
  }
  SliceMetrics all = make(options);
  add(examples, all);
  const Values expected = compute(all);
  EXPECT_EQ(expected.size(), 2 * 5);
  for (int round = 0; round < 20; ++round) {
    for (size_t i = examples.size() - 1; i > 0; --i) {
      std::swap(examples[i], examples[next() % (i + 1)]);
    }
    const size_t ranks = 1 + round % 3;
    SliceMetrics merged = make(options);
    for (size_t rank = 0; rank < ranks; ++rank) {
      SliceMetrics part = make(options);
      const size_t begin = examples.size() * rank / ranks;
      const size_t end = examples.size() * (rank + 1) / ranks;
      for (size_t i = begin; i < end; i += 10) {
        add(absl::MakeSpan(examples).subspan(i, std::min<size_t>(10, end - i)), part);
      }
      ByteWriter writer;
      part.save(writer);
      ByteReader reader(writer.bytes());
      ASSERT_OK(merged.merge_saved(reader));
      EXPECT_TRUE(reader.done());
    }
    EXPECT_EQ(compute(merged), expected) << "round " << round;
  }
}

TEST(SliceMetricsTest, DamagedBytesAreErrors) {
  const SliceOptions options{.name = "c", .metrics = {"mean"}};
  SliceMetrics slices = make(options);
  add({{5, true, 0.5f}, {0, false, 0.25f}}, slices);
  ByteWriter writer;
  slices.save(writer);
  for (size_t size = 0; size < writer.bytes().size(); ++size) {
    ByteReader reader(absl::string_view(writer.bytes()).substr(0, size));
    SliceMetrics other = make(options);
    EXPECT_THAT(other.merge_saved(reader), StatusIs(absl::StatusCode::kDataLoss)) << size;
  }
  ByteReader reader(writer.bytes());
  SliceMetrics other = make({.name = "d", .metrics = {"mean"}});
  EXPECT_THAT(other.merge_saved(reader),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no slices of \"d\"")));
}

TEST(SliceMetricsTest, AnUnknownMetricIsNamed) {
  EXPECT_THAT(
      SliceMetrics::create({.name = "c", .metrics = {"aux"}}, 1, {}).status(),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("slices of \"c\""), HasSubstr("aux"))));
}

}  // namespace
}  // namespace millrace
