#include <openssl/evp.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <plsh/properties/checksum.hpp>
#include <stdexcept>

namespace plsh::properties {

std::string sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  bool ok = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  std::array<char, 65536> buffer;
  while (ok && file) {
    file.read(buffer.data(), buffer.size());
    ok = EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(file.gcount())) ==
         1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  ok = ok && !file.bad() && EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1;
  if (!ok) throw std::runtime_error(path + ": cannot be read");
  std::string text;
  for (unsigned k = 0; k < size; ++k) {
    text += "0123456789abcdef"[digest[k] >> 4];
    text += "0123456789abcdef"[digest[k] & 15];
  }
  return text;
}

std::string verified_sha256(const std::string& path) {
  const std::string actual = sha256_of_file(path);
  const std::filesystem::path file(path);
  std::ifstream list(file.parent_path() / "SHA256SUMS");
  for (std::string expected, name; list >> expected >> name;)
    if (name == file.filename().string() && expected != actual)
      throw std::runtime_error(path + ": damaged: its SHA-256 is not the one in SHA256SUMS");
  return actual;
}

}  // namespace plsh::properties
