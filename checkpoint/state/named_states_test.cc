#include "checkpoint/state/named_states.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

// An object with a text as its state. Refuses "bad".
struct Text {
  std::string text;
  int loads = 0;

  StateHolder holder(std::string name, std::string kind = "hook") {
    return {std::move(kind), std::move(name),
            [this](ObjectState& state) {
              if (text == "unspeakable") return absl::InternalError("cannot say");
              if (!text.empty()) state = {3, text};
              return absl::OkStatus();
            },
            [this](absl::Span<const ObjectState> per_rank) {
              ++loads;
              for (const ObjectState& state : per_rank) {
                if (state.bytes == "bad") return absl::DataLossError("it is bad");
              }
              text.clear();
              for (const ObjectState& state : per_rank) {
                absl::StrAppend(&text, text.empty() ? "" : "+", state.bytes);
              }
              return absl::OkStatus();
            }};
  }
};

NamedStates states(const std::vector<std::pair<std::string, std::string>>& all) {
  NamedStates states;
  for (const auto& [name, bytes] : all) {
    NamedState& state = *states.Add();
    state.set_name(name);
    state.set_version(3);
    state.set_state(bytes);
  }
  return states;
}

TEST(NamedStatesTest, SavesWhatIsThereByName) {
  Text a{"one"}, b{"two"}, none;
  ASSERT_OK_AND_ASSIGN(const NamedStates saved,
                       save_states({b.holder("b"), none.holder("none"), a.holder("a")}));
  ASSERT_EQ(saved.size(), 2);
  EXPECT_EQ(saved[0].name(), "a");
  EXPECT_EQ(saved[1].name(), "b");
  EXPECT_EQ(saved[1].version(), 3);
  EXPECT_EQ(saved[1].state(), "two");
  Text bad{"unspeakable"};
  EXPECT_THAT(
      save_states({a.holder("a"), bad.holder("b")}),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("saving the state of hook \"b\""), HasSubstr("cannot say"))));
}

TEST(NamedStatesTest, EachGetsThoseOfAllRanksInOrder) {
  StatesByName all;
  ASSERT_OK(add_states("hook", states({{"a", "0"}, {"b", "x"}}), &all));
  ASSERT_OK(add_states("hook", states({{"a", "1"}}), &all));
  ASSERT_OK(add_states("object", states({{"a", "o"}}), &all));
  Text a, b, object;
  std::vector<std::string> notes;
  ASSERT_OK(load_states({a.holder("a"), b.holder("b"), object.holder("a", "object")}, all, &notes));
  EXPECT_EQ(a.text, "0+1");
  EXPECT_EQ(b.text, "x");
  EXPECT_EQ(object.text, "o");
  EXPECT_THAT(notes, IsEmpty());
}

TEST(NamedStatesTest, WhatIsNewOrGoneIsTold) {
  StatesByName all;
  ASSERT_OK(add_states("hook", states({{"evict_row", "1"}}), &all));
  Text a{"mine"}, stateless;
  std::vector<std::string> notes;
  ASSERT_OK(load_states({a.holder("evict_rows"), stateless.holder("logger")}, all, &notes));
  EXPECT_THAT(notes,
              ElementsAre("hook \"evict_rows\" is new: the checkpoint has no state of it",
                          "hook \"evict_row\" is gone: its state is dropped; did you mean \"hook "
                          "\"evict_rows\"\"?"));
  EXPECT_EQ(a.text, "mine");
  EXPECT_EQ(a.loads + stateless.loads, 0);
}

TEST(NamedStatesTest, AnErrorUndoesWhatWasLoaded) {
  StatesByName all;
  ASSERT_OK(add_states("hook", states({{"a", "new"}, {"b", "bad"}, {"c", "new"}}), &all));
  Text a{"old"}, b{"old"}, c{"old"};
  std::vector<std::string> notes;
  EXPECT_THAT(load_states({a.holder("a"), b.holder("b"), c.holder("c")}, all, &notes),
              StatusIs(kDataLoss, "loading the state of hook \"b\": it is bad"));
  EXPECT_EQ(a.text, "old");
  EXPECT_EQ(b.text, "old");
  EXPECT_EQ(c.loads, 0);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(NamedStatesTest, ANameThatComesTwiceIsDamage) {
  StatesByName all;
  EXPECT_THAT(add_states("hook", states({{"a", "1"}, {"a", "2"}}), &all),
              StatusIs(kDataLoss, HasSubstr("two states of hook \"a\"")));
}

}  // namespace
}  // namespace millrace
