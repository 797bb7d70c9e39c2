#include "tests/ranks/table_ranks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "embedding/rows/placement.h"
#include "framework/model/model.h"
#include "hooks/non_finite_guard_hook.h"
#include "tests/fakes/recording_hook.h"

namespace millrace {
namespace {

// The content of a rank.
struct RankOutcome {
  std::map<std::string, TableOutcome> tables;
  std::string dense;
  std::vector<at::Tensor> parameters;
  Summary summary;
};

// Returns row i of an array of rows.
std::vector<float> row_of(const std::vector<float>& values, int64_t size, size_t i) {
  const auto begin = values.begin() + static_cast<int64_t>(i) * size;
  return {begin, begin + size};
}

TableOutcome outcome_of(const EmbeddingTable& table) {
  TableOutcome outcome;
  const TableRows rows = table.content().export_rows();
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    RankedRow& row = outcome.rows[rows.ids[i]];
    row.weights = row_of(rows.weights, rows.dim, i);
    for (const TableRows::Slot& slot : rows.slots) {
      row.slots[slot.name] = row_of(slot.values, slot.size, i);
    }
    row.frequency = rows.frequency[i];
    row.last_step = rows.last_step[i];
  }
  outcome.counters = table.content().counters();
  outcome.admission = table.content().admission_state();
  const EvictedLogState evicted = table.content().evicted_log();
  outcome.evicted_log_begins = evicted.begins;
  for (size_t i = 0; i < evicted.ids.size(); ++i) {
    outcome.evicted.emplace_back(evicted.steps[i], evicted.ids[i]);
  }
  return outcome;
}

RankOutcome outcome_of(Trainer& trainer, const Summary& summary) {
  RankOutcome outcome;
  for (const EmbeddingCollection* collection : trainer.collections()) {
    for (const auto& table : collection->tables()) {
      outcome.tables[table->name()] = outcome_of(*table);
    }
  }
  for (const NamedParameter& parameter : trainer.parameters()) {
    outcome.parameters.push_back(parameter.value.detach().clone());
    const at::Tensor& copy = outcome.parameters.back();
    outcome.dense.append(static_cast<const char*>(copy.const_data_ptr()), copy.nbytes());
  }
  outcome.summary = summary;
  return outcome;
}

// Adds the content of a table on rank placement.rank.
void add(const TableOutcome& own, const Placement& placement, TableOutcome& all) {
  for (const auto& [id, row] : own.rows) {
    EXPECT_TRUE(placement.owns(id)) << id;
    EXPECT_TRUE(all.rows.emplace(id, row).second) << id << " is on two ranks";
  }
  const TableStatistics& counted = own.counters.counted;
  TableStatistics& sums = all.counters.counted;
  all.counters.applied_steps = own.counters.applied_steps;
  sums.inserted += counted.inserted;
  sums.occurrences += counted.occurrences;
  sums.unique_ids += counted.unique_ids;
  sums.unadmitted += counted.unadmitted;
  for (size_t i = 0; i < sums.evicted.size(); ++i) sums.evicted[i] += counted.evicted[i];
  // Ranks hold ascending ranges of hashes, so the counts of ids are in order.
  const AdmissionState& admission = own.admission;
  all.admission.ids.insert(all.admission.ids.end(), admission.ids.begin(), admission.ids.end());
  all.admission.counts.insert(all.admission.counts.end(), admission.counts.begin(),
                              admission.counts.end());
  all.evicted_log_begins = std::max(all.evicted_log_begins, own.evicted_log_begins);
  all.evicted.insert(all.evicted.end(), own.evicted.begin(), own.evicted.end());
  std::sort(all.evicted.begin(), all.evicted.end());
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

void expect_near(const std::vector<float>& one, const std::vector<float>& many, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(many.size(), one.size()) << what;
  std::vector<float> difference = one;
  for (size_t i = 0; i < one.size(); ++i) difference[i] -= many[i];
  EXPECT_LE(norm(difference), tolerance * norm(one)) << what;
}

void expect_same_counts(const TableOutcome& one, const TableOutcome& many) {
  const TableStatistics &counted = one.counters.counted, &other = many.counters.counted;
  EXPECT_EQ(many.counters.applied_steps, one.counters.applied_steps);
  EXPECT_EQ(other.inserted, counted.inserted);
  EXPECT_EQ(other.occurrences, counted.occurrences);
  EXPECT_EQ(other.unique_ids, counted.unique_ids);
  EXPECT_EQ(other.unadmitted, counted.unadmitted);
  EXPECT_EQ(other.evicted, counted.evicted);
  EXPECT_EQ(many.admission, one.admission);
  EXPECT_EQ(many.evicted_log_begins, one.evicted_log_begins);
  EXPECT_EQ(many.evicted, one.evicted);
}

void expect_same_table(const TableOutcome& one, const TableOutcome& many, double tolerance) {
  ASSERT_EQ(many.rows.size(), one.rows.size());
  for (const auto& [id, row] : one.rows) {
    ASSERT_EQ(many.rows.count(id), 1) << id;
    const RankedRow& other = many.rows.at(id);
    EXPECT_EQ(other.frequency, row.frequency) << id;
    EXPECT_EQ(other.last_step, row.last_step) << id;
    expect_near(row.weights, other.weights, tolerance, absl::StrCat("id ", id));
    ASSERT_EQ(other.slots.size(), row.slots.size());
    for (const auto& [name, slot] : row.slots) {
      expect_near(slot, other.slots.at(name), tolerance, absl::StrCat(name, " of id ", id));
    }
  }
  expect_same_counts(one, many);
}

}  // namespace

TinyTrainerOptions tiny_table_options() {
  TinyTrainerOptions options;
  options.train = {.batches = kTableSteps, .batch_size = 24, .dense = 3, .sparse = 3, .ids = 200};
  options.eval = {.batches = 3, .batch_size = 24};
  options.trainer.metrics = {"logloss", "auc"};
  return options;
}

absl::Status run_table_rank(const TableRun& run, std::unique_ptr<Collectives> ranks,
                            const std::function<absl::Status(Trainer& trainer, int rank)>& body) {
  const int rank = ranks->rank();
  TinyTrainerOptions own = run.options;
  own.train.rank = own.eval.rank = rank;
  own.train.world_size = own.eval.world_size = ranks->world_size();
  TrainerParts parts = tiny_parts(own);
  parts.collectives = std::move(ranks);
  if (run.change_parts) run.change_parts(own, parts);
  ASSIGN_OR_RETURN(auto trainer, Trainer::create(own.trainer, std::move(parts)));
  if (run.prepare) RETURN_IF_ERROR(run.prepare(*trainer, rank));
  return body(*trainer, rank);
}

std::vector<absl::Status> run_table_ranks(
    const TableRun& run, int world_size,
    const std::function<absl::Status(Trainer& trainer, int rank)>& body) {
  return run_thread_ranks({.world_size = world_size, .inject = run.inject},
                          [&](std::unique_ptr<Collectives> ranks) {
                            return run_table_rank(run, std::move(ranks), body);
                          });
}

std::vector<std::string> counts_of(const Trainer& trainer) {
  std::vector<std::string> lines;
  for (const EmbeddingCollection* collection : trainer.collections()) {
    for (const auto& table : collection->tables()) {
      const TableOutcome outcome = outcome_of(*table);
      for (const auto& [id, row] : outcome.rows) {
        lines.push_back(absl::StrCat(table->name(), ": row ", id, ", frequency ", row.frequency,
                                     ", last step ", row.last_step));
      }
      for (size_t i = 0; i < outcome.admission.ids.size(); ++i) {
        lines.push_back(absl::StrCat(table->name(), ": candidate ", outcome.admission.ids[i], ", ",
                                     outcome.admission.counts[i]));
      }
      for (const auto& [step, id] : outcome.evicted) {
        lines.push_back(absl::StrCat(table->name(), ": evicted ", id, " in step ", step));
      }
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TablesOutcome train_tables(const TableRun& run, int world_size) {
  std::vector<RankOutcome> ranks(world_size);
  const auto statuses =
      run_table_ranks(run, world_size, [&](Trainer& trainer, int rank) -> absl::Status {
        ASSIGN_OR_RETURN(const Summary summary,
                         run.train ? run.train(trainer) : trainer.train_and_evaluate());
        ranks[rank] = outcome_of(trainer, summary);
        return absl::OkStatus();
      });
  TablesOutcome outcome;
  for (int rank = 0; rank < world_size; ++rank) {
    EXPECT_OK(statuses[rank]) << "rank " << rank;
    if (!statuses[rank].ok()) return {};
    for (const auto& [name, table] : ranks[rank].tables) {
      add(table, {rank, world_size}, outcome.tables[name]);
    }
    outcome.dense.push_back(ranks[rank].dense);
    EXPECT_EQ(outcome.dense[rank], outcome.dense[0]) << "rank " << rank;
  }
  outcome.parameters = ranks[0].parameters;
  outcome.table_rows = ranks[0].summary.rows;
  const auto evaluated = ranks[0].summary.eval.find("eval");
  if (evaluated != ranks[0].summary.eval.end()) outcome.metrics = evaluated->second;
  return outcome;
}

void expect_same_outcome(const TablesOutcome& one, const TablesOutcome& many, double tolerance) {
  const double looser = tolerance / 1e-5;
  ASSERT_FALSE(one.tables.empty());
  ASSERT_EQ(many.tables.size(), one.tables.size());
  for (const auto& [name, table] : one.tables) {
    SCOPED_TRACE(absl::StrCat("table ", name));
    ASSERT_GT(table.rows.size(), 20);
    expect_same_table(table, many.tables.at(name), tolerance);
  }
  for (size_t i = 0; i < one.parameters.size(); ++i) {
    EXPECT_TRUE(at::allclose(one.parameters[i], many.parameters[i], 1e-4 * looser, 1e-6 * looser));
  }
  EXPECT_EQ(many.table_rows, one.table_rows);
  EXPECT_EQ(many.metrics.size(), one.metrics.size());
  for (const auto& [name, value] : one.metrics) {
    EXPECT_NEAR(many.metrics.at(name), value, 1e-5 * looser) << name;
  }
}

void expect_equal_outcome(const TablesOutcome& one, const TablesOutcome& other) {
  ASSERT_FALSE(one.tables.empty());
  ASSERT_EQ(other.tables.size(), one.tables.size());
  for (const auto& [name, table] : one.tables) {
    SCOPED_TRACE(absl::StrCat("table ", name));
    EXPECT_TRUE(other.tables.at(name).rows == table.rows);
    expect_same_counts(table, other.tables.at(name));
  }
  EXPECT_EQ(other.dense, one.dense);
  EXPECT_EQ(other.table_rows, one.table_rows);
  EXPECT_EQ(other.metrics, one.metrics);
}

TablesOutcome expect_same_over_ranks(const TableRun& run, double tolerance,
                                     const std::vector<int>& world_sizes) {
  TablesOutcome one = train_tables(run, 1);
  for (const int world_size : world_sizes) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    expect_same_outcome(one, train_tables(run, world_size), tolerance);
  }
  return one;
}

absl::Status watch_events(
    Trainer& trainer, std::function<absl::Status(HookContext&, absl::string_view event)> on_event,
    const std::string& name) {
  // The hook retains its list.
  auto events = std::make_shared<std::vector<std::string>>();
  auto* const list = events.get();
  return trainer.add_hook(std::make_unique<RecordingHook>(
      list,
      [events, on_event = std::move(on_event)](HookContext& context, absl::string_view event) {
        return on_event(context, event);
      },
      name));
}

absl::Status refuse_first_step(Trainer& trainer, int rank,
                               std::function<void(HookContext&)> after) {
  // The graph contains a copy of the function.
  auto calls = std::make_shared<int>(0);
  auto& model = static_cast<TinyModel&>(trainer.model());
  model.on_pooled_gradient = [calls, rank](at::Tensor gradient) {
    return ++*calls == 1 && rank == 0 ? gradient * std::numeric_limits<float>::infinity()
                                      : gradient;
  };
  NonFiniteConfig skip;
  skip.set_policy(NonFiniteConfig::SKIP);
  RETURN_IF_ERROR(trainer.add_hook(std::make_unique<NonFiniteGuardHook>(skip)));
  const auto on_event = [&trainer, after = std::move(after)](HookContext& context,
                                                             absl::string_view event) {
    if (event != "after_step(refused)") return absl::OkStatus();
    EXPECT_EQ(context.progress().step, 0);
    EXPECT_EQ(context.progress().skipped_steps, 1);
    for (const EmbeddingCollection* collection : trainer.collections()) {
      for (const auto& table : collection->tables()) EXPECT_EQ(table->rows(), 0);
    }
    after(context);
    return absl::OkStatus();
  };
  return watch_events(trainer, on_event, "refusing");
}

void make_one_sided(Trainer& trainer) {
  static_cast<TinyModel&>(trainer.model()).on_output = [](ModelOutput& output) {
    output.loss = -output.predictions.log().sum();
  };
}

}  // namespace millrace
