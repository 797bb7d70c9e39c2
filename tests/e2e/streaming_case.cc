#include "tests/e2e/streaming_case.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/e2e/ranks_fixture.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr char kStreamingJob[] = R"(
train {
  train_data { batch_size: 50 %s }
  feature { name: "label" kind: LABEL }
  feature { name: "i1" kind: DENSE }
  feature { name: "id" kind: EXAMPLE_ID }
  %s
}
run {
  threads: 1
  report { when { every_steps: 1 at_end: true } }
  checkpoint { when { every_steps: 3 every_windows: 1 } keep_last: 3 }
  distributed { poll_interval_seconds: 0.02 }
  hooks { name: "example_trace" }
}
)";

constexpr char kOneStream[] =
    "shuffle_rows: 300 format: CSV windows { directory { path: \"incoming\" } %s }";
constexpr char kTwoStreams[] = R"(mix { until: ALL_END
    source {
      proportion: 3
      data { shuffle_rows: 300 format: CSV windows { directory { path: "incoming" } } }
    }
    source {
      proportion: 1
      data { shuffle_rows: 300 format: CSV windows { directory { path: "beside" } } }
    }
  })";

constexpr char kWithTable[] = R"(
  feature { name: "c1" }
  table { name: "c1" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [4] } })";
constexpr char kDense[] = "model { name: \"mlp\" [millrace.mlp] { hidden: [4] } }";

int64_t begin_of(const std::string& path) {
  return std::stoll(std::filesystem::path(path).stem().string().substr(5));
}

}  // namespace

StreamingCase::StreamingCase() {
  write_job("");
  std::filesystem::create_directory(path("incoming"));
}

void StreamingCase::write_job(const std::string& windows, bool with_table) {
  write_job_on(absl::StrFormat(kOneStream, windows), with_table);
}

void StreamingCase::write_job_on(const std::string& data, bool with_table) {
  write("job.textproto", absl::StrFormat(kStreamingJob, data, with_table ? kWithTable : kDense));
}

void StreamingCase::write_mixed_job() {
  write("job.textproto", absl::StrFormat(kStreamingJob, kTwoStreams, kWithTable));
  std::filesystem::create_directory(path("beside"));
  mixed_ = true;
}

void StreamingCase::produce(int64_t number, const std::string& directory) const {
  const int64_t begin = number * kRows, end = begin + kRows;
  const int64_t middle = mixed_ ? begin + kRows * 3 / 4 : end;
  produce_rows(number, begin, middle, directory);
  if (mixed_) produce_rows(number, middle, end, "beside");
}

std::string StreamingCase::line_of(int64_t row) {
  return absl::StrCat(row * 7 % 3 == 0, ",", row % 11, ",", row % 37, ",", row, "\n");
}

void StreamingCase::produce_rows(int64_t number, int64_t begin, int64_t end,
                                 const std::string& directory) const {
  std::string text = "label,i1,c1,id\n";
  for (int64_t row = begin; row < end; ++row) text += line_of(row);
  const std::string name = absl::StrFormat("part-%04d.csv", number);
  write(absl::StrCat(directory, "/.", name), text);
  EXPECT_OK(FileSystem::local().rename(path(absl::StrCat(directory, "/.", name)),
                                       path(absl::StrCat(directory, "/", name))));
}

void StreamingCase::produce_end(const std::string& directory) const {
  write(directory + "/_END", "");
  if (mixed_) write("beside/_END", "");
}

