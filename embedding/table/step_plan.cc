#include "embedding/table/step_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/base/casts.h"
#include "base/status_macros.h"
#include "embedding/rows/row_math.h"
#include "embedding/table/row_updater.h"

namespace millrace {
namespace {

constexpr int64_t kChunk = 64;  // ids whose rows are fetched together
constexpr int64_t kCacheLine = 64;

// To the second level of the caches, which takes more at a time than the first and is not full so
// soon. In place: GCC 12 has left out calls of a function of this file that did nothing else.
__attribute__((always_inline)) inline void prefetch(const void* memory, int64_t bytes) {
  const auto* begin = static_cast<const char*>(memory);
  for (int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(begin + at, 0, 2);
}

// What an id without a row reads, in the table's type.
std::vector<char> default_record(const EmbeddingTable& table, int64_t id) {
  std::vector<float> weights(table.dim());
  table.default_row(id, absl::MakeSpan(weights));
  std::vector<char> record(table.store().weight_bytes());
  const auto type = static_cast<int>(table.store().type());
  table.kernels().round_to_nearest[type](weights.data(), table.dim(), record.data());
  return record;
}

// Pools the lists of a lookup as their rows come in.
class Pooler {
 public:
  Pooler(const EmbeddingTable& table, const IdLists& lists, const PoolingOutput& output,
         const std::vector<const char*>& found, bool copies)
      : kernels_(table.kernels()),
        type_(static_cast<int>(table.store().type())),
        dim_(table.dim()),
        lists_(lists),
        output_(output),
        found_(found),
        copies_(copies) {}

  // Pools what only needs ids below `ready`.
  void advance(int64_t ready) {
    if (copies_) {
      kernels_.copy_rows[type_](found_.data() + next_, ready - next_, dim_, output(next_),
                                output_.stride, output_.past_caches);
      next_ = ready;
      return;
    }
    for (; next_ < lists_.batch() && lists_.end(next_) <= ready; ++next_) pool_list(next_);
  }

  // Pools what is left. What was written past the caches is seen by all threads that are handed
  // the output.
  void finish() {
    advance(static_cast<int64_t>(found_.size()));
    if (output_.past_caches) __builtin_ia32_sfence();
  }

 private:
  float* output(int64_t row) const { return output_.data + row * output_.stride; }
  void pool_list(int64_t list) const {
    const int64_t begin = lists_.begin(list), count = lists_.end(list) - begin;
    if (lists_.pooling == FIRST_N) {
      kernels_.copy_rows[type_](found_.data() + begin, count, dim_, output(list), dim_,
                                output_.past_caches);
      std::fill_n(output(list) + count * dim_, (lists_.first_n - count) * dim_, 0.0f);
      return;
    }
    if (count == 0) {
      std::fill_n(output(list), dim_, 0.0f);
      return;
    }
    const float* weights = lists_.weights.empty() ? nullptr : lists_.weights.data() + begin;
    kernels_.pool_rows[type_](found_.data() + begin, weights, count, dim_, lists_.divisor(list),
                              output(list), output_.past_caches);
  }

  const Kernels& kernels_;
  const int type_;
  const int64_t dim_;
  const IdLists& lists_;
  const PoolingOutput& output_;
  const std::vector<const char*>& found_;
  const bool copies_;  // output row i is the row of id i
  int64_t next_ = 0;   // list, or id if it copies
};

}  // namespace

// The summands of the gradients, row after row.
struct StepPlan::SortedSummands {
  std::vector<uint32_t> begins;  // [rows + 1]: where those of each row begin
  std::vector<const float*> gradients;
  std::vector<float> coefficients;  // empty: all 1

