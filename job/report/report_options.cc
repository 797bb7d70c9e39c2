#include "job/report/report_options.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "framework/report/span_metrics.h"
#include "io/feature/text_ids.h"
#include "metrics/metric_registry.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Adds the ids of SliceConfig.text, named by their texts. `unmade`: see slice_options().
absl::Status add_texts(const TrainConfig& train, const SliceConfig& config, FileSystem& files,
                       std::vector<std::string>* unmade, SliceOptions& options) {
  if (config.text().empty()) return absl::OkStatus();
  const std::string where = absl::StrCat("train.slice of feature \"", config.feature(), "\"");
  std::optional<TextIds> text_ids;
  for (const FeatureConfig& feature : train.feature()) {
    if (feature.name() != config.feature()) continue;
    const std::string& table = feature.table().empty() ? feature.name() : feature.table();
    absl::StatusOr<std::optional<TextIds>> created =
        TextIds::create(absl::MakeConstSpan(&feature, 1), table, files);
    if (unmade != nullptr && absl::IsNotFound(created.status())) {
      unmade->push_back(absl::StrCat("text of ", where, " (", created.status().message(), ")"));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(text_ids, std::move(created), where);
  }
  if (!text_ids.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where,
                     ": text is given, but the feature makes no ids of text (transform "
                     "hash, vocabulary or a registered one of text); give id"));
  }
  StringValues texts;
  for (const std::string& text : config.text()) texts.push_back(text);
  ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> found, text_ids->find(texts), where);
  for (int i = 0; i < config.text_size(); ++i) {
    const std::string& text = config.text(i);
    if (!found[i].has_value()) {
      return absl::NotFoundError(
          absl::StrCat(where, ": text \"", text, "\" is not in the vocabulary"));
    }
    // Two slices of one id would report the same examples under two names.
    if (std::find(options.ids.begin(), options.ids.end(), *found[i]) != options.ids.end()) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": text \"", text, "\" has the id ",
                                                     *found[i],
                                                     ", which has a slice already; remove one"));
    }
    options.ids.push_back(*found[i]);
    options.id_names[*found[i]] = text;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SliceOptions>> slice_options(const TrainConfig& train,
                                                        const FeatureSchema& schema,
                                                        FileSystem& files,
                                                        std::vector<std::string>* unmade) {
  std::vector<SliceOptions> slices;
  for (const SliceConfig& config : train.slice()) {
    SliceOptions options{.name = config.feature(), .max_ids = config.max_ids()};
    ASSIGN_OR_RETURN(options.feature, schema.sparse_index(config.feature()), "train.slice");
    options.ids = {config.id().begin(), config.id().end()};
    options.metrics = {config.metric().begin(), config.metric().end()};
    RETURN_IF_ERROR(add_texts(train, config, files, unmade, options));
    slices.push_back(std::move(options));
  }
  return slices;
}

SpanOptions span_options(const ReportConfig& report) {
  SpanOptions options{.moving_reports = report.moving_reports()};
  for (const int span : report.span()) {
    options.spans.push_back(static_cast<ReportConfig::Span>(span));
  }
  return options;
}

std::string span_warning(const JobConfig& config) {
  const auto& spans = config.run().report().span();
  const bool any = std::any_of(spans.begin(), spans.end(),
                               [](int span) { return span != ReportConfig::MOVING; });
  std::vector<std::string> names(config.train().metric().begin(), config.train().metric().end());
  if (names.empty()) names = {"auc"};  // the others by default have constant memory
  std::erase_if(names,
                [](const std::string& name) { return !traits_of_metric(name).keeps_examples; });
  if (!any || names.empty()) return "";
  return absl::StrCat(
      "run.report.span: windows, epochs and the total have no ", absl::StrJoin(names, ", "),
      ", which would keep every example; auc_buckets takes constant memory, and the "
      "span MOVING has all metrics");
}

