#include "tests/hostile/hostile_test.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

// The common part of both jobs.
constexpr char kFeaturesAndModel[] = R"(  feature { name: "label" kind: LABEL }
  feature { name: "i1" kind: DENSE default_value: 0 }
  feature { name: "i2" kind: DENSE default_value: 0 }
  feature { name: "c1" }
  feature { name: "c2" }
  table { name: "c1" dim: 4 }
  table { name: "c2" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [4] } }
)";

std::string job() {
  return absl::StrCat(R"(train {
  train_data { path: "train.csv" batch_size: 50 csv { list_delimiter: "|" } }
  eval_data { data { path: "eval.csv" batch_size: 100 csv { list_delimiter: "|" } } }
)",
                      kFeaturesAndModel, R"(}
run {
  output_dir: "out"
  threads: 1
  checkpoint { when { every_steps: 2 } }
}
)");
}

std::string stream_job() {
  return absl::StrCat(R"(train {
  train_data {
    batch_size: 50
    format: CSV
    csv { list_delimiter: "|" }
    windows { directory { path: "incoming" } }
  }
)",
                      kFeaturesAndModel, R"(}
run {
  output_dir: "out"
  threads: 1
  distributed { poll_interval_seconds: 0.02 }
}
)");
}

// Returns a folder of this process: shards of a test may run at the same time.
std::string work_folder() { return absl::StrCat(testing::TempDir(), "/hostile-", ::getpid()); }
std::string template_folder() { return work_folder() + "/template"; }

}  // namespace

void HostileTest::SetUpTestSuite() {
  const std::string folder = template_folder();
  if (fs::exists(folder)) return;
  fs::create_directories(folder);
  FileSystem& files = FileSystem::local();
  ASSERT_OK(write_file_atomically(files, folder + "/job.textproto", job()));
  ASSERT_OK(write_file_atomically(files, folder + "/stream.textproto", stream_job()));
  const TestTable train = criteo_like_table(200, 2, 2);
  for (const DataConfig::Format format : {DataConfig::CSV, DataConfig::ORC, DataConfig::PARQUET}) {
    const std::string path = folder + "/train" + std::string(extension_of(format));
    ASSERT_OK(write_data_file(train, format, 0, path));
  }
  ASSERT_OK(
      write_data_file(criteo_like_table(100, 2, 2, 200), DataConfig::CSV, 0, folder + "/eval.csv"));
  const ProgramResult result =
      run_program({millrace_path(), "train", "job.textproto"}, {.directory = folder});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  fs::rename(folder + "/out", folder + "/run");
}

HostileSetting HostileTest::setting_of(const std::string& name) {
  return {.program_folder = fs::path(millrace_path()).parent_path().string(),
          .template_folder = template_folder(),
          .folder = work_folder() + "/cases/" + name};
}

TEST_P(HostileTest, Run) {
  const HostileCase& hostile = GetParam();
  for (const std::string& complaint : run_hostile_case(hostile, setting_of(hostile.name))) {
    ADD_FAILURE() << hostile.shows << "\n  " << hostile.command << "\n  " << complaint;
  }
}

std::string name_of_case(const testing::TestParamInfo<HostileCase>& info) {
  return info.param.name;
}

}  // namespace millrace
