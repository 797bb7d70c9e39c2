#include "checkpoint/bank/bank_plan.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ModelBankConfig bank(const std::string& text) {
  ModelBankConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  for (int i = 0; i < config.source_size(); ++i) {
    config.mutable_source(i)->set_path(absl::StrCat("s", i));
  }
  return config;
}

const std::vector<BankItem>& model() {
  static const auto* items = new std::vector<BankItem>{
      {BankItem::kDense, "fc.weight", "F32 [3, 2]"},
      {BankItem::kDense, "fc.bias", "F32 [3]"},
      {BankItem::kTable, "items", "F32 rows of 4"},
      {BankItem::kSlot, "items@sum", "4 numbers a row"},
      {BankItem::kAdmission, "items@admission", ""},
  };
  return *items;
}

// Returns all items of the model, with optimizer state.
std::vector<BankItem> everything() {
  std::vector<BankItem> items = model();
  items.push_back({BankItem::kOptimizer, "fc.weight@exp_avg", "F32 [3, 2]"});
  return items;
}

// Returns "source from → to" of each load.
std::vector<std::string> loads(const BankPlan& plan) {
  std::vector<std::string> lines;
  for (const BankPlan::Load& load : plan.loads) {
    lines.push_back(absl::StrCat(load.source, " ", load.from,
                                 load.from == load.to.name ? "" : absl::StrCat(" → ", load.to.name),
                                 load.clear ? " clear" : ""));
  }
  return lines;
}

std::vector<std::string> fresh(const BankPlan& plan) {
  std::vector<std::string> names;
  for (const BankItem& item : plan.fresh) names.push_back(item.name);
  return names;
}

std::string error(const std::string& config, const SourceItems& sources) {
  const auto plan = plan_bank(bank(config), sources, model(), true);
  EXPECT_THAT(plan.status(), StatusIs(kInvalid));
  return std::string(plan.status().message());
}

TEST(BankPlanTest, PartsDecideWhatIsTaken) {
  ASSERT_OK_AND_ASSIGN(BankPlan plan, plan_bank(bank("source {}"), {everything()}, model(), true));
  EXPECT_THAT(loads(plan), ElementsAre("0 fc.weight", "0 fc.bias", "0 items", "0 items@sum"));
  ASSERT_OK_AND_ASSIGN(
      plan, plan_bank(bank("source { parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, PROGRESS] }"),
                      {everything()}, model(), true));
  EXPECT_THAT(loads(plan), ElementsAre("0 fc.weight", "0 fc.bias", "0 items", "0 items@sum",
                                       "0 items@admission", "0 fc.weight@exp_avg"));
  ASSERT_OK_AND_ASSIGN(plan,
                       plan_bank(bank("source { parts: WEIGHTS }"), {everything()}, model(), true));
  EXPECT_THAT(loads(plan), ElementsAre("0 fc.weight", "0 fc.bias", "0 items"));
  EXPECT_THAT(fresh(plan), ElementsAre("items@sum"));
}

TEST(BankPlanTest, PatternsChooseWithSlots) {
  ASSERT_OK_AND_ASSIGN(
      BankPlan plan,
      plan_bank(bank("source { load: [\"items\", \"fc.*\"] exclude: [\"items@sum\", \"*.bias\"] "
                     "allow_missing: [\"fc.b*\", \"items@sum\"] }"),
                {everything()}, model(), true));
  EXPECT_THAT(loads(plan), ElementsAre("0 fc.weight", "0 items"));
  EXPECT_THAT(fresh(plan), ElementsAre("fc.bias", "items@sum"));
}

TEST(BankPlanTest, RenamesTakeSlotsAlong) {
  std::vector<BankItem> items = everything();
  for (BankItem& item : items) {
    if (item.kind == BankItem::kDense || item.kind == BankItem::kOptimizer) {
      item.name.replace(0, 2, "old.top");
    } else {
      item.name.replace(0, 5, "goods");
    }
  }
  ASSERT_OK_AND_ASSIGN(BankPlan plan,
                       plan_bank(bank("source { parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER] "
                                      "rename { from: \"old.top.*\" to: \"fc.*\" } "
                                      "rename { from: \"goods\" to: \"items\" } }"),
                                 {items}, model(), true));
  EXPECT_THAT(loads(plan), ElementsAre("0 old.top.weight → fc.weight", "0 old.top.bias → fc.bias",
                                       "0 goods → items", "0 goods@sum → items@sum",
                                       "0 old.top.weight@exp_avg → fc.weight@exp_avg"));
}

