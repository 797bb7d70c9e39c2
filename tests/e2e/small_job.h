// The configuration of a job that trains within a second.
#ifndef MILLRACE_TESTS_E2E_SMALL_JOB_H_
#define MILLRACE_TESTS_E2E_SMALL_JOB_H_

#include <string>
#include <vector>

namespace millrace {

struct SmallJob {
  std::string train_path = "";
  std::string eval_path = "";
  int batch_size = 50;                      // of training; evaluation has batches of 100
  std::vector<std::string> dense = {"i1"};  // features; a missing value is 0
  std::vector<std::string> ids = {"c1"};    // features, each with a table of its name
  // Further fields of train.train_data, train and run.
  std::string train_data = "";
  std::string train = "";
  std::string run = "";
};

// Returns the text of a job that trains DeepFM on one thread and writes to the directory "out". The
// label is the column "label".
std::string small_job(const SmallJob& job);

}  // namespace millrace

#endif  // MILLRACE_TESTS_E2E_SMALL_JOB_H_
