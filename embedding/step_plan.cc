#include "embedding/step_plan.h"

#include <algorithm>

#include "base/status_macros.h"
#include "embedding/row_math.h"

namespace millrace {
namespace {

constexpr int64_t kPrefetch = 16;       // rows ahead
constexpr int64_t kColumnsAtOnce = 16;  // double accumulators that stay in registers
constexpr size_t kRowsAtOnce = 32;      // rows handed to an optimizer in one call
constexpr int64_t kCacheLine = 16;      // float32 numbers

}  // namespace

absl::Status StepPlan::look_up(const IdLists& lists, float* output, int64_t stride) {
  found_.resize(lists.ids.size());
  RETURN_IF_ERROR(table_->find_or_insert(lists.ids, absl::MakeSpan(found_)));
  Lookup lookup;
  lookup.lists = lists;
  lookup.first = static_cast<int64_t>(places_.size());
  lookups_.push_back(lookup);

  RowStore& store = table_->store();
  weights_.resize(found_.size());
  defaults_.resize(std::count(found_.begin(), found_.end(), kNoRow) * table_->dim());
  float* next_default = defaults_.data();
  for (size_t i = 0; i < found_.size(); ++i) {
    if (i + kPrefetch < found_.size() && found_[i + kPrefetch] != kNoRow) {
      __builtin_prefetch(&store.mark(found_[i + kPrefetch]), 1);
    }
    if (found_[i] == kNoRow) {  // not admitted: reads the default, gets no gradient
      places_.push_back(kNoPlace);
      table_->default_row(lists.ids[i], absl::MakeSpan(next_default, table_->dim()));
      weights_[i] = next_default;
      next_default += table_->dim();
      continue;
    }
    add_place(found_[i]);
    weights_[i] = store.weights(found_[i]);
  }
  pool(lists, weights_, table_->dim(), output, stride);
  return absl::OkStatus();
}

void StepPlan::add_place(RowIndex row) {
  // A mark holds if it points at this row: marks need no clearing between steps.
  uint32_t& mark = table_->store().mark(row);
  if (mark >= rows_.size() || rows_[mark] != row) {
    mark = static_cast<uint32_t>(rows_.size());
    rows_.push_back(row);
    counts_.push_back(0);
  }
  ++counts_[mark];
  places_.push_back(mark);
}

void StepPlan::set_gradient(int64_t lookup, const float* gradient, int64_t stride) {
  lookups_[lookup].gradient = gradient;
  lookups_[lookup].stride = stride;
}

void StepPlan::sort_summands() {
  // A counting sort of the occurrences by row, stable: the order within a row is that of lookups.
  begins_.assign(rows_.size() + 1, 0);
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    const uint32_t* places = places_.data() + lookup.first;
    for (size_t i = 0; i < lookup.lists.ids.size(); ++i) {
      if (places[i] != kNoPlace) ++begins_[places[i] + 1];
    }
  }
  for (size_t i = 0; i < rows_.size(); ++i) begins_[i + 1] += begins_[i];
  summands_.resize(begins_.back());
  // Each begin moves to its end, which is the next row's begin, and is moved back afterwards.
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    const uint32_t* places = places_.data() + lookup.first;
    const IdLists& lists = lookup.lists;
    for (int64_t list = 0; list < lists.batch(); ++list) {
      for (int64_t i = lists.begin(list); i < lists.end(list); ++i) {
        if (places[i] == kNoPlace) continue;
        const float* gradient = lookup.gradient + lookup.stride * (lists.pooling == NONE ? i : list);
        summands_[begins_[places[i]]++] = {gradient, lists.coefficient(list, i)};
      }
    }
  }
  std::copy_backward(begins_.begin(), begins_.end() - 1, begins_.end());
  begins_[0] = 0;
}

const float* StepPlan::reduce(uint32_t place, float* buffer) const {
  const Summand* begin = summands_.data() + begins_[place];
  const Summand* end = summands_.data() + begins_[place + 1];
  if (end - begin == 1 && begin->coefficient == 1) return begin->gradient;
  const int64_t dim = table_->dim();
  int64_t column = 0;
  for (; column + kColumnsAtOnce <= dim; column += kColumnsAtOnce) {
    double sums[kColumnsAtOnce] = {};
    for (const Summand* summand = begin; summand != end; ++summand) {
      const float* gradient = summand->gradient + column;
      for (int c = 0; c < kColumnsAtOnce; ++c) sums[c] += summand->coefficient * gradient[c];
    }
    for (int c = 0; c < kColumnsAtOnce; ++c) buffer[column + c] = static_cast<float>(sums[c]);
  }
  for (; column < dim; ++column) {
    double sum = 0;
    for (const Summand* summand = begin; summand != end; ++summand) {
      sum += summand->coefficient * summand->gradient[column];
    }
    buffer[column] = static_cast<float>(sum);
  }
  return buffer;
}

double StepPlan::squared_norm() {
  sort_summands();
  std::vector<float> buffer(table_->dim());
  double sum = 0;
  for (uint32_t place = 0; place < rows_.size(); ++place) {
    sum += sum_of_squares<double>(reduce(place, buffer.data()), table_->dim());
  }
  return sum;
}

void StepPlan::apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step) {
  sort_summands();
  RowStore& store = table_->store();
  const int64_t dim = table_->dim(), record_floats = dim + store.slot_floats();
  std::vector<float> buffers(kRowsAtOnce * dim);
  std::vector<RowUpdate> updates;
  for (uint32_t place = 0; place < rows_.size(); ++place) {
    if (place + kPrefetch < rows_.size()) {
      const float* record = store.weights(rows_[place + kPrefetch]);
      for (int64_t c = 0; c < record_floats; c += kCacheLine) __builtin_prefetch(record + c, 1);
    }
    if (begins_[place] != begins_[place + 1]) {
      const RowIndex row = rows_[place];
      updates.push_back({store.weights(row), store.slots(row),
                         reduce(place, buffers.data() + updates.size() * dim)});
    }
    if (updates.size() == kRowsAtOnce || place + 1 == rows_.size()) {
      optimizer.update(context, dim, updates);
      updates.clear();
    }
  }
  table_->commit(step, rows_, counts_);
  clear();
}

void StepPlan::discard() {
  table_->discard();
  clear();
}

void StepPlan::clear() {
  lookups_.clear();
  rows_.clear();
  counts_.clear();
  places_.clear();
}

void look_up_read_only(const EmbeddingTable& table, const IdLists& lists, float* output,
                       int64_t stride) {
  std::vector<RowIndex> found(lists.ids.size());
  table.find(lists.ids, absl::MakeSpan(found));
  const int64_t dim = table.dim();
  const auto unknown = std::count(found.begin(), found.end(), kNoRow);
  std::vector<float> initial(unknown * dim);
  float* next = initial.data();
  std::vector<const float*> weights(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] != kNoRow) {
      weights[i] = table.store().weights(found[i]);
      continue;
    }
    table.default_row(lists.ids[i], absl::MakeSpan(next, dim));
    weights[i] = next;
    next += dim;
  }
  pool(lists, weights, dim, output, stride);
}

}  // namespace millrace
