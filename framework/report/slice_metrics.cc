#include "framework/report/slice_metrics.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Examples of one slice, gathered from the examples of a step.
struct Gathered {
  std::vector<float> predictions, labels, weights;
  std::vector<int64_t> groups;

  void add(const MetricInput& input, size_t place) {
    predictions.push_back(input.predictions[place]);
    labels.push_back(input.labels[place]);
    if (!input.weights.empty()) weights.push_back(input.weights[place]);
    if (!input.groups.empty()) groups.push_back(input.groups[place]);
  }
};

absl::Status cut_short() { return absl::DataLossError("slices are cut short"); }

}  // namespace

std::string save_metric(const Metric& metric, size_t most_examples) {
  return call_metric(metric, [&] {
    const auto* ranged = dynamic_cast<const RangedMetric*>(&metric);
    return ranged != nullptr ? ranged->save_share(most_examples) : metric.save();
  });
}

void add_ranged_metrics(absl::Span<const std::unique_ptr<Metric>> metrics,
                        std::vector<RangedMetric*>& ranged) {
  for (const std::unique_ptr<Metric>& metric : metrics) {
    if (auto* found = dynamic_cast<RangedMetric*>(metric.get())) ranged.push_back(found);
  }
}

absl::Status merge_saved_metric(Metric& metric, absl::string_view bytes) {
  const std::string what = absl::StrCat("metric ", metric.name());
  return catch_part_exceptions(
      what, [&] { return annotate(as_part_failure(metric.merge_saved(bytes)), what); });
}

SliceMetrics::SliceMetrics(const SliceOptions& options, size_t tasks,
                           std::vector<CustomConfig> configs)
    : options_(options), tasks_(tasks), configs_(std::move(configs)) {}

absl::StatusOr<SliceMetrics> SliceMetrics::create(const SliceOptions& options, size_t tasks,
                                                  absl::Span<const CustomConfig> configs) {
  SliceMetrics slices(options, tasks, {configs.begin(), configs.end()});
  const std::string what = absl::StrCat("slices of \"", options.name, "\"");
  ASSIGN_OR_RETURN(slices.other_, slices.make(), what);
  ASSIGN_OR_RETURN(slices.none_, slices.make(), what);
  for (const int64_t id : options.ids) {
    ASSIGN_OR_RETURN(slices.ids_[id], slices.make(), what);
  }
  return slices;
}

absl::StatusOr<SliceMetrics::Slice> SliceMetrics::make() const {
  Slice slice;
  slice.tasks.resize(tasks_);
  for (auto& metrics : slice.tasks) {
    for (const std::string& name : options_.metrics) {
      ASSIGN_OR_RETURN(std::unique_ptr<Metric> metric, create_metric(name, configs_));
      metrics.push_back(std::move(metric));
    }
  }
  return slice;
}

void SliceMetrics::add_id(int64_t id) {
  if (!options_.ids.empty() || ids_.contains(id)) return;
  const bool full = static_cast<int64_t>(ids_.size()) >= options_.max_ids;
  if (full && id > ids_.rbegin()->first) return;
  absl::StatusOr<Slice> slice = make();
  MILLRACE_CHECK(slice.ok()) << slice.status();  // create() made the same metrics
  if (full) {
    const auto largest = std::prev(ids_.end());
    merge(largest->second, other_);
    ids_.erase(largest);
  }
  ids_.emplace(id, *std::move(slice));
}

void SliceMetrics::add_ids(const Ids& ids) {
  for (size_t i = 0; i < ids.ids.size(); ++i) {
    if (ids.present[i]) add_id(ids.ids[i]);
  }
  for (size_t i = 0; i < ids.ids.size(); ++i) {
    ++(ids.present[i] ? slice_of(ids.ids[i]) : none_).examples;
  }
}

SliceMetrics::Slice& SliceMetrics::slice_of(int64_t id) {
  const auto found = ids_.find(id);
  return found == ids_.end() ? other_ : found->second;
}

void SliceMetrics::update(size_t task, const MetricInput& input, const Ids& ids) {
  std::map<Slice*, Gathered> gathered;
  for (size_t i = 0; i < ids.ids.size(); ++i) {
    gathered[ids.present[i] ? &slice_of(ids.ids[i]) : &none_].add(input, i);
  }
  for (const auto& [slice, examples] : gathered) {
    const MetricInput part{examples.predictions, examples.labels, examples.weights,
                           examples.groups};
    for (const std::unique_ptr<Metric>& metric : slice->tasks[task]) {
      call_metric(*metric, [&] { metric->update(part); });
    }
  }
}

