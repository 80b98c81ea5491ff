#include "includes.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <regex>
#include <string_view>

namespace plsh::house {
namespace {

const std::set<std::string> all_folders{"reference", "interface", "optimized", "properties", "cli",
                                        "fuzz",      "tests",     "bench",     "examples"};

// The folders that each may know, apart from itself.
const std::map<std::string, std::set<std::string>> allowed_arrows{
    {"reference", {}},
    {"interface", {}},
    {"optimized", {"interface"}},
    {"properties", {"reference", "interface"}},
    {"cli", all_folders},
    {"fuzz", all_folders},
    {"tests", all_folders},
    {"bench", all_folders},
    {"examples", {"interface", "reference"}},
};

// These are libraries: others see what they install and nothing else.
const std::set<std::string> with_public_headers{"reference", "interface", "optimized",
                                                "properties"};

std::string first_component(const std::string& path) { return path.substr(0, path.find('/')); }

bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Blanks comments and the contents of raw strings, so that a line that begins with #include is a
// directive. Newlines stay.
std::string without_comments(const std::string& text) {
  std::string result = text;
  const auto blank = [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < std::min(end, result.size()); ++k)
      if (result[k] != '\n') result[k] = ' ';
  };
  const auto end_of = [&](std::string_view token, std::size_t from) {
    const std::size_t at = text.find(token, from);
    return at == std::string::npos ? text.size() : at + token.size();
  };
  std::size_t k = 0;
  while (k < text.size()) {
    const char c = text[k];
    if (text.compare(k, 2, "//") == 0) {
      const std::size_t end = std::min(text.find('\n', k), text.size());
      blank(k, end);
      k = end;
    } else if (text.compare(k, 2, "/*") == 0) {
      const std::size_t end = end_of("*/", k + 2);
      blank(k, end);
      k = end;
    } else if (c == '"' && k > 0 && text[k - 1] == 'R') {
      const std::size_t open = text.find('(', k);
      if (open == std::string::npos) break;
      std::string closing(1, ')');
      closing.append(text, k + 1, open - k - 1).push_back('"');
      const std::size_t end = end_of(closing, open);
      blank(k + 1, end - 1);
      k = end;
    } else if (c == '"' || (c == '\'' && (k == 0 || !is_identifier(text[k - 1])))) {
      // A ' after an identifier or digit separates digits, or ends a prefix such as u8'.
      ++k;
      while (k < text.size() && text[k] != c && text[k] != '\n') k += text[k] == '\\' ? 2U : 1U;
      ++k;
    } else {
      ++k;
    }
  }
  return result;
}

bool ends_with_path(const std::string& path, const std::string& tail) {
  return path == tail || (path.size() > tail.size() && path.ends_with(tail) &&
                          path[path.size() - tail.size() - 1] == '/');
}

// What an include means: a folder of ours and the spelling rules that apply, or nothing of ours.
struct Meaning {
  std::string folder;  // empty: not ours
  bool public_header = false;
  bool below_src = false;
};

Meaning meaning_of(const std::string& path, const std::string& target, const Files& files) {
  const std::string name = target.substr(1, target.size() - 2);
  const std::string own = first_component(path);
  if (name.starts_with("plsh/")) return {first_component(name.substr(5)), true, false};
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  const std::string beside = (directory / name).lexically_normal().generic_string();
  const auto as_file = [](const std::string& file) {
    return Meaning{first_component(file), false, file.find("/src/") != std::string::npos};
  };
  if (target.front() == '"' && files.contains(beside)) return as_file(beside);
  if (name.find("..") != std::string::npos && first_component(beside) != own)
    return as_file(beside);
  // Found through an include directory: a file of the own folder comes first.
  const std::string tail = std::filesystem::path(name).lexically_normal().generic_string();
  const auto matches = [&](const std::string& file) { return ends_with_path(file, tail); };
  const std::string* other = nullptr;
  for (const std::string& file : files) {
    if (!matches(file)) continue;
    if (first_component(file) == own) return as_file(file);
    if (other == nullptr) other = &file;
  }
  return other == nullptr ? Meaning{} : as_file(*other);
}

}  // namespace

std::string Violation::to_string() const {
  return file + ":" + std::to_string(line) + ": " + arrow + ": " + reason;
}

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex directive(
      R"re(^\s*#\s*(?:include|include_next|import)\b\s*("[^"]*"|<[^>]*>|.*))re");
  const std::string code = without_comments(text);
  std::vector<Include> result;
  int line = 0;
  std::size_t begin = 0;
  while (begin < code.size()) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    ++line;
    const std::string row = code.substr(begin, end - begin);
    std::smatch match;
    if (row.find('#') != std::string::npos && std::regex_search(row, match, directive))
      result.push_back({line, match[1]});
    begin = end + 1;
  }
  return result;
}

bool is_source(const std::string& path) {
  static const std::array<std::string_view, 10> endings{".h",  ".hh",  ".hpp", ".inl", ".c",
                                                        ".cc", ".cpp", ".cxx", ".cu",  ".cuh"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

std::vector<Violation> violations_in(const std::string& path, const std::string& text,
                                     const Files& files) {
  std::vector<Violation> result;
  const std::string own = first_component(path);
  const auto known = allowed_arrows.find(own);
  if (known == allowed_arrows.end()) {
    result.push_back({path, 1, own, "this folder has no place in the house"});
    return result;
  }
  for (const Include& include : includes_of(text)) {
    const auto report = [&](const std::string& folder, const std::string& reason) {
      result.push_back({path, include.line, own + " -> " + folder, reason});
    };
    const std::string& target = include.target;
    if (target.size() < 3 || (target.front() != '"' && target.front() != '<')) {
      report("?", "an include must name its file, not " + target);
      continue;
    }
    const Meaning meaning = meaning_of(path, target, files);
    if (meaning.folder.empty()) continue;
    if (meaning.folder != own) {
      if (!all_folders.contains(meaning.folder))
        report(meaning.folder, target + " leads out of the folders of the house");
      else if (!known->second.contains(meaning.folder))
        report(meaning.folder, own + " must not know " + target);
      else if (meaning.below_src)
        report(meaning.folder, target + " is private to " + meaning.folder);
      else if (with_public_headers.contains(meaning.folder) &&
               (!meaning.public_header || target.front() != '<'))
        report(meaning.folder, target + " must be included as <plsh/" + meaning.folder + "/...>");
    }
  }
  return result;
}

}  // namespace plsh::house