Cadence report_cadence(const ReportConfig& report, const Cadence& otherwise) {
  Cadence cadence = Cadence::from_config_or(report.has_when(), report.when(), otherwise);
  for (const int span : report.span()) {
    if (span == ReportConfig::WINDOW) cadence.every_windows = 1;
    if (span == ReportConfig::EPOCH) cadence.every_epochs = 1;
  }
  return cadence;
}

Cadence evaluation_cadence(const EvaluationConfig& evaluation, absl::string_view set) {
  for (const EvaluationConfig::Set& own : evaluation.set()) {
    if (own.name() == set) return Cadence::from_config(own.when());
  }
  return Cadence::from_config_or(evaluation.has_when(), evaluation.when(), {.at_end = true});
}

namespace {

constexpr int64_t kMostSlices = 1000;

using Names = google::protobuf::RepeatedPtrField<std::string>;

bool has_groups(const TrainConfig& train) {
  for (const FeatureConfig& feature : train.feature()) {
    if (feature.kind() == FeatureConfig::GROUP_ID) return true;
  }
  return false;
}

// Checks that the metrics of a list at `where` exist.
void check_names(const TrainConfig& train, const std::string& where, const Names& metrics,
                 FieldErrors* errors) {
  const std::vector<CustomConfig> configs = metric_messages_in_range(train);
  for (int i = 0; i < metrics.size(); ++i) {
    errors->add(annotate(create_metric(metrics[i], configs).status(), entry(where, i)));
  }
}

// Checks that groups exist if any metric of the list at `where` needs groups.
void check_groups(const TrainConfig& train, const std::string& where, const Names& metrics,
                  FieldErrors* errors) {
  if (has_groups(train)) return;
  for (int i = 0; i < metrics.size(); ++i) {
    if (!traits_of_metric(metrics[i]).needs_groups) continue;
    errors->add(wrong(entry(where, i, metrics[i]),
                      "the metric is computed in groups, but no feature has kind GROUP_ID; add the "
                      "feature whose values are the groups, such as a user or a request"));
  }
}

absl::Status check_feature(const TrainConfig& train, const std::string& where,
                           const std::string& name) {
  if (name.empty()) return wrong(where, "feature is missing");
  std::vector<std::string> sparse;
  for (const FeatureConfig& feature : train.feature()) {
    if (feature.kind() == FeatureConfig::SPARSE) sparse.push_back(feature.name());
    if (feature.name() != name || feature.kind() == FeatureConfig::SPARSE) continue;
    return wrong(where, absl::StrCat("feature \"", name, "\" is of kind ",
                                     FeatureConfig::Kind_Name(feature.kind()),
                                     "; slices are those of a SPARSE one: add a feature of this "
                                     "column with a transform to ids, such as bucketize"));
  }
  for (const std::string& known : sparse) {
    if (known == name) return absl::OkStatus();
  }
  const std::string near = nearest(name, sparse);
  return wrong(where,
               absl::StrCat("there is no feature \"", name, "\"",
                            near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?")));
}

void check_slice(const TrainConfig& train, const std::string& where, const SliceConfig& slice,
                 FieldErrors* errors) {
  errors->add(check_feature(train, where, slice.feature()));
  errors->add(check_ranges(where, slice));
  if (slice.id_size() + slice.text_size() > kMostSlices) {
    errors->add(wrong(where, absl::StrCat("there are ", slice.id_size() + slice.text_size(),
                                          " ids; at most ", kMostSlices, " can have a slice")));
  }
  // `config defaults` writes defaults out.
  if (slice.id_size() + slice.text_size() > 0 &&
      slice.max_ids() != SliceConfig::default_instance().max_ids()) {
    errors->add(wrong(where, absl::StrCat(slice.id_size() > 0 ? "id" : "text",
                                          " and max_ids are both given; remove one of them")));
  }
  std::set<std::string> id_names;  // in reports
  for (const int64_t id : slice.id()) id_names.insert(absl::StrCat(id));
  std::set<std::string> texts;
  for (const std::string& text : slice.text()) {
    if (text.empty() || text == "other" || text == "none" ||
        text.find_first_of("/=") != std::string::npos) {
      errors->add(wrong(where, absl::StrCat("text \"", text,
                                            "\" cannot be in the name of a metric; give its id, "
                                            "which `millrace checkpoint read --ids` prints")));
    } else if (!texts.insert(text).second) {
      errors->add(wrong(where, absl::StrCat("text \"", text, "\" is given twice; remove one")));
    } else if (id_names.contains(text)) {
      errors->add(wrong(where, absl::StrCat("text \"", text, "\" and id ", text,
                                            " would have one name in reports; remove one")));
    }
  }
  std::set<int64_t> ids;
  for (const int64_t id : slice.id()) {
    if (!ids.insert(id).second) {
      errors->add(wrong(where, absl::StrCat("id ", id, " is given twice; remove one")));
    }
  }
  check_names(train, where + ".metric", slice.metric(), errors);
  check_groups(train, where + ".metric", slice.metric(), errors);
  std::set<std::string> metrics;
  for (int i = 0; i < slice.metric_size(); ++i) {
    if (metrics.insert(slice.metric(i)).second) continue;
    errors->add(wrong(entry(where + ".metric", i, slice.metric(i)),
                      "the metric is named before; remove one"));
  }
}

void check_spans(const JobConfig& config, FieldErrors* errors) {
  const ReportConfig& report = config.run().report();
  errors->add(check_own_ranges("run.report", report));
  const auto& all = report.span();
  // `config defaults` writes defaults out.
  if (report.moving_reports() != ReportConfig::default_instance().moving_reports() &&
      std::find(all.begin(), all.end(), ReportConfig::MOVING) == all.end()) {
    errors->add(wrong("run.report.moving_reports", "there is no span MOVING; add it to span"));
  }
  std::set<int> spans;
  for (const int span : report.span()) {
    const std::string name = ReportConfig::Span_Name(static_cast<ReportConfig::Span>(span));
    if (!spans.insert(span).second) {
      errors->add(wrong("run.report.span", absl::StrCat(name, " is given twice; remove one")));
    }
    if (span == ReportConfig::WINDOW && !comes_in_windows(config.train().train_data())) {
      errors->add(wrong("run.report.span", "WINDOW: train.train_data has no windows"));
    }
    for (const FeatureConfig& feature : config.train().feature()) {
      if (feature.kind() != FeatureConfig::LABEL ||
          feature.name() != span_name(static_cast<ReportConfig::Span>(span))) {
        continue;
      }
      errors->add(wrong("run.report.span",
                        absl::StrCat(name, ": a label is named \"", feature.name(),
                                     "\", so that its metrics would have the same names; give the "
                                     "feature another name")));
    }
  }
}

}  // namespace

std::vector<CustomConfig> metric_messages_in_range(const TrainConfig& train) {
  std::vector<CustomConfig> messages;
  for (const CustomConfig& message : train.custom_metric()) {
    if (check_extension_ranges("", message, message.name()).ok()) messages.push_back(message);
  }
  return messages;
}

absl::Status check_report(const JobConfig& config) {
  const TrainConfig& train = config.train();
  FieldErrors errors;
  check_groups(train, "train.metric", train.metric(), &errors);
  for (int i = 0; i < train.eval_data_size(); ++i) {
    const EvaluationSetConfig& set = train.eval_data(i);
    check_groups(train, absl::StrCat(entry("train.eval_data", i, set.name()), ".metric"),
                 set.metric(), &errors);
  }
  std::set<std::string> features;
  for (int i = 0; i < train.slice_size(); ++i) {
    const std::string where = entry("train.slice", i, train.slice(i).feature());
    check_slice(train, where, train.slice(i), &errors);
    if (!features.insert(train.slice(i).feature()).second) {
      errors.add(wrong(where, "the feature has slices before; remove one"));
    }
  }
  check_spans(config, &errors);
  return errors.status();
}

}  // namespace millrace
