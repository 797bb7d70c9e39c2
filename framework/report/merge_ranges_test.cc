#include "framework/report/merge_ranges.h"

#include <ATen/ATen.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/forwarded_collectives.h"
#include "distributed/thread_collectives.h"
#include "framework/report/metric_set.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

// Expects that all values and thresholds of two sets, except the loss, have the same bits.
void expect_same_values(const MetricSet& set, const MetricSet& expected) {
  auto values = set.compute(), expected_values = expected.compute();
  ASSERT_EQ(values.size(), expected_values.size());
  for (const auto& [name, value] : expected_values) {
    if (name == "loss") continue;
    EXPECT_EQ(bits_of(values.at(name)), bits_of(value)) << name << " " << value;
  }
  const auto thresholds = set.threshold_weights(), all = expected.threshold_weights();
  ASSERT_EQ(thresholds.size(), all.size());
  for (const auto& [task, weights] : all) {
    EXPECT_EQ(thresholds.at(task).true_positives, weights.true_positives);
    EXPECT_EQ(thresholds.at(task).false_positives, weights.false_positives);
    EXPECT_EQ(thresholds.at(task).true_negatives, weights.true_negatives);
  }
}

// Adds up the bytes that each rank receives in merges.
class CountedRanks : public ForwardedCollectives {
 public:
  CountedRanks(Collectives& others, absl::Span<std::atomic<size_t>> received)
      : ForwardedCollectives(others), received_(received) {}
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    for (size_t to = 0; to < sent.size(); ++to) received_[to] += sent[to].size();
    return others().start_exchange(sent, received);
  }
  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    for (std::atomic<size_t>& to : received_) to += bytes.size();
    return others().all_gather(bytes);
  }

 private:
  const absl::Span<std::atomic<size_t>> received_;
};

// Examples of many ranks for metrics merged by ranges.
struct RangesCase {
  const char* name;
  at::Tensor predictions;           // [examples]
  std::vector<double> rank_shares;  // of the examples, in order
  // Bytes that each rank may receive, in units of an even share; 0: unlimited, since one score has
  // a large part of the examples.
  double most_received = 1.1;
  bool gather = false;  // as for spans
  std::function<void(StepResult&)> change = [](StepResult&) {};
};

MetricSet ranked_metrics() {
  const SliceOptions slices = {.name = "country", .max_ids = 1, .metrics = {"auc"}};
  return *MetricSet::create({"auc", "pr_auc", "gauc"}, {"click"}, LossScope::kThisRank, {},
                            {slices});
}

StepResult ranked_step(at::Tensor predictions, at::Tensor labels) {
  StepResult step;
  step.applied = true;
  step.examples = predictions.size(0);
  step.loss = at::scalar_tensor(0.5);
  step.predictions = std::move(predictions);
  step.labels = std::move(labels);
  return step;
}

// Returns the examples [begin, end) of a step.
StepResult part_of(const StepResult& all, int64_t begin, int64_t end) {
  const auto slice = [&](const at::Tensor& tensor) { return tensor.slice(0, begin, end); };
  StepResult part = ranked_step(slice(all.predictions), slice(all.labels));
  part.weights = slice(all.weights);
  part.groups = slice(all.groups);
  part.slices = {{slice(all.slices[0].ids), slice(all.slices[0].present)}};
  return part;
}

