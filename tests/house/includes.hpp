/// \file
/// The rules of who may include whom, as a function of a file's path and text.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace plsh::house {

/// Paths relative to the root of the repository, with '/'.
using Files = std::set<std::string>;

/// One #include that breaks a rule.
struct Violation {
  std::string file;
  int line;            ///< from 1
  std::string arrow;   ///< "properties -> optimized"
  std::string reason;  ///< one sentence

  std::string to_string() const;
};

/// One #include directive outside comments and raw strings.
struct Include {
  int line;
  std::string target;  ///< with its delimiters; as written when it is a macro
};

/// The #include directives of a C or C++ text, in order.
std::vector<Include> includes_of(const std::string& text);

/// True for the C, C++ and CUDA sources and headers.
bool is_source(const std::string& path);

/// The rules:
///   - a folder includes only itself and the folders that it may know (`allowed_arrows`);
///   - another folder is included by its public headers, <plsh/FOLDER/...>, where it has some, and
///     never by a header below its src/;
///   - an include names a file, so that these rules can be checked.
/// \param files every source file of the repository, to find what an include without a folder
/// means.
std::vector<Violation> violations_in(const std::string& path, const std::string& text,
                                     const Files& files);

}  // namespace plsh::house
