// 2N steps are N steps, a resume, and N steps: to the last bit, from every serving point.
#include <google/protobuf/text_format.h>

#include <set>

#include "base/status_matchers.h"
#include "tests/resume/resume_case.h"

namespace millrace {
namespace {

using google::protobuf::TextFormat;

// Eight epochs of six steps of two micro-batches, one of them refused: 40 steps. Ids come and go.
ResumeCase forty_steps() {
  ResumeCase resume_case;
  TinyTrainerOptions& options = resume_case.options;
  options.trainer.max_steps = 40;
  options.trainer.max_epochs = 0;
  options.trainer.micro_batches = 2;
  options.trainer.report = {.every_steps = 7, .at_end = true};
  options.train = {.batches = 12, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 60, .nan_at = 5};
  resume_case.evaluate = {.every_steps = 9};
  resume_case.evict = {.every_steps = 3};
  EXPECT_TRUE(TextFormat::ParseFromString(
      "idle_steps: 6 idle_seconds: 11 frequency_below: 1.2 half_life_steps: 4",
      options.table.mutable_eviction()));
  return resume_case;
}

// The whole run, with and without checkpoints, and from each of them on.
void expect_exact(const ResumeCase& resume_case, size_t least_points) {
  ASSERT_OK_AND_ASSIGN(const ResumeRun whole, run_whole(resume_case, nullptr));
  std::vector<ResumePoint> points;
  ASSERT_OK_AND_ASSIGN(const ResumeRun captured, run_whole(resume_case, &points));
  ASSERT_EQ(whole.end, captured.end) << "a checkpoint changed something";
  ASSERT_EQ(whole.log, captured.log);
  ASSERT_GE(points.size(), least_points);
  for (const ResumePoint& point : points) {
    SCOPED_TRACE(absl::StrCat("from ", point.where));
    ASSERT_OK_AND_ASSIGN(const ResumeRun rest, run_from(resume_case, point));
    ASSERT_EQ(whole.end, rest.end);
    const std::vector<std::string> log(
        whole.log.begin() + static_cast<ptrdiff_t>(point.logged), whole.log.end());
    ASSERT_EQ(log, rest.log);
  }
}

constexpr const char* kSparse[] = {
    "sgd {}",           "adagrad {}", "rowwise_adagrad {}", "adam {}", "adam { step_count: ROW }",
    "adamw { weight_decay: 0.01 }", "ftrl { l1: 0.001 }"};
constexpr const char* kDense[] = {"sgd {}", "sgd { momentum: 0.9 }", "adagrad { lr_decay: 0.01 }",
                                  "adam {}", "adamw { weight_decay: 0.01 }"};
constexpr RowDtype kDtypes[] = {FLOAT32, FLOAT16, BFLOAT16};
constexpr const char* kAdmissions[] = {"", "count { min_count: 2 }",
                                       "count { min_count: 2 sketch { capacity: 30 } }",
                                       "probability { probability: 0.5 }"};

class ResumeTest : public testing::TestWithParam<int> {};

TEST_P(ResumeTest, IsExactFromEveryStep) {
  const int number = GetParam();
  const char* sparse = kSparse[number % 7];
  const char* dense = kDense[number / 7 % 5];
  const RowDtype dtype = kDtypes[number / 35];
  const char* admission = kAdmissions[(number + number / 35) % 4];
  SCOPED_TRACE(absl::StrCat("sparse ", sparse, " dense ", dense, " ", RowDtype_Name(dtype), " ",
                            admission));
  ResumeCase resume_case = forty_steps();
  TinyTrainerOptions& options = resume_case.options;
  options.dense_optimizer.emplace();
  ASSERT_TRUE(TextFormat::ParseFromString(absl::StrCat("learning_rate: 0.05 ", dense),
                                          &*options.dense_optimizer));
  options.sparse_optimizer.emplace();
  ASSERT_TRUE(TextFormat::ParseFromString(absl::StrCat("learning_rate: 0.05 ", sparse),
                                          &*options.sparse_optimizer));
  options.table.set_row_dtype(dtype);
  ASSERT_TRUE(TextFormat::ParseFromString(admission, options.table.mutable_admission()));
  expect_exact(resume_case, 40);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizersAndDtypes, ResumeTest, testing::Range(0, 7 * 5 * 3));

}  // namespace
}  // namespace millrace
