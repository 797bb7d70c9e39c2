#include "io/epoch/block_source.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "base/utf8/characters.h"
#include "io/column_rows.h"
#include "io/feature/feature_check.h"

namespace millrace {
namespace {

constexpr size_t kOpenFiles = 8;  // of each reader

// The kept columns and the columns of features and split, each once.
std::vector<std::string> needed_columns(const DataConfig& config, const FeatureSchema& schema,
                                        const std::set<std::string>& missing) {
  std::vector<std::string> columns;
  auto add = [&columns](const std::string& name) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  };
  for (const FeatureConfig& feature : schema.features()) {
    if (missing.count(feature.name()) > 0) continue;
    add(column_of(feature));
    if (feature.has_weight_column()) add(feature.weight_column());
  }
  if (!config.split().column().empty()) add(config.split().column());
  for (const std::string& name : schema.kept_columns()) add(name);
  return columns;
}

// Returns the sparse features before `name`; all if `name` is not sparse.
std::vector<std::string> sparse_before(const FeatureSchema& schema, absl::string_view name) {
  std::vector<std::string> names;
  for (const SparseFeature& feature : schema.sparse()) {
    if (feature.name == name) break;
    names.push_back(feature.name);
  }
  return names;
}

// Opens the first file that can be read. Errors: as open_file, unless the file is left out.
absl::StatusOr<std::unique_ptr<FileReader>> open_first(FileSystem& files,
                                                       const DataConfig& config) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, expand_paths(files, config));
  absl::StatusOr<std::unique_ptr<FileReader>> first = open_file(files, paths.front(), config);
  if (config.bad_data() != DataConfig::SKIP) return first;
  for (size_t i = 1; i < paths.size() && !first.ok(); ++i) {
    first = open_file(files, paths[i], config);
  }
  return first;
}

// The labels and weights whose column the first file lacks; further files must be like it.
absl::StatusOr<std::set<std::string>> missing_features(FileSystem& files, const DataConfig& config,
                                                       const FeatureSchema& schema) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> first, open_first(files, config));
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

// Returns the feature with labels and weights that may miss values.
FeatureConfig with_optional_labels(FeatureConfig feature) {
  const auto& transforms = feature.transform();
  const bool is_there = std::any_of(transforms.begin(), transforms.end(),
                                    [](const auto& step) { return step.has_is_missing(); });
  if (feature.has_default_value() || is_there) return feature;
  if (feature.kind() == FeatureConfig::LABEL) feature.set_missing(FeatureConfig::MASK);
  if (feature.kind() == FeatureConfig::WEIGHT) feature.set_default_value(1);
  return feature;
}

// Returns a name for checkpoints, which are JSON.
std::string as_utf8(const std::string& name) {
  return is_utf8(name) ? name : absl::CHexEscape(name);
}

// Leaves of units that lie end to end what is within `rows`.
void clip_units(RowInterval rows, std::vector<Unit>* units) {
  std::vector<Unit> kept;
  int64_t first = 0;  // row of the unit
  for (Unit unit : *units) {
    const int64_t from = std::clamp<int64_t>(rows.begin - first, 0, unit.count);
    const int64_t to = std::clamp<int64_t>(rows.end - first, 0, unit.count);
    first += unit.count;
    if (from >= to) continue;
    unit.begin += from;
    unit.count = to - from;
    kept.push_back(unit);
  }
  *units = std::move(kept);
}

