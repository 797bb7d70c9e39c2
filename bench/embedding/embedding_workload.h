// What embedding benchmarks look up.
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
  double zipf = 1.05;           // the k-th most frequent row has weight k^-zipf; 0: all alike
  std::string ids = "hashed";   // what stands for a row: its hash, or "static": its number
};

// Rows by Zipf's law, with the frequent ones anywhere in the table, and a gradient: functions of
// the shape alone. Knows no LibTorch.
class EmbeddingWorkload {
 public:
  // Errors: InvalidArgument naming the flag that is out of range.
  static absl::StatusOr<EmbeddingWorkload> create(const EmbeddingShape& shape);

  const EmbeddingShape& shape() const { return shape_; }
  // Ids of one batch.
  int64_t ids_in_batch() const { return shape_.tables * shape_.batch * shape_.ids_per_feature; }

  // The id of a row. Hashed ids of one table are distinct and look random.
  int64_t id(int64_t table, int64_t row) const;

  // Row numbers of batch `number`, [tables, batch, ids_per_feature].
  std::vector<int64_t> batch_rows(int64_t number) const;

  // Every row of a table once, in the order in which training on such batches might meet them: as
  // they first appear among `rows` draws, and then the others.
  std::vector<int64_t> rows_by_arrival(int64_t table) const;

  // Gradient of the pooled output, [batch, tables * dim]: uniform in [-0.01, 0.01).
  std::vector<float> gradient() const;

 private:
  explicit EmbeddingWorkload(EmbeddingShape shape);
  void draw(int64_t table, int64_t stream, int64_t count, int64_t* rows) const;

  EmbeddingShape shape_;
  std::vector<double> cumulative_;                 // weights of the ranks up to each
  std::vector<std::vector<int32_t>> row_of_rank_;  // of each table
};

}  // namespace millrace

#endif  // MILLRACE_BENCH_EMBEDDING_EMBEDDING_WORKLOAD_H_
