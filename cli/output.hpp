/// \file
/// What the commands share when they write: whole files, folders, a progress line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

namespace plsh::cli {

/// A file that appears whole or not at all: written beside its place, then renamed.
/// \throws std::runtime_error when it cannot be written.
void write_whole(const std::filesystem::path& path, const std::string& content);

/// Reads a whole file. \throws std::runtime_error when it cannot be read.
std::string read_whole(const std::filesystem::path& path);

/// The folder of the results (option --out): created, and seen to be writable, before the work
/// starts; removed again when the work leaves it empty.
class Folder {
 public:
  /// \throws std::runtime_error
  explicit Folder(std::filesystem::path path);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  bool created_ = false;
};

/// One line on stderr that is overwritten as the work goes on; nothing in a pipe.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& stage, double fraction);
  void clear();

 private:
  const bool terminal_;
  std::mutex mutex_;
};

/// The value of --seed. \throws std::invalid_argument naming the range.
std::uint64_t read_seed(const std::string& text);

/// A word as the shell reads it back.
std::string shell_word(const std::string& word);

}  // namespace plsh::cli
