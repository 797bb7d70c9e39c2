// A job on a growing directory, killed while it runs.
#ifndef MILLRACE_TESTS_E2E_STREAMING_CASE_H_
#define MILLRACE_TESTS_E2E_STREAMING_CASE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"

namespace millrace {

// A fixture with a job of four steps for each file. Files arrive by rename, as from a producer.
class StreamingCase : public ProgramTest {
 protected:
  static constexpr int64_t kRows = 200;  // of a file
  static constexpr int64_t kSteps = 4;   // of a file

  // Writes job.textproto; `windows` is merged into the configuration of windows.
  StreamingCase();
  void write_job(const std::string& windows, bool with_table = true);
  // Does the same for other data than files: `data` is the configuration of the data.
  void write_job_on(const std::string& data, bool with_table = true);
  // Writes the same job on two mixed streams: a quarter of each file comes in the second stream.
  void write_mixed_job();

  // Writes file `number`: rows with the example ids number * kRows, …
  void produce(int64_t number, const std::string& directory = "incoming") const;
  virtual void produce_end(const std::string& directory = "incoming") const;
  // Writes rows [begin, end) as file `number`.
  virtual void produce_rows(int64_t number, int64_t begin, int64_t end,
                            const std::string& directory) const;

  RunningProgram start(std::vector<std::string> flags = {}) const;
  ProgramResult run(std::vector<std::string> flags = {}) const;

  // Returns the ids that the state of the checkpoints was trained on, by window, sorted; over all
  // ranks.
  std::map<int64_t, std::vector<int64_t>> trained(const std::string& output_dir) const;
  // Returns the ids of `files` files, one file per window.
  static std::map<int64_t, std::vector<int64_t>> produced(int64_t files);
  // Returns the numbers in windows.jsonl.
  std::vector<int64_t> acknowledged(const std::string& output_dir) const;

  // Returns the line of a row.
  static std::string line_of(int64_t row);

  // Returns the step of the newest checkpoint; 0 if there is none.
  int64_t newest_step(const std::string& output_dir) const;

  // Kills the job `kills` times at random while `files` files arrive, and then lets it end. Expects
  // the results of an undisturbed job.
  void survive(int kills, int64_t files, uint64_t seed) const;
  // Does the same over several ranks, and kills a random rank. The launcher restarts them.
  void survive_over_ranks(int ranks, int kills, int64_t files, uint64_t seed) const;

 private:
  // Ends the stream after `files` files, `there` of which already exist.
  void produce_rest(int64_t there, int64_t files) const;
  void expect_undisturbed(const std::vector<std::string>& command, int64_t files) const;
  std::vector<std::string> launch_command(int ranks) const;
  bool mixed_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_STREAMING_CASE_H_
