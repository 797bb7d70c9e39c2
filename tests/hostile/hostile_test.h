// The test of a table of hostile runs. Each file with a table has
//
//   const HostileCase kCases[] = {{...}, {...}};
//   INSTANTIATE_TEST_SUITE_P(Subject, HostileTest, testing::ValuesIn(kCases), name_of_case);
//
// and a target with //tools:millrace as data.
#ifndef MILLRACE_TESTS_HOSTILE_HOSTILE_TEST_H_
#define MILLRACE_TESTS_HOSTILE_HOSTILE_TEST_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/hostile/hostile_case.h"

namespace millrace {

// The initial files of a case's folder:
//
//   job.textproto  a job that trains 4 steps on train.csv and evaluates on eval.csv
//   train.csv, train.orc, train.parquet   200 examples, the same in each
//   eval.csv       100 examples
//   stream.textproto   a job that trains on windows of the directory `incoming`
//
// `trained NAME` in the script of a case copies an output directory of the job, with checkpoints of
// steps 2 and 4, to NAME.
class HostileTest : public testing::TestWithParam<HostileCase> {
 protected:
  // Creates the files and trains once for all cases of a process.
  static void SetUpTestSuite();

  static HostileSetting setting_of(const std::string& name);
};

std::string name_of_case(const testing::TestParamInfo<HostileCase>& info);

}  // namespace millrace

#endif  // MILLRACE_TESTS_HOSTILE_HOSTILE_TEST_H_