  // Of rows [begin, end).
  Summands of(size_t begin, size_t end) const {
    return {gradients.data(), coefficients.empty() ? nullptr : coefficients.data(),
            begins.data() + begin, static_cast<int64_t>(end - begin), begins.back()};
  }
  // How many rows have a sum that is not a gradient as it is.
  size_t sums() const {
    size_t count = 0;
    for (size_t row = 0; row + 1 < begins.size(); ++row) {
      const uint32_t begin = begins[row], summands = begins[row + 1] - begin;
      const bool scaled = !coefficients.empty() && summands == 1 && coefficients[begin] != 1;
      count += summands > 1 || scaled ? 1 : 0;
    }
    return count;
  }
};

struct StepPlan::Scratch {
  std::vector<const char*> found;  // of look_up: the record of each id
  SortedSummands summands;         // of add_up and apply
};

StepPlan::Scratch& StepPlan::scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

StepPlan::StepPlan(EmbeddingTable& table) : table_(&table), kernels_(table.kernels()) {}

absl::Status StepPlan::look_up(const IdLists& lists, const PoolingOutput& output) {
  const auto count = static_cast<int64_t>(lists.ids.size());
  RETURN_IF_ERROR(table_->check_room(lists.ids));
  WriterLock lock(table_->mutex());
  Lookup& lookup = lookups_.emplace_back();
  lookup.lists = lists;
  lookup.first = occurrences();
  lookup.copies = lists.copies();
  lookup.keep_lists();
  places_.resize(lookup.first + count);
  std::vector<const char*>& found = scratch().found;
  found.resize(count);
  Pooler pooler(*table_, lists, output, found, lookup.copies);
  const auto make_row = [this](int64_t id) { return table_->make_row(id); };
  int64_t begin = 0;
  const auto each_block = [&](int64_t end, absl::Span<const RowIndex> rows) {
    resolve(lookup, begin, end, rows, found);
    // What was resolved before has come meanwhile.
    pooler.advance(begin);
    begin = end;
  };
  const auto places = absl::MakeSpan(places_).subspan(lookup.first);
  table_->map().find_or_insert_distinct(lists.ids, make_row, rows_, places, each_block);
  pooler.finish();
  lookup.told_by_sums = lookup.copies && defaults_.empty();
  defaults_.clear();
  forget_sums();
  return absl::OkStatus();
}

void StepPlan::resolve(const Lookup& lookup, int64_t begin, int64_t end,
                       absl::Span<const RowIndex> rows, std::vector<const char*>& found) {
  RowStore& store = table_->store();
  const int64_t bytes = store.weight_bytes();
  for (size_t i = records_.size(); i < rows.size(); ++i) {
    records_.push_back(store.record(rows[i]));
    prefetch(records_.back(), bytes);
  }
  counts_.resize(rows.size());
  const uint32_t* const places = places_.data() + lookup.first;
  for (int64_t i = begin; i < end; ++i) {
    if (places[i] == kNoPlace) {
      defaults_.push_back(default_record(*table_, lookup.lists.ids[i]));
      found[i] = defaults_.back().data();
    } else {
      ++counts_[places[i]];
      found[i] = records_[places[i]];
    }
  }
}

void StepPlan::set_gradient(int64_t lookup, const float* gradient, int64_t stride) {
  lookups_[lookup].gradient = gradient;
  lookups_[lookup].stride = stride;
  forget_sums();
}

void StepPlan::sort_summands(SortedSummands& sorted) const {
  // A counting sort of the occurrences by row, stable: the order within a row is that of lookups.
  std::vector<uint32_t>& begins = sorted.begins;
  begins.assign(rows_.size() + 1, 0);
  bool weighted = divides();
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    weighted = weighted || !lookup.unweighted();
    const uint32_t* places = places_.data() + lookup.first;
    for (size_t i = 0; i < lookup.lists.ids.size(); ++i) {
      if (places[i] != kNoPlace) ++begins[places[i] + 1];
    }
  }
  for (size_t i = 0; i < rows_.size(); ++i) begins[i + 1] += begins[i];
  sorted.gradients.resize(begins.back());
  sorted.coefficients.resize(weighted ? begins.back() : 0);
  // Each begin moves to its end, which is the next row's begin, and is moved back afterwards.
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient != nullptr) place_summands(lookup, sorted);
  }
  std::copy_backward(begins.begin(), begins.end() - 1, begins.end());
  begins[0] = 0;
}

