// The files that benchmarks of embedding tables write with --check, for their tests.
#ifndef MILLRACE_BENCH_CHECK_FILES_TESTING_H_
#define MILLRACE_BENCH_CHECK_FILES_TESTING_H_

#include <string>
#include <vector>

namespace millrace {

// Checks the files of a run with 2 tables of 3,000 rows and 5 columns, 8 batches of 40 examples
// with 3 ids per bag, and `steps` steps of stochastic gradient descent: expects the final weights
// of a plain loop. Returns the initial weights, [rows, tables, columns].
std::vector<float> expect_plain_loop(const std::string& directory, int steps);

}  // namespace millrace

#endif  // MILLRACE_BENCH_CHECK_FILES_TESTING_H_
