// Tests `millrace config plot`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr char kJob[] = R"(
train {
  train_data { path: "data.csv" }
  feature { name: "label" kind: LABEL }
  feature { name: "c1" }
  table { name: "c1" }
  model { name: "deepfm" }
  optimizer { learning_rate: 0.1 schedule { cosine { length { share: 1 } } } }
  max_steps: 200
}
)";

class PlotTest : public ProgramTest {
 protected:
  void SetUp() override { write("job.textproto", kJob); }
};

TEST_F(PlotTest, DrawsRatesWithoutData) {
  millrace_ok({"config", "plot", "job.textproto", "--output", "rates.svg"});
  const std::string svg = read("rates.svg");
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  for (const char* part : {">dense<", ">sparse<", ">steps<", ">200<", ">0.1<"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  millrace_ok({"config", "plot", "job.textproto", "--output", "rates.svg", "--length", "50"});
  EXPECT_NE(read("rates.svg"), svg) << "its own kind of file is replaced";
}

TEST_F(PlotTest, RefusesWhatItCannotDraw) {
  write("notes.svg", "<svg>mine</svg>");
  EXPECT_THAT(millrace({"config", "plot", "job.textproto", "--output", "notes.svg"}).err,
              HasSubstr("--overwrite"));
  EXPECT_EQ(read("notes.svg"), "<svg>mine</svg>");
  EXPECT_THAT(millrace({"config", "plot", "job.textproto", "--output", "job.textproto"}).exit_code,
              64);
  EXPECT_THAT(millrace({"config", "plot", "job.textproto", "--output", "r.png"}).err,
              HasSubstr("--output: r.png: the extension is .png, but SVG is written; use .svg"));
  EXPECT_THAT(millrace({"config", "plot", "job.textproto", "--output", "r.svg", "--set",
                        "train.max_steps=0"})
                  .err,
              HasSubstr("max_steps"));
  EXPECT_THAT(millrace({"config", "plot", "job.textproto", "--output", "r.svg", "--set",
                        "train.optimizer={schedule{exponential{gamma: 0.9}}}", "--set",
                        "train.max_steps=0"})
                  .err,
              HasSubstr("give --length"));
  const ProgramResult monitor =
      millrace({"config", "plot", "job.textproto", "--output", "r.svg", "--set",
                "train.optimizer={schedule{reduce_on_plateau{monitor: 'train/los'}}}"});
  EXPECT_EQ(monitor.exit_code, 64);
  EXPECT_THAT(monitor.err, HasSubstr("job.textproto: train.optimizer.schedule: monitor "
                                     "\"train/los\""));
  EXPECT_THAT(monitor.err, HasSubstr("did you mean \"train/loss\"?"));
}

}  // namespace
}  // namespace millrace