void StepPlan::place_summands(const Lookup& lookup, SortedSummands& sorted) const {
  const uint32_t* places = places_.data() + lookup.first;
  const IdLists& lists = lookup.lists;
  const float* gradient = lookup.gradient;
  const bool weighted = !sorted.coefficients.empty(), divides = this->divides();
  const auto divided = [&](double coefficient, uint32_t place) {
    return static_cast<float>(divides ? coefficient / counts_[place] : coefficient);
  };
  if (lookup.copies) {
    for (size_t i = 0; i < lists.ids.size(); ++i, gradient += lookup.stride) {
      if (places[i] == kNoPlace) continue;
      const uint32_t at = sorted.begins[places[i]]++;
      sorted.gradients[at] = gradient;
      if (weighted) sorted.coefficients[at] = divided(1, places[i]);
    }
    return;
  }
  // From the gradient of one id of a list to that of the next.
  const int64_t next = lists.pooling == FIRST_N ? table_->dim() : 0;
  for (int64_t list = 0; list < lists.batch(); ++list, gradient += lookup.stride) {
    const float* own = gradient;
    for (int64_t i = lists.begin(list); i < lists.end(list); ++i, own += next) {
      if (places[i] == kNoPlace) continue;
      const uint32_t at = sorted.begins[places[i]]++;
      sorted.gradients[at] = own;
      if (weighted) sorted.coefficients[at] = divided(lists.coefficient(list, i), places[i]);
    }
  }
}

bool StepPlan::add_up() {
  if (added_up_) return sums_are_finite_;
  SortedSummands& summands = scratch().summands;
  sort_summands(summands);
  sums_.resize(rows_.size());
  provide_sum_memory(summands.sums());
  const uint32_t largest =
      kernels_.add_up(summands.of(0, rows_.size()), table_->dim(), sums_.data(), sum_memory_.data(),
                      /*wants_largest=*/true);
  added_up_ = true;
  sums_are_finite_ = std::isfinite(absl::bit_cast<float>(largest));
  return sums_are_finite_;
}

void StepPlan::provide_sum_memory(size_t sums) {
  const size_t numbers = sums * table_->dim();
  if (sum_memory_.size() >= numbers) return;
  sum_memory_ = std::vector<float>();  // nothing is to be copied
  sum_memory_.resize(numbers);
}

bool StepPlan::gradients_are_finite() {
  if (!finite_.has_value()) finite_ = find_finite();
  return *finite_;
}

bool StepPlan::find_finite() {
  bool told_by_sums = false;
  uint32_t largest = 0;  // of the others
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    told_by_sums = told_by_sums || lookup.told_by_sums;
    if (!lookup.told_by_sums) largest = std::max(largest, largest_magnitude(lookup));
  }
  const auto magnitude = absl::bit_cast<float>(largest);
  if (!std::isfinite(magnitude)) return false;
  if (!told_by_sums && !may_overflow(magnitude)) return true;
  return add_up();
}

uint32_t StepPlan::largest_magnitude(const Lookup& lookup) const {
  const IdLists& lists = lookup.lists;
  const int64_t rows =
      lists.pooling == NONE ? static_cast<int64_t>(lists.ids.size()) : lists.batch();
  return kernels_.largest_magnitude(lookup.gradient, rows, lookup.stride,
                                    lists.width() * table_->dim());
}

bool StepPlan::may_overflow(float largest) const {
  double most = 0;
  for (const Lookup& lookup : lookups_) {
    if (lookup.gradient == nullptr) continue;
    // A weight that is no number makes it one too.
    double weights = 0;
    for (const float weight : lookup.lists.weights) weights += std::abs(double{weight});
    if (!lookup.lists.weighted()) weights = static_cast<double>(lookup.lists.ids.size());
    most += largest * weights;
  }
  return !(most < std::numeric_limits<float>::max());
}

