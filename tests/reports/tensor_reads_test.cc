// Tests that only reports read tensors of training, with all hooks and sinks of a job.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "framework/trainer.h"
#include "hook/hook.h"
#include "job/checked_job.h"
#include "job/job.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSteps = 200;
constexpr int64_t kExamples = 64;      // of the file
constexpr int64_t kPendingSteps = 64;  // maximum number of pending steps (docs/metrics.md)

// Tensors whose numbers may not be read yet. Each read throws.
std::vector<at::Tensor>& guarded_tensors() {
  static auto* const kTensors = new std::vector<at::Tensor>();
  return *kTensors;
}

void guard(const at::Tensor& tensor) {
  // The function keeps the data, despite its name.
  tensor.storage().unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "a tensor was read before a report was due");
  guarded_tensors().push_back(tensor);
}

void release_guarded_tensors() {
  for (const at::Tensor& tensor : guarded_tensors()) {
    tensor.storage().unsafeGetStorageImpl()->clear_data_ptr_access_error_msg_();
  }
  guarded_tensors().clear();
}

// Logistic regression. Guards all tensors of a step except the loss, which decides if the step is
// applied.
class GuardedModel : public Model {
 public:
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig&, const ModelResources&) {
    return std::make_shared<GuardedModel>();
  }

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    const at::Tensor logits = linear_->forward(batch.dense);
    ModelOutput output;
    // The backward pass reads its own labels.
    output.loss = torch::binary_cross_entropy_with_logits(logits, batch.labels.clone(), {}, {},
                                                          at::Reduction::Sum);
    output.predictions = logits.detach().sigmoid();
    output.metrics.push_back({"mean_logit", logits.detach().mean()});
    output.metrics.push_back({"max_logit", logits.detach().max(), Reduction::kMax});
    guard(output.predictions);
    guard(batch.labels);
    guard(batch.weights);
    guard(batch.group_ids);
    for (const NamedValue& value : output.metrics) guard(value.value);
    return output;
  }

 private:
  torch::nn::Linear linear_{register_module("linear", torch::nn::Linear(1, 1))};
};
MILLRACE_REGISTER_MODEL(guarded, "guards its tensors", &GuardedModel::create,
                        ModelLabels::kProbabilities);

// Returns true for operators that copy, or may copy, numbers of a tensor to the CPU.
bool may_read(absl::string_view op) {
  for (const absl::string_view name :
       {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::to",
        "aten::_to_copy", "aten::copy_", "aten::nonzero", "aten::allclose"}) {
    if (op == name) return true;
  }
  return false;
}

// The calls of such operators on this thread since the last take().
class Reads {
 public:
  Reads()
      : callback_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(&on_function).scopes({at::RecordScope::FUNCTION}))) {}
  ~Reads() { at::removeCallback(callback_); }
  int64_t take() { return std::exchange(count_, 0); }

 private:
  static std::unique_ptr<at::ObserverContext> on_function(const at::RecordFunction& function) {
    if (may_read(function.name())) ++count_;
    return nullptr;
  }

  static thread_local int64_t count_;
  const at::CallbackHandle callback_;
};
thread_local int64_t Reads::count_ = 0;

struct StepLog {
  std::vector<int64_t> reads;  // by step, until the next step begins
  std::set<int64_t> reports;   // steps
};

// Counts reads, and releases tensors in steps after which the reporter must read them.
class WatchHook : public Hook {
 public:
  WatchHook(int64_t report_every, StepLog& log) : report_every_(report_every), log_(log) {}
  absl::string_view name() const override { return "watch"; }

  absl::Status before_step(HookContext& context) override {
    const int64_t reads = reads_.take();
    if (context.progress().step > 0) log_.reads.push_back(reads);
    return absl::OkStatus();
  }
  // The reporter gets the step before after_step.
  absl::Status after_backward(HookContext& context, const Gradients&) override {
    const int64_t since_report = (context.progress().step + 1) % report_every_;
    if (since_report % kPendingSteps == 0) release_guarded_tensors();
    return absl::OkStatus();
  }
  absl::Status after_report(HookContext& context, const Report&) override {
    log_.reports.insert(context.progress().step);
    return absl::OkStatus();
  }

 private:
  const int64_t report_every_;
  StepLog& log_;
  Reads reads_;
};

// Reads predictions after each step.
class ReadingHook : public Hook {
 public:
  absl::string_view name() const override { return "reading"; }
  absl::Status after_step(HookContext&, const StepResult& result) override {
    last_ = *result.predictions.const_data_ptr<float>();
    return absl::OkStatus();
  }

 private:
  float last_ = 0;
};