// Converts dates and times of a column. Those beyond int64 become 0, their rows bad.
absl::Status convert_times(const TimeType& from, const TimeType& to, const ColumnPlace& place,
                           BadRows& bad, Column* column) {
  for (size_t i = 0; i < column->int64s.size(); ++i) {
    if (convert_time(from, to, &column->int64s[i])) continue;
    column->int64s[i] = 0;
    const int64_t row = row_of_value(column->offsets, static_cast<int64_t>(i));
    if (bad.contains(row)) continue;
    RETURN_IF_ERROR(
        bad.add(row, place.error(row, "a time that does not fit the unit of training")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlockSource>> BlockSource::open(const DatasetOptions& options) {
  const DataConfig& config = options.data;
  const FeatureSchema& schema = options.schema;
  // FileSet::open() requires each column, so absent columns must be known before.
  std::set<std::string> missing;
  if (options.labels_may_miss) {
    ASSIGN_OR_RETURN(missing, missing_features(*options.files, config, schema));
  }
  ASSIGN_OR_RETURN(FileSet set,
                   FileSet::open(*options.files, config, needed_columns(config, schema, missing),
                                 options.may_be_empty, options.bad_files));
  const std::string& split_column = config.split().column();
  const int64_t column = index_of(set.columns(), split_column);
  ASSIGN_OR_RETURN(
      SplitFilter split,
      SplitFilter::create(config.split(),
                          split_column.empty() ? ValueType::kInt64 : set.column_types()[column],
                          options.split_rule));
  ASSIGN_OR_RETURN(SampleFilter sample,
                   SampleFilter::create(config.sample(), schema.labels(), options.seed));
  const std::string& label = schema.labels()[sample.label()];
  if (sample.needs_label() && missing.count(label) > 0) {
    return absl::InvalidArgumentError(absl::StrCat("sample.negative_rate needs label \"", label,
                                                   "\", for which the files have no column"));
  }
  std::unique_ptr<BlockSource> source(
      new BlockSource(std::move(set), std::move(split), std::move(sample)));
  source->first_file_ = options.first_file;
  source->file_step_ = options.file_step;
  for (const FeatureConfig& feature : schema.features()) {
    if (feature.name() == label) source->sample_column_ = column_of(feature);
  }
  source->skip_bad_ = config.bad_data() == DataConfig::SKIP;
  source->units_ = make_units(source->files_.group_rows(), kMaxUnitRows);
  if (options.rows.end > 0) clip_units(options.rows, &source->units_);
  for (const Unit& unit : source->units_) source->rows_ += unit.count;
  for (const FeatureConfig& feature : schema.features()) {
    if (missing.count(feature.name()) > 0) {
      source->features_.push_back({.name = feature.name(), .kind = feature.kind()});
      continue;
    }
    RETURN_IF_ERROR(source->add_feature(
                        options.labels_may_miss ? with_optional_labels(feature) : feature, options),
                    source->files_.paths().front());
  }
  for (const std::string& name : options.missing_of) {
    RETURN_IF_ERROR(source->add_missing_of(name, options));
  }
  // Extends the hashed columns that add_feature() found.
  RETURN_IF_ERROR(source->add_time_types(options.time_types));
  for (const std::string& name : schema.kept_columns()) source->add_kept_column(name, config.csv());
  source->find_last_uses();
  if (!split_column.empty() && !source->split_.takes_all()) {
    source->split_request_ = source->add_request({column, source->split_.reads_as()});
  }
  return source;
}

void BlockSource::add_kept_column(const std::string& name, const CsvConfig& csv) {
  const int64_t column = index_of(files_.columns(), name);
  ValueType as = files_.column_types()[column];
  // Features may read the same text.
  if (as == ValueType::kText && csv.list_delimiter().empty()) as = ValueType::kString;
  kept_requests_.push_back(add_request({column, as, /*as_stored=*/true}));
}

std::vector<ValueType> BlockSource::kept_types() const {
  std::vector<ValueType> types;
  for (const int64_t request : kept_requests_) types.push_back(read_type(requests_[request].as));
  return types;
}

// Returns the type of a column for a feature.
ValueType BlockSource::type_for(const FeatureConfig& config, int64_t column) const {
  // A column without values fits missing values of numbers, too.
  const MissingValuesTransform& missing = config.transform_size() > 0
                                              ? config.transform(0).missing_values()
                                              : MissingValuesTransform::default_instance();
  if (!files_.has_values(column) && (missing.number_size() > 0 || missing.nan())) {
    return ValueType::kInt64;
  }
  return files_.column_types()[column];
}

absl::Status BlockSource::add_feature(const FeatureConfig& config, const DatasetOptions& options) {
  const int64_t column = index_of(files_.columns(), column_of(config));
  RETURN_IF_ERROR(check_crosses(absl::StrCat("feature \"", config.name(), "\""), config,
                                sparse_before(options.schema, config.name())));
  FeatureSource feature{.name = config.name(), .kind = config.kind()};
  const auto own = options.labels_of.find(config.name());
  const LabelRange labels = own != options.labels_of.end() ? own->second : options.labels;
  ASSIGN_OR_RETURN(feature.transform, FeatureTransform::create(config, type_for(config, column),
                                                               labels, *options.files));
  feature.column = add_request({column, feature.transform->reads_as()});
  const bool is_row_id =
      config.kind() == FeatureConfig::EXAMPLE_ID || config.kind() == FeatureConfig::GROUP_ID;
  if (feature.transform->distinguishes_text() && !is_row_id) add_hashed_column(column);
  if (config.has_weight_column()) {
    const int64_t weights = index_of(files_.columns(), config.weight_column());
    const ValueType type = files_.column_types()[weights];
    if (type == ValueType::kString) {
      return absl::InvalidArgumentError(absl::StrCat("feature \"", config.name(),
                                                     "\": weight_column \"", config.weight_column(),
                                                     "\" holds text"));
    }
    feature.weight_column =
        add_request({weights, type == ValueType::kText ? ValueType::kDouble : type});
  }
  for (const TransformConfig& step : config.transform()) {
    if (!step.has_cross()) continue;
    ASSIGN_OR_RETURN(const int64_t other, options.schema.sparse_index(step.cross().feature()));
    feature.crossed.push_back(other);
  }
  features_.push_back(std::move(feature));
  return absl::OkStatus();
}

absl::Status BlockSource::add_missing_of(const std::string& name, const DatasetOptions& options) {
  for (const FeatureConfig& config : options.schema.features()) {
    if (config.name() != name) continue;
    const int64_t column = index_of(files_.columns(), column_of(config));
    FeatureSource feature{.name = name, .kind = FeatureConfig::DENSE};
    ASSIGN_OR_RETURN(feature.transform,
                     FeatureTransform::create_is_missing(config, type_for(config, column)));
    feature.column = add_request({column, feature.transform->reads_as()});
    features_.push_back(std::move(feature));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, " is no feature"));
}

void BlockSource::add_hashed_column(int64_t column) {
  if (!files_.has_values(column)) return;
  const ValueType type = files_.column_types()[column];
  HashedColumns added;
  DataIdentity::Column& entry = *added.Add();
  entry.set_name(as_utf8(files_.columns()[column]));
  entry.set_cells(is_number(type) ? DataIdentity::NUMBERS : DataIdentity::TEXT);
  entry.set_file(as_utf8(base_name(files_.first_path(column))));
  update_hashed_columns(added, &hashed_columns_);
}

absl::Status BlockSource::add_time_types(const std::map<std::string, std::string>& types) {
  time_types_.resize(files_.columns().size());
  for (size_t i = 0; i < time_types_.size(); ++i) {
    const std::string& name = files_.columns()[i];
    std::string type = files_.time_type_name(i);
    if (type.empty()) continue;
    // Rows convert to the type of training, because equal times must have equal ids.
    if (const auto given = types.find(name); given != types.end()) {
      if (!have_one_meaning(parse_time_type(type), parse_time_type(given->second))) {
        return absl::InvalidArgumentError(absl::StrCat(
            files_.paths().front(), ", column \"", name, "\" holds ", type, ", but ", given->second,
            " in training; write it as there: with a zone or without, and times of the day apart"));
      }
      type = given->second;
    }
    time_types_[i] = parse_time_type(type);
    HashedColumns added;
    DataIdentity::Column& entry = *added.Add();
    for (const DataIdentity::Column& known : hashed_columns_) {
      if (known.name() == as_utf8(name)) entry = known;
    }
    entry.set_name(as_utf8(name));
    entry.set_cells(DataIdentity::NUMBERS);
    entry.set_file(as_utf8(base_name(files_.first_path(i))));
    entry.set_time(type);
    update_hashed_columns(added, &hashed_columns_);
  }
  return absl::OkStatus();
}

void BlockSource::find_last_uses() {
  std::set<int64_t> used_later(kept_requests_.begin(), kept_requests_.end());
  for (auto feature = features_.rbegin(); feature != features_.rend(); ++feature) {
    if (!feature->transform.has_value()) continue;
    used_later.insert(feature->weight_column);
    feature->takes_column = used_later.insert(feature->column).second;
  }
}

std::vector<std::string> BlockSource::missing_labels() const {
  std::vector<std::string> names;
  for (const FeatureSource& feature : features_) {
    const bool is_missing = feature.kind == FeatureConfig::LABEL && !feature.transform.has_value();
    if (is_missing) names.push_back(feature.name);
  }
  return names;
}

std::string BlockSource::files_being_read() const {
  std::vector<std::string> paths;
  for (const int64_t file : in_use_.files()) paths.push_back(files_.paths()[file]);
  return absl::StrJoin(paths, ", ");
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
  for (const FeatureSource& feature : source_.features_) {
    if (feature.kind == FeatureConfig::SPARSE) block.sparse.emplace_back();
    if (feature.kind == FeatureConfig::DENSE) block.dense.emplace_back();
    if (feature.kind == FeatureConfig::LABEL) block.labels.emplace_back();
  }
  block.kept.resize(source_.kept_requests_.size());
  std::vector<uint8_t> keep;  // empty: all
  std::vector<uint8_t> bad;   // likewise: none
  for (const Unit& unit : plan.units(index)) {
    if (cancelled) return absl::CancelledError("reading was cancelled");
    BadRows bad_rows(unit.count, source_.skip_bad_);
    const size_t first_row = block.example_ids.size();
    RETURN_IF_ERROR(append_unit(unit, plan.epoch(), bad_rows, &block, &keep));
    if (bad_rows.omitted() > 0) {
      keep.resize(block.example_ids.size(), 1);
      for (int64_t row = 0; row < unit.count; ++row) {
        if (bad_rows.is_omitted(row)) keep[first_row + row] = 0;
      }
    }
    if (bad_rows.count() == 0) continue;
    bad.resize(first_row);
    for (int64_t row = 0; row < unit.count; ++row) bad.push_back(bad_rows.contains(row));
    if (block.bad_row.empty()) block.bad_row = std::string(bad_rows.first().message());
  }
  if (!bad.empty()) bad.resize(block.example_ids.size());
  if (!keep.empty()) keep.resize(block.example_ids.size(), 1);
  const int64_t first = plan.blocks()[index].first_position;
  const std::vector<int32_t> order = plan.row_order(index);
  block.order.reserve(range.end - range.begin);
  for (int64_t position = range.begin; position < range.end; ++position) {
    const int32_t row = order[position - first];
    if (!keep.empty() && keep[row] == 0) continue;
    if (!bad.empty() && bad[row] != 0) {
      block.bad_positions.push_back(position);
    } else {
      block.order.push_back({row, position});
    }
  }
  // Now, while the columns are in the cache, and on this thread: a batch then is cut out of them.
  // And a batch may span many blocks of which little is kept.
  if (!is_in_order(block.order) || block.order.size() * 2 <= block.example_ids.size()) {
    put_in_order(&block);
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

absl::StatusOr<std::vector<Column>> BlockReader::read_columns(const Unit& unit, BadRows& bad,
                                                              ColumnPlace* place) {
  const FilesInUse::Use use(source_.in_use_, unit.file);
  ASSIGN_OR_RETURN(FileSet::OpenFile * open, file(unit.file));
  std::vector<ColumnRequest> requests;
  for (const BlockSource::Request& request : source_.requests_) {
    const int64_t column = open->columns[request.column];
    const ValueType type = open->reader->columns()[column].type;  // of this file
    requests.push_back({.column = column, .as = type == ValueType::kText ? request.as : type});
  }
  ASSIGN_OR_RETURN(std::vector<Column> columns,
                   open->reader->read({unit.group, unit.begin, unit.count}, requests, bad));
  place->lines = open->reader->row_lines();
  place->line_name = open->reader->line_name();
  for (size_t i = 0; i < columns.size(); ++i) {
    const FileColumn& column = open->reader->columns()[requests[i].column];
    columns[i].exact_integers = column.exact_integers;
    const TimeType& wanted = source_.time_types_[source_.requests_[i].column];
    if (source_.requests_[i].as_stored || wanted.kind == TimeType::Kind::kNone) continue;
    const TimeType time = parse_time_type(column.type_name);
    if (time.nanoseconds == wanted.nanoseconds || time.kind == TimeType::Kind::kNone) continue;
    place->column = column.name;
    RETURN_IF_ERROR(convert_times(time, wanted, *place, bad, &columns[i]));
  }
  return columns;
}

// Columns of missing values, for units that cannot be read.
std::vector<Column> BlockReader::no_columns(int64_t rows) const {
  std::vector<Column> columns;
  for (const BlockSource::Request& request : source_.requests_) {
    Column column;
    column.type = read_type(request.as);
    column.rows = rows;
    column.offsets.assign(rows + 1, 0);
    columns.push_back(std::move(column));
  }
  return columns;
}

absl::Status BlockReader::append_unit(const Unit& unit, int64_t epoch, BadRows& bad, Block* block,
                                      std::vector<uint8_t>* keep) {
  const int64_t first_row = source_.files_.first_row(unit.file, unit.group) + unit.begin;
  ColumnPlace place{
      .path = source_.files_.paths()[unit.file], .column = "", .first_row = first_row};
  auto columns = read_columns(unit, bad, &place);
  if (!columns.ok()) {
    const absl::StatusCode code = columns.status().code();
    const bool is_bad = code == absl::StatusCode::kDataLoss || code == absl::StatusCode::kNotFound;
    if (!is_bad) return columns.status();
    RETURN_IF_ERROR(bad.add_all(columns.status()));
    columns = no_columns(unit.count);
  }
  const size_t before = block->example_ids.size();
  std::vector<int64_t> numbers(unit.count);
  for (int64_t row = 0; row < unit.count; ++row) numbers[row] = unit.file << 40 | (first_row + row);
  if (!source_.split_.takes_all()) {
    const int64_t request = source_.split_request_;
    if (request >= 0) place.column = source_.files_.columns()[source_.requests_[request].column];
    RETURN_IF_ERROR(source_.split_.append(numbers, request >= 0 ? (*columns)[request] : Column(),
                                          place, bad, keep));
  }
  const auto name = [this](int64_t request) -> absl::string_view {
    return source_.files_.columns()[source_.requests_[request].column];
  };
  RETURN_IF_ERROR(append_features(source_.features_, absl::MakeSpan(*columns), name, unit.count,
                                  place, bad, block));
  RETURN_IF_ERROR(append_kept(absl::MakeSpan(*columns), unit.count, place, bad, block));
  if (block->example_ids.size() == before) {  // no feature is the example id
    const int64_t file = source_.first_file_ + unit.file * source_.file_step_;
    for (int64_t row = 0; row < unit.count; ++row) {
      block->example_ids.push_back(file << 40 | (first_row + row));
    }
  }
  if (source_.sample_.takes_all()) return absl::OkStatus();
  return sample(numbers, epoch, place, bad, block, keep);
}

// The rows of a unit, which are the last of the block.
absl::Status BlockReader::sample(absl::Span<const int64_t> numbers, int64_t epoch,
                                 ColumnPlace place, BadRows& bad, Block* block,
                                 std::vector<uint8_t>* keep) const {
  const SampleFilter& filter = source_.sample_;
  const size_t rows = block->example_ids.size();
  const size_t first = rows - numbers.size();
  keep->resize(rows, 1);
  SampledRows sampled{numbers, {}, absl::MakeSpan(*keep).subspan(first), {}};
  if (filter.needs_label()) {
    sampled.labels = absl::MakeConstSpan(block->labels[filter.label()]).subspan(first);
    place.column = source_.sample_column_;
  }
  if (filter.corrects_weights()) {
    block->weights.resize(rows, 1.0f);  // without a feature that is the weight
    sampled.weights = absl::MakeSpan(block->weights).subspan(first);
  }
  return filter.apply(epoch, sampled, place, bad);
}

absl::Status BlockReader::append_kept(absl::Span<Column> columns, int64_t rows, ColumnPlace place,
                                      const BadRows& bad, Block* block) const {
  for (size_t i = 0; i < source_.kept_requests_.size(); ++i) {
    const BlockSource::Request& request = source_.requests_[source_.kept_requests_[i]];
    Column& column = columns[source_.kept_requests_[i]];
    place.column = source_.files_.columns()[request.column];
    // Not all formats know before the values are read that a column holds lists.
    for (int64_t row = 0; row < rows && !column.offsets.empty(); ++row) {
      const int64_t count = column.end(row) - column.begin(row);
      if (count <= 1 || bad.contains(row)) continue;
      return absl::InvalidArgumentError(
          place.error(row, absl::StrCat(count, " values; a column that is kept has at most one"))
              .message());
    }
    const ValueType type = read_type(request.as);  // of all files
    if (const std::optional<int64_t> row = convert_column(type, column, &bad)) {
      return absl::InvalidArgumentError(
          place
              .error(*row,
                     absl::StrCat("a number that is no ",
                                  type == ValueType::kDouble ? "float64" : "integer below 2^53",
                                  " exactly, as which other files make the column be kept; "
                                  "predict them apart"))
              .message());
    }
    append_rows(column, 0, rows, block->kept[i]);
  }
  return absl::OkStatus();
}

}  // namespace millrace
