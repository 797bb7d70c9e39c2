// The base of metrics that keep every example.
#ifndef MILLRACE_METRICS_KEPT_EXAMPLES_METRIC_H_
#define MILLRACE_METRICS_KEPT_EXAMPLES_METRIC_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/metric.h"
#include "metrics/ranged_metric.h"
#include "metrics/saved_metric.h"

namespace millrace {

// Keeps the data that a derived class needs of each example of weight above 0. compute() sorts the
// examples, O(n), unless no example was added since the last sort. The value is equal to the last
// bit for every order of the examples, and for every distribution over ranks (RangedMetric).
// `Example` is a struct with
//   static constexpr size_t kSavedBytes;  // that write_example() appends
//   void write_example(const Example& example, ByteWriter* writer);
//   bool read_example(ByteReader* reader, Example* example);  // false for what no metric keeps
// `Sums` is a struct of doubles alone, initially all 0.
template <typename Example, typename Sums>
class KeptExamplesMetric : public RangedMetric {
 public:
  void update(const MetricInput& input) override {
    if (!keep(input, &examples_)) not_a_number_ = true;
  }

  double compute() const override {
    if (not_a_number_ || is_partial()) return std::numeric_limits<double>::quiet_NaN();
    if (sums_.has_value()) return value(*sums_);
    Sums sums;
    add_sorted(sorted_examples(), &sums);
    return value(sums);
  }

  void reset() override {
    clear_examples();
    counts_.clear();
    sums_.reset();
    not_a_number_ = false;
  }

  void merge(const Metric& other) override {
    const auto& from = static_cast<const KeptExamplesMetric&>(other);
    examples_.insert(examples_.end(), from.examples_.begin(), from.examples_.end());
    own_.insert(own_.end(), from.own_.begin(), from.own_.end());
    counts_.insert(counts_.end(), from.counts_.begin(), from.counts_.end());
    not_a_number_ |= from.not_a_number_;
  }

  std::string save() const override { return save_share(std::numeric_limits<size_t>::max()); }

  std::string save_share(size_t most) const override {
    const bool whole = examples_.size() <= most;
    ByteWriter writer = begin_saved_metric(name());
    writer.write_uint8((not_a_number_ ? kNotANumber : 0) | (whole ? 0 : kQuantilesOnly));
    if (whole) {
      writer.reserve(Example::kSavedBytes * examples_.size());
      for (const Example& example : examples_) write_example(example, &writer);
      return writer.take();
    }
    const absl::Span<const Example> sorted = sorted_examples();
    writer.write_uint64(sorted.size());
    for (size_t i = 1; i <= kQuantiles; ++i) {
      writer.write_uint32(range_key(sorted[quantile_end(sorted.size(), i) - 1]));
    }
    return writer.take();
  }

  absl::Status merge_saved(absl::string_view bytes) override {
    ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
    const int flags = reader.read_uint8();
    if (!reader.ok() || flags > (kNotANumber | kQuantilesOnly)) {
      return saved_metric_error(name(), "is malformed");
    }
    RETURN_IF_ERROR((flags & kQuantilesOnly) != 0 ? read_quantiles(&reader)
                                                  : read_examples(&reader));
    not_a_number_ |= (flags & kNotANumber) != 0;
    return absl::OkStatus();
  }

  void begin_merge() override {
    own_ = std::exchange(examples_, {});
    reset();
  }

  bool is_partial() const override { return !counts_.empty() && !not_a_number_; }

  void write_ranges(int rank, absl::Span<ByteBuffer> messages) override {
    const int ranks = static_cast<int>(messages.size());
    for (const Example& example : examples_) counts_.push_back({range_key(example), 1});
    const std::vector<uint32_t> bounds = range_bounds(std::exchange(counts_, {}), ranks);
    clear_examples();
    std::vector<Example> sorted = std::exchange(own_, {});
    sort_kept(&sorted);
    auto begin = sorted.begin();
    for (int range = 0; range < ranks; ++range) {
      const auto end = range + 1 == ranks
                           ? sorted.end()
                           : std::partition_point(begin, sorted.end(), [&](const Example& example) {
                               return range_key(example) <= bounds[range];
                             });
      const int owner = descending() ? ranks - 1 - range : range;
      ByteWriter writer;
      if (owner == rank) {
        examples_.assign(begin, end);
      } else {
        const size_t bytes = Example::kSavedBytes * (end - begin);
        writer.reserve(sizeof(uint64_t) + bytes);
        writer.write_uint64(bytes);
        std::for_each(begin, end, [&](const Example& example) { write_example(example, &writer); });
      }
      messages[owner].append(writer.bytes());
      begin = end;
    }
    sums_.emplace();
  }

  absl::Status read_ranges(absl::Span<const absl::string_view> received) override {
    for (const absl::string_view bytes : received) {
      ByteReader reader(bytes);
      RETURN_IF_ERROR(read_examples(&reader));
    }
    sorted_examples();  // on all ranks at once, not in turn
    return absl::OkStatus();
  }

