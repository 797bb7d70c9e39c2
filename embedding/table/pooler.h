// Pooling of the records of rows.
#ifndef MILLRACE_EMBEDDING_TABLE_POOLER_H_
#define MILLRACE_EMBEDDING_TABLE_POOLER_H_

#include <cstdint>
#include <vector>

#include "embedding/rows/kernels.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/pooling.h"

namespace millrace {

// The output of a lookup.
struct PoolingOutput {
  float* data = nullptr;  // of output row 0
  int64_t stride = 0;     // floats between output rows
  // True if the whole output is larger than the caches, so that writes should bypass them.
  bool past_caches = false;
};

// Pools the lists of a lookup while the records of its ids are determined:
//
//   Pooler pooler(table, lists, output, lists.copies());
//   pooler.records()[i] = ...;     // for each id, in order
//   pooler.advance(i);             // repeatedly
//   pooler.finish();
//
// A thread may have one Pooler at a time: records() is thread-local memory, reused so that it stays
// in the caches.
class Pooler {
 public:
  // Borrows all arguments. `copies`: IdLists::copies().
  Pooler(const EmbeddingTable& table, const IdLists& lists, const PoolingOutput& output,
         bool copies);

  // Returns the record of each id: weights of the table's type.
  std::vector<const char*>& records() { return records_; }
  // Pools the lists whose ids are all below `ready`.
  void advance(int64_t ready);
  // Pools the rest. Orders writes past the caches before later writes, so that other threads see
  // the whole output.
  void finish();

 private:
  float* output(int64_t row) const { return output_.data + row * output_.stride; }
  void pool_list(int64_t list) const;
  static std::vector<const char*>& records_of_thread();

  const Kernels& kernels_;
  const int type_;
  const int64_t dim_;
  const IdLists& lists_;
  const PoolingOutput& output_;
  std::vector<const char*>& records_;
  const bool copies_;  // output row i is the row of id i
  int64_t next_ = 0;   // next list; next id if copies_
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_POOLER_H_
