// A job on a directory that grows, killed while it runs.
#ifndef MILLRACE_TESTS_E2E_STREAMING_CASE_H_
#define MILLRACE_TESTS_E2E_STREAMING_CASE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"

namespace millrace {

// A fixture with a job of four steps for each file. Files come by rename, as a producer does it.
class StreamingCase : public ProgramTest {
 protected:
  static constexpr int64_t kRows = 200;  // of a file
  static constexpr int64_t kSteps = 4;   // of a file

  // Writes job.textproto; `windows` is merged into the configuration of windows.
  StreamingCase();
  void write_job(const std::string& windows, bool with_table = true);
  // The same job on two streams that are mixed: of each file a quarter comes in the second.
  void write_mixed_job();

  // File `number`: rows with the example ids number * kRows, …
  void produce(int64_t number, const std::string& directory = "incoming") const;
  void produce_end(const std::string& directory = "incoming") const;

  RunningProgram start(std::vector<std::string> flags = {}) const;
  ProgramResult run(std::vector<std::string> flags = {}) const;

  // What the checkpoints hold was made of these ids, by window, sorted; over all ranks.
  std::map<int64_t, std::vector<int64_t>> trained(const std::string& output_dir) const;
  // The ids of `files` files, one a window.
  static std::map<int64_t, std::vector<int64_t>> produced(int64_t files);
  // The numbers in windows.jsonl.
  std::vector<int64_t> acknowledged(const std::string& output_dir) const;

  // Of the newest checkpoint; 0: there is none.
  int64_t newest_step(const std::string& output_dir) const;

  // Kills the job `kills` times, by chance, while `files` files come, and lets it end then. All
  // must be as if it had never been disturbed.
  void survive(int kills, int64_t files, uint64_t seed) const;
  // The same over several ranks, of which one, by chance, is killed. The launcher restarts them.
  void survive_over_ranks(int ranks, int kills, int64_t files, uint64_t seed) const;

 private:
  // Ends the stream after `files` files, of which `there` are there.
  void produce_rest(int64_t there, int64_t files) const;
  void expect_undisturbed(const std::vector<std::string>& command, int64_t files) const;
  std::vector<std::string> launch_command(int ranks) const;
  void produce_rows(int64_t number, int64_t begin, int64_t end, const std::string& directory) const;

  bool mixed_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_STREAMING_CASE_H_
