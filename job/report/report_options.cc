#include "job/report/report_options.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "io/feature/text_ids.h"

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

Cadence report_cadence(const ReportConfig& report, const Cadence& otherwise) {
  Cadence cadence = Cadence::from_config_or(report.has_when(), report.when(), otherwise);
  for (const int span : report.span()) {
    if (span == ReportConfig::WINDOW) cadence.every_windows = 1;
    if (span == ReportConfig::EPOCH) cadence.every_epochs = 1;
  }
  return cadence;
}

}  // namespace millrace
