#include "output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace plsh::cli {

namespace fs = std::filesystem;

void write_whole(const fs::path& path, const std::string& content) {
  const fs::path part = path.string() + ".part";
  {
    std::ofstream file(part, std::ios::binary);
    file << content;
    file.flush();
    if (!file) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw std::runtime_error("cannot write " + path.string());
    }
  }
  std::error_code error;
  fs::rename(part, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw std::runtime_error("cannot write " + path.string() + ": " + error.message());
  }
}

std::string read_whole(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw std::runtime_error(path.string() + " is a folder");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

Folder::Folder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  created_ = fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_))
    throw std::runtime_error("--out " + path_.string() + ": cannot create the folder" +
                             (error ? ": " + error.message() : ""));
  if (::access(path_.c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error("--out " + path_.string() + ": the folder is not writable");
}

Folder::~Folder() {
  std::error_code ignored;
  if (created_ && fs::is_empty(path_, ignored)) fs::remove(path_, ignored);
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(const std::string& stage, double fraction) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "\r\033[K  {} {:3.0f}%", stage, 100 * fraction);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

std::uint64_t read_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc() || stop != end)
    throw std::invalid_argument("--seed " + text + " is not a whole number from 0 to 2^64 - 1");
  return seed;
}

std::string shell_word(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "_-./:,=+@%") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace plsh::cli
