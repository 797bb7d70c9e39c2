// The lookups of embedding benchmarks.
#ifndef MILLRACE_BENCH_EMBEDDING_EMBEDDING_WORKLOAD_H_
#define MILLRACE_BENCH_EMBEDDING_EMBEDDING_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace {

struct EmbeddingShape {
  int64_t tables = 26;          // each read by one feature
  int64_t rows = 200000;        // of each table; at most 2^31
  int64_t dim = 64;             // columns of a row
  int64_t batch = 2048;         // examples
  int64_t ids_per_feature = 1;  // of each example
  double zipf = 1.05;           // the k-th most frequent row has weight k^-zipf; 0: equal weights
  std::string ids = "hashed";   // the id of a row: "hashed", or "static": its number
};

// Rows by Zipf's law, with frequent rows anywhere in the table, and a gradient. Everything is a
// function of the shape. Does not use LibTorch.
class EmbeddingWorkload {
 public:
  // Creates a workload. Errors: InvalidArgument naming the flag that is out of range.
  static absl::StatusOr<EmbeddingWorkload> create(const EmbeddingShape& shape);

  const EmbeddingShape& shape() const { return shape_; }
  // Returns the number of ids of one batch.
  int64_t ids_in_batch() const { return shape_.tables * shape_.batch * shape_.ids_per_feature; }

  // Returns the id of a row. Hashed ids of one table are distinct and look random.
  int64_t id(int64_t table, int64_t row) const;

  // Returns the row numbers of batch `number`, [tables, batch, ids_per_feature].
  std::vector<int64_t> batch_rows(int64_t number) const;

  // Returns every row of a table once, in a plausible order of training on such batches: the order
  // of the first occurrence among `rows` draws, and then all other rows.
  std::vector<int64_t> rows_by_arrival(int64_t table) const;

  // Returns the gradient of the pooled output, [batch, tables * dim]: uniform in [-0.01, 0.01).
  std::vector<float> gradient() const;

 private:
  explicit EmbeddingWorkload(EmbeddingShape shape);
  void draw(int64_t table, int64_t stream, int64_t count, int64_t* rows) const;

  EmbeddingShape shape_;
  std::vector<double> cumulative_;                 // cumulative weights, by rank of frequency
  std::vector<std::vector<int32_t>> row_of_rank_;  // of each table
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_EMBEDDING_EMBEDDING_WORKLOAD_H_