double StepPlan::squared_norm() {
  add_up();
  double sum = 0;
  for (const float* row : sums_) {
    if (row != nullptr) sum += sum_of_squares<double>(row, table_->dim());
  }
  return sum;
}

void StepPlan::prefetch_rows(size_t begin, size_t end) const {
  RowStore& store = table_->store();
  const int64_t bytes = store.content_bytes();
  for (size_t place = begin; place < std::min(end, rows_.size()); ++place) {
    prefetch(records_[place], bytes);
    prefetch(&store.meta(rows_[place]), sizeof(RowMeta));
    store.prefetch_preserve(rows_[place]);
  }
}

void StepPlan::prefetch_sums(size_t begin, size_t end) const {
  const int64_t bytes = table_->dim() * static_cast<int64_t>(sizeof(float));
  for (size_t place = begin; place < std::min(end, sums_.size()); ++place) {
    if (sums_[place] != nullptr) prefetch(sums_[place], bytes);
  }
}

void StepPlan::apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step) {
  WriterLock lock(table_->mutex());
  constexpr size_t kRows = RowUpdater::kRows, kAhead = 2 * kRows;
  SortedSummands& summands = scratch().summands;
  if (!added_up_) {
    sort_summands(summands);
    sums_.resize(kRows);
    provide_sum_memory(kRows);
  }
  RowUpdater updater(*table_, optimizer, context, step);
  prefetch_rows(0, kAhead);
  if (added_up_) prefetch_sums(0, kAhead);
  for (size_t begin = 0; begin < rows_.size(); begin += kRows) {
    const size_t end = std::min(begin + kRows, rows_.size());
    prefetch_rows(begin + kAhead, end + kAhead);
    const float** sums = sums_.data();
    if (added_up_) {
      prefetch_sums(begin + kAhead, end + kAhead);
      sums += begin;
    } else {
      kernels_.add_up(summands.of(begin, end), table_->dim(), sums, sum_memory_.data(),
                      /*wants_largest=*/false);
    }
    const auto rows = absl::MakeConstSpan(rows_).subspan(begin, end - begin);
    table_->store().preserve(rows);
    for (size_t place = begin; place < end; ++place, ++sums) {
      if (*sums != nullptr) updater.add(rows_[place], records_[place], *sums);
    }
    updater.update();
    // Now: what is kept about a row stands beside it.
    table_->record_occurrences(step, rows,
                               absl::MakeConstSpan(counts_).subspan(begin, end - begin));
  }
  table_->commit(step);
  clear();
}

void StepPlan::discard() {
  WriterLock lock(table_->mutex());
  table_->discard();
  clear();
}

void StepPlan::clear() {
  lookups_.clear();
  rows_.clear();
  records_.clear();
  counts_.clear();
  places_.clear();
  forget_sums();
}

void look_up_read_only(const EmbeddingTable& table, const IdLists& lists,
                       const PoolingOutput& output) {
  const auto count = static_cast<int64_t>(lists.ids.size());
  ReaderLock lock(table.mutex());
  std::vector<RowIndex> rows(count);
  table.map().find(lists.ids, absl::MakeSpan(rows));
  std::vector<const char*> found(count);
  std::deque<std::vector<char>> defaults;
  Pooler pooler(table, lists, output, found, lists.copies());
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    for (int64_t i = begin; i < std::min(begin + kChunk, count); ++i) {
      if (rows[i] == kNoRow) defaults.push_back(default_record(table, lists.ids[i]));
      found[i] = rows[i] == kNoRow ? defaults.back().data() : table.store().record(rows[i]);
      prefetch(found[i], table.store().weight_bytes());
    }
    // What was asked for before has come meanwhile.
    pooler.advance(begin);
  }
  pooler.finish();
}

}  // namespace millrace
