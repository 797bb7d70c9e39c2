#include "tools/output/output_kinds.h"

#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"
#include "tools/output/prediction_writer.h"
#include "tools/output/run_summary.h"
#include "tools/plot/svg_chart.h"

namespace millrace {
namespace {

class OutputKindsTest : public testing::Test {
 protected:
  // Writes a file. Returns: true if the file is of this kind.
  bool is(const OutputKind& kind, const std::string& name, const std::string& content) {
    const std::string path = join_path(folder_, name);
    EXPECT_OK(write_file_atomically(files_, path, content));
    return kind.matches(files_, path);
  }
  std::string predictions(PredictionFormat format, const PredictionColumns& columns) {
    const std::string path = join_path(folder_, "predictions");
    const absl::Status status = write_file_atomically(files_, path, [&](WritableFile& file) {
      const auto writer = PredictionWriter::open(file, format, columns);
      EXPECT_OK(writer.status());
      return (*writer)->finish();
    });
    EXPECT_OK(status);
    return read_file(files_, path).value_or("");
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(OutputKindsTest, Summaries) {
  EXPECT_TRUE(is(summary_kind(), "s", summary_json({})));
  EXPECT_FALSE(is(summary_kind(), "s", "{\"outcome\": \"completed\"}"));
  EXPECT_FALSE(is(summary_kind(), "s", "{"));
  EXPECT_FALSE(is(summary_kind(), "s", "[1, 2]"));
  EXPECT_FALSE(is(summary_kind(), "s", "train { seed: 1 }"));
  EXPECT_FALSE(summary_kind().matches(files_, join_path(folder_, "none")));
}

TEST_F(OutputKindsTest, Predictions) {
  for (const bool with_set : {false, true}) {
    for (const char* task : {"label", "a, \"quoted\" one"}) {
      const PredictionColumns columns = {
          .tasks = {task}, .with_label = {true}, .with_group_ids = with_set, .with_set = with_set};
      EXPECT_TRUE(is(predictions_kind(), "p.csv", predictions(PredictionFormat::kCsv, columns)));
      for (const char* name : {"p.parquet", "p.pq"}) {
        EXPECT_TRUE(is(predictions_kind(), name, predictions(PredictionFormat::kParquet, columns)));
      }
    }
  }
  EXPECT_FALSE(is(predictions_kind(), "p.csv", "label,i1\n0,1\n"));
  EXPECT_FALSE(is(predictions_kind(), "p.csv", "example_id,label\n0,1\n"));
  EXPECT_FALSE(is(predictions_kind(), "p.parquet", "example_id,label_prediction\n0,1\n"));
  const std::string data = join_path(folder_, "data.parquet");
  ASSERT_OK(write_data_file(criteo_like_table(10, 1, 1), DataConfig::PARQUET, 10, data));
  EXPECT_FALSE(predictions_kind().matches(files_, data));
}

TEST_F(OutputKindsTest, Measurements) {
  const std::string line =
      "{\"name\":\"loop\",\"unit\":\"s\",\"median\":1.0,\"best\":1.0,\"repeats\":1,\"values\":[1.0]"
      "}\n";
  EXPECT_TRUE(is(measurements_kind(), "m", line + line));
  EXPECT_FALSE(is(measurements_kind(), "m", "{\"name\": \"mine\"}\n"));
  EXPECT_FALSE(is(measurements_kind(), "m", "my notes"));
}

TEST_F(OutputKindsTest, Charts) {
  EXPECT_TRUE(is(chart_kind(), "c.svg", svg_of({})));
  EXPECT_FALSE(is(chart_kind(), "c.svg", "<svg><desc>mine</desc></svg>"));
}

// For scripts see tests/e2e/export_test.cc.
TEST_F(OutputKindsTest, OtherArchivesAreNoScripts) {
  EXPECT_FALSE(is(script_kind(), "m.pt", "PK\x03\x04 some archive"));
  EXPECT_FALSE(is(script_kind(), "m.pt", "extra/millrace.json"));
}

}  // namespace
}  // namespace millrace
