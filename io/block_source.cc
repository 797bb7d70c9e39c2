#include "io/block_source.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr size_t kOpenFiles = 8;  // of each reader

// The columns that features and split are made of, each once.
std::vector<std::string> needed_columns(const DataConfig& config, const FeatureSchema& schema,
                                        const std::set<std::string>& missing) {
  std::vector<std::string> columns;
  auto add = [&columns](const std::string& name) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  };
  for (const FeatureConfig& feature : schema.features()) {
    if (missing.count(feature.name()) == 0) add(column_of(feature));
  }
  if (!config.split().column().empty()) add(config.split().column());
  return columns;
}

// The labels and weights whose column the first file lacks; further files must be like it.
absl::StatusOr<std::set<std::string>> missing_features(FileSystem& files, const DataConfig& config,
                                                       const FeatureSchema& schema) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, expand_paths(files, config));
  ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> first,
                   open_file(files, paths.front(), config));
  std::set<std::string> missing;
  for (const FeatureConfig& feature : schema.features()) {
    if (feature.kind() == FeatureConfig::LABEL || feature.kind() == FeatureConfig::WEIGHT) {
      missing.insert(feature.name());
    }
    for (const FileColumn& column : first->columns()) {
      if (column.name == column_of(feature)) missing.erase(feature.name());
    }
  }
  return missing;
}

int64_t index_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) - names.begin();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlockSource>> BlockSource::open(FileSystem& files,
                                                               const DataConfig& config,
                                                               const FeatureSchema& schema,
                                                               LabelRules labels) {
  std::set<std::string> missing;
  if (labels.may_miss) {
    ASSIGN_OR_RETURN(missing, missing_features(files, config, schema));
  }
  ASSIGN_OR_RETURN(FileSet set,
                   FileSet::open(files, config, needed_columns(config, schema, missing)));
  const std::string& split_column = config.split().column();
  const int64_t column = index_of(set.columns(), split_column);
  ASSIGN_OR_RETURN(
      SplitFilter split,
      SplitFilter::create(config.split(),
                          split_column.empty() ? ValueType::kInt64 : set.column_types()[column]));
  std::unique_ptr<BlockSource> source(new BlockSource(std::move(set), std::move(split)));
  source->units_ = make_units(source->files_.group_rows(), kMaxUnitRows);
  for (const FeatureConfig& feature : schema.features()) {
    if (missing.count(feature.name()) > 0) {
      source->features_.push_back({feature.kind(), -1, std::nullopt});
      continue;
    }
    RETURN_IF_ERROR(source->add_feature(feature, labels.binary), source->files_.paths().front());
  }
  if (!split_column.empty() && !source->split_.takes_all()) {
    source->split_request_ = source->add_request({column, source->split_.reads_as()});
  }
  return source;
}

absl::Status BlockSource::add_feature(const FeatureConfig& feature, bool binary_labels) {
  const int64_t column = index_of(files_.columns(), column_of(feature));
  ASSIGN_OR_RETURN(FeatureTransform transform,
                   FeatureTransform::create(feature, files_.column_types()[column], binary_labels));
  const int64_t request = add_request({column, transform.reads_as()});
  features_.push_back({feature.kind(), request, std::move(transform)});
  return absl::OkStatus();
}

int64_t BlockSource::add_request(Request request) {
  const auto found = std::find(requests_.begin(), requests_.end(), request);
  if (found != requests_.end()) return found - requests_.begin();
  requests_.push_back(request);
  return static_cast<int64_t>(requests_.size()) - 1;
}

absl::StatusOr<Block> BlockReader::read(const EpochPlan& plan, int64_t index, RowInterval range,
                                        const std::atomic<bool>& cancelled) {
  Block block;
  for (const BlockSource::Feature& feature : source_.features_) {
    if (feature.kind == FeatureConfig::SPARSE) block.sparse.emplace_back();
    if (feature.kind == FeatureConfig::DENSE) block.dense.emplace_back();
    if (feature.kind == FeatureConfig::LABEL) block.labels.emplace_back();
  }
  std::vector<uint8_t> keep;  // empty: all
  for (const Unit& unit : plan.units(index)) {
    if (cancelled) return absl::CancelledError("reading was cancelled");
    RETURN_IF_ERROR(append_unit(unit, &block, &keep));
  }
  const int64_t first = plan.blocks()[index].first_position;
  const std::vector<int32_t> order = plan.row_order(index);
  block.order.reserve(range.end - range.begin);
  for (int64_t position = range.begin; position < range.end; ++position) {
    const int32_t row = order[position - first];
    if (keep.empty() || keep[row]) block.order.push_back({row, position});
  }
  return block;
}