RunningProgram StreamingCase::start(std::vector<std::string> flags) const {
  std::vector<std::string> arguments = {millrace_path(), "train", "job.textproto"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return RunningProgram(std::move(arguments), {.directory = path("")});
}

ProgramResult StreamingCase::run(std::vector<std::string> flags) const {
  flags.insert(flags.begin(), {"train", "job.textproto"});
  return millrace(std::move(flags));
}

std::map<int64_t, std::vector<int64_t>> StreamingCase::trained(
    const std::string& output_dir) const {
  const std::string folder = output_dir + "/example_trace";
  // All ranks of a run begin at the same step.
  std::set<int64_t> begins = {std::numeric_limits<int64_t>::max()};
  for (const std::string& file : files_below(folder)) begins.insert(begin_of(file));
  std::map<int64_t, std::vector<int64_t>> ids;
  for (const std::string& file : files_below(folder)) {
    const int64_t end = *begins.upper_bound(begin_of(file));
    const std::string text = read(folder + "/" + file);
    size_t from = 0;
    for (size_t to; (to = text.find('\n', from)) != std::string::npos; from = to + 1) {
      const Json line = Json::parse(text.substr(from, to - from));
      if (line["step"].get<int64_t>() > end) continue;
      const auto step = line["ids"].get<std::vector<int64_t>>();
      std::vector<int64_t>& window = ids[line["window"].get<int64_t>()];
      window.insert(window.end(), step.begin(), step.end());
    }
  }
  for (auto& [window, all] : ids) std::sort(all.begin(), all.end());
  return ids;
}

std::map<int64_t, std::vector<int64_t>> StreamingCase::produced(int64_t files) {
  std::map<int64_t, std::vector<int64_t>> ids;
  for (int64_t file = 0; file < files; ++file) {
    ids[file].resize(kRows);
    std::iota(ids[file].begin(), ids[file].end(), file * kRows);
  }
  return ids;
}

std::vector<int64_t> StreamingCase::acknowledged(const std::string& output_dir) const {
  std::vector<int64_t> windows;
  for (const Json& line : read_json_lines(output_dir + "/windows.jsonl")) {
    windows.push_back(line["window"].get<int64_t>());
  }
  return windows;
}

int64_t StreamingCase::newest_step(const std::string& output_dir) const {
  const std::string name = newest_checkpoint(output_dir);
  return name.empty() ? 0 : std::stoll(name.substr(name.rfind('-') + 1));
}

void StreamingCase::survive(int kills, int64_t files, uint64_t seed) const {
  std::minstd_rand random(static_cast<uint32_t>(seed));
  const auto chance = [&random](int64_t below) { return static_cast<int64_t>(random()) % below; };
  int64_t there = 0;
  int killed = 0;
  while (killed < kills) {
    RunningProgram program = start();
    // Files arrive before the start, during the start and during training. The last file is held
    // back, so that each kill meets a running job.
    const int64_t some = std::min(files - 1 - there, chance(2 * files / kills + 1));
    for (int64_t i = 0; i < some; ++i) {
      if (i == some / 2) program.wait_for("hooks: ");
      produce(there++);
    }
    if (there == 0) produce(there++);
    // A run that resumes past this line is killed while it waits.
    const int64_t step = std::max<int64_t>(1, there * kSteps - chance(2 * kSteps));
    const int64_t saved = newest_step("out");
    program.wait_for(step <= saved ? "waiting since" : absl::StrCat("step ", step, " "));
    std::this_thread::sleep_for(std::chrono::microseconds(chance(20000)));
    program.send(SIGKILL);
    EXPECT_EQ(program.finish().exit_code, -SIGKILL);
    ++killed;
  }
  produce_rest(there, files);
  const ProgramResult last = run();
  ASSERT_EQ(last.exit_code, 0) << last.err;
  expect_undisturbed({"train", "job.textproto"}, files);
}

void StreamingCase::survive_over_ranks(int ranks, int kills, int64_t files, uint64_t seed) const {
  std::minstd_rand random(static_cast<uint32_t>(seed));
  const auto chance = [&random](int64_t below) { return static_cast<int64_t>(random()) % below; };
  std::vector<std::string> command = launch_command(ranks);
  command.insert(command.begin() + 1, {"--max_restarts", absl::StrCat(kills)});
  command.insert(command.begin(), millrace_path());
  // A start of all ranks takes seconds on a busy machine.
  RunningProgram program(command,
                         {.directory = path(""), .timeout = std::chrono::seconds(30 + 20 * kills)});
  int64_t there = 0;
  produce(there++);
  for (int killed = 0; killed < kills; ++killed) {
    ASSERT_TRUE(program.wait_for("] hooks: ", killed + 1)) << killed << " were killed";
    const int64_t some = std::min(files - 1 - there, chance(2 * files / kills + 1));
    for (int64_t i = 0; i < some; ++i) produce(there++);
    std::this_thread::sleep_for(std::chrono::milliseconds(chance(300)));
    send_to_rank(program.process(), static_cast<int>(chance(ranks)), SIGKILL);
  }
  produce_rest(there, files);
  const ProgramResult last = program.finish();
  ASSERT_EQ(last.exit_code, 0) << last.err;
  expect_undisturbed(launch_command(ranks), files);
}

std::vector<std::string> StreamingCase::launch_command(int ranks) const {
  return {"launch", "-n", absl::StrCat(ranks), "--", "train", "job.textproto"};
}

void StreamingCase::produce_rest(int64_t there, int64_t files) const {
  while (there < files) produce(there++);
  produce_end();
}

void StreamingCase::expect_undisturbed(const std::vector<std::string>& command,
                                       int64_t files) const {
  EXPECT_EQ(trained("out"), produced(files));
  std::vector<int64_t> all(static_cast<size_t>(files));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(acknowledged("out"), all);
  std::vector<std::string> undisturbed_command = command;
  undisturbed_command.insert(undisturbed_command.end(), {"--output_dir", "undisturbed"});
  const ProgramResult undisturbed = millrace(undisturbed_command);
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  EXPECT_EQ(content_of("out"), content_of("undisturbed"));
  EXPECT_EQ(trained("undisturbed"), produced(files));
}

}  // namespace millrace
