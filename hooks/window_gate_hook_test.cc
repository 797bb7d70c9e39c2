#include "hooks/window_gate_hook.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/fake_windowed_dataset.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Gives two batches.
class TwoBatches : public Dataset {
 public:
  explicit TwoBatches(size_t more) : more_(static_cast<int64_t>(more)) {}
  absl::Status start_epoch(int64_t) override { return absl::OkStatus(); }
  absl::Status seek(absl::Span<const Cursor>) override { return absl::OkStatus(); }
  void cancel() override {}
  absl::StatusOr<std::optional<Batch>> next() override {
    if (given_ == 2) return std::nullopt;
    Batch batch;
    batch.size = 2;
    batch.labels = at::tensor({given_ == 0 ? 1.0f : 0.0f, 0.0f}).reshape({2, 1});
    // age, price, and 1 where a value is missing: in the first row, the value of the last feature.
    batch.dense = at::zeros({2, 2 + more_});
    if (more_ > 0) batch.dense[0][1 + more_] = 1;
    ++given_;
    return batch;
  }

 private:
  const int64_t more_;  // features
  int given_ = 0;
};

class Windows : public FakeWindowedDataset {
 public:
  Windows() : FakeWindowedDataset({}, {}) {}
  absl::StatusOr<std::unique_ptr<Dataset>> open_window_again(
      absl::Span<const std::string> missing_of) override {
    ++opened;
    asked.assign(missing_of.begin(), missing_of.end());
    if (!status.ok()) return status;
    return has_rows ? std::make_unique<TwoBatches>(missing_of.size()) : nullptr;
  }
  absl::Status status;
  bool has_rows = true;
  std::vector<std::string> asked;
  int opened = 0;
};

absl::StatusOr<FeatureSchema> schema() {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(feature { name: "click" kind: LABEL }
         feature { name: "age" kind: DENSE } feature { name: "price" kind: DENSE }
         feature { name: "user" table: "t" })",
      &train));
  return FeatureSchema::create(train);
}

WindowGateOptions options_of(const std::string& config) {
  WindowGateOptions options;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &options.config));
  options.schema = &schema;
  options.figures = std::make_shared<WindowIoState::Finished>();
  return options;
}

[[maybe_unused]] const bool kWindowGateHook = register_hook_conformance(
    "WindowGateHook", {.make = [] {
      static Windows windows;
      return std::make_unique<WindowGateHook>(options_of("label { feature: 'click' }"), windows);
    }});

constexpr char kShares[] =
    "label { feature: 'click' } present { feature: 'age' } present { feature: 'user' }";

class WindowGateHookTest : public testing::Test {
 protected:
  WindowGateHookTest() { context_.windowed_is = true; }
  // Returns the error of a new window.
  absl::Status check(const std::string& config, const Window& window = new_window()) {
    return check(options_of(config), window);
  }
  absl::Status check(const WindowGateOptions& options, const Window& window = new_window()) {
    WindowGateHook hook(options, windows_);
    EXPECT_OK(hook.start(context_));
    return hook.before_window(context_, window);
  }
  static Window new_window() {
    Window window;
    window.name = "w";
    window.is_new = true;
    return window;
  }

  Windows windows_;
  FakeHookContext context_;
};

TEST_F(WindowGateHookTest, CountsRowsAndShares) {
  const WindowGateOptions options = options_of(kShares);
  context_.at.window = 3;
  ASSERT_OK(check(options));
  EXPECT_EQ(options.figures->index(), 3);
  EXPECT_EQ(options.figures->rows(), 4);
  std::vector<double> shares;
  for (const auto& share : options.figures->share()) shares.push_back(share.share());
  EXPECT_THAT(shares, testing::ElementsAre(0.25, 1, 0.5));
  EXPECT_EQ(options.figures->share(2).name(), "present_user");
  EXPECT_THAT(windows_.asked, testing::ElementsAre("age", "user"));
  std::map<std::string, double> reported;
  context_.reported.drain(&reported);
  EXPECT_EQ(reported["window_rows"], 4);
  EXPECT_EQ(reported["window_positive_click"], 0.25);

  // A run that resumes within the window has the same figures.
  HookState state;
  WindowGateHook hook(options, windows_);
  ASSERT_OK(hook.save_state(state));
  const WindowGateOptions again = options_of(kShares);
  WindowGateHook other(again, windows_);
  ASSERT_OK(other.load_state({&state, 1}));
  EXPECT_EQ(again.figures->rows(), 4);
  state.bytes = "?";
  EXPECT_FALSE(other.load_state({&state, 1}).ok());
}

TEST_F(WindowGateHookTest, LimitsEndTheRunOrWarn) {
  EXPECT_OK(check("min_rows: 4 max_rows: 4 label { feature: 'click' min: 0.25 max: 0.25 }"));
  EXPECT_THAT(
      check("min_rows: 5 label { feature: 'click' max: 0.2 } present { feature: 'user' min: 0.6 }"),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr("window w: 4 rows, and min_rows is 5; the share of rows with a "
                               "positive click is 0.25, and label.max is 0.2; the share of rows "
                               "with user is 0.5, and present.min is 0.6 (run.window_gate)"),
                     HasSubstr("windows.skip"))));
  EXPECT_THAT(check("max_rows: 3").message(), HasSubstr("4 rows, and max_rows is 3"));
  EXPECT_OK(check("min_rows: 5 action: WARN"));
  windows_.has_rows = false;
  EXPECT_OK(check("label { feature: 'click' min: 0.5 }"));
  EXPECT_THAT(check("min_rows: 1").message(), HasSubstr("0 rows, and min_rows is 1"));
}

TEST_F(WindowGateHookTest, ChecksNewWindowsOnly) {
  Window damaged = new_window(), resumed = new_window();
  damaged.damage = "it is damaged";
  resumed.is_new = false;
  EXPECT_OK(check("min_rows: 5", damaged));
  EXPECT_OK(check("min_rows: 5", resumed));
  EXPECT_EQ(windows_.opened, 0);
}

// A context with a second rank.
class TwoRanks : public FakeHookContext {
 public:
  absl::StatusOr<std::vector<std::string>> gather(absl::string_view bytes) override {
    told = std::string(bytes);
    return std::vector<std::string>{told, other};
  }
  std::string told, other;
};

TEST_F(WindowGateHookTest, SumsOverRanks) {
  const WindowGateOptions options = options_of("min_rows: 14 label { feature: 'click' }");
  WindowGateHook hook(options, windows_);
  TwoRanks context;
  context.windowed_is = true;
  context.other = "10 6";
  ASSERT_OK(hook.start(context));
  ASSERT_OK(hook.before_window(context, new_window()));
  EXPECT_EQ(context.told, "4 1");
  EXPECT_EQ(options.figures->rows(), 14);
  EXPECT_EQ(options.figures->share(0).share(), 0.5);
  context.other = "10";
  EXPECT_THAT(hook.before_window(context, new_window()), StatusIs(absl::StatusCode::kInternal));
  windows_.status = absl::DataLossError("it cannot be read");
  EXPECT_THAT(hook.before_window(context, new_window()),
              StatusIs(absl::StatusCode::kDataLoss, "it cannot be read"));
}

TEST_F(WindowGateHookTest, UnknownFeatures) {
  for (const char* config :
       {"label { feature: 'age' }", "present { feature: 'usr' }", "present { feature: 'click' }"}) {
    WindowGateHook hook(options_of(config), windows_);
    EXPECT_THAT(hook.start(context_).message(), HasSubstr("run.window_gate")) << config;
  }
}

}  // namespace
}  // namespace millrace
