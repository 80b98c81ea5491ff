#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <plsh/properties/checksum.hpp>
#include <plsh/properties/safetensors.hpp>

namespace plsh::properties {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t size = header.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes + header + data;
}

std::string bytes_of(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

TEST(Safetensors, ReadsEveryFloatingType) {
  // 1.5 and -2 in each format.
  const std::string f16("\x00\x3e\x00\xc0", 4);
  const std::string bf16("\xc0\x3f\x00\xc0", 4);
  const std::string f64("\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\x00\xc0", 16);
  const auto file =
      Safetensors::parse(file_of(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                                 R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]},)"
                                 R"("c":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
                                 R"("d":{"dtype":"F64","shape":[2],"data_offsets":[16,32]},)"
                                 R"("__metadata__":{"k":"v"}})",
                                 f16 + bf16 + bytes_of({1.5F, -2.0F}) + f64),
                         "memory");
  for (const char* name : {"a", "b", "c", "d"})
    EXPECT_EQ(file.tensors().at(name).values, (std::vector<double>{1.5, -2})) << name;
  EXPECT_EQ(file.metadata().at("k"), "v");
  EXPECT_EQ(file.matrix("c").rows(), 2);
  EXPECT_EQ(file.matrix("b")(0, 1), -2);
  EXPECT_THROW(file.matrix("a"), std::runtime_error);
  EXPECT_THROW(file.matrix("missing"), std::runtime_error);
}

TEST(Safetensors, RefusesDamage) {
  const std::string data = bytes_of({1, 2, 3, 4});
  const std::string good = R"({"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
  EXPECT_NO_THROW(Safetensors::parse(file_of(good, data), "memory"));
  const std::vector<std::pair<std::string, std::string>> damaged{
      {"empty", ""},
      {"seven bytes", "1234567"},
      {"header beyond the end", std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)},
      {"no JSON", file_of("not json", data)},
      {"an array", file_of("[]", data)},
      {"cut short", file_of(good, data.substr(1))},
      {"a byte too many", file_of(good, data + "x")},
      {"unknown dtype",
       file_of(R"({"x":{"dtype":"I8","shape":[16],"data_offsets":[0,16]}})", data)},
      {"dtype a number", file_of(R"({"x":{"dtype":3,"shape":[4],"data_offsets":[0,16]}})", data)},
      {"no shape", file_of(R"({"x":{"dtype":"F32","data_offsets":[0,16]}})", data)},
      {"negative extent",
       file_of(R"({"x":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", data)},
      {"fractional extent",
       file_of(R"({"x":{"dtype":"F32","shape":[4.5],"data_offsets":[0,16]}})", data)},
      {"size wraps", file_of(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296,4],)"
                             R"("data_offsets":[0,16]}})",
                             data)},
      {"shape and bytes disagree",
       file_of(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})", data)},
      {"offsets reversed",
       file_of(R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[16,0]}})", data)},
      {"overlap", file_of(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},)"
                          R"("y":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                          data)},
      {"same bytes twice", file_of(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
                                   R"("y":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
                                   data)},
      {"gap", file_of(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[4,16]}})", data)},
      {"metadata not strings", file_of(R"({"__metadata__":{"k":1}})", "")},
      {"entry not an object", file_of(R"({"x":7})", "")},
  };
  for (const auto& [what, bytes] : damaged) {
    try {
      Safetensors::parse(bytes, "memory");
      ADD_FAILURE() << what << " was accepted";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("memory: ", 0), 0U) << what << ": " << error.what();
    }
  }
}

TEST(Safetensors, TheRealInputIsWholeAndAsDescribed) {
  const std::string path =
      std::string(PLSH_SOURCE_DIR) + "/properties/data/smollm2-135m-qkv.safetensors";
  EXPECT_EQ(verified_sha256(path).size(), 64U);
  const Safetensors file = Safetensors::read(path);
  EXPECT_EQ(file.tensors().size(), 18U);
  for (const auto& [name, tensor] : file.tensors())
    EXPECT_EQ(tensor.shape, (std::vector<reference::Index>{2048, 64})) << name;
  EXPECT_EQ(file.metadata().at("rope"), "not applied");
}

TEST(Checksum, IsSha256) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "plsh-checksum";
  std::filesystem::create_directories(folder);
  const auto path = folder / "abc.txt";
  std::ofstream(path) << "abc";
  // FIPS 180-2, appendix B.1.
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(sha256_of_file(path), abc);
  EXPECT_EQ(verified_sha256(path), abc) << "no list beside it: nothing to check against";
  std::ofstream(folder / "SHA256SUMS") << abc << "  abc.txt\n";
  EXPECT_EQ(verified_sha256(path), abc);
  std::ofstream(path) << "abd";
  EXPECT_THROW(verified_sha256(path), std::runtime_error);
  EXPECT_THROW(sha256_of_file(folder / "absent"), std::runtime_error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plsh::properties
