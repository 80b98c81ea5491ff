#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <plsh/properties/claims.hpp>
#include <set>
#include <sstream>

namespace plsh::properties {
namespace {

TEST(Claims, AreC1ToC13EachWithANote) {
  ASSERT_EQ(claims().size(), 13U);
  for (std::size_t k = 0; k < claims().size(); ++k) {
    const Claim& c = claims()[k];
    EXPECT_EQ(c.id, "C" + std::to_string(k + 1));
    EXPECT_FALSE(c.title.empty());
    EXPECT_FALSE(c.statement.empty());
    std::ifstream note(std::filesystem::path(PLSH_SOURCE_DIR) / c.note);
    ASSERT_TRUE(note) << c.note;
    std::ostringstream text;
    text << note.rdbuf();
    EXPECT_NE(text.str().find(c.id), std::string::npos) << c.note << " does not name its claim";
    EXPECT_EQ(&claim(c.id), &c);
  }
}

TEST(Claims, AnUnknownOneIsNamed) {
  for (const char* id : {"", "C0", "C14", "c1", "C1 "}) {
    try {
      claim(id);
      ADD_FAILURE() << id;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("\"" + std::string(id) + "\""), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace plsh::properties