TEST(MergeRangesTest, NoRankReceivesAllPredictions) {
  at::manual_seed(3);
  constexpr int64_t kExamples = 320000;
  const at::Tensor uniform = at::rand({kExamples}), zeros = at::zeros({kExamples});
  const std::vector<double> fourths(4, 0.25);
  const RangesCase cases[] = {
      {"uniform", uniform, fourths},
      {"two ranks", uniform, {0.5, 0.5}},
      {"few scores", (uniform * 100).round() / 100, fourths},
      // Ranks with few examples send all of them to all.
      {"small scores", uniform.pow(40), {0.9, 0.05, 0, 0.05}, 1.3},
      {"sorted, of any sign", std::get<0>((uniform.log() - uniform).sort()), {0.3, 0, 0.3, 0.4}},
      {"zeros of both signs", at::where(uniform > 0.5, zeros, -zeros), fourths, 0},
      {"infinite", at::where(uniform > 0.3, uniform.log() / zeros, uniform), fourths, 0},
      {"one class", uniform, fourths, 1.1, false, [](StepResult& all) { all.labels.zero_(); }},
      {"not a number", uniform, fourths, 0, false,
       [](StepResult& all) { all.predictions[0] = NAN; }},
      {"gathered", uniform, fourths, 0, true},
  };
  for (const RangesCase& c : cases) {
    SCOPED_TRACE(c.name);
    StepResult all = ranked_step(c.predictions.clone().view({-1, 1}), at::rand({kExamples, 1}));
    all.weights = at::rand({kExamples}).exp() * (at::rand({kExamples}) > 0.1);
    all.groups = at::randint(2000, {kExamples}, at::kLong);
    all.slices = {{at::randint(3, {kExamples}, at::kLong), at::rand({kExamples}) > 0.25}};
    c.change(all);
    MetricSet one_pass = ranked_metrics();
    ASSERT_OK(one_pass.update(part_of(all, 0, kExamples)));

    std::vector<std::atomic<size_t>> received(c.rank_shares.size());
    std::vector<MetricSet> ranks;
    double begin = 0;
    for (const double share : c.rank_shares) {
      MetricSet& set = ranks.emplace_back(ranked_metrics());
      const double end = begin + share * kExamples;
      ASSERT_OK(set.update(part_of(all, std::lround(begin), std::lround(end))));
      if (c.gather) set.gather_examples();
      begin = end;
    }
    const auto statuses = run_thread_ranks({.world_size = static_cast<int>(ranks.size())},
                                           [&](std::unique_ptr<Collectives> self) {
                                             CountedRanks counted(*self, absl::MakeSpan(received));
                                             return merge_ranks(counted, {&ranks[self->rank()]});
                                           });
    for (const absl::Status& status : statuses) EXPECT_OK(status);
    for (MetricSet& set : ranks) {
      expect_same_values(set, one_pass);
      if (!c.gather) continue;
      MetricSet span = ranked_metrics();
      span.merge(set);
      EXPECT_EQ(span.compute()["auc"], one_pass.compute()["auc"]);
    }
    // An example takes 8 bytes of auc and of pr_auc, 16 of gauc and 8 of its slice.
    constexpr size_t kBytes = kExamples * (8 + 8 + 16 + 8);
    for (const size_t bytes : received) {
      if (c.most_received > 0) {
        EXPECT_LT(bytes, kBytes * c.most_received / ranks.size());
      }
      if (c.gather) {
        EXPECT_GE(bytes, kBytes * 0.8);
      }
    }
  }
}

TEST(MergeRangesTest, OneThatFailsWhileRangesTravel) {
  // In the exchange of shares, of ranges, and of the sums of ranks 0 and 1.
  for (int64_t ordinal = 0; ordinal < 4; ++ordinal) {
    ThreadRanksOptions options = {.world_size = 3};
    options.inject = [&](const CollectiveCall& call) {
      const bool fails = call.rank == 1 && call.ordinal == ordinal;
      return fails ? absl::DataLossError("planted on rank 1") : absl::OkStatus();
    };
    const auto statuses = run_thread_ranks(options, [&](std::unique_ptr<Collectives> self) {
      MetricSet set = *MetricSet::create({"auc"}, {"click"});
      RETURN_IF_ERROR(set.update(ranked_step(at::rand({40000, 1}), at::rand({40000, 1}))));
      return merge_ranks(*self, {&set});
    });
    for (const absl::Status& status : statuses) {
      EXPECT_FALSE(status.ok()) << ordinal;
      EXPECT_THAT(status.message(), HasSubstr("rank 1"));
    }
  }
}

}  // namespace
}  // namespace millrace