// Parts of a configuration.
struct Readers {
  const char* train;
  const char* report;
  const char* run;
};

// Every reader of reports, and metrics of every kind.
constexpr Readers kReaders = {
    R"(metric: ["auc", "logloss", "ne", "calibration", "auc_buckets", "pr_auc", "gauc", "ndcg@5"]
       slice { feature: "c" metric: "auc" })",
    "span: [TOTAL, MOVING]",
    "sink { csv {} } sink { prometheus { port: 0 } }",
};

// Slices read the ids of each step from its batch immediately.
constexpr Readers kReadersWithoutSlices = {
    R"(metric: ["auc", "logloss", "ne", "calibration", "auc_buckets", "pr_auc", "gauc", "ndcg@5"])",
    kReaders.report, kReaders.run};

constexpr Readers kNoReaders = {"", "jsonl: false tensorboard: false", "log { style: OFF }"};

class TensorReadsTest : public testing::Test {
 protected:
  TensorReadsTest() {
    std::string rows = "label,d,c,user,weight\n";
    for (int64_t i = 0; i < kExamples; ++i) {
      absl::StrAppend(&rows, i % 3 == 0 ? 1 : 0, ",", i % 7, ",", i % 5, ",", i % 9, ",", 1 + i % 2,
                      "\n");
    }
    EXPECT_OK(write_file_atomically(FileSystem::local(), data_, rows));
  }

  // `hook`: null, or a hook that is called before the others.
  absl::Status train(const Readers& readers, int64_t report_every, StepLog& log,
                     std::unique_ptr<Hook> hook = nullptr) {
    JobConfig config;
    const std::string text =
        absl::StrCat("train { train_data { path: '", data_, "' batch_size: 8 } ",
                     R"(feature { name: "label" kind: LABEL } feature { name: "d" kind: DENSE }
           feature { name: "c" } feature { name: "user" kind: GROUP_ID }
           feature { name: "weight" kind: WEIGHT } table { name: "c" dim: 4 }
           model { name: "guarded" } max_epochs: 0 max_steps: )",
                     kSteps, " ", readers.train, "} run { output_dir: '", testing::TempDir(),
                     "/out' threads: 1 checkpoint { enabled: false } report { when { every_steps: ",
                     report_every, " } ", readers.report, " } ", readers.run, " }");
    RETURN_IF_ERROR(parse_text(text, "the test", &config));
    ASSIGN_OR_RETURN(const CheckedJob job,
                     CheckedJob::check(FileSystem::local(), std::move(config), "the test"));
    JobResources resources;
    resources.log = &console_;
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_trainer(job, resources));
    RETURN_IF_ERROR(trainer->add_hook(std::make_unique<WatchHook>(report_every, log)));
    if (hook != nullptr) RETURN_IF_ERROR(trainer->add_hook(std::move(hook)));
    const absl::Status status = trainer->train().status();
    release_guarded_tensors();
    return status;
  }

  const std::string data_ = testing::TempDir() + "/data.csv";
  std::ostringstream console_;
};

TEST_F(TensorReadsTest, HappenOnReportStepsAlone) {
  StepLog log;
  ASSERT_OK(train(kReaders, 50, log));
  EXPECT_THAT(log.reports, ElementsAre(50, 100, 150, 200));
  EXPECT_THAT(console_.str(), HasSubstr("auc"));
}

TEST_F(TensorReadsTest, HappenAfterSixtyFourStepsWithoutAReport) {
  StepLog log;
  ASSERT_OK(train(kReaders, 100, log));
  EXPECT_THAT(log.reports, ElementsAre(100, 200));
}

// Each such call would wait for a device. The first step also searches for unannounced ids.
TEST_F(TensorReadsTest, NeedNoOperatorOnOtherSteps) {
  StepLog without, with;
  ASSERT_OK(train(kNoReaders, 50, without));
  ASSERT_OK(train(kReadersWithoutSlices, 50, with));
  ASSERT_EQ(with.reads.size(), kSteps - 1);
  const int64_t of_a_step = without.reads[1];
  for (size_t step = 2; step < kSteps; ++step) {
    const int64_t reads = with.reads[step - 1];
    if (step % 50 == 0) {
      EXPECT_GT(reads, of_a_step) << "step " << step;
    } else {
      EXPECT_EQ(reads, of_a_step) << "step " << step;
    }
  }
}

TEST_F(TensorReadsTest, OfAHookAreNoticed) {
  StepLog log;
  const absl::Status status = train(kReaders, 50, log, std::make_unique<ReadingHook>());
  EXPECT_THAT(std::string(status.message()), HasSubstr("read before a report was due"));
}

}  // namespace
}  // namespace millrace