  void add_range(ByteWriter* writer) override {
    add_sorted(sorted_examples(), &*sums_);
    add_details(sorted_examples(), &*sums_);
    for (const double sum : std::bit_cast<SumArray>(*sums_)) writer->write_double(sum);
  }

  absl::Status read_sums(ByteReader* reader) override {
    SumArray sums;
    for (double& sum : sums) sum = reader->read_double();
    if (!reader->ok()) return saved_metric_error(name(), "lacks sums");
    sums_ = std::bit_cast<Sums>(sums);
    return absl::OkStatus();
  }

  void end_merge() override {
    own_ = std::vector<Example>();
    if (sums_.has_value()) clear_examples();
  }

 protected:
  // Returns the examples. Their order has no meaning: compute() may sort them in place.
  std::vector<Example>& examples() const { return examples_; }

  // Returns all sums, with details. REQUIRES: compute() is a number.
  Sums all_sums() const {
    if (sums_.has_value()) return *sums_;
    Sums sums;
    add_sorted(sorted_examples(), &sums);
    add_details(sorted_examples(), &sums);
    return sums;
  }

 private:
  // Flags of saved bytes.
  static constexpr uint8_t kNotANumber = 1, kQuantilesOnly = 2;
  // Limit on the examples of one rank, so that sums of counts stay exact.
  static constexpr uint64_t kMostExamples = uint64_t{1} << 40;
  using SumArray = std::array<double, sizeof(Sums) / sizeof(double)>;

  // Appends the kept data of each example of weight above 0 to `kept`. Omits examples with
  // not-a-number, and then returns false. Called by update().
  virtual bool keep(const MetricInput& input, std::vector<Example>* kept) const = 0;
  // Returns false for an example that keep() never returns. The default accepts all.
  virtual bool may_keep(const Example& example) const { return true; }
  // Sorts the examples, to one order except for equal examples.
  virtual void sort_kept(std::vector<Example>* examples) const = 0;
  // Returns a number that does not decrease in the order of sort_kept(). Examples that belong
  // together, such as equal predictions, have the same.
  virtual uint32_t range_key(const Example& example) const = 0;
  // Returns true if add_sorted() reads the examples from the last to the first. Default: false.
  virtual bool descending() const { return false; }
  // Adds examples, sorted by sort_kept(), to `sums`. Two calls with ranges of keys that follow each
  // other have the result of one call with both.
  virtual void add_sorted(absl::Span<const Example> sorted, Sums* sums) const = 0;
  // Adds to sums that value() does not need. Called as add_sorted(). The default does nothing.
  virtual void add_details(absl::Span<const Example> /*sorted*/, Sums* /*sums*/) const {}
  // Returns the value for the sums over all examples; `sums` may be 0.
  virtual double value(const Sums& sums) const = 0;

  absl::Span<const Example> sorted_examples() const {
    if (sorted_ != examples_.size()) {
      sort_kept(&examples_);
      sorted_ = examples_.size();
    }
    return examples_;
  }

  void clear_examples() {
    examples_.clear();
    sorted_ = 0;
  }

  // Appends whole examples. Changes nothing after an error.
  absl::Status read_examples(ByteReader* reader) {
    if (reader->remaining() % Example::kSavedBytes != 0) {
      return saved_metric_error(name(), "does not hold whole examples");
    }
    const size_t before = examples_.size();
    examples_.reserve(before + reader->remaining() / Example::kSavedBytes);
    while (reader->remaining() > 0) {
      Example& example = examples_.emplace_back();
      if (read_example(reader, &example) && may_keep(example)) continue;
      examples_.resize(before);
      return saved_metric_error(name(), "holds an example that is none");
    }
    return absl::OkStatus();
  }

  // Appends the counts between quantiles. Changes nothing after an error.
  absl::Status read_quantiles(ByteReader* reader) {
    const uint64_t count = reader->read_uint64();
    if (count == 0 || count > kMostExamples ||
        reader->remaining() != kQuantiles * sizeof(uint32_t)) {
      return saved_metric_error(name(), "does not hold quantiles");
    }
    for (size_t i = 1; i <= kQuantiles; ++i) {
      counts_.push_back(
          {reader->read_uint32(), quantile_end(count, i) - quantile_end(count, i - 1)});
    }
    return absl::OkStatus();
  }

  mutable std::vector<Example> examples_;
  // Number of examples at the last sort. Examples are only appended, so all of them are sorted
  // while their number is equal to this.
  mutable size_t sorted_ = 0;
  bool not_a_number_ = false;
  // During a merge over ranks: the examples of this rank, and the counts of ranks whose examples
  // are missing.
  std::vector<Example> own_;
  std::vector<KeyCount> counts_;
  std::optional<Sums> sums_;  // of a merge by ranges
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_KEPT_EXAMPLES_METRIC_H_
