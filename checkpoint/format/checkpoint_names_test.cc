#include "checkpoint/format/checkpoint_names.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

using Kind = CheckpointName::Kind;

TEST(CheckpointNamesTest, Checkpoints) {
  EXPECT_EQ(checkpoint_name(0), "step-00000000");
  EXPECT_EQ(checkpoint_name(1000), "step-00001000");
  EXPECT_EQ(checkpoint_name(1234567890123), "step-1234567890123");
  EXPECT_EQ(checkpoint_name(7, Kind::kTemporary, "a1"), "step-00000007.tmp-a1");
  for (const int64_t step : {int64_t{0}, int64_t{99'999'999}, INT64_MAX}) {
    EXPECT_EQ(parse_checkpoint_name(checkpoint_name(step)),
              (CheckpointName{Kind::kCheckpoint, step}));
    for (const Kind kind : {Kind::kTemporary, Kind::kOld, Kind::kRemoved}) {
      EXPECT_EQ(parse_checkpoint_name(checkpoint_name(step, kind, "0Zz")),
                (CheckpointName{kind, step}));
    }
  }
}

TEST(CheckpointNamesTest, AveragesAreOfTheModel) {
  EXPECT_EQ(average_name("fc.weight"), "optimizer/fc.weight/average");
  EXPECT_TRUE(is_of_average(average_name("fc.weight")));
  EXPECT_TRUE(is_of_average("optimizer/fc.weight/average_updates"));
  EXPECT_TRUE(is_of_model("fc.weight"));
  EXPECT_TRUE(is_of_model(average_name("fc.weight")));
  EXPECT_FALSE(is_of_model("optimizer/fc.weight/average_updates"));
  for (const char* name : {"optimizer/fc.weight/exp_avg", "optimizer/average/step"}) {
    EXPECT_FALSE(is_of_average(name)) << name;
    EXPECT_FALSE(is_of_model(name)) << name;
  }
  EXPECT_FALSE(is_of_average("tower/average"));
}

TEST(CheckpointNamesTest, OtherNamesAreNone) {
  for (const char* name :
       {"", "step-", "step-1", "step-0000000a", "step-000000010", "step--0000001", "step-+0000001",
        "step- 0000001", "Step-00000001", "step-00000001 ", "step-00000001.", "step-00000001.tmp",
        "step-00000001.tmp-", "step-00000001.tmp-a/b", "step-00000001.tmp-a.b",
        "step-00000001.bak-a", "step-99999999999999999999", "xstep-00000001", "lock"}) {
    EXPECT_EQ(parse_checkpoint_name(name), std::nullopt) << name;
  }
}

TEST(CheckpointNamesTest, Files) {
  EXPECT_EQ(dense_file_name(0, 2), "dense-00000-of-00002.safetensors");
  EXPECT_EQ(table_file_name("a-b_C", 3, 4), "table-a-b_C-00003-of-00004.safetensors");
  EXPECT_EQ(state_file_name(0, 4), "state-00000-of-00004.pb");
  EXPECT_EQ(chunks_file_name(99998, 99999), "chunks-99998-of-99999.xxh");
}

TEST(CheckpointNamesTest, NamesOfTables) {
  EXPECT_TRUE(is_table_name("a-b_C9"));
  EXPECT_TRUE(is_table_name(std::string(128, 'a')));
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("a.b"), std::string("a b"),
        std::string("a\0b", 3), std::string("\xc3\xa4"), std::string(129, 'a')}) {
    EXPECT_FALSE(is_table_name(name)) << name;
  }
}

TEST(CheckpointNamesTest, NoncesDiffer) {
  EXPECT_TRUE(is_nonce(new_nonce()));
  EXPECT_NE(new_nonce(), new_nonce());
  EXPECT_FALSE(is_nonce(""));
  EXPECT_FALSE(is_nonce("a-b"));
  EXPECT_FALSE(is_nonce(std::string(65, 'a')));
}

}  // namespace
}  // namespace millrace
