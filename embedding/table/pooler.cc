#include "embedding/table/pooler.h"

#include <algorithm>

namespace millrace {

std::vector<const char*>& Pooler::records_of_thread() {
  static thread_local std::vector<const char*> records;
  return records;
}

Pooler::Pooler(const EmbeddingTable& table, const IdLists& lists, const PoolingOutput& output,
               bool copies)
    : kernels_(table.kernels()),
      type_(static_cast<int>(table.layout().type)),
      dim_(table.dim()),
      lists_(lists),
      output_(output),
      records_(records_of_thread()),
      copies_(copies) {
  records_.resize(lists.ids.size());
}

void Pooler::advance(int64_t ready) {
  if (copies_) {
    kernels_.copy_rows[type_](records_.data() + next_, ready - next_, dim_, output(next_),
                              output_.stride, output_.past_caches);
    next_ = ready;
    return;
  }
  for (; next_ < lists_.batch() && lists_.end(next_) <= ready; ++next_) pool_list(next_);
}

void Pooler::finish() {
  advance(static_cast<int64_t>(records_.size()));
  if (output_.past_caches) __builtin_ia32_sfence();
}

void Pooler::pool_list(int64_t list) const {
  const int64_t begin = lists_.begin(list), count = lists_.end(list) - begin;
  if (lists_.pooling == FIRST_N) {
    kernels_.copy_rows[type_](records_.data() + begin, count, dim_, output(list), dim_,
                              output_.past_caches);
    std::fill_n(output(list) + count * dim_, (lists_.first_n - count) * dim_, 0.0f);
    return;
  }
  if (count == 0) {
    std::fill_n(output(list), dim_, 0.0f);
    return;
  }
  const float* weights = lists_.weights.empty() ? nullptr : lists_.weights.data() + begin;
  kernels_.pool_rows[type_](records_.data() + begin, weights, count, dim_, lists_.divisor(list),
                            output(list), output_.past_caches);
}

}  // namespace millrace
