// The base of metrics that keep every example.
#ifndef MILLRACE_METRICS_KEPT_EXAMPLES_METRIC_H_
#define MILLRACE_METRICS_KEPT_EXAMPLES_METRIC_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/metric.h"
#include "metrics/saved_metric.h"

namespace millrace {

// Keeps the data that a derived class needs of each example of weight above 0. `Example` is a
// struct with
//   static constexpr size_t kSavedBytes;  // that write_example() appends
//   void write_example(const Example& example, ByteWriter* writer);
//   bool read_example(ByteReader* reader, Example* example);  // false for what no metric keeps
template <typename Example>
class KeptExamplesMetric : public Metric {
 public:
  void update(const MetricInput& input) override {
    if (!keep(input, &examples_)) not_a_number_ = true;
  }

  void reset() override {
    examples_.clear();
    not_a_number_ = false;
  }

  void merge(const Metric& other) override {
    const auto& from = static_cast<const KeptExamplesMetric&>(other);
    examples_.insert(examples_.end(), from.examples_.begin(), from.examples_.end());
    not_a_number_ |= from.not_a_number_;
  }

  std::string save() const override {
    ByteWriter writer = begin_saved_metric(name());
    writer.reserve(1 + Example::kSavedBytes * examples_.size());
    writer.write_uint8(not_a_number_ ? 1 : 0);
    for (const Example& example : examples_) write_example(example, &writer);
    return writer.take();
  }

  absl::Status merge_saved(absl::string_view bytes) override {
    ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
    const int not_a_number = reader.read_uint8();
    if (!reader.ok() || not_a_number > 1 || reader.remaining() % Example::kSavedBytes != 0) {
      return saved_metric_error(name(), "does not hold whole examples");
    }
    const size_t before = examples_.size();
    examples_.reserve(before + reader.remaining() / Example::kSavedBytes);
    while (reader.remaining() > 0) {
      Example& example = examples_.emplace_back();
      if (read_example(&reader, &example) && may_keep(example)) continue;
      examples_.resize(before);
      return saved_metric_error(name(), "holds an example that is none");
    }
    not_a_number_ |= not_a_number == 1;
    return absl::OkStatus();
  }

 protected:
  // Returns true after keep() has returned false: the value is not-a-number.
  bool has_not_a_number() const { return not_a_number_; }
  // Returns the examples. Their order has no meaning: compute() may sort them in place.
  std::vector<Example>& examples() const { return examples_; }

 private:
  // Appends the kept data of each example of weight above 0 to `kept`. Omits examples with
  // not-a-number, and then returns false. Called by update().
  virtual bool keep(const MetricInput& input, std::vector<Example>* kept) const = 0;
  // Returns false for an example that keep() never returns. The default accepts all.
  virtual bool may_keep(const Example& example) const { return true; }

  mutable std::vector<Example> examples_;
  bool not_a_number_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_KEPT_EXAMPLES_METRIC_H_
