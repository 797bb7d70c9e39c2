// From records of rows to the output of a lookup.
#ifndef MILLRACE_EMBEDDING_TABLE_POOLER_H_
#define MILLRACE_EMBEDDING_TABLE_POOLER_H_

#include <cstdint>
#include <vector>

#include "embedding/rows/kernels.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/pooling.h"

namespace millrace {

// Where the output of a lookup goes.
struct PoolingOutput {
  float* data = nullptr;  // of output row 0
  int64_t stride = 0;     // from one output row to the next, in numbers
  // The whole output of which this is a part is too large for the caches: better written past them.
  bool past_caches = false;
};

// Pools the lists of a lookup as the records of its ids become known:
//
//   Pooler pooler(table, lists, output, lists.copies());
//   pooler.records()[i] = ...;     // of each id, in order
//   pooler.advance(i);             // now and then
//   pooler.finish();
//
// A thread has one at a time: records() is memory of the thread, kept so that it stays in the
// caches.
class Pooler {
 public:
  // Everything is borrowed. `copies`: IdLists::copies().
  Pooler(const EmbeddingTable& table, const IdLists& lists, const PoolingOutput& output,
         bool copies);

  // The record of each id, weights of the table's type.
  std::vector<const char*>& records() { return records_; }
  // Pools what needs only the records of ids below `ready`.
  void advance(int64_t ready);
  // Pools what is left. What was written past the caches is seen by all threads that are handed
  // the output.
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
  int64_t next_ = 0;   // list, or id if it copies
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_POOLER_H_