TEST(BankPlanTest, LaterSourcesWinAndRowsAreMerged) {
  const std::string two = "source {} source { parts: WEIGHTS ";
  ASSERT_OK_AND_ASSIGN(BankPlan plan,
                       plan_bank(bank(two + "}"), {everything(), everything()}, model(), true));
  EXPECT_THAT(loads(plan),
              ElementsAre("0 items", "0 items@sum", "1 fc.weight", "1 fc.bias", "1 items"));
  ASSERT_OK_AND_ASSIGN(plan, plan_bank(bank(two + "clear_rows: \"it*\" }"),
                                       {everything(), everything()}, model(), true));
  EXPECT_THAT(loads(plan), ElementsAre("1 fc.weight", "1 fc.bias", "1 items clear"));
}

TEST(BankPlanTest, OptionalSourcesMayBeMissing) {
  const std::vector<BankItem> dense = {model()[0], model()[1]};
  EXPECT_THAT(error("source {}", {dense}), HasSubstr("items, F32 rows of 4, is missing"));
  ASSERT_OK_AND_ASSIGN(BankPlan plan, plan_bank(bank("source {} source { optional: true }"),
                                                {dense, std::nullopt}, model(), true));
  EXPECT_THAT(fresh(plan), ElementsAre("items"));
}

TEST(BankPlanTest, AReloadLeavesTheRest) {
  const std::vector<BankItem> dense = {model()[0]};
  ASSERT_OK_AND_ASSIGN(BankPlan plan, plan_bank(bank("source {} source { dynamic: true }"),
                                                {std::nullopt, dense}, model(), false));
  EXPECT_THAT(loads(plan), ElementsAre("1 fc.weight"));
}

TEST(BankPlanTest, AllThatIsWrongIsListed) {
  EXPECT_THAT(
      error("source { load: [\"fc*\", \"itmes\"] exclude: \"nothing\" allow_missing: \"fc.bais\" "
            "clear_rows: \"fc.bias\" rename { from: \"a\" to: \"b\" } }",
            {everything()}),
      AllOf(HasSubstr("in 6 points:\n  source 0 (s0): load \"itmes\" matches nothing; did you "
                      "mean \"items\"?"),
            HasSubstr("exclude \"nothing\" matches nothing"),
            HasSubstr("allow_missing \"fc.bais\" matches nothing; did you mean \"fc.bias\"?"),
            HasSubstr("clear_rows \"fc.bias\" matches nothing"),
            HasSubstr("rename \"a\" matches nothing that is loaded"),
            HasSubstr("\n  items, F32 rows of 4, is missing (allow_missing lets it")));
}

TEST(BankPlanTest, WhatDoesNotFitIsNamed) {
  std::vector<BankItem> items = everything();
  items[0].shape = "F32 [2, 3]";
  items[2].shape = "BF16 rows of 4";
  items[3].name = "items@exp_avg";
  items.push_back({BankItem::kDense, "head.weight", "F32 [1]"});
  EXPECT_THAT(error("source { rename { from: \"head.*\" to: \"fcc.*\" } }", {items}),
              AllOf(HasSubstr("fc.weight is F32 [2, 3]; fc.weight of the model is F32 [3, 2]"),
                    HasSubstr("items is BF16 rows of 4; items of the model is F32 rows of 4"),
                    HasSubstr("items@exp_avg is not in the model"),
                    HasSubstr("head.weight, renamed fcc.weight, is not in the model; did you mean "
                              "\"fc.weight\"? (exclude or rename it)"),
                    HasSubstr("items@sum, 4 numbers a row, is missing")));
}

TEST(BankPlanTest, NamesThatCollideAndSlotsWithoutRows) {
  EXPECT_THAT(error("source { rename { from: \"fc.bias\" to: \"fc.weight\" } }", {everything()}),
              HasSubstr("fc.weight and fc.bias both become fc.weight"));
  EXPECT_THAT(error("source { load: [\"fc*\", \"items@sum\"] }", {everything()}),
              HasSubstr("items@sum is loaded without the rows of its table"));
}

TEST(BankPlanTest, IsPrintedAsATable) {
  const ModelBankConfig config = bank(
      "source { rename { from: \"old\" to: \"fc.bias\" } } "
      "source { parts: WEIGHTS clear_rows: \"items\" allow_missing: \"fc.weight\" }");
  ASSERT_OK_AND_ASSIGN(
      const BankPlan plan,
      plan_bank(config, {{{{BankItem::kDense, "old", "F32 [3]"}}}, {{model()[2]}}}, model(), true));
  EXPECT_EQ(plan.to_string(config),
            "name       shape            from\n"
            "fc.bias    F32 [3]          s0, old\n"
            "items      F32 rows of 4    s1, rows before it go\n"
            "fc.weight  F32 [3, 2]       (as it is)\n"
            "items@sum  4 numbers a row  (as it is)\n");
}

}  // namespace
}  // namespace millrace