std::vector<std::pair<std::string, const SliceMetrics::Slice*>> SliceMetrics::named_slices() const {
  std::vector<std::pair<std::string, const Slice*>> slices;
  for (const auto& [id, slice] : ids_) {
    const auto named = options_.id_names.find(id);
    const std::string value = named == options_.id_names.end() ? absl::StrCat(id) : named->second;
    slices.emplace_back(absl::StrCat(options_.name, "=", value), &slice);
  }
  slices.emplace_back(absl::StrCat(options_.name, "=other"), &other_);
  slices.emplace_back(absl::StrCat(options_.name, "=none"), &none_);
  return slices;
}

void SliceMetrics::compute(absl::Span<const std::string> prefixes,
                           std::map<std::string, double>& values) const {
  for (const auto& [name, slice] : named_slices()) {
    if (slice->examples == 0) continue;
    values[absl::StrCat(name, "/examples")] = static_cast<double>(slice->examples);
    for (size_t task = 0; task < tasks_; ++task) {
      for (const std::unique_ptr<Metric>& metric : slice->tasks[task]) {
        values[absl::StrCat(name, "/", prefixes[task], metric->name())] =
            call_metric(*metric, [&] { return metric->compute(); });
      }
    }
  }
}

void SliceMetrics::merge(const Slice& from, Slice& into) {
  into.examples += from.examples;
  for (size_t task = 0; task < from.tasks.size(); ++task) {
    for (size_t i = 0; i < from.tasks[task].size(); ++i) {
      Metric& metric = *into.tasks[task][i];
      call_metric(metric, [&] { metric.merge(*from.tasks[task][i]); });
    }
  }
}

void SliceMetrics::reset(Slice& slice) {
  slice.examples = 0;
  for (auto& metrics : slice.tasks) {
    for (const std::unique_ptr<Metric>& metric : metrics) {
      call_metric(*metric, [&] { metric->reset(); });
    }
  }
}

// Keeps the ids that have a slice, so that successive reports have the same slices after the
// smallest ids have occurred.
void SliceMetrics::reset() {
  for (auto& [id, slice] : ids_) reset(slice);
  reset(other_);
  reset(none_);
}

void SliceMetrics::save(const Slice& slice, ByteWriter& writer, size_t most_examples) {
  writer.write_int64(slice.examples);
  for (const auto& metrics : slice.tasks) {
    for (const std::unique_ptr<Metric>& metric : metrics) {
      writer.write_string(save_metric(*metric, most_examples));
    }
  }
}

void SliceMetrics::save(ByteWriter& writer, size_t most_examples) const {
  writer.write_string(options_.name);
  writer.write_uint64(ids_.size());
  for (const auto& [id, slice] : ids_) {
    writer.write_int64(id);
    save(slice, writer, most_examples);
  }
  save(other_, writer, most_examples);
  save(none_, writer, most_examples);
}

void SliceMetrics::add_ranged(std::vector<RangedMetric*>& metrics) {
  const auto add = [&](const Slice& slice) {
    for (const auto& task : slice.tasks) add_ranged_metrics(task, metrics);
  };
  for (const auto& [id, slice] : ids_) add(slice);
  add(other_);
  add(none_);
}

absl::Status SliceMetrics::merge_saved(Slice& slice, ByteReader& reader) {
  const int64_t examples = reader.read_int64();
  if (!reader.ok() || examples < 0) return cut_short();
  slice.examples += examples;
  for (auto& metrics : slice.tasks) {
    for (const std::unique_ptr<Metric>& metric : metrics) {
      const absl::string_view bytes = reader.read_string();
      if (!reader.ok()) return cut_short();
      RETURN_IF_ERROR(merge_saved_metric(*metric, bytes));
    }
  }
  return absl::OkStatus();
}

absl::Status SliceMetrics::merge_saved(ByteReader& reader) {
  const absl::string_view name = reader.read_string();
  const uint64_t count = reader.read_uint64();
  if (!reader.ok()) return cut_short();
  if (name != options_.name) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are no slices of \"", options_.name, "\""));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t id = reader.read_int64();
    if (!reader.ok()) return cut_short();
    add_id(id);
    RETURN_IF_ERROR(merge_saved(slice_of(id), reader));
  }
  RETURN_IF_ERROR(merge_saved(other_, reader));
  return merge_saved(none_, reader);
}

}  // namespace millrace