absl::StatusOr<FileSet::OpenFile*> BlockReader::file(int64_t file) {
  auto found = std::find_if(open_files_.begin(), open_files_.end(),
                            [file](const CachedFile& cached) { return cached.file == file; });
  if (found == open_files_.end()) {
    ASSIGN_OR_RETURN(FileSet::OpenFile open, source_.files_.open_again(file));
    if (open_files_.size() == kOpenFiles) open_files_.erase(open_files_.begin());
    open_files_.push_back({file, std::move(open)});
  } else {
    std::rotate(found, found + 1, open_files_.end());
  }
  return &open_files_.back().open;
}

absl::Status BlockReader::append_unit(const Unit& unit, Block* block, std::vector<uint8_t>* keep) {
  ASSIGN_OR_RETURN(FileSet::OpenFile * open, file(unit.file));
  std::vector<ColumnRequest> requests;
  for (const BlockSource::Request& request : source_.requests_) {
    requests.push_back({.column = open->columns[request.column], .as = request.as});
  }
  ASSIGN_OR_RETURN(const std::vector<Column> columns,
                   open->reader->read({unit.group, unit.begin, unit.count}, requests));

  const int64_t first_row = source_.files_.first_row(unit.file, unit.group) + unit.begin;
  const size_t before = block->example_ids.size();
  ColumnPlace place{.path = open->reader->path(), .column = "", .first_row = first_row};
  if (!source_.split_.takes_all()) {
    std::vector<int64_t> numbers(unit.count);
    for (int64_t row = 0; row < unit.count; ++row)
      numbers[row] = unit.file << 40 | (first_row + row);
    const int64_t request = source_.split_request_;
    if (request >= 0) place.column = source_.files_.columns()[source_.requests_[request].column];
    RETURN_IF_ERROR(
        source_.split_.append(numbers, request >= 0 ? columns[request] : Column(), place, keep));
  }
  RETURN_IF_ERROR(append_features(columns, unit.count, place, block));
  if (block->example_ids.size() == before) {  // no feature is the example id
    for (int64_t row = 0; row < unit.count; ++row) {
      block->example_ids.push_back(unit.file << 40 | (first_row + row));
    }
  }
  return absl::OkStatus();
}

absl::Status BlockReader::append_features(const std::vector<Column>& columns, int64_t rows,
                                          ColumnPlace place, Block* block) {
  size_t sparse = 0, dense = 0, label = 0;
  for (const BlockSource::Feature& feature : source_.features_) {
    if (!feature.transform.has_value()) {
      if (feature.kind != FeatureConfig::LABEL) continue;
      std::vector<float>& values = block->labels[label++];
      values.resize(values.size() + rows, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const Column& column = columns[feature.request];
    const FeatureTransform& transform = *feature.transform;
    place.column = source_.files_.columns()[source_.requests_[feature.request].column];
    switch (feature.kind) {
      case FeatureConfig::SPARSE:
        RETURN_IF_ERROR(transform.append_ids(column, place, &block->sparse[sparse++]));
        break;
      case FeatureConfig::DENSE:
        RETURN_IF_ERROR(transform.append_numbers(column, place, &block->dense[dense++]));
        break;
      case FeatureConfig::LABEL:
        RETURN_IF_ERROR(transform.append_numbers(column, place, &block->labels[label++]));
        break;
      case FeatureConfig::WEIGHT:
        RETURN_IF_ERROR(transform.append_numbers(column, place, &block->weights));
        break;
      case FeatureConfig::EXAMPLE_ID:
        RETURN_IF_ERROR(transform.append_single_ids(column, place, &block->example_ids));
        break;
      case FeatureConfig::GROUP_ID:
        RETURN_IF_ERROR(transform.append_single_ids(column, place, &block->group_ids));
        break;
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
