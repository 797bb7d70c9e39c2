#include "checkpoint/testing/tiny_state_testing.h"

#include <ATen/ATen.h>
#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/state/state_messages.h"
#include "embedding/table/table_access.h"
#include "optim/dense_optimizer_factory.h"

namespace millrace {
namespace {

// Returns values that differ from each other and between seeds.
at::Tensor numbers(std::vector<int64_t> shape, double first) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return (at::arange(count, at::kFloat) * 0.25 + first).view(shape);
}

void append_tensors(const std::vector<NamedParameter>& tensors, std::string* text) {
  for (const NamedParameter& tensor : tensors) {
    const at::Tensor value = tensor.value.detach().contiguous();
    const absl::string_view bytes(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
    absl::StrAppend(text, tensor.name, " ", describe(tensor.value), " ",
                    absl::BytesToHexString(bytes), "\n");
  }
}

}  // namespace

std::unique_ptr<EmbeddingTable> tiny_table(const std::string& text, const std::string& name) {
  TableConfig config;
  MILLRACE_CHECK(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  config.set_name(name);
  config.set_dim(3);
  auto table = EmbeddingTable::create(EmbeddingTableOptions::from_config(config, 7));
  MILLRACE_CHECK(table.ok()) << table.status();
  const absl::Status bound = (*table)->bind({{"m", 2, 0.5f}});
  MILLRACE_CHECK(bound.ok()) << bound;
  return *std::move(table);
}

void step_table(EmbeddingTable& table, int64_t step, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  const absl::Status found = table.find_or_insert(ids, absl::MakeSpan(rows));
  MILLRACE_CHECK(found.ok()) << found;
  std::vector<RowIndex> seen;
  for (const RowIndex row : rows) {
    if (row != kNoRow) seen.push_back(row);
  }
  TableWriteAccess(table).preserve(seen);
  for (const RowIndex row : seen) {
    std::vector<float> weights(table.dim());
    table.content().rows().read_weights(row, absl::MakeSpan(weights));
    for (float& weight : weights) weight += static_cast<float>(step) * 0.25f;
    table.content().write_weights(row, weights);
    table.content().mutable_row(row).slots[1] += static_cast<float>(step);
  }
  table.record_occurrences(step, seen, std::vector<uint32_t>(seen.size(), 2));
  table.commit(step);
}

TrainState TinyState::state() const {
  TrainState state;
  state.dense = dense;
  state.dense_optimizers = {optimizer.get()};
  state.average = average.get();
  for (const auto& table : tables) {
    state.tables.push_back(table.get());
    *state.rank.add_table() = to_state(table->name(), table->content().counters());
  }
  Progress progress;
  progress.step = step;
  progress.examples = step * 10;
  *state.shared.mutable_progress() = to_state(progress);
  return state;
}

std::string TinyState::to_string() const {
  std::string text;
  append_tensors(dense, &text);
  append_tensors(optimizer->state(), &text);
  if (average != nullptr) append_tensors(average->state(), &text);
  for (const auto& table : tables) {
    const AdmissionState admission = table->content().admission_state();
    const EvictedLogState evicted = table->content().evicted_log();
    absl::StrAppend(&text, table->name(), " ",
                    absl::Hex(absl::Uint128High64(table->content().digest())),
                    absl::Hex(absl::Uint128Low64(table->content().digest())), " of ", table->rows(),
                    " rows, candidates");
    for (size_t i = 0; i < admission.ids.size(); ++i) {
      absl::StrAppend(&text, " ", admission.ids[i], ":", admission.counts[i]);
    }
    int64_t counted = 0;
    for (size_t i = 0; i < admission.sketch.counters.size(); ++i) {
      counted += static_cast<int64_t>(i + 1) * admission.sketch.counters[i];
    }
    absl::StrAppend(&text, ", sketch ", counted, ", evicted since ", evicted.begins);
    for (size_t i = 0; i < evicted.ids.size(); ++i) {
      absl::StrAppend(&text, " ", evicted.ids[i], ":", evicted.steps[i]);
    }
    absl::StrAppend(&text, ", ",
                    to_state(table->name(), table->content().counters()).ShortDebugString(), "\n");
  }
  return text;
}

TinyState tiny_state(int64_t seed, const std::vector<std::string>& tables) {
  TinyState state;
  const auto first = static_cast<double>(seed);
  state.dense = {{"fc.weight", numbers({2, 3}, first)},
                 {"fc.bias", numbers({2}, first + 5)},
                 {"half", numbers({3}, first).to(at::kHalf)},
                 {"brain", numbers({1, 2}, first).to(at::kBFloat16)},
                 {"flag", at::ones({2}, at::kBool)}};
  for (int i = 0; i < 2; ++i) state.dense[i].value.requires_grad_();
  DenseOptimizerConfig config;
  config.mutable_adam();
  config.set_learning_rate(0.01);
  auto optimizer = create_dense_optimizer(config, {state.dense[0], state.dense[1]});
  MILLRACE_CHECK(optimizer.ok()) << optimizer.status();
  state.optimizer = *std::move(optimizer);
  for (size_t t = 0; t < tables.size(); ++t) {
    state.tables.push_back(tiny_table(tables[t], t == 0 ? "items" : absl::StrCat("items", t)));
  }
  return state;
}

void begin_average(TinyState& state) {
  MovingAverageConfig config;
  config.set_decay(0.75);
  auto average = MovingAverage::create(config, {state.dense[0], state.dense[1]});
  MILLRACE_CHECK(average.ok()) << average.status();
  state.average = *std::move(average);
}

void step_state(TinyState& state, const std::vector<int64_t>& ids) {
  ++state.step;
  for (int i = 0; i < 2; ++i) {
    state.dense[i].value.mutable_grad() =
        at::full_like(state.dense[i].value, static_cast<double>(state.step));
  }
  Progress progress;
  progress.step = state.step - 1;
  if (state.average != nullptr) state.average->before_update();
  const absl::Status stepped = state.optimizer->step(progress);
  MILLRACE_CHECK(stepped.ok()) << stepped;
  if (state.average != nullptr) state.average->after_update();
  state.optimizer->zero_grad();
  for (const auto& table : state.tables) step_table(*table, state.step, ids);
}

absl::Status write_state(FileSystem& files, const std::string& folder, const TrainState& state,
                         const StateWriterOptions& options) {
  ThreadPool threads(2);
  ASSIGN_OR_RETURN(StateWriter writer, StateWriter::create(view_state(state), options, threads));
  ASSIGN_OR_RETURN(
      const auto directory,
      CommitDirectory::begin(files, {folder, state.shared.progress().step(), new_nonce(), 0, 1}));
  RETURN_IF_ERROR(writer.write(*directory, threads));
  CheckpointManifest manifest = writer.manifest();
  ASSIGN_OR_RETURN(const auto entries, directory->finish_files(threads));
  for (const CheckpointManifest::File& file : entries) *manifest.add_files() = file;
  return directory->commit(std::move(manifest), threads).status();
}

CheckpointManifest::Base base_of(FileSystem& files, const std::string& path) {
  const auto reader = CheckpointReader::open(files, path);
  MILLRACE_CHECK(reader.ok()) << reader.status();
  const CheckpointManifest& manifest = (*reader)->manifest();
  CheckpointManifest::Base base;
  base.set_step(manifest.progress().step());
  base.set_digest(manifest.digest());
  base.set_depth(manifest.has_base() ? manifest.base().depth() + 1 : 1);
  return base;
}

}  // namespace millrace
